//! Options refused on drives without the kernel: a virtual drive keeps no data, and neither kind
//! has memory to map. The rig reports options without effect on them, such as the page cache.

use super::RunError;
use crate::{Engine, Job};

/// Refuses a job that a virtual drive cannot run.
pub(super) fn refuse(job: &Job) -> Result<(), RunError> {
    match job.verifies() {
        true => refused(job, "verify on a virtual drive: it keeps no data to check"),
        false => Ok(()),
    }
}

/// Refuses a job that maps a drive without the kernel: a virtual drive or `pci:ADDRESS`.
pub(super) fn refuse_mapped(job: &Job) -> Result<(), RunError> {
    match job.engine {
        Engine::Mmap => refused(job, "ioengine=mmap on this drive: it has no memory to map"),
        _ => Ok(()),
    }
}

fn refused(job: &Job, why: &str) -> Result<(), RunError> {
    let text = format!("{}: {why}", job.origin);
    Err(RunError::usage(text, "omit it, or name a file or device"))
}
