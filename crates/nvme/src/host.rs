//! The driver's view of the machine: registers, memory shared with the controller, and time.
//!
//! Memory is a slice of atomic words, because the controller changes it concurrently, like another
//! thread. The driver uses no pointers, so only `sys` needs `unsafe`; the implementation of
//! [`DmaMap`] vouches for the memory.

use crate::error::Error;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The page size of the driver and of its PRP lists, bytes. A controller whose smallest page is
/// larger is refused.
pub const PAGE_BYTES: usize = 4096;

/// Registers of a controller (BAR 0).
pub trait Mmio {
    /// Reads a register; `offset` is a multiple of 4. A removed controller reads as all ones.
    fn read32(&self, offset: usize) -> u32;

    /// Writes a register.
    fn write32(&self, offset: usize, value: u32);

    /// Reads a 64-bit register as two halves, which every controller must accept.
    fn read64(&self, offset: usize) -> u64 {
        u64::from(self.read32(offset)) | u64::from(self.read32(offset + 4)) << 32
    }

    /// Writes a 64-bit register as two halves.
    fn write64(&self, offset: usize, value: u64) {
        self.write32(offset, value as u32);
        self.write32(offset + 4, (value >> 32) as u32);
    }
}

/// A region of memory that the controller accesses by bus addresses.
pub trait DmaMap {
    /// The head of the region as words: queues, lists, and the structures of admin commands. May
    /// omit the data after it, which only its owner and the controller access.
    fn words(&self) -> &[AtomicU32];

    /// Bus address of the byte at `offset` in the region. Addresses are contiguous within each page
    /// of [`PAGE_BYTES`].
    fn bus(&self, offset: usize) -> u64;
}

/// Time.
pub trait Clock {
    /// Nanoseconds since an arbitrary origin; monotonic.
    fn now_ns(&self) -> u64;

    /// Called in every polling loop. Does nothing by default: the processor's `pause` instruction
    /// can force an exit from the guest each time under an emulator or a hypervisor.
    fn pause(&self) {}
}

/// Registers, the memory of the admin queue, and time.
pub trait Platform: Mmio + DmaMap + Clock {}

impl<T: Mmio + DmaMap + Clock> Platform for T {}

/// Loads the word at a byte offset.
#[inline(always)]
pub(crate) fn load(words: &[AtomicU32], offset: usize) -> u32 {
    u32::from_le(words[offset / 4].load(Relaxed))
}

#[inline(always)]
pub(crate) fn store(words: &[AtomicU32], offset: usize, value: u32) {
    words[offset / 4].store(value.to_le(), Relaxed);
}

#[inline(always)]
pub(crate) fn store64(words: &[AtomicU32], offset: usize, value: u64) {
    store(words, offset, value as u32);
    store(words, offset + 4, (value >> 32) as u32);
}

pub(crate) fn zero(words: &[AtomicU32], offset: usize, bytes: usize) {
    words[offset / 4..(offset + bytes) / 4].iter().for_each(|word| word.store(0, Relaxed));
}

/// Copies bytes out of the memory.
pub(crate) fn copy_out(words: &[AtomicU32], offset: usize, out: &mut [u8]) {
    for (word, bytes) in words[offset / 4..].iter().zip(out.chunks_mut(4)) {
        let value = u32::from_le(word.load(Relaxed)).to_le_bytes();
        bytes.copy_from_slice(&value[..bytes.len()]);
    }
}

/// Refuses bytes that are not contiguous on the bus.
pub(crate) fn contiguous<D: DmaMap + ?Sized>(
    memory: &D,
    at: usize,
    bytes: usize,
) -> Result<(), Error> {
    let start = memory.bus(at);
    let straight =
        (0..bytes).step_by(PAGE_BYTES).all(|page| memory.bus(at + page) == start + page as u64);
    if straight { Ok(()) } else { Err(Error::Scattered) }
}
