//! A PCI function driven from user space: its registers, and the memory that it can access.
//!
//! A [`Function`] is opened through VFIO, where an IOMMU blocks its access to all other memory, or
//! through sysfs without an IOMMU, where it addresses physical memory.
//!
//! A mapping has two parts that never overlap. The head is shared with the controller as atomic
//! words. The data have one owner, which accesses a slot only while no command is in flight on it,
//! as with [`super::arena::Arena`].

mod physical;
mod vfio;

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use nvme::DmaMap;

pub(crate) use physical::Physical;
pub(crate) use vfio::Vfio;

const PAGE: usize = 4096;
const HUGE: usize = 2 << 20;

/// The command register of configuration space, and its bits: memory, bus master.
const COMMAND: u64 = 4;
const MEMORY_AND_MASTER: u16 = 0b110;
const MASTER: u16 = 0b100;

/// A function that this process has exclusively.
pub(crate) trait Function: Debug + Send + Sync + 'static {
    /// Changes bits of the command register.
    fn command(&self, change: fn(u16) -> u16) -> io::Result<()>;

    /// Enables the function's access to memory.
    fn enable(&self) -> io::Result<()> {
        self.command(|bits| bits | MEMORY_AND_MASTER)
    }

    /// Disables the function's access to memory. Its commands in flight are lost.
    fn disable(&self) -> io::Result<()> {
        self.command(|bits| bits & !MASTER)
    }

    /// The file of the registers, their offset in it, and their length in bytes.
    fn registers(&self) -> io::Result<(&File, u64, usize)>;

    /// Maps at least `bytes` zeroed bytes that the function can access.
    fn share(&self, bytes: usize) -> io::Result<Shared>;

    /// Revokes access to a mapping before it is unmapped. `reachable`: a command that uses it may
    /// still be in flight.
    fn take_back(&self, shared: &Shared, reachable: bool);
}

/// A mapping of this process that a function can access.
#[derive(Debug)]
pub(crate) struct Shared {
    base: NonNull<u8>,
    length: usize,
    /// Bus address of every [`HUGE`] bytes.
    bus: Vec<u64>,
}

impl Shared {
    /// Maps part of a file, or anonymous memory, at an address of the kernel's choice. The file
    /// must not be shortened.
    fn map(file: Option<(&File, u64)>, length: usize, flags: i32) -> io::Result<Shared> {
        let base = map(file, length, flags)?;
        Ok(Shared { base, length, bus: Vec::new() })
    }

    #[inline]
    fn bus(&self, offset: usize) -> u64 {
        self.bus[offset / HUGE] + (offset % HUGE) as u64
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        unmap(self.base, self.length);
    }
}

