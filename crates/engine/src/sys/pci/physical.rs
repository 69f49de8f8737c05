//! A function without an IOMMU: registers through sysfs, memory by physical addresses.
//!
//! Such a function can access all memory. It is given only addresses of huge pages, which the
//! kernel never swaps out, and which a guard process keeps allocated after this process ends
//! (`drive::pci`). Source: the kernel's Documentation/PCI/sysfs-pci.rst and
//! Documentation/admin-guide/mm/pagemap.rst.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{COMMAND, Function, HUGE, PAGE, Shared};

/// Fields of a page map entry: the bit for a present page, and the mask of the frame number.
const PRESENT: u64 = 1 << 63;
const FRAME: u64 = (1 << 55) - 1;

/// A function without a kernel driver.
#[derive(Debug)]
pub(crate) struct Physical {
    registers: File,
    config: File,
    pagemap: File,
    pool: Mutex<Pool>,
}

/// Huge pages in a memory file, which grows as needed.
#[derive(Debug)]
struct Pool {
    memory: File,
    bytes: u64,
    /// First bus address of each mapping, and its start in the file.
    used: Vec<(u64, u64)>,
    /// Ranges of pages that no mapping uses any longer, as bytes by start; no two of them touch.
    free: BTreeMap<u64, u64>,
}

impl Physical {
    /// Opens the function in a sysfs directory. `memory` is an empty file of huge pages.
    pub(crate) fn open(dir: &Path, memory: File) -> io::Result<Physical> {
        let open = |name: &str, write: bool| {
            let path = dir.join(name);
            let file = OpenOptions::new().read(true).write(write).open(&path);
            file.map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))
        };
        Ok(Physical {
            registers: open("resource0", true)?,
            config: open("config", true)?,
            pagemap: File::open("/proc/self/pagemap")?,
            pool: Mutex::new(Pool { memory, bytes: 0, used: Vec::new(), free: BTreeMap::new() }),
        })
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Physical address of a mapped page.
    fn frame(&self, address: usize) -> io::Result<u64> {
        let mut entry = [0; 8];
        self.pagemap.read_exact_at(&mut entry, (address / PAGE * 8) as u64)?;
        let entry = u64::from_ne_bytes(entry);
        match entry & FRAME {
            frame if frame > 0 && entry & PRESENT != 0 => Ok(frame * PAGE as u64),
            _ => Err(io::Error::other("only root can read physical addresses")),
        }
    }
}

impl Pool {
    /// Takes `bytes` bytes of whole huge pages; returns their start and whether they were used
    /// before.
    fn take(&mut self, bytes: u64) -> io::Result<(u64, bool)> {
        let large = self.free.iter().filter(|(_, free)| **free >= bytes);
        if let Some((&begin, &free)) = large.min_by_key(|(_, free)| **free) {
            self.free.remove(&begin);
            if free > bytes {
                self.free.insert(begin + bytes, free - bytes);
            }
            return Ok((begin, true));
        }
        self.memory.set_len(self.bytes + bytes)?;
        self.bytes += bytes;
        Ok((self.bytes - bytes, false))
    }

    /// Takes back a range, and merges it with the free ranges beside it: otherwise workloads with
    /// buffers of different sizes would split the pool into small ranges and make it grow.
    fn give(&mut self, mut begin: u64, mut bytes: u64) {
        if let Some(after) = self.free.remove(&(begin + bytes)) {
            bytes += after;
        }
        if let Some((&before, &length)) = self.free.range(..begin).next_back()
            && before + length == begin
        {
            (begin, bytes) = (before, length + bytes);
        }
        self.free.insert(begin, bytes);
    }
}

impl Function for Physical {
    fn command(&self, change: fn(u16) -> u16) -> io::Result<()> {
        let mut bits = [0; 2];
        self.config.read_exact_at(&mut bits, COMMAND)?;
        self.config.write_all_at(&change(u16::from_le_bytes(bits)).to_le_bytes(), COMMAND)?;
        // The response to a read arrives after all earlier writes of the function.
        self.config.read_exact_at(&mut bits, COMMAND)
    }

