//! VFIO: a PCI function driven from user space, and memory that it reaches through the IOMMU.
//!
//! The kernel isolates the function: it reaches the memory mapped here and nothing else, so that a
//! controller that outlives its driver faults instead of writing into freed memory. Source: the
//! kernel's Documentation/driver-api/vfio.rst and include/uapi/linux/vfio.h.
//!
//! A mapping has two parts that never overlap. Its head is shared with the controller as atomic
//! words; its data are bytes of one owner, who touches a slot only while no command is in flight on
//! it, as with [`super::arena::Arena`].

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const PAGE: usize = 4096;
const HUGE: usize = 2 << 20;

/// Numbers of ioctls: `_IO(';', 100 + n)`.
const fn number(n: u32) -> u32 {
    0x3b00 | (100 + n)
}
const CHECK_EXTENSION: u32 = number(1);
const SET_IOMMU: u32 = number(2);
const GROUP_GET_STATUS: u32 = number(3);
const GROUP_SET_CONTAINER: u32 = number(4);
const GROUP_GET_DEVICE_FD: u32 = number(6);
const DEVICE_GET_REGION_INFO: u32 = number(8);
const IOMMU_MAP_DMA: u32 = number(13);
const IOMMU_UNMAP_DMA: u32 = number(14);

const TYPE1V2_IOMMU: usize = 3;
const GROUP_VIABLE: u32 = 1;
const REGION_MMAP: u32 = 4;
const DMA_READ_WRITE: u32 = 3;
const BAR0: u32 = 0;
const CONFIG: u32 = 7;

/// The command register of configuration space, and its bits: memory, bus master.
const COMMAND: u64 = 4;
const MEMORY_AND_MASTER: u16 = 0b110;
const MASTER: u16 = 0b100;

/// First bus address given out: above all of memory below 4 GiB, where the addresses of interrupts
/// are reserved, and within the 39 bits that every IOMMU translates.
const FIRST_BUS: u64 = 1 << 32;

#[repr(C)]
#[derive(Default)]
struct GroupStatus {
    argsz: u32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct RegionInfo {
    argsz: u32,
    flags: u32,
    index: u32,
    cap_offset: u32,
    size: u64,
    offset: u64,
}

#[repr(C)]
struct DmaMap {
    argsz: u32,
    flags: u32,
    vaddr: u64,
    iova: u64,
    size: u64,
}

#[repr(C)]
struct DmaUnmap {
    argsz: u32,
    flags: u32,
    iova: u64,
    size: u64,
}

/// A function bound to `vfio-pci`, opened by this process alone.
#[derive(Debug)]
pub(crate) struct Function {
    // The device is closed before its group, and the group before the container.
    device: File,
    _group: File,
    container: File,
    next_bus: AtomicU64,
}

impl Function {
    /// Opens the function `address` (`0000:00:05.0`) of an IOMMU group.
    pub(crate) fn open(group: &str, address: &str) -> io::Result<Function> {
        let open = |path: &str| {
            let file = OpenOptions::new().read(true).write(true).open(path);
            file.map_err(|e| io::Error::new(e.kind(), format!("{path}: {e}")))
        };
        let container = open("/dev/vfio/vfio")?;
        // SAFETY: the argument is a number.
        let extension = unsafe { ioctl(&container, CHECK_EXTENSION, TYPE1V2_IOMMU) }?;
        if extension == 0 {
            return Err(io::Error::other("VFIO has no IOMMU of type 1 here"));
        }
        let group = open(&format!("/dev/vfio/{group}"))?;
        let mut status = GroupStatus { argsz: size_of::<GroupStatus>() as u32, flags: 0 };
        // SAFETY: the kernel writes a structure of the size in `argsz`.
        unsafe { ioctl(&group, GROUP_GET_STATUS, (&raw mut status) as usize) }?;
        if status.flags & GROUP_VIABLE == 0 {
            return Err(io::Error::other("another function of its IOMMU group has a driver"));
        }
        let descriptor = container.as_raw_fd();
        // SAFETY: the kernel reads the descriptor.
        unsafe { ioctl(&group, GROUP_SET_CONTAINER, (&raw const descriptor) as usize) }?;
        // SAFETY: the argument is a number.
        unsafe { ioctl(&container, SET_IOMMU, TYPE1V2_IOMMU) }?;
        let name = std::ffi::CString::new(address)?;
        // SAFETY: the kernel reads the text up to its NUL, and returns a new descriptor.
        let device = unsafe { ioctl(&group, GROUP_GET_DEVICE_FD, name.as_ptr() as usize) }?;
        // SAFETY: the descriptor is new and belongs to nobody else.
        let device = unsafe { File::from_raw_fd(device) };
        let next_bus = AtomicU64::new(FIRST_BUS);
        Ok(Function { device, _group: group, container, next_bus })
    }

