//! Postpones due times after a standstill of the process, so that the backlog is not blamed on the
//! drive.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Worker;
use crate::backend::{Backend, Wait};

/// Pause between two checks of the sampler, which wakes at the same time as this thread.
const LOOK: Duration = Duration::from_micros(100);
/// Maximum number of checks, which take a second in total, so that a starved sampler does not block
/// the worker.
const LOOKS: u32 = 10_000;

impl<B: Backend> Worker<'_, B> {
    /// Returns how long the process stood still, nanoseconds, during a turn that began at `before`,
    /// waited for `wait`, and returned very late, at `now`.
    #[cold]
    pub(super) fn stood_still(&mut self, before: u64, wait: Wait, now: u64) -> u64 {
        let start = match wait {
            Wait::Until(until) => before.max(until.saturating_sub(self.origin)),
            _ => before,
        };
        let stood = self.stood_by_now();
        let most = stood.saturating_sub(self.stood_ns);
        self.stood_ns = stood;
        // The drive may have been working for part of that time.
        now.saturating_sub(start).min(most)
    }

    /// Total standstill time according to the sampler, once it has woken and recorded it.
    pub(super) fn stood_by_now(&self) -> u64 {
        let witness = &self.recorder.pulse.witness;
        for _ in 0..LOOKS {
            match witness.stood_ns(self.backend.now()) {
                Some(stood) => return stood,
                None if self.stop.load(Ordering::Relaxed) => break,
                None => std::thread::sleep(LOOK),
            }
        }
        self.stood_ns
    }
}
