//! The states of verifying jobs, as files that a later job loads (`run/state.rs`).

use std::io;
use std::path::Path;

use workload::OpKind;

use crate::run::{JobRun, Ran, VerifyState, state_path};
use crate::{Job, VerifyKind};

/// Writes the state of each clone that requests it, and returns the names of those that request it
/// by an option and whose state is not known: the number of a write that failed, or that precedes the
/// measured time, is nowhere.
pub fn write_states(ran: &Ran<'_>, directory: &Path) -> io::Result<Vec<String>> {
    let mut unknown = Vec::new();
    for run in ran.jobs.iter().filter(|run| is_saved(run.job, ran.plan.globals.as_is)) {
        let Some(writes) = writes(run) else {
            unknown.extend(run.job.verify.state_save.map(|_| run.job.name.clone()));
            continue;
        };
        let state = VerifyState::complete(writes);
        let bytes = state.to_bytes(&run.job.name, run.serial, run.job.queue.depth);
        emit::replace(&state_path(&run.job.name, run.serial, directory), &bytes)?;
    }
    Ok(unknown)
}

/// Whether a job saves its state: fio's do unless told otherwise.
fn is_saved(job: &Job, as_is: bool) -> bool {
    let verify = &job.verify;
    let writes = job.access.rw.writes() && !job.only_creates_files();
    verify.kind != VerifyKind::None && writes && verify.state_save.unwrap_or(as_is)
}

/// The number of writes of a clone, if all of them are known.
fn writes(run: &JobRun<'_>) -> Option<u64> {
    let schedule = &run.job.schedule;
    let has_ramp = !schedule.ramp_time.is_zero() || schedule.ramp_size > 0;
    // As in fio, a write that verify_only leaves out counts; each was read instead, unless a later
    // one overlaps it.
    let is_read_back = run.job.verify.only;
    if is_read_back && run.job.may_overlap() {
        return None;
    }
    let kind = if is_read_back { OpKind::Read } else { OpKind::Write };
    let has_failed = run.did.measurement.errors.iter().any(|error| error.op == kind.name());
    let writes = run.did.seen.kinds[kind as usize].as_ref().map_or(0, |stats| stats.ops);
    let syncing = &run.job.syncing;
    let periods = [syncing.fsync, syncing.fdatasync].into_iter().filter(|period| *period > 0);
    // A flush comes before the operation that follows a multiple of its period.
    let flushed = periods.map(|period| {
        let period = u64::from(period);
        writes.saturating_sub(1) / period * period
    });
    let count = if run.job.verify.flushed_only { flushed.max().unwrap_or(0) } else { writes };
    (!has_ramp && !has_failed).then_some(count)
}