    /// Lets the function reach memory.
    pub(crate) fn enable(&self) -> io::Result<()> {
        self.command(|bits| bits | MEMORY_AND_MASTER)
    }

    /// Keeps the function from memory. Whatever it still has in flight is lost.
    pub(crate) fn disable(&self) -> io::Result<()> {
        self.command(|bits| bits & !MASTER)
    }

    fn command(&self, change: impl FnOnce(u16) -> u16) -> io::Result<()> {
        let at = self.region(CONFIG)?.offset + COMMAND;
        let mut bits = [0; 2];
        self.device.read_exact_at(&mut bits, at)?;
        self.device.write_all_at(&change(u16::from_le_bytes(bits)).to_le_bytes(), at)
    }

    fn region(&self, index: u32) -> io::Result<RegionInfo> {
        let argsz = size_of::<RegionInfo>() as u32;
        let mut info = RegionInfo { argsz, index, ..RegionInfo::default() };
        // SAFETY: the kernel writes a structure of the size in `argsz`.
        unsafe { ioctl(&self.device, DEVICE_GET_REGION_INFO, (&raw mut info) as usize) }?;
        Ok(info)
    }

    /// The registers.
    pub(crate) fn registers(self: &Arc<Self>) -> io::Result<Registers> {
        let info = self.region(BAR0)?;
        let length = info.size as usize;
        if info.flags & REGION_MMAP == 0 || length < PAGE {
            return Err(io::Error::other("its registers cannot be mapped"));
        }
        let (access, fd) = (libc::PROT_READ | libc::PROT_WRITE, self.device.as_raw_fd());
        let null = std::ptr::null_mut();
        // SAFETY: a new mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe {
            libc::mmap(null, length, access, libc::MAP_SHARED, fd, info.offset as libc::off_t)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Registers { base, length, _function: Arc::clone(self) })
    }

