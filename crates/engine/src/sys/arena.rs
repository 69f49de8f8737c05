//! Memory for transfers: one page-aligned anonymous mapping, divided into slots of equal size.
//!
//! The kernel reads and writes a slot while its operation is in flight, and the worker must access
//! a slot only before submission and after completion. Under that rule, a slice and a pointer to
//! the same slot are never in use at the same time. Unless pages of the usual size are requested, a
//! large mapping is in huge pages, which make registration cheap.

use std::io;
use std::ptr::NonNull;

use crate::addressable::addressable;

/// Smallest alignment that every O_DIRECT target accepts, bytes.
const PAGE: usize = 4096;

pub(crate) struct Arena {
    base: NonNull<u8>,
    stride: usize,
    slots: usize,
    length: usize,
    leaked: bool,
}

// SAFETY: the mapping belongs to the arena alone and is not bound to a thread.
unsafe impl Send for Arena {}

impl Arena {
    /// An arena of `slots` slots of at least `bytes` bytes, zeroed. Its pages become resident when
    /// they are registered or first used. Returns an error if the system cannot address them.
    pub(crate) fn new(slots: usize, bytes: usize) -> io::Result<Arena> {
        let arena = Arena::in_small_pages(slots, bytes)?;
        if arena.length >= 2 << 20 {
            let start = arena.base.as_ptr().cast();
            // SAFETY: the range is the mapping just made. Advice may fail; it is only advice.
            unsafe { libc::madvise(start, arena.length, libc::MADV_HUGEPAGE) };
        }
        Ok(arena)
    }

    /// The same in the pages that any program gets.
    pub(crate) fn in_small_pages(slots: usize, bytes: usize) -> io::Result<Arena> {
        let stride = bytes.max(1).next_multiple_of(PAGE);
        let length = addressable(slots.max(1) as u64, stride as u64)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice aliases nothing.
        let pointer = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
        if pointer == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(pointer.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Arena { base, stride, slots, length, leaked: false })
    }

    /// Makes all pages resident. Otherwise the first use of each would cost a page fault, half of
    /// the time of a cached read into a new buffer, which would count as the drive's.
    pub(crate) fn make_resident(&self) {
        let start = self.base.as_ptr().cast();
        // SAFETY: the range is the mapping. Before Linux 5.14, the pages stay absent.
        unsafe { libc::madvise(start, self.length, libc::MADV_POPULATE_WRITE) };
    }

    /// The slot's memory. The kernel must not be using the slot.
    #[inline]
    pub(crate) fn slot(&mut self, slot: u32, bytes: u32) -> &mut [u8] {
        assert!((slot as usize) < self.slots && bytes as usize <= self.stride);
        // SAFETY: in bounds by the assertion, zero-initialised by mmap, and borrowed from `self`.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(slot), bytes as usize) }
    }

    /// The slot's address, for the kernel.
    #[inline]
    pub(crate) fn pointer(&self, slot: u32) -> *mut u8 {
        assert!((slot as usize) < self.slots);
        // SAFETY: slot < slots, so the offset stays inside the mapping.
        unsafe { self.base.as_ptr().add(slot as usize * self.stride) }
    }

    /// The whole mapping, for registration.
    pub(crate) fn whole(&self) -> libc::iovec {
        libc::iovec { iov_base: self.base.as_ptr().cast(), iov_len: self.length }
    }

    pub(crate) fn slots(&self) -> u32 {
        self.slots as u32
    }

    /// Never frees the memory, because the kernel may still use a slot.
    pub(crate) fn leak(&mut self) {
        self.leaked = true;
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if self.leaked {
            return;
        }
        // SAFETY: base and length are those of the mapping, and a backend that is dropped has
        // nothing in flight or has called `leak`, so the kernel no longer uses any slot.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}
