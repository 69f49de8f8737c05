//! What a loop device and a device-mapper volume stand on, by ioctl.
//!
//! Sources: `include/uapi/linux/loop.h` and `dm-ioctl.h`, the kernel's `drivers/md/dm-ioctl.c`. The
//! loop query needs only a readable node; the table of a volume needs root.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use crate::machine::DevNumber;

const LOOP_GET_STATUS64: libc::c_ulong = 0x4C05;
/// `DM_TABLE_STATUS`: `_IOWR(0xfd, 12, struct dm_ioctl)`.
const DM_TABLE_STATUS: libc::c_ulong = 0xC138_FD0C;
/// The table instead of the state; the kernel wipes its buffer, which may contain keys.
const DM_FLAGS: u32 = 1 << 4 | 1 << 15;
const DM_BUFFER_FULL: u32 = 1 << 8;
/// Bytes for the answer; a volume of thousands of segments fits.
const DM_ANSWER: usize = 1 << 18;

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    sizelimit: u64,
    number: u32,
    encryption: [u32; 2],
    flags: u32,
    names: [u8; 160],
    init: [u64; 2],
}

const _: () = assert!(size_of::<LoopInfo>() == 232);

/// The backing file of a loop device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoopStatus {
    /// Device and inode of the file, or of the node of a device.
    pub device: u64,
    pub inode: u64,
    /// The device, if the backing file is the node of one.
    pub node: Option<DevNumber>,
    /// Start in the file, bytes.
    pub offset: u64,
    /// Maximum size, bytes; 0: none.
    pub sizelimit: u64,
}

/// Asks a loop device for its backing file; an error if it has none.
pub(crate) fn loop_status(file: &File) -> io::Result<LoopStatus> {
    let mut info = LoopInfo {
        device: 0,
        inode: 0,
        rdevice: 0,
        offset: 0,
        sizelimit: 0,
        number: 0,
        encryption: [0; 2],
        flags: 0,
        names: [0; 160],
        init: [0; 2],
    };
    // SAFETY: the structure matches the kernel's; it is live and exclusive for the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), LOOP_GET_STATUS64 as _, &raw mut info) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let LoopInfo { device, inode, rdevice, offset, sizelimit, .. } = info;
    let node = (rdevice != 0).then(|| DevNumber::from_dev(rdevice));
    Ok(LoopStatus { device, inode, node, offset, sizelimit })
}

/// `struct dm_ioctl`, with the answer behind it.
#[repr(C)]
struct DmQuery {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event: u32,
    padding: u32,
    device: u64,
    names: [u8; 257],
    data: [u8; 7],
    answer: [u8; DM_ANSWER],
}

const _: () = assert!(size_of::<DmQuery>() == 312 + DM_ANSWER);

/// The answer of the device mapper: target specifications of a number of segments.
pub(crate) struct DmTable {
    pub segments: u32,
    pub bytes: Vec<u8>,
}

/// Asks the device mapper (`/dev/mapper/control`) for the table of a volume.
pub(crate) fn dm_table(control: &File, volume: DevNumber) -> io::Result<DmTable> {
    let mut query = Box::new(DmQuery {
        version: [4, 0, 0],
        data_size: size_of::<DmQuery>() as u32,
        data_start: 312,
        target_count: 0,
        open_count: 0,
        flags: DM_FLAGS,
        event: 0,
        padding: 0,
        device: rustix::fs::makedev(volume.major, volume.minor),
        names: [0; 257],
        data: [0; 7],
        answer: [0; DM_ANSWER],
    });
    // SAFETY: the structure matches the kernel's, which writes at most `data_size` bytes to it, its
    // size; it is live and exclusive for the call.
    let result = unsafe { libc::ioctl(control.as_raw_fd(), DM_TABLE_STATUS as _, &raw mut *query) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let start = (query.data_start as usize).checked_sub(312);
    match start.and_then(|start| query.answer.get(start..)) {
        Some(bytes) if query.flags & DM_BUFFER_FULL == 0 => {
            Ok(DmTable { segments: query.target_count, bytes: bytes.to_vec() })
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
