//! Due times after a standstill of the process: they move on by the time in which nobody could have
//! issued anything, so that no backlog is blamed on the drive.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Worker;
use crate::backend::{Backend, Wait};

/// Pause between two looks at the sampler, which wakes at the same moment as this thread.
const LOOK: Duration = Duration::from_micros(100);
/// Looks at most: a second, so that a sampler that gets no processor holds up nobody.
const LOOKS: u32 = 10_000;

impl<B: Backend> Worker<'_, B> {
    /// A turn that began at `before` and waited as `wait` says has returned very late, at `now`: the
    /// part of that time in which the process stood still, nanoseconds.
    #[cold]
    pub(super) fn stood_still(&mut self, before: u64, wait: Wait, now: u64) -> u64 {
        let since = match wait {
            Wait::Until(until) => before.max(until.saturating_sub(self.origin)),
            _ => before,
        };
        let stood = self.stood_by_now();
        let most = stood.saturating_sub(self.stood_ns);
        self.stood_ns = stood;
        // The drive may have been at work before it.
        now.saturating_sub(since).min(most)
    }

    /// All time in which the process stood still, as far as the sampler knows when it has looked.
    pub(super) fn stood_by_now(&self) -> u64 {
        let witness = &self.recorder.pulse.witness;
        for _ in 0..LOOKS {
            match witness.stood_ns(self.backend.now()) {
                Some(stood) => return stood,
                None if self.task.stop.load(Ordering::Relaxed) => break,
                None => std::thread::sleep(LOOK),
            }
        }
        self.stood_ns
    }
}
