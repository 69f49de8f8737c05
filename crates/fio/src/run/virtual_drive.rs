//! Options that drives without the kernel refuse: a virtual drive keeps no data, and none of them has
//! memory to map. The rig reports the options that have no effect there, such as the page cache.

use super::RunError;
use crate::{Engine, Job};

/// Refuses a job that a virtual drive cannot run.
pub(super) fn refuse(job: &Job) -> Result<(), RunError> {
    match job.verifies() {
        true => refused(job, "verify on a virtual drive: it keeps no data that could be checked"),
        false => Ok(()),
    }
}

/// Refuses a job that maps a drive without the kernel, a virtual one or `pci:ADDRESS`.
pub(super) fn refuse_mapped(job: &Job) -> Result<(), RunError> {
    match job.engine {
        Engine::Mmap => {
            refused(job, "ioengine=mmap on such a drive: there is no memory to map it to")
        }
        _ => Ok(()),
    }
}

fn refused(job: &Job, why: &str) -> Result<(), RunError> {
    let text = format!("{}: {why}", job.origin);
    Err(RunError::usage(text, "leave it out, or name a file or device"))
}
