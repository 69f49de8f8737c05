//! Allocated space and cached pages of files and block devices.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;

use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate};
use workload::Region;

use crate::sys;

/// Extends a shorter regular file to `end` and allocates its space, so that writing does not also
/// grow it.
pub(super) fn reserve(file: &File, end: u64) -> io::Result<()> {
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() >= end {
        return Ok(());
    }
    allocate(file, FallocateFlags::empty(), end)
}

/// Allocates the space of a file up to `end`, and extends it unless the flags keep its length. If
/// the file system cannot reserve space, it only extends the file, as a sparse file.
pub(crate) fn allocate(file: &File, flags: FallocateFlags, end: u64) -> io::Result<()> {
    match fallocate(file, flags, 0, end) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => extend(file, flags, end),
        Err(e) => Err(e.into()),
    }
}

/// Extends a file without reserving space, unless the flags keep its length.
fn extend(file: &File, flags: FallocateFlags, end: u64) -> io::Result<()> {
    if flags.contains(FallocateFlags::KEEP_SIZE) { Ok(()) } else { file.set_len(end) }
}

/// Drops the target's pages from the kernel's cache.
pub(super) fn drop_caches(file: &File) -> io::Result<()> {
    if file.metadata()?.file_type().is_block_device() {
        // This needs CAP_SYS_ADMIN. Without it, the advice below does most of the work.
        let _ = sys::file::flush_buffers(file);
    } else {
        file.sync_data()?;
    }
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

/// Bytes of a regular file in the kernel's page cache; `None` if unknown (devices, kernels that do
/// not report it, and files of other users that this process may not write).
pub(super) fn cached_bytes(file: &File) -> io::Result<Option<u64>> {
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Ok(None);
    }
    Ok(sys::file::cached_bytes(file, meta.len()).ok())
}

/// Written share of a region of a regular file; `None` if unknown (devices, and file systems
/// without an extent map).
pub(super) fn written_share(file: &File, region: Region) -> Option<f64> {
    let regular = file.metadata().is_ok_and(|m| m.is_file());
    if !regular || region.bytes == 0 {
        return None;
    }
    let pieces = sys::file::pieces(file, region.start, region.bytes).ok()?;
    let allocated_bytes: u64 = pieces.iter().map(|piece| piece.bytes).sum();
    Some(allocated_bytes as f64 / region.bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_length_where_space_cannot_be_reserved() {
        let file = tempfile::tempfile().expect("a file");
        let length = |flags| {
            extend(&file, flags, 4096).expect("extended");
            file.metadata().expect("exists").len()
        };
        assert_eq!(length(FallocateFlags::KEEP_SIZE), 0);
        assert_eq!(length(FallocateFlags::empty()), 4096);
    }
}
