//! Lays out a file: sets its length, allocates space and, if it is read before it is written, fills
//! it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rig::{Allocation, FilePlan, Filling};
use rustix::fs::FallocateFlags;
use workload::Filler;

use crate::device::allocate;

/// Files are laid out in writes of this size, bytes.
pub(super) const BLOCK: u64 = 1 << 20;

/// Lays out a file as planned.
pub(super) fn lay_out(file: &File, plan: &FilePlan, seed: u64) -> io::Result<()> {
    reserve(file, plan.allocation, plan.end)?;
    if !plan.content {
        return Ok(());
    }
    let Filling { content, block_bytes } = &plan.filling;
    let mut filler = Filler::new(content.clone(), seed);
    let block = if *block_bytes == 0 { BLOCK } else { *block_bytes };
    let size = (BLOCK / block).max(1) * block;
    let mut buffer = vec![0; size.min(plan.end) as usize];
    for (part, number) in buffer.chunks_mut(block as usize).zip(0..) {
        filler.fill(part, number);
    }
    let mut offset = 0;
    while offset < plan.end {
        let bytes = size.min(plan.end - offset) as usize;
        for (part, number) in buffer[..bytes].chunks_mut(block as usize).zip(1..) {
            filler.touch(part, offset + number);
        }
        file.write_all_at(&buffer[..bytes], offset)?;
        offset += bytes as u64;
    }
    if plan.fsync { file.sync_all() } else { Ok(()) }
}

/// Sets a file's length and allocates its space.
fn reserve(file: &File, how: Allocation, end: u64) -> io::Result<()> {
    let flags = match how {
        Allocation::None => return Ok(()),
        Allocation::Truncate => return file.set_len(end),
        Allocation::Keep => FallocateFlags::KEEP_SIZE,
        Allocation::Full => FallocateFlags::empty(),
    };
    allocate(file, flags, end)
}