    /// Memory that the function reaches: a head of shared words, and data.
    pub(crate) fn memory(
        self: &Arc<Self>,
        head_bytes: usize,
        data_bytes: usize,
    ) -> io::Result<(Arc<Head>, Data)> {
        let head = head_bytes.next_multiple_of(PAGE);
        let length = (head + data_bytes.next_multiple_of(PAGE)).max(PAGE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let pointer = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        if length >= HUGE {
            // SAFETY: the range is the mapping just made. Advice may fail; it is only advice.
            unsafe { libc::madvise(base, length, libc::MADV_HUGEPAGE) };
        }
        let room = length.next_multiple_of(HUGE) as u64;
        let bus = self.next_bus.fetch_add(room, Ordering::Relaxed);
        let map = DmaMap {
            argsz: size_of::<DmaMap>() as u32,
            flags: DMA_READ_WRITE,
            vaddr: base as u64,
            iova: bus,
            size: length as u64,
        };
        // From here on dropped, and with it unmapped.
        let mapping = Mapping { base: pointer, length, head, bus, function: Arc::clone(self) };
        // SAFETY: the kernel reads the structure and pins the pages of the mapping, which outlives
        // the pinning: both end in its drop.
        let mapped = unsafe { ioctl(&self.container, IOMMU_MAP_DMA, (&raw const map) as usize) };
        mapped.map_err(|e| match e.raw_os_error() {
            Some(libc::ENOMEM) => {
                io::Error::other("no more memory may be locked: raise ulimit -l, or run as root")
            }
            _ => e,
        })?;
        let head = Arc::new(Head(mapping));
        Ok((Arc::clone(&head), Data(head)))
    }
}

/// Issues an ioctl.
///
/// # Safety
/// `argument` must be valid for this request.
unsafe fn ioctl(file: &File, request: u32, argument: usize) -> io::Result<i32> {
    // SAFETY: by the caller; the descriptor is open.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), request as _, argument) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The registers of a function.
#[derive(Debug)]
pub(crate) struct Registers {
    base: NonNull<u8>,
    length: usize,
    _function: Arc<Function>,
}

// SAFETY: registers are read and written by single accesses, which the controller orders; the
// mapping is not bound to a thread.
unsafe impl Send for Registers {}
// SAFETY: as above.
unsafe impl Sync for Registers {}

impl Registers {
    #[inline]
    fn at(&self, offset: usize) -> *mut u32 {
        assert!(offset.is_multiple_of(4) && offset + 4 <= self.length);
        // SAFETY: in bounds by the assertion.
        unsafe { self.base.as_ptr().add(offset).cast() }
    }

    /// Reads a register.
    #[inline]
    pub(crate) fn read(&self, offset: usize) -> u32 {
        // SAFETY: a register within the mapping, aligned; reads of it have no other meaning.
        u32::from_le(unsafe { self.at(offset).read_volatile() })
    }

    /// Writes a register.
    #[inline]
    pub(crate) fn write(&self, offset: usize, value: u32) {
        // SAFETY: a register within the mapping, aligned.
        unsafe { self.at(offset).write_volatile(value.to_le()) };
    }
}

impl Drop for Registers {
    fn drop(&mut self) {
        // SAFETY: base and length are those of the mapping, which nobody else has.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// A mapping that the function reaches.
#[derive(Debug)]
struct Mapping {
    base: NonNull<u8>,
    length: usize,
    head: usize,
    bus: u64,
    function: Arc<Function>,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let unmap = DmaUnmap {
            argsz: size_of::<DmaUnmap>() as u32,
            flags: 0,
            iova: self.bus,
            size: self.length as u64,
        };
        let container = &self.function.container;
        // SAFETY: the kernel reads the structure. From then on an access of the function faults.
        let _ = unsafe { ioctl(container, IOMMU_UNMAP_DMA, (&raw const unmap) as usize) };
        // SAFETY: base and length are those of the mapping. Pages that the kernel still pins, because
        // the call above failed, stay allocated until the container is closed.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// The head of a mapping, shared with the controller as words.
#[derive(Debug)]
pub(crate) struct Head(Mapping);

// SAFETY: the head is only reached as atomic words, and the mapping is not bound to a thread.
unsafe impl Send for Head {}
// SAFETY: as above.
unsafe impl Sync for Head {}

impl Head {
    /// Its words.
    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU32] {
        // SAFETY: in bounds, aligned to a page, zeroed by mmap, and reached only as atomics.
        unsafe { std::slice::from_raw_parts(self.0.base.as_ptr().cast(), self.0.head / 4) }
    }

    /// Bus address of a byte of the mapping. Addresses are contiguous.
    #[inline]
    pub(crate) fn bus(&self, offset: usize) -> u64 {
        self.0.bus + offset as u64
    }
}

/// The data of a mapping, which have one owner.
#[derive(Debug)]
pub(crate) struct Data(Arc<Head>);

impl Data {
    /// Bytes of the data. Only for places of which no command is in flight.
    #[inline]
    pub(crate) fn bytes(&mut self, at: usize, bytes: usize) -> &mut [u8] {
        let Mapping { base, length, head, .. } = self.0.0;
        assert!(at <= length - head && bytes <= length - head - at);
        // SAFETY: in bounds by the assertion, beyond the head, zeroed by mmap, and borrowed from
        // the only owner.
        unsafe { std::slice::from_raw_parts_mut(base.as_ptr().add(head + at), bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_those_of_the_kernel() {
        // include/uapi/linux/vfio.h.
        assert_eq!(size_of::<RegionInfo>(), 32);
        assert_eq!((size_of::<DmaMap>(), size_of::<DmaUnmap>()), (32, 24));
        assert_eq!((GROUP_GET_DEVICE_FD, IOMMU_MAP_DMA), (0x3b6a, 0x3b71));
    }
}
