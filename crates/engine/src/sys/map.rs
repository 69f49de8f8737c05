//! A file mapped into memory, read and written by copying.
//!
//! An access beyond the end of a mapped file raises SIGBUS, and another program can shorten a file
//! at any time. A read error of the device also raises SIGBUS. If the faulting address is in one of
//! our mappings, the handler maps an empty page there and counts the fault. The copy then
//! completes, and an I/O error is returned. The file is mapped again, so that the next access also
//! fails. Faults elsewhere are passed to the previous handler.
//!
//! An access within the last page of a shortened file does not fault: the rest of the page reads as
//! zeros.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::{NonNull, null_mut};
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, compiler_fence};

use super::check;

/// Maximum number of files mapped at once, because a fault searches all of them. The value is
/// arbitrary.
const MAPPINGS_MAX: usize = 4096;

/// The address range of a mapping and its number of faults, for the handler.
struct MappedRange {
    /// 0 until set.
    base: AtomicUsize,
    /// 0 if this entry is free.
    length: AtomicUsize,
    faults: AtomicUsize,
}

impl MappedRange {
    fn contains(&self, address: usize) -> bool {
        let length = self.length.load(Ordering::Acquire);
        let base = self.base.load(Ordering::Acquire);
        (base..base.saturating_add(length)).contains(&address)
    }
}

static RANGES: [MappedRange; MAPPINGS_MAX] = [const {
    MappedRange {
        base: AtomicUsize::new(0),
        length: AtomicUsize::new(0),
        faults: AtomicUsize::new(0),
    }
}; MAPPINGS_MAX];

/// The previous action for SIGBUS.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(null_mut());

static INSTALLED: Once = Once::new();

/// A whole file in memory, used by one thread at a time.
pub(crate) struct Mapping {
    base: NonNull<u8>,
    length: usize,
    fd: RawFd,
    protection: libc::c_int,
    range: &'static MappedRange,
}

// SAFETY: the mapping belongs to this value alone and is not bound to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps a file or device of `length` bytes for reading, and for writing if `writable`. The file
    /// must stay open while the mapping exists.
    pub(crate) fn new(file: &File, length: u64, writable: bool) -> io::Result<Mapping> {
        INSTALLED.call_once(install);
        let length = usize::try_from(length).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let writing = if writable { libc::PROT_WRITE } else { 0 };
        let (fd, protection) = (file.as_raw_fd(), libc::PROT_READ | writing);
        // SAFETY: a new mapping at an address of the kernel's choice aliases nothing of ours.
        let base = unsafe { libc::mmap(null_mut(), length, protection, libc::MAP_SHARED, fd, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let range = match take_range(base.as_ptr() as usize, length) {
            Some(range) => range,
            None => {
                // SAFETY: the mapping was just made, and nothing refers to it.
                unsafe { libc::munmap(base.as_ptr().cast(), length) };
                return Err(io::Error::other("too many files are mapped at once"));
            }
        };
        Ok(Mapping { base, length, fd, protection, range })
    }

    /// Advises the kernel of the access order: random or sequential.
    pub(crate) fn advise(&self, random: bool) {
        let advice = if random { libc::MADV_RANDOM } else { libc::MADV_SEQUENTIAL };
        // SAFETY: the range is the mapping. Advice may fail; it is only advice.
        unsafe { libc::madvise(self.base.as_ptr().cast(), self.length, advice) };
    }

    /// Reads from an offset into a buffer.
    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let source = self.address(offset, buffer.len())?;
        self.watched(|| {
            // SAFETY: both ranges are mapped and do not overlap: the buffer is borrowed
            // exclusively, and this mapping is not shared. Concurrent writes by another process
            // only change which bytes are copied; any bytes are valid.
            unsafe { std::ptr::copy_nonoverlapping(source, buffer.as_mut_ptr(), buffer.len()) }
        })
    }

    /// Copies a buffer to an offset.
    pub(crate) fn write(&self, offset: u64, buffer: &[u8]) -> io::Result<()> {
        let destination = self.address(offset, buffer.len())?;
        if self.protection & libc::PROT_WRITE == 0 {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        self.watched(|| {
            // SAFETY: as in `read`; the mapping is writable.
            unsafe { std::ptr::copy_nonoverlapping(buffer.as_ptr(), destination, buffer.len()) }
        })
    }

    /// Makes everything durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.sync_range(self.base.as_ptr(), self.length)
    }

    /// Makes a range durable and unmaps its pages, as fio does to bypass the cache. The page cache
    /// may still keep them.
    pub(crate) fn evict(&self, offset: u64, bytes: usize) -> io::Result<()> {
        let page = rustix::param::page_size();
        let before = (offset % page as u64) as usize;
        let bytes = before + bytes;
        let start = self.address(offset - before as u64, bytes)?;
        self.sync_range(start, bytes)?;
        // SAFETY: the range lies in the mapping; the pages released are in the file.
        check(unsafe { libc::madvise(start.cast(), bytes, libc::MADV_DONTNEED) }).map(drop)
    }

    fn sync_range(&self, start: *mut u8, bytes: usize) -> io::Result<()> {
        // SAFETY: the range lies in the mapping, and begins with a page.
        check(unsafe { libc::msync(start.cast(), bytes, libc::MS_SYNC) }).map(drop)
    }

    /// The address of `bytes` bytes at an offset.
    fn address(&self, offset: u64, bytes: usize) -> io::Result<*mut u8> {
        let end = offset.checked_add(bytes as u64);
        if end.is_none_or(|end| end > self.length as u64) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // SAFETY: within the mapping, as just checked.
        Ok(unsafe { self.base.as_ptr().add(offset as usize) })
    }

    /// Runs a copy; returns an error if it touched a page that does not exist.
    fn watched(&self, copy: impl FnOnce()) -> io::Result<()> {
        let before = self.range.faults.load(Ordering::Relaxed);
        // The handler runs on this thread, in the middle of the copy.
        compiler_fence(Ordering::SeqCst);
        copy();
        compiler_fence(Ordering::SeqCst);
        if self.range.faults.load(Ordering::Relaxed) == before {
            return Ok(());
        }
        self.map_again()?;
        Err(io::Error::from_raw_os_error(libc::EIO))
    }

    /// Maps the file again, which removes the empty pages mapped by the handler.
    fn map_again(&self) -> io::Result<()> {
        let (base, flags) = (self.base.as_ptr().cast(), libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: replaces this mapping with itself; no reference into it is alive.
        let address = unsafe { libc::mmap(base, self.length, self.protection, flags, self.fd, 0) };
        if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.range.base.store(0, Ordering::Release);
        self.range.length.store(0, Ordering::Release);
        // SAFETY: the mapping is ours, and nothing refers to it any longer.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// Reserves a free entry for a mapping.
fn take_range(base: usize, length: usize) -> Option<&'static MappedRange> {
    let free = RANGES.iter().find(|range| {
        let taken = range.length.compare_exchange(0, length, Ordering::AcqRel, Ordering::Relaxed);
        taken.is_ok()
    })?;
    // Until this store, the entry describes a range at address 0, where nothing is ever mapped.
    free.base.store(base, Ordering::Release);
    Some(free)
}

/// Installs the handler in front of the existing one.
fn install() {
    let mut before: Box<libc::sigaction> = Box::new(
        // SAFETY: an all-zero sigaction is valid: the default action.
        unsafe { std::mem::zeroed() },
    );
    // SAFETY: writes the current action to memory that is live for the call.
    unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), &mut *before) };
    BEFORE.store(Box::into_raw(before), Ordering::Release);
    // SAFETY: as above.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
    action.sa_sigaction = handler as usize;
    // Runs on the signal stack of Rust's threads, because the fault can occur anywhere.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler is async-signal-safe, and the mask is empty.
    unsafe { libc::sigaction(libc::SIGBUS, &action, null_mut()) };
}

