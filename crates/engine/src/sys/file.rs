//! System calls on files and threads that have no safe wrapper: discarding, extent maps, dropping
//! cached pages of a device, timer slack.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `BLKDISCARD`, `include/uapi/linux/fs.h`.
const BLKDISCARD: libc::c_ulong = 0x1277;
/// `BLKFLSBUF`.
const BLKFLSBUF: libc::c_ulong = 0x1261;
/// `FS_IOC_FIEMAP`, `include/uapi/linux/fiemap.h`.
const FIEMAP: libc::c_ulong = 0xC020_660B;

/// Gives a range of a block device back to the drive.
pub(crate) fn discard(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    let range = [offset, bytes];
    // SAFETY: BLKDISCARD reads two u64 from the pointer, which is live for the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD as _, range.as_ptr()) })
}

/// Writes out and forgets what the kernel cached of a block device.
pub(crate) fn flush_buffers(file: &File) -> io::Result<()> {
    // SAFETY: BLKFLSBUF takes no argument.
    check(unsafe { libc::ioctl(file.as_raw_fd(), BLKFLSBUF as _, 0) })
}

/// Makes timed waits of the calling thread end when asked for and not up to 50 us later, which is
/// the kernel's habit for programs that did not ask.
pub(crate) fn exact_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes a number; it cannot fail with a positive one.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    more: [u32; 3],
}

#[repr(C)]
struct Map {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [Extent; 128],
}

/// Bytes in a range of a file that were really written: holes and extents that are allocated but
/// not written (which read as zeros without touching the drive) left out. An error where the file
/// system has no extent map.
pub(crate) fn written_bytes(file: &File, start: u64, length: u64) -> io::Result<u64> {
    const LAST: u32 = 1;
    const UNWRITTEN: u32 = 0x800;
    const SYNC: u32 = 1;
    let (mut at, end, mut written) = (start, start + length, 0);
    while at < end {
        let mut map = Map {
            start: at,
            length: end - at,
            flags: SYNC,
            mapped: 0,
            count: 128,
            reserved: 0,
            extents: [Extent::default(); 128],
        };
        // SAFETY: the map has room for `count` extents and is live and exclusive for the call.
        check(unsafe { libc::ioctl(file.as_raw_fd(), FIEMAP as _, &raw mut map) })?;
        let extents = &map.extents[..(map.mapped as usize).min(map.extents.len())];
        for extent in extents {
            let from = extent.logical.max(at);
            let to = (extent.logical + extent.length).min(end);
            if extent.flags & UNWRITTEN == 0 && to > from {
                written += to - from;
            }
        }
        match extents.last() {
            Some(last) if last.flags & LAST == 0 && last.logical + last.length > at => {
                at = last.logical + last.length;
            }
            _ => break,
        }
    }
    Ok(written)
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