fn map(file: Option<(&File, u64)>, length: usize, flags: i32) -> io::Result<NonNull<u8>> {
    let (fd, offset) = file.map_or((-1, 0), |(file, offset)| (file.as_raw_fd(), offset));
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice aliases nothing.
    let base = unsafe {
        libc::mmap(std::ptr::null_mut(), length, access, flags, fd, offset as libc::off_t)
    };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(base.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Removes a mapping made by [`map`] that is no longer in use.
fn unmap(base: NonNull<u8>, length: usize) {
    // SAFETY: both callers own the mapping and are being dropped.
    unsafe { libc::munmap(base.as_ptr().cast(), length) };
}

/// The registers of a function.
#[derive(Debug)]
pub(crate) struct Registers {
    base: NonNull<u8>,
    length: usize,
    _function: Arc<dyn Function>,
}

// SAFETY: registers are read and written by single accesses, which the controller orders; the
// mapping is not bound to a thread.
unsafe impl Send for Registers {}
// SAFETY: as above.
unsafe impl Sync for Registers {}

impl Registers {
    /// Maps the registers of a function.
    pub(crate) fn new(function: &Arc<dyn Function>) -> io::Result<Registers> {
        let (file, offset, length) = function.registers()?;
        if length < PAGE {
            return Err(io::Error::other("its registers cannot be mapped"));
        }
        let base = map(Some((file, offset)), length, libc::MAP_SHARED)?;
        Ok(Registers { base, length, _function: Arc::clone(function) })
    }

    #[inline]
    fn register(&self, offset: usize) -> *mut u32 {
        assert!(offset.is_multiple_of(4) && offset + 4 <= self.length);
        // SAFETY: in bounds by the assertion.
        unsafe { self.base.as_ptr().add(offset).cast() }
    }

    /// Reads a register.
    #[inline]
    pub(crate) fn read(&self, offset: usize) -> u32 {
        // SAFETY: an aligned register within the mapping; reading it has no side effects.
        u32::from_le(unsafe { self.register(offset).read_volatile() })
    }

    /// Writes a register.
    #[inline]
    pub(crate) fn write(&self, offset: usize, value: u32) {
        // SAFETY: an aligned register within the mapping.
        unsafe { self.register(offset).write_volatile(value.to_le()) };
    }
}

impl Drop for Registers {
    fn drop(&mut self) {
        unmap(self.base, self.length);
    }
}

/// A mapping in use, with the function that can access it.
#[derive(Debug)]
struct Mapping {
    shared: Shared,
    /// Bytes of the head.
    head: usize,
    /// Whether a command that uses it may still be in flight.
    reachable: AtomicBool,
    function: Arc<dyn Function>,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.function.take_back(&self.shared, self.reachable.load(Ordering::Relaxed));
    }
}

/// Allocates memory that a function can access: a head of shared words, and data.
pub(crate) fn memory(
    function: &Arc<dyn Function>,
    head_bytes: usize,
    data_bytes: usize,
) -> io::Result<(Arc<Head>, Data)> {
    let head = head_bytes.next_multiple_of(PAGE);
    let shared = function.share((head + data_bytes.next_multiple_of(PAGE)).max(PAGE))?;
    let reachable = AtomicBool::new(false);
    let head = Mapping { shared, head, reachable, function: Arc::clone(function) };
    let head = Arc::new(Head(head));
    Ok((Arc::clone(&head), Data(head)))
}

/// The head of a mapping, shared with the controller as words.
#[derive(Debug)]
pub(crate) struct Head(Mapping);

// SAFETY: the head is accessed only as atomic words, and the mapping is not bound to a thread.
unsafe impl Send for Head {}
// SAFETY: as above.
unsafe impl Sync for Head {}

impl DmaMap for Head {
    #[inline]
    fn words(&self) -> &[AtomicU32] {
        // SAFETY: in bounds, aligned to a page, zeroed when mapped, and accessed only as atomics.
        unsafe { std::slice::from_raw_parts(self.0.shared.base.as_ptr().cast(), self.0.head / 4) }
    }

    /// Addresses are contiguous within [`HUGE`] bytes.
    #[inline]
    fn bus(&self, offset: usize) -> u64 {
        self.0.shared.bus(offset)
    }
}

/// The data of a mapping, which have one owner.
#[derive(Debug)]
pub(crate) struct Data(Arc<Head>);

impl Data {
    /// Bytes of the data. No command that uses them may be in flight.
    #[inline]
    pub(crate) fn bytes(&mut self, at: usize, bytes: usize) -> &mut [u8] {
        let Mapping { shared: Shared { base, length, .. }, head, .. } = &self.0.0;
        assert!(at <= length - head && bytes <= length - head - at);
        // SAFETY: in bounds by the assertion, beyond the head, zeroed when mapped, and borrowed
        // from the only owner.
        unsafe { std::slice::from_raw_parts_mut(base.as_ptr().add(head + at), bytes) }
    }

    /// Marks the mapping as possibly still in use by the controller when it is dropped.
    pub(crate) fn abandon(&self) {
        self.0.0.reachable.store(true, Ordering::Relaxed);
    }
}
