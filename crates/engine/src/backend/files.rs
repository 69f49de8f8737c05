//! The files of a job as one address space.
//!
//! The upper bits of an address select the file, and the lower `shift` bits are the offset, enough
//! for the largest file. A single file uses all bits, so the usual case costs a shift and a mask
//! but no table.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// The files of one job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Files<'f> {
    list: &'f [&'f File],
    shift: u32,
    whole: bool,
}

impl<'f> Files<'f> {
    /// Combines at least one file. The offset within a file takes `shift` bits (1 to 63) of an
    /// address. A flush is an `fsync` if `whole` is set, otherwise an `fdatasync`.
    pub(crate) fn new(list: &'f [&'f File], shift: u32, whole: bool) -> Files<'f> {
        assert!(!list.is_empty() && (1..u64::BITS).contains(&shift));
        Files { list, shift, whole }
    }

    /// Every file.
    pub(crate) fn list(&self) -> &'f [&'f File] {
        self.list
    }

    /// Whether a flush is an `fsync`.
    pub(crate) fn whole_flush(&self) -> bool {
        self.whole
    }

    /// The index of the file at an address, and the offset within it.
    #[inline]
    pub(crate) fn split(&self, address: u64) -> (usize, u64) {
        ((address >> self.shift) as usize, address & ((1 << self.shift) - 1))
    }

    /// The file at an address, and the offset within it.
    #[inline]
    pub(crate) fn locate(&self, address: u64) -> (&'f File, u64) {
        let (number, offset) = self.split(address);
        (self.list[number], offset)
    }

    /// The first address of every file.
    pub(crate) fn starts(&self) -> impl Iterator<Item = u64> + use<> {
        let shift = self.shift;
        (0..self.list.len() as u64).map(move |number| number << shift)
    }

    /// Truncates the regular files. Devices are left alone.
    pub(crate) fn empty(&self) -> io::Result<()> {
        self.list
            .iter()
            .try_for_each(|file| if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) })
    }

    /// Disables access time updates, which would cause writes during a measurement and make each
    /// read more expensive. Only a file's owner can request this; for others nothing changes.
    pub(crate) fn keep_times(&self) {
        for file in self.list {
            if let Ok(flags) = fcntl_getfl(file) {
                let _ = fcntl_setfl(file, flags | OFlags::NOATIME);
            }
        }
    }

    /// Fills the buffer, starting at an address.
    pub(crate) fn read_exact(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        let (file, offset) = self.locate(address);
        file.read_exact_at(buffer, offset)
    }

    /// Makes the file at an address durable with its metadata, at the end of a job.
    pub(crate) fn sync(&self, address: u64) -> io::Result<()> {
        self.locate(address).0.sync_all()
    }

    /// Makes the file at an address durable.
    pub(crate) fn flush(&self, address: u64) -> io::Result<()> {
        let file = self.locate(address).0;
        if self.whole { file.sync_all() } else { file.sync_data() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;
    use std::os::unix::fs::FileExt;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn reading_leaves_no_trace() {
        let file = tempfile::tempfile().expect("a file");
        file.write_all_at(b"content", 0).expect("written");
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        file.set_times(FileTimes::new().set_accessed(long_ago)).expect("set");
        Files::new(&[&file], 63, false).keep_times();
        file.read_at(&mut [0; 7], 0).expect("read");
        assert_eq!(file.metadata().expect("there").accessed().expect("a time"), long_ago);
    }

    #[test]
    fn an_address_is_a_file_and_an_offset() {
        let file = || tempfile::tempfile().expect("a file");
        let files = [file(), file(), file()];
        let list: Vec<&File> = files.iter().collect();
        let several = Files::new(&list, 20, false);
        assert_eq!(several.split(5), (0, 5));
        assert_eq!(several.split((2 << 20) + 4096), (2, 4096));
        assert_eq!(several.starts().collect::<Vec<_>>(), [0, 1 << 20, 2 << 20]);
        assert_eq!(Files::new(&list[..1], 63, false).split(1 << 62), (0, 1 << 62));
    }
}
