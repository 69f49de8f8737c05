//! What a caller may have a say in while its jobs run.
//!
//! A [`Referee`] sees the completions of one job, on that job's own thread, and says how it goes on;
//! an [`Overseer`] sees what all jobs did so far, on the thread that watches. Neither exists for a
//! job that did not ask for one, and such a job pays nothing.

use workload::Op;

use crate::sampler::JobSeen;

/// How a job goes on after a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// As before.
    GoOn,
    /// With so many operations in flight at most, once what is in flight now has completed.
    Depth(u32),
    /// As before, but what was counted so far is forgotten, and its time runs anew.
    Anew,
    /// Not at all: it has done what it was to do.
    End,
    /// Not at all: it failed, whatever its operations say.
    Fail,
}

/// Judges the operations of one job.
pub trait Referee: Send {
    /// Operations in flight at first, if not as many as the workload says.
    fn first_depth(&self) -> Option<u32> {
        None
    }

    /// Whether completions are to be shown to it; each then costs a call.
    fn watches(&self) -> bool {
        true
    }

    /// An operation completed after `service_ns`, `now_ns` after the job began. Those that were in
    /// flight when it last changed the depth are not shown.
    fn completed(&mut self, op: &Op, service_ns: u64, now_ns: u64) -> Ruling;

    /// An operation failed with a negative error number, or moved so many bytes of those it should.
    /// `true`: that is expected, and does not count towards giving up.
    fn forgives(&mut self, _op: &Op, _result: i64) -> bool {
        false
    }
}

/// Looks at all jobs of a stage while they run.
pub trait Overseer {
    /// Called some times a second. `jobs` is what each did since the start of all, `now_ns` ago;
    /// `end` ends the job of a number.
    fn look(&mut self, now_ns: u64, jobs: &[JobSeen], end: &dyn Fn(u32));
}
