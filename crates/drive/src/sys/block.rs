//! Ioctls of block devices: secure discard, zeroing, and rereading of the partition table. The
//! engine issues ordinary discards.
//!
//! Sources: `include/uapi/linux/fs.h`, the kernel's `block/ioctl.c`.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

const BLKSECDISCARD: libc::c_ulong = 0x127d;
const BLKZEROOUT: libc::c_ulong = 0x127f;
const BLKRRPART: libc::c_ulong = 0x125f;

/// An operation on a range of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    SecureDiscard,
    Zero,
}

/// Applies an operation to `bytes` bytes from `offset`. The block device must be open for writing.
pub(crate) fn erase_range(file: &File, how: Range, offset: u64, bytes: u64) -> io::Result<()> {
    let request = match how {
        Range::SecureDiscard => BLKSECDISCARD,
        Range::Zero => BLKZEROOUT,
    };
    let range = [offset, bytes];
    // SAFETY: both read two u64 from the pointer, which is live for the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), request as _, range.as_ptr()) })
}

/// Makes the kernel reread the partition table of a whole drive. Fails while a partition is in use,
/// and on devices without partitions (loop devices created without them).
pub(crate) fn reread_partitions(drive: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the request takes no argument.
    check(unsafe { libc::ioctl(drive.as_raw_fd(), BLKRRPART as _, 0) })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
