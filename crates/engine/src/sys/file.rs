//! System calls on files and threads that have no safe wrapper: discards, trimming of file systems,
//! extent maps, counting and dropping cached pages, timer slack.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{Access, AtFlags, CWD};

use super::check;

/// `BLKDISCARD`, `include/uapi/linux/fs.h`.
const BLKDISCARD: libc::c_ulong = 0x1277;
/// `BLKFLSBUF`.
const BLKFLSBUF: libc::c_ulong = 0x1261;
/// `FS_IOC_FIEMAP`, `include/uapi/linux/fiemap.h`.
const FIEMAP: libc::c_ulong = 0xC020_660B;

/// Discards a range of a block device.
pub(crate) fn discard(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    let range = [offset, bytes];
    // SAFETY: BLKDISCARD reads two u64 from the pointer, which is live for the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD as _, range.as_ptr()) }).map(drop)
}

/// Writes back and drops the kernel's cached pages of a block device.
pub(crate) fn flush_buffers(file: &File) -> io::Result<()> {
    // SAFETY: BLKFLSBUF takes no argument.
    check(unsafe { libc::ioctl(file.as_raw_fd(), BLKFLSBUF as _, 0) }).map(drop)
}

/// Makes timed waits of the calling thread end on time. By default the kernel can delay them by up
/// to 50 us.
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

/// An extent of a file and its position on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// First byte in the file.
    pub logical: u64,
    /// First byte on the device.
    pub physical: u64,
    /// Bytes.
    pub bytes: u64,
    /// Whether the device stores the bytes exactly as in the file: not compressed, encrypted,
    /// inside another block, or still in memory.
    pub plain: bool,
}

/// The written extents of a range of a file, without holes and without allocated but unwritten
/// extents (which read as zeros without accessing the drive). Fails if the file system has no
/// extent map.
pub(crate) fn pieces(file: &File, start: u64, length: u64) -> io::Result<Vec<Piece>> {
    const LAST: u32 = 1;
    const UNWRITTEN: u32 = 0x800;
    /// Unknown position, not yet allocated, encoded, encrypted, not aligned, inline, packed tail.
    const NOT_PLAIN: u32 = 0x2 | 0x4 | 0x8 | 0x80 | 0x100 | 0x200 | 0x400;
    const SYNC: u32 = 1;
    let (mut position, end, mut pieces) = (start, start + length, Vec::new());
    while position < end {
        let mut map = Map {
            start: position,
            length: end - position,
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
            let logical = extent.logical.max(position);
            let logical_end = (extent.logical + extent.length).min(end);
            if extent.flags & UNWRITTEN == 0 && logical_end > logical {
                let physical = extent.physical + (logical - extent.logical);
                let plain = extent.flags & NOT_PLAIN == 0;
                pieces.push(Piece { logical, physical, bytes: logical_end - logical, plain });
            }
        }
        match extents.last() {
            Some(last) if last.flags & LAST == 0 && last.logical + last.length > position => {
                position = last.logical + last.length;
            }
            _ => break,
        }
    }
    Ok(pieces)
}

/// Makes the file system of an open directory or file discard all its free space; returns the
/// number of bytes it reports.
pub(crate) fn trim_free(place: &File) -> io::Result<u64> {
    /// `FITRIM`, `include/uapi/linux/fs.h`.
    const FITRIM: libc::c_ulong = 0xC018_5879;
    let mut range = [0, u64::MAX, 0];
    // SAFETY: FITRIM reads and writes three u64 at the pointer, which is live for the call.
    check(unsafe { libc::ioctl(place.as_raw_fd(), FITRIM as _, range.as_mut_ptr()) })?;
    Ok(range[1])
}

/// Bytes of a file in the page cache, from `cachestat` (since Linux 6.5) or from `mincore` on a
/// mapping that is not accessed. Fails for a file that this process neither owns nor may write,
/// because the kernel does not reveal it.
pub(crate) fn cached_bytes(file: &File, length: u64) -> io::Result<u64> {
    if length == 0 {
        return Ok(0);
    }
    cachestat(file, length).or_else(|_| mincore(file, length))
}

/// `include/uapi/linux/mman.h`; the number is the same on all architectures except alpha and MIPS.
fn cachestat(file: &File, length: u64) -> io::Result<u64> {
    const CACHESTAT: libc::c_long = 451;
    let range = [0, length];
    let mut counts = [0u64; 5];
    // SAFETY: the call reads two u64 and writes five, from and to arrays live for it.
    let result = unsafe {
        libc::syscall(CACHESTAT, file.as_raw_fd(), range.as_ptr(), counts.as_mut_ptr(), 0)
    };
    check(result)?;
    Ok((counts[0] * rustix::param::page_size() as u64).min(length))
}

/// Bytes of a file mapped at a time: a part of the address space of a 32-bit system.
const WINDOW: u64 = 1 << 28;

/// For a file of another user, `mincore` would report every page as resident.
fn mincore(file: &File, length: u64) -> io::Result<u64> {
    if file.metadata()?.uid() != rustix::process::geteuid().as_raw() {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS)?;
    }
    let mut resident_bytes = 0;
    let mut start = 0;
    while start < length {
        resident_bytes += resident(file, start, (length - start).min(WINDOW) as usize)?;
        start += WINDOW;
    }
    Ok(resident_bytes)
}

/// Resident bytes of a part of a file that starts at a page.
fn resident(file: &File, start: u64, length: usize) -> io::Result<u64> {
    let page = rustix::param::page_size();
    let mut resident = vec![0u8; length.div_ceil(page)];
    let (fd, protection, flags) = (file.as_raw_fd(), libc::PROT_READ, libc::MAP_SHARED);
    // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
    let map = unsafe {
        libc::mmap64(std::ptr::null_mut(), length, protection, flags, fd, start as libc::off64_t)
    };
    if map == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping has `length` bytes, and the vector a byte for each page of it.
    let result = check(unsafe { libc::mincore(map, length, resident.as_mut_ptr()) });
    // SAFETY: the mapping is ours, and nothing refers to it.
    unsafe { libc::munmap(map, length) };
    result?;
    let pages = resident.iter().filter(|page| **page & 1 != 0).count();
    Ok((pages * page).min(length) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn both_ways_see_what_is_cached() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&[1; 65_536 + 100]).expect("written");
        assert_eq!(cached_bytes(&file, 65_636).expect("known"), 65_636);
        assert_eq!(mincore(&file, 65_636).expect("known"), 65_636);
        assert_eq!(cached_bytes(&file, 0).expect("known"), 0);
    }

    #[test]
    fn the_cache_of_another_users_file_is_unknown() {
        /// `nobody`.
        const OTHER: libc::uid_t = 65_534;
        let file = File::open("/etc/passwd").expect("every system has it");
        let known = std::thread::spawn(move || {
            if rustix::process::geteuid().is_root() {
                // SAFETY: the call has no pointers. Without the C library it changes this thread.
                let result = unsafe { libc::syscall(libc::SYS_setresuid, OTHER, OTHER, OTHER) };
                if let Err(e) = check(result) {
                    println!("skipped: root cannot become another user here: {e}");
                    return None;
                }
            }
            Some(mincore(&file, 100))
        });
        assert!(known.join().expect("no panic").is_none_or(|known| known.is_err()));
    }
}
