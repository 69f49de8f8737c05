//! Stop flags, one per worker, which other threads set and the worker's loop checks.

use std::sync::atomic::{AtomicBool, Ordering};

/// A stop flag for each worker of a performance.
pub(crate) struct Halt(Vec<AtomicBool>);

impl Halt {
    /// Creates clear flags for this many workers.
    pub(crate) fn new(jobs: u32) -> Halt {
        Halt((0..jobs).map(|_| AtomicBool::new(false)).collect())
    }

    /// The flag of a worker.
    pub(crate) fn flag(&self, job: u32) -> &AtomicBool {
        &self.0[job as usize]
    }

    /// Stops the worker with this number, if there is one.
    pub(crate) fn end(&self, job: u32) {
        if let Some(flag) = self.0.get(job as usize) {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// Stops all workers.
    pub(crate) fn end_all(&self) {
        self.0.iter().for_each(|flag| flag.store(true, Ordering::Relaxed));
    }
}
