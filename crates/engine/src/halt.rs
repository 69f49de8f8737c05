//! The wish that jobs end: one flag for each, which is all that its loop reads.

use std::sync::atomic::{AtomicBool, Ordering};

/// A flag for each job of a measurement.
pub(crate) struct Halt(Vec<AtomicBool>);

impl Halt {
    /// For so many jobs, none of which shall end.
    pub(crate) fn new(jobs: u32) -> Halt {
        Halt((0..jobs).map(|_| AtomicBool::new(false)).collect())
    }

    /// What the job of that number reads.
    pub(crate) fn flag(&self, job: u32) -> &AtomicBool {
        &self.0[job as usize]
    }

    /// The job of that number shall end; nothing where there is none of that number.
    pub(crate) fn end(&self, job: u32) {
        if let Some(flag) = self.0.get(job as usize) {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// All jobs shall end.
    pub(crate) fn end_all(&self) {
        self.0.iter().for_each(|flag| flag.store(true, Ordering::Relaxed));
    }
}
