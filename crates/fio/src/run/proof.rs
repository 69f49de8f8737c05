//! The stamps in a job's writes that verify checks.
//!
//! Stamps of address, sequence and checksum replace fio's headers. `verify=pattern`, which has no
//! header in fio either, writes the same bytes as fio, so that each can check the other's files.

use workload::stamp::{HEADER, Layout, Proof, SECTOR};
use workload::units::gcd;

use crate::{Job, VerifyKind};

/// The stamps of a job whose offsets and sizes are multiples of `grid`.
pub(super) fn proof(job: &Job, grid: u32) -> Proof {
    let pattern = job.verify.pattern.clone();
    match job.verify.kind {
        VerifyKind::Pattern => Proof::Motif(pattern.unwrap_or_default()),
        _ => Proof::Stamps { layout: layout(job, grid), around: pattern },
    }
}

/// The positions of the stamps: one per sector, if blocks consist of whole sectors and the job
/// requests no other interval.
fn layout(job: &Job, grid: u32) -> Layout {
    let verify = &job.verify;
    let sector = if verify.placed {
        gcd(verify.interval, u64::from(grid)) as usize
    } else if (grid as usize).is_multiple_of(SECTOR) {
        SECTOR
    } else {
        grid as usize
    };
    Layout { sector, at: verify.offset as usize }
}

/// Whether a stamp fits into every part of a job's blocks.
pub(super) fn fits(job: &Job) -> bool {
    let grid = job.grid();
    let layout = layout(job, grid);
    match job.verify.kind {
        // The verifier has an entry for every part of the files.
        VerifyKind::Pattern => grid as usize >= HEADER,
        _ => layout.at + HEADER <= layout.sector,
    }
}
