//! Host memory as seen by the controller, with bus addresses.
//!
//! From a given offset on, pages are in reverse order on the bus, so a driver fails if it assumes
//! contiguous bus addresses for contiguous memory.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use nvme::{DmaMap, PAGE_BYTES};

/// A region of the host's memory.
#[derive(Debug)]
pub struct HostMemory {
    words: Vec<AtomicU32>,
    base: u64,
    /// Pages before this one keep their order.
    straight: usize,
}

impl HostMemory {
    /// Creates a zeroed region of whole pages at a bus address. Pages from `straight_bytes` on are
    /// in reverse order.
    pub fn new(base: u64, bytes: usize, straight_bytes: usize) -> HostMemory {
        let pages = bytes.div_ceil(PAGE_BYTES);
        let words = (0..pages * PAGE_BYTES / 4).map(|_| AtomicU32::new(0)).collect();
        HostMemory { words, base, straight: straight_bytes.div_ceil(PAGE_BYTES).min(pages) }
    }

    fn pages(&self) -> usize {
        self.words.len() * 4 / PAGE_BYTES
    }

    /// Maps a page between memory order and bus order; its own inverse.
    fn turned(&self, page: usize) -> usize {
        if page < self.straight { page } else { self.pages() - 1 - (page - self.straight) }
    }

    /// Returns the offset of a bus address, if it is in the region.
    pub(crate) fn offset(&self, bus: u64) -> Option<usize> {
        let place = usize::try_from(bus.checked_sub(self.base)?).ok()?;
        let inside = place < self.words.len() * 4;
        inside.then(|| self.turned(place / PAGE_BYTES) * PAGE_BYTES + place % PAGE_BYTES)
    }

    /// Loads the word at a byte offset.
    pub fn load(&self, offset: usize) -> u32 {
        u32::from_le(self.words[offset / 4].load(Relaxed))
    }

    /// Stores a word at a byte offset.
    pub fn store(&self, offset: usize, value: u32) {
        self.words[offset / 4].store(value.to_le(), Relaxed);
    }

    /// Copies whole words out.
    pub fn read(&self, range: Range<usize>, out: &mut [u8]) {
        let words = &self.words[range.start / 4..range.end / 4];
        for (word, bytes) in words.iter().zip(out.chunks_exact_mut(4)) {
            bytes.copy_from_slice(&word.load(Relaxed).to_ne_bytes());
        }
    }

    /// Copies whole words in.
    pub fn write(&self, range: Range<usize>, data: &[u8]) {
        let words = &self.words[range.start / 4..range.end / 4];
        for (word, bytes) in words.iter().zip(data.chunks_exact(4)) {
            word.store(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]), Relaxed);
        }
    }
}

impl DmaMap for HostMemory {
    fn words(&self) -> &[AtomicU32] {
        &self.words
    }

    fn bus(&self, offset: usize) -> u64 {
        let page = self.turned(offset / PAGE_BYTES);
        self.base + (page * PAGE_BYTES + offset % PAGE_BYTES) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bus_addresses_map_back_to_their_offsets() {
        let memory = HostMemory::new(1 << 32, 8 * PAGE_BYTES, 2 * PAGE_BYTES);
        for offset in (0..8 * PAGE_BYTES).step_by(516) {
            assert_eq!(memory.offset(memory.bus(offset)), Some(offset));
        }
        assert_eq!(memory.bus(PAGE_BYTES), (1 << 32) + PAGE_BYTES as u64);
        assert_eq!(memory.bus(2 * PAGE_BYTES), (1 << 32) + 7 * PAGE_BYTES as u64);
        assert_eq!((memory.offset(0), memory.offset((1 << 32) + 8 * 4096)), (None, None));
    }
}
