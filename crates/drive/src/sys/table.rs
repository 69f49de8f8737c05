//! The kernel's copy of a partition table.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

const BLKRRPART: u32 = 0x125F;

/// Makes the kernel reread the partition table of a whole drive. Fails while a partition is in use,
/// and on devices without partitions (loop devices created without them).
pub(crate) fn reread_partitions(drive: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the request takes no argument.
    match unsafe { libc::ioctl(drive.as_raw_fd(), BLKRRPART as _, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
