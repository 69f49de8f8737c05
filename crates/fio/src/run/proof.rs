//! How the writes of a job are marked so that they can be checked.
//!
//! fio's headers are ours here: a stamp of address, sequence and checksum. What has no header in fio,
//! `verify=pattern`, is the same bytes as fio's, so that each can check what the other wrote.

use workload::Motif;
use workload::stamp::{HEADER, Layout, Proof, SECTOR};

use super::member::{gcd, grid};
use crate::{Job, VerifyKind};

/// How a job's writes, whose offsets and sizes are multiples of `grid`, are marked.
pub(super) fn proof(job: &Job, grid: u32) -> Proof {
    let verify = &job.verify;
    let motif = || Motif {
        bytes: verify.pattern.clone(),
        offsets_at: verify.formats.iter().map(|format| format.at).collect(),
    };
    match verify.kind {
        VerifyKind::Pattern => Proof::Motif(motif()),
        _ => Proof::Stamps {
            layout: layout(job, grid),
            around: (!verify.pattern.is_empty()).then(motif),
        },
    }
}

/// Where the stamps lie: in sectors where blocks are made of such, unless the job asks for another
/// interval.
fn layout(job: &Job, grid: u32) -> Layout {
    let verify = &job.verify;
    let sector = match verify.placed {
        true => gcd(verify.interval, u64::from(grid)) as usize,
        false if (grid as usize).is_multiple_of(SECTOR) => SECTOR,
        false => grid as usize,
    };
    Layout { sector, at: verify.offset as usize }
}

/// Whether a stamp fits into every part of a job's blocks.
pub(super) fn fits(job: &Job) -> bool {
    let grid = grid(job);
    let layout = layout(job, grid);
    match job.verify.kind {
        // Something is kept for every part of the files.
        VerifyKind::Pattern => grid as usize >= HEADER,
        _ => layout.at + HEADER <= layout.sector,
    }
}
