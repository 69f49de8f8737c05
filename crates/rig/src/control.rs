//! Decisions about jobs while they run.
//!
//! A [`JobControl`] sees the completions of one job on that job's own thread and decides how it
//! continues. An [`IntervalObserver`] sees the counts of all jobs, interval by interval, on the
//! calling thread. A job without either has no overhead.

use workload::Op;

use crate::{JobSeen, Logged};

/// How a job continues after a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuation {
    /// As before.
    GoOn,
    /// With this queue depth, once the operations in flight have completed.
    Depth(u32),
    /// As before, but statistics are reset and the run time starts again.
    Reset,
    /// It ends successfully.
    End,
    /// It ends as failed, whatever its operations returned.
    Fail,
}

/// Controls one job.
pub trait JobControl: Send + Sync {
    /// Queue depth at the start; `None`: the workload's.
    fn first_depth(&self) -> Option<u32> {
        None
    }

    /// Whether it wants to see completions; each one then costs a call.
    fn watches(&self) -> bool {
        true
    }

    /// An operation completed after `service_ns`, `now_ns` after the job began. Operations in
    /// flight while a ruling takes effect are not reported.
    fn completed(&mut self, op: &Op, service_ns: u64, now_ns: u64) -> Continuation;

    /// An operation failed: `result` is a negative error number, or the bytes of a short transfer.
    /// If it returns `true`, the error does not count towards the limit that ends the job.
    fn forgives(&mut self, _op: &Op, _result: i64) -> bool {
        false
    }
}

/// Observes all jobs of a performance while they run.
pub trait IntervalObserver {
    /// Called several times per second of the target's clock. `jobs` has the counts of each job
    /// since their common start, `now_ns` ago; `end` ends the job with the given index.
    fn interval(&mut self, now_ns: u64, jobs: &[JobSeen], end: &dyn Fn(u32));

    /// A ruling has reset a job's statistics: its earlier operations no longer count.
    fn reset(&mut self, _job: u32) {}

    /// New log entries of a job, in order of completion, if its log was requested. They are not
    /// stored anywhere else.
    fn ops(&mut self, _job: u32, _log: &[Logged]) {}
}
