//! Lays out a file: sets its length, allocates space and, if it is read before it is written, fills
//! it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rig::{Allocation, FilePlan};
use rustix::fs::FallocateFlags;
use workload::{Content, Filler};

use crate::device::allocate;

/// Files are laid out in writes of this size, bytes.
pub(super) const BLOCK: u64 = 1 << 20;

/// Lays out a file as planned.
pub(super) fn lay_out(file: &File, plan: &FilePlan, seed: u64) -> io::Result<()> {
    reserve(file, plan.allocation, plan.end)?;
    if !plan.content {
        return Ok(());
    }
    let mut filler = Filler::new(Content::Random, seed);
    let mut buffer = vec![0; BLOCK.min(plan.end) as usize];
    filler.fill(&mut buffer, 0);
    let mut at = 0;
    while at < plan.end {
        let bytes = BLOCK.min(plan.end - at) as usize;
        filler.touch(&mut buffer[..bytes], at + 1);
        file.write_all_at(&buffer[..bytes], at)?;
        at += bytes as u64;
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
