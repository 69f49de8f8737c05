//! Options that the parser accepts but the runner does not support, on any target or on drives
//! that bypass the kernel. They are refused before anything is touched, never dropped silently.
//! The rig reports options without effect, such as page cache options on a virtual drive.

use super::RunError;
use crate::{Engine, Job};

/// Refuses a job with an option that no target supports.
pub(super) fn unsupported(job: &Job) -> Result<(), RunError> {
    let rule = RULES.iter().find(|rule| (rule.asked)(job));
    let Some(rule) = rule else { return Ok(()) };
    let text = format!("{}: {} is not supported: {}", job.origin, rule.option, rule.why);
    Err(RunError::usage(text, "omit it, or run this job with fio"))
}

/// Refuses a job that a virtual drive cannot run.
pub(super) fn on_virtual_drive(job: &Job) -> Result<(), RunError> {
    if job.verifies() {
        on_drive(job, "verify on a virtual drive: it keeps no data to check")
    } else {
        Ok(())
    }
}

/// Refuses `ioengine=mmap` on a drive that bypasses the kernel: a virtual drive or `pci:ADDRESS`.
pub(super) fn mapped(job: &Job) -> Result<(), RunError> {
    match job.engine {
        Engine::Mmap => on_drive(job, "ioengine=mmap on this drive: it has no memory to map"),
        _ => Ok(()),
    }
}

fn on_drive(job: &Job, why: &str) -> Result<(), RunError> {
    let text = format!("{}: {why}", job.origin);
    Err(RunError::usage(text, "omit it, or name a file or device"))
}

struct RefusalRule {
    option: &'static str,
    why: &'static str,
    asked: fn(&Job) -> bool,
}

const RULES: &[RefusalRule] = &[
    RefusalRule {
        option: "verify with a rate for one direction of a mix",
        why: "its operations depend on time, and cannot be regenerated for reading back",
        asked: |job| job.verifies() && super::rates::half_rated(job),
    },
    RefusalRule {
        option: "flow together with thinktime",
        why: "a job waits either for others or for itself, not for both",
        asked: |job| job.pace.flow.weight > 0 && !job.pace.think.time.is_zero(),
    },
    RefusalRule {
        option: "verify_policy=fsynced with verify_backlog",
        why: "writes are read back before it is known which flush follows",
        asked: |job| job.verify.flushed_only && job.verify.backlog.is_some(),
    },
    RefusalRule {
        option: "verify_state_load of a job that writes",
        why: "it says what an earlier job wrote",
        asked: |job| job.verify.state_load && job.verifies() && job.changes(),
    },
    RefusalRule {
        option: "verify of blocks without a common size",
        why: "a stamp does not fit into every part of them (bs, blockalign, verify_interval)",
        asked: |job| job.verifies() && !super::proof::fits(job),
    },
    RefusalRule {
        option: "read_iolog with verify_only, verify_backlog, verify_state_load or verify_policy=fsynced",
        why: "the writes of a log are read back once, after it",
        asked: |job| {
            let verify = &job.verify;
            let wants_less = verify.only || verify.state_load || verify.flushed_only;
            job.replay.is_some() && (wants_less || verify.backlog.is_some())
        },
    },
    RefusalRule {
        option: "read_iolog with rate, thinktime or flow",
        why: "the log says when something is done (replay_no_stall allows it)",
        asked: |job| {
            let pace = &job.pace;
            let rates = pace.rate.each().iter().any(|rate| rate.is_some())
                || pace.rate_iops.each().iter().any(|rate| rate.is_some());
            let is_paced = rates || !pace.think.time.is_zero() || pace.flow.weight > 0;
            job.replay.as_ref().is_some_and(|replay| !replay.no_stall) && is_paced
        },
    },
    RefusalRule {
        option: "file_append of a job that reads",
        why: "there is no data beyond the end of a file",
        asked: |job| job.space.file_append && job.access.rw.reads(),
    },
    RefusalRule {
        option: "unlink_each_loop of a job that reads",
        why: "its files are empty after the first loop",
        asked: |job| {
            let reads = job.access.rw.reads() || job.engine == Engine::Mmap;
            job.files.unlink_each_loop && job.schedule.loops > 1 && reads
        },
    },
];
