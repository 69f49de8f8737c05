//! Bytes of a device, a file or memory: the input of the parsers of partition tables and
//! contents. Any part may be unreadable.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes for a parser.
pub(crate) trait Image {
    /// `length` bytes at `offset`; `None` if they cannot be read in full.
    fn look(&self, offset: u64, length: usize) -> Option<Vec<u8>>;
}

impl Image for File {
    fn look(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }
}

impl Image for [u8] {
    fn look(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        let start = usize::try_from(offset).ok()?;
        Some(self.get(start..start.checked_add(length)?)?.to_vec())
    }
}
