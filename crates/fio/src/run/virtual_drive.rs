//! Options that a virtual drive refuses: it keeps no data and has no memory to map. The rig reports the
//! options that have no effect there, such as the page cache.

use super::RunError;
use crate::{Engine, Job};

/// Refuses a job that a virtual drive cannot run.
pub(super) fn refuse(job: &Job) -> Result<(), RunError> {
    let refused = |option: &str, why: &str| {
        let text = format!("{}: {option} on a virtual drive: {why}", job.origin);
        Err(RunError::usage(text, "leave it out, or name a file or device"))
    };
    if job.verifies() {
        return refused("verify", "it keeps no data that could be checked");
    }
    if job.engine == Engine::Mmap {
        return refused("ioengine=mmap", "there is no memory to map it to");
    }
    Ok(())
}
