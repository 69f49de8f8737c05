//! Memory for transfers, on systems other than Linux: no kernel accesses it there, so that a vector
//! does.

use std::io;

use crate::addressable::addressable;

/// Slots of equal size.
pub(crate) struct Arena {
    bytes: Vec<u8>,
    stride: usize,
}

impl Arena {
    /// An arena of `slots` slots of at least `bytes` bytes, zeroed. Returns an error if the system
    /// cannot address them.
    pub(crate) fn new(slots: usize, bytes: usize) -> io::Result<Arena> {
        let stride = bytes.max(1);
        let length = addressable(slots.max(1) as u64, stride as u64)?;
        Ok(Arena { bytes: vec![0; length], stride })
    }

    /// The slot's memory.
    pub(crate) fn slot(&mut self, slot: u32, bytes: u32) -> &mut [u8] {
        assert!(bytes as usize <= self.stride);
        &mut self.bytes[slot as usize * self.stride..][..bytes as usize]
    }
}
