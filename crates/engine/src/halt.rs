//! Requests to end jobs: one flag per job, which is all its loop reads.

use std::sync::atomic::{AtomicBool, Ordering};

/// A flag for each job of a measurement.
pub(crate) struct Halt(Vec<AtomicBool>);

impl Halt {
    /// Flags for this many jobs, none set.
    pub(crate) fn new(jobs: u32) -> Halt {
        Halt((0..jobs).map(|_| AtomicBool::new(false)).collect())
    }

    /// The flag of a job.
    pub(crate) fn flag(&self, job: u32) -> &AtomicBool {
        &self.0[job as usize]
    }

    /// Ends the job with this number, if there is one.
    pub(crate) fn end(&self, job: u32) {
        if let Some(flag) = self.0.get(job as usize) {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// Ends all jobs.
    pub(crate) fn end_all(&self) {
        self.0.iter().for_each(|flag| flag.store(true, Ordering::Relaxed));
    }
}