/// Uses only atomics and system calls, because it interrupts arbitrary code.
extern "C" fn on_fault(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a filled siginfo, which contains an address for
    // SIGBUS.
    let address = unsafe { (*info).si_addr() } as usize;
    if let Some(range) = RANGES.iter().find(|range| range.contains(address))
        && lay_page(address)
    {
        range.faults.fetch_add(1, Ordering::Relaxed);
        return;
    }
    // Not ours: restore the previous handler, which the repeated fault then reaches.
    let before = BEFORE.load(Ordering::Acquire);
    // SAFETY: the pointer was stored before this handler was installed, and is never freed.
    unsafe { libc::sigaction(libc::SIGBUS, before, null_mut()) };
}

/// Maps an empty page where one of our mappings faulted.
fn lay_page(address: usize) -> bool {
    // SAFETY: only looks up a constant, and is allowed in a signal handler.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: errno belongs to this thread, and is restored for the interrupted code.
    let errno = unsafe { *libc::__errno_location() };
    let start = (address / page * page) as *mut libc::c_void;
    // SAFETY: replaces one page of our mapping that has no content.
    let address_mapped = unsafe { libc::mmap(start, page, protection, flags, -1, 0) };
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    address_mapped != libc::MAP_FAILED
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    const PAGE: usize = 65_536;

    fn file(pages: u64) -> File {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(pages * PAGE as u64).expect("long enough");
        file
    }

    #[test]
    fn copied_data_are_in_the_file_and_read_back() {
        let file = file(4);
        let mapping = Mapping::new(&file, 4 * PAGE as u64, true).expect("mapped");
        mapping.write(100, b"a word").expect("written");
        mapping.sync().expect("durable");
        mapping.evict(100, 6).expect("gone from the cache");
        let mut found = [0; 6];
        file.read_exact_at(&mut found, 100).expect("read");
        assert_eq!(&found, b"a word");
        file.write_all_at(b"another", PAGE as u64).expect("written");
        let mut found = [0; 7];
        mapping.read(PAGE as u64, &mut found).expect("read");
        assert_eq!(&found, b"another");
        assert!(mapping.read(4 * PAGE as u64 - 3, &mut found).is_err(), "past the end");
    }

    #[test]
    fn a_truncated_file_is_an_error_until_it_grows_again() {
        let file = file(4);
        let mapping = Mapping::new(&file, 4 * PAGE as u64, true).expect("mapped");
        let mut buffer = vec![1; PAGE];
        file.set_len(PAGE as u64).expect("shorter");
        for _ in 0..2 {
            let error = mapping.read(2 * PAGE as u64, &mut buffer).expect_err("nothing there");
            assert_eq!(error.raw_os_error(), Some(libc::EIO));
            let error = mapping.write(3 * PAGE as u64, &buffer).expect_err("nothing there");
            assert_eq!(error.raw_os_error(), Some(libc::EIO));
        }
        mapping.read(0, &mut buffer).expect("what is left is there");
        file.set_len(4 * PAGE as u64).expect("as before");
        mapping.write(3 * PAGE as u64, b"again").expect("written");
        let mut found = [0; 5];
        file.read_exact_at(&mut found, 3 * PAGE as u64).expect("read");
        assert_eq!(&found, b"again");
    }

    #[test]
    fn one_that_may_not_be_written_is_not() {
        let file = file(1);
        let mapping = Mapping::new(&file, PAGE as u64, false).expect("mapped");
        assert!(mapping.write(0, b"x").is_err());
        assert!(Mapping::new(&file, 0, false).is_err(), "nothing to map");
    }
}
