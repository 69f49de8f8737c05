//! An array of the programs that is also mapped into this process, which reads it without a system
//! call: two directions have hundreds of classes, and short workloads read them before and after.

use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{ARRAY, Map};

/// The array may be mapped (Linux 5.5, older than what the programs need).
const MAPPABLE: u32 = 1 << 10;

/// Rows of `N` numbers, which the programs change at any time.
pub(super) struct MappedRows<const N: usize> {
    map: Map,
    base: NonNull<AtomicU64>,
    rows: usize,
}

// SAFETY: the mapping belongs to this value alone, is not bound to a thread, and is only read here,
// atomically.
unsafe impl<const N: usize> Send for MappedRows<N> {}

impl<const N: usize> MappedRows<N> {
    /// Rows of zeros.
    pub(super) fn new(rows: usize) -> io::Result<MappedRows<N>> {
        let map = Map::new(ARRAY, 4, size_of::<[u64; N]>(), rows as u32, MAPPABLE)?;
        let (fd, flags) = (map.descriptor.as_raw_fd(), libc::MAP_SHARED);
        let bytes = rows * size_of::<[u64; N]>();
        // SAFETY: a new mapping at an address of the kernel's choice aliases nothing of ours. The
        // kernel rounds both the length and the array up to whole pages.
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, flags, fd, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(MappedRows { map, base, rows })
    }

    /// The descriptor of the array.
    pub(super) fn number(&self) -> i32 {
        self.map.number()
    }

    /// The numbers of a row, each as it is now.
    pub(super) fn row(&self, row: usize) -> [u64; N] {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        std::array::from_fn(|column| {
            // SAFETY: in bounds by the assertion, aligned because the mapping is, and mapped as long
            // as `self` exists. The programs write such numbers whole.
            let number = unsafe { self.base.add(row * N + column).as_ref() };
            number.load(Ordering::Relaxed)
        })
    }
}

impl<const N: usize> Drop for MappedRows<N> {
    fn drop(&mut self) {
        let bytes = self.rows * size_of::<[u64; N]>();
        // SAFETY: the mapping is ours, and nothing refers to it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), bytes) };
    }
}
