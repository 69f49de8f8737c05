//! What the store asks of the operating system. Other systems than Linux have
//! `elsewhere/system.rs` instead.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, statfs, statvfs};
use rustix::process::{Resource, getrlimit};
use rustix::rand::{GetRandomFlags, getrandom};

/// Space of a file system, bytes.
pub(crate) struct Space {
    /// Size of a block.
    pub block: u64,
    /// Free for this user.
    pub free: u64,
}

/// The space of the file system of a directory, if it is known.
pub(crate) fn space(directory: &Path) -> Option<Space> {
    let space = statvfs(directory).ok()?;
    Some(Space { block: space.f_frsize, free: space.f_bavail.saturating_mul(space.f_frsize) })
}

/// Whether other machines can write to the file system of a directory.
pub(crate) fn is_shared(directory: &Path) -> bool {
    statfs(directory).is_ok_and(|fs| is_shared_kind(fs.f_type as u32))
}

/// Whether other machines can write to a file system, by its magic number from statfs(2): NFS, the
/// SMB family, 9p, FUSE (sshfs, virtiofs, ...), AFS, Ceph, GFS2, OCFS2, Lustre, VirtualBox.
fn is_shared_kind(magic: u32) -> bool {
    const SHARED: [u32; 12] = [
        0x6969,
        0x517B,
        0xFF53_4D42,
        0xFE53_4D42,
        0x0102_1997,
        0x6573_5546,
        0x5346_414F,
        0x00C3_6400,
        0x0116_1970,
        0x7461_636F,
        0x0BD0_0BD0,
        0x786F_4256,
    ];
    SHARED.contains(&magic)
}

/// The limit of this process for the size of a file, bytes.
pub(crate) fn size_limit() -> Option<u64> {
    getrlimit(Resource::Fsize).current
}

/// Opens a file for reading, but no link. A pipe that has its name now does not wait.
pub(crate) fn open_to_read(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Fills a buffer with random bytes.
pub(crate) fn fill_randomly(buffer: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        filled += getrandom(&mut buffer[filled..], GetRandomFlags::empty())?;
    }
    Ok(())
}

/// The bytes of a path as in an SQLite URI, before they are escaped.
pub(crate) fn uri_path(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

/// A URI as SQLite's binding takes it.
pub(crate) fn uri(bytes: Vec<u8>) -> PathBuf {
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_file_systems_are_known() {
        assert!(is_shared_kind(0x6969) && is_shared_kind(0xFF53_4D42u32));
        assert!(!is_shared_kind(0xEF53), "ext4");
    }
}