    fn registers(&self) -> io::Result<(&File, u64, usize)> {
        Ok((&self.registers, 0, self.registers.metadata()?.len() as usize))
    }

    fn share(&self, bytes: usize) -> io::Result<Shared> {
        let length = bytes.next_multiple_of(HUGE);
        let mut pool = self.pool();
        let (begin, used) = pool.take(length as u64)?;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        let mapped = Shared::map(Some((&pool.memory, begin)), length, flags);
        let mut shared = mapped.map_err(|e| match e.raw_os_error() {
            Some(libc::ENOMEM) => io::Error::other(
                "not enough free huge pages of 2 MiB: try sysctl vm.nr_hugepages=256",
            ),
            _ => e,
        })?;
        if used {
            // SAFETY: the mapping is new and has this length; no command uses the pages any longer.
            unsafe { shared.base.as_ptr().write_bytes(0, length) };
        }
        let base = shared.base.as_ptr() as usize;
        let pages = (0..length).step_by(HUGE).map(|at| self.frame(base + at));
        shared.bus = pages.collect::<io::Result<_>>()?;
        pool.used.push((shared.bus[0], begin));
        Ok(shared)
    }

    fn take_back(&self, shared: &Shared, reachable: bool) {
        let mut pool = self.pool();
        let Some(index) = pool.used.iter().position(|(bus, _)| *bus == shared.bus[0]) else {
            return;
        };
        let (_, begin) = pool.used.swap_remove(index);
        // Pages to which the controller may still write are never reused.
        if !reachable {
            pool.give(begin, shared.length as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_BYTES: u64 = HUGE as u64;

    fn pool() -> Pool {
        let memory = tempfile::tempfile().expect("a file");
        Pool { memory, bytes: 0, used: Vec::new(), free: BTreeMap::new() }
    }

    #[test]
    fn pages_are_used_again_but_never_twice_at_a_time() {
        let mut pool = pool();
        assert_eq!(pool.take(2 * PAGE_BYTES).expect("grown"), (0, false));
        assert_eq!(pool.take(PAGE_BYTES).expect("grown"), (2 * PAGE_BYTES, false));
        pool.give(0, 2 * PAGE_BYTES);
        assert_eq!(pool.take(PAGE_BYTES).expect("free"), (0, true));
        assert_eq!(pool.take(2 * PAGE_BYTES).expect("grown"), (3 * PAGE_BYTES, false));
        assert_eq!(pool.take(PAGE_BYTES).expect("free"), (PAGE_BYTES, true));
        assert_eq!(pool.memory.metadata().expect("a file").len(), 5 * PAGE_BYTES);
    }

    #[test]
    fn buffers_of_changing_sizes_leave_no_small_ranges() {
        let mut pool = pool();
        let most = pool.take(16 * PAGE_BYTES).expect("grown");
        pool.give(most.0, 16 * PAGE_BYTES);
        for pages in [[1, 4, 1], [2, 2, 3], [1, 1, 8], [5, 1, 1], [16, 0, 0], [1, 6, 9]] {
            let sizes =
                pages.into_iter().filter(|pages| *pages > 0).map(|pages| pages * PAGE_BYTES);
            let mut taken: Vec<(u64, u64)> =
                sizes.map(|bytes| (pool.take(bytes).expect("free").0, bytes)).collect();
            // In neither order.
            let middle = taken.len() / 2;
            taken.swap(0, middle);
            taken.into_iter().for_each(|(begin, bytes)| pool.give(begin, bytes));
            assert_eq!(pool.free, BTreeMap::from([(0, 16 * PAGE_BYTES)]), "{pages:?}");
        }
        assert_eq!(pool.bytes, 16 * PAGE_BYTES);
    }
}
