//! Brings a real target into a state: fill, flush, drop caches.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;

use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate};
use workload::{Content, Mix, Pattern, Region, Stop, Workload};

use crate::sys;

/// Maximum block of a fill, bytes; large enough for any drive's full speed.
const FILL_BLOCK: u64 = 1 << 20;

/// Operations in flight in a fill.
const FILL_DEPTH: u32 = 8;

/// The workload that writes a region once sequentially, then flushes.
pub(crate) fn fill_workload(region: Region, content: Content, seed: u64) -> Workload {
    // The largest power of two that divides start and length, so that there is no remainder.
    let fits = FILL_BLOCK | region.start | region.bytes;
    let block = 1 << fits.trailing_zeros().min(FILL_BLOCK.trailing_zeros());
    let stop = Stop { bytes: Some(region.bytes), ..Stop::default() };
    Workload {
        content,
        depth: FILL_DEPTH,
        batch: FILL_DEPTH,
        stop,
        flush_at_end: true,
        seed,
        ..Workload::new("fill", Pattern::Sequential, Mix::WRITE, block, region)
    }
}

/// The workload that reads a region once sequentially.
pub(crate) fn read_workload(name: &str, region: Region) -> Workload {
    let write = fill_workload(region, Content::Random, 0);
    Workload { name: name.into(), mix: Mix::READ, flush_at_end: false, ..write }
}

/// Extends a regular file to `end` with allocated space, so that writing it does not also grow it.
/// File systems that cannot reserve space get a sparse file.
pub(crate) fn reserve(file: &File, end: u64) -> io::Result<()> {
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() >= end {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::empty(), 0, end) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => file.set_len(end),
        Err(e) => Err(e.into()),
    }
}

/// Drops the target's pages from the kernel's cache.
pub(crate) fn drop_caches(file: &File) -> io::Result<()> {
    if file.metadata()?.file_type().is_block_device() {
        // Needs CAP_SYS_ADMIN; without it, the advice below does most of the work.
        let _ = sys::file::flush_buffers(file);
    } else {
        file.sync_data()?;
    }
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

/// Bytes of a regular file in the kernel's page cache; `None` where unknown (devices, kernels that
/// do not report it).
pub(crate) fn cached_bytes(file: &File) -> io::Result<Option<u64>> {
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Ok(None);
    }
    Ok(sys::file::cached_bytes(file, meta.len()).ok())
}

/// Written share of a region of a regular file; `None` where unknown (devices, file systems without
/// an extent map).
pub(crate) fn written_share(file: &File, region: Region) -> Option<f64> {
    let regular = file.metadata().is_ok_and(|m| m.is_file());
    if !regular || region.bytes == 0 {
        return None;
    }
    let pieces = sys::file::pieces(file, region.start, region.bytes).ok()?;
    let written: u64 = pieces.iter().map(|piece| piece.bytes).sum();
    Some(written as f64 / region.bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fill_leaves_nothing_over() {
        for bytes in [1 << 30, (1 << 20) + 4096, 512, 3 << 20] {
            let workload = fill_workload(Region::first(bytes), Content::Random, 1);
            let block = u64::from(workload.blocks.max());
            assert_eq!(bytes % block, 0);
            assert!(block <= FILL_BLOCK && workload.check().is_ok());
        }
    }
}
