//! VFIO: a function that accesses memory through the IOMMU.
//!
//! The kernel isolates it: it can access only the memory mapped here, so a controller that outlives
//! its driver faults instead of writing into freed memory. Source: the kernel's
//! Documentation/driver-api/vfio.rst and include/uapi/linux/vfio.h.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{COMMAND, Function, HUGE, Shared};
use crate::sys::check;

/// ioctl numbers: `_IO(';', 100 + n)`.
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

/// First bus address to assign: above the first 4 GiB, where addresses are reserved for interrupts,
/// and within the 39 bits that every IOMMU translates.
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

/// A function bound to `vfio-pci`, opened exclusively by this process.
#[derive(Debug)]
pub(crate) struct Vfio {
    // Fields are dropped in this order: the device before its group, and the group before the
    // container.
    device: File,
    _group: File,
    container: File,
    next_bus: AtomicU64,
}

impl Vfio {
    /// Opens the function `address` (`0000:00:05.0`) of an IOMMU group.
    pub(crate) fn open(group: &str, address: &str) -> io::Result<Vfio> {
        let open = |path: &str| {
            let file = OpenOptions::new().read(true).write(true).open(path);
            file.map_err(|e| io::Error::new(e.kind(), format!("{path}: {e}")))
        };
        let container = open("/dev/vfio/vfio")?;
        // SAFETY: the argument is a number.
        let extension = unsafe { ioctl(&container, CHECK_EXTENSION, TYPE1V2_IOMMU) }?;
        if extension == 0 {
            return Err(io::Error::other("VFIO does not support a type 1 IOMMU on this machine"));
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
        // SAFETY: the descriptor is new and has no other owner.
        let device = unsafe { File::from_raw_fd(device) };
        let next_bus = AtomicU64::new(FIRST_BUS);
        Ok(Vfio { device, _group: group, container, next_bus })
    }

    fn region(&self, index: u32) -> io::Result<RegionInfo> {
        let argsz = size_of::<RegionInfo>() as u32;
        let mut info = RegionInfo { argsz, index, ..RegionInfo::default() };
        // SAFETY: the kernel writes a structure of the size in `argsz`.
        unsafe { ioctl(&self.device, DEVICE_GET_REGION_INFO, (&raw mut info) as usize) }?;
        Ok(info)
    }
}

impl Function for Vfio {
    fn command(&self, change: fn(u16) -> u16) -> io::Result<()> {
        let offset = self.region(CONFIG)?.offset + COMMAND;
        let mut bits = [0; 2];
        self.device.read_exact_at(&mut bits, offset)?;
        self.device.write_all_at(&change(u16::from_le_bytes(bits)).to_le_bytes(), offset)
    }

    fn registers(&self) -> io::Result<(&File, u64, usize)> {
        let info = self.region(BAR0)?;
        let mappable = info.flags & REGION_MMAP != 0;
        Ok((&self.device, info.offset, if mappable { info.size as usize } else { 0 }))
    }

    fn share(&self, bytes: usize) -> io::Result<Shared> {
        let mut shared = Shared::map(None, bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS)?;
        let base = shared.base.as_ptr();
        if bytes >= HUGE {
            // SAFETY: the range is the mapping just made. Advice may fail; it is only advice.
            unsafe { libc::madvise(base.cast(), bytes, libc::MADV_HUGEPAGE) };
        }
        let room = bytes.next_multiple_of(HUGE) as u64;
        let bus = self.next_bus.fetch_add(room, Ordering::Relaxed);
        let map = DmaMap {
            argsz: size_of::<DmaMap>() as u32,
            flags: DMA_READ_WRITE,
            vaddr: base as u64,
            iova: bus,
            size: bytes as u64,
        };
        // SAFETY: the kernel reads the structure and pins the pages of the mapping. The owner calls
        // `take_back` before it drops the mapping.
        let mapped = unsafe { ioctl(&self.container, IOMMU_MAP_DMA, (&raw const map) as usize) };
        mapped.map_err(|e| match e.raw_os_error() {
            Some(libc::ENOMEM) => {
                io::Error::other("locked memory limit reached: raise ulimit -l, or run as root")
            }
            _ => e,
        })?;
        shared.bus = (bus..bus + room).step_by(HUGE).collect();
        Ok(shared)
    }

    fn take_back(&self, shared: &Shared, _reachable: bool) {
        let unmap = DmaUnmap {
            argsz: size_of::<DmaUnmap>() as u32,
            flags: 0,
            iova: shared.bus(0),
            size: shared.length as u64,
        };
        // SAFETY: the kernel reads the structure. Afterwards any access by the function faults. If
        // the call fails, the kernel keeps the pages pinned and allocated until the container is
        // closed.
        let _ = unsafe { ioctl(&self.container, IOMMU_UNMAP_DMA, (&raw const unmap) as usize) };
    }
}

/// Issues an ioctl.
///
/// # Safety
/// `argument` must be valid for this request.
unsafe fn ioctl(file: &File, request: u32, argument: usize) -> io::Result<i32> {
    // SAFETY: by the caller; the descriptor is open.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), request as _, argument) };
    check(result)
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
