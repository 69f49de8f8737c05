//! Where runs on several drives wait for each other: at the beginning of each step, so that the same
//! workload runs on all drives at the same time.
//!
//! Steps are counted, not named: drives of one method differ only in how often they repeat. A run that
//! has ended is not waited for, and neither is one that is silent for [`WAIT_MAX`]: a slow drive may
//! take longer for a step, but a stuck one must not hold the others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use record::Run;
use rig::Event;

use crate::watcher::{Recorded, Watcher};

/// Longest wait for another drive.
const WAIT_MAX: Duration = Duration::from_secs(300);

/// Interval between looks at the user's interrupt.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The meeting point of several runs.
pub(super) struct Rendezvous {
    parties: Mutex<Parties>,
    changed: Condvar,
    interrupt: Arc<AtomicBool>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Parties {
    /// Runs that have not ended.
    running: usize,
    waiting: usize,
    /// Number of meetings so far.
    meetings: u64,
    /// Runs whose drive does not answer; they wait for all others to end.
    stuck: usize,
}

impl Parties {
    /// Lets the waiting runs go on, if all have come.
    fn meet(&mut self) -> bool {
        assert!(self.waiting + self.stuck <= self.running, "a run waits twice: {self:?}");
        let is_complete = self.waiting > 0 && self.waiting + self.stuck == self.running;
        if is_complete {
            self.waiting = 0;
            self.meetings += 1;
        }
        is_complete
    }
}

impl Rendezvous {
    /// A meeting point of so many runs.
    pub(super) fn new(runs: usize, interrupt: Arc<AtomicBool>) -> Rendezvous {
        let parties = Parties { running: runs, ..Parties::default() };
        Rendezvous { parties: Mutex::new(parties), changed: Condvar::new(), interrupt }
    }

    fn lock(&self) -> MutexGuard<'_, Parties> {
        self.parties.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all runs have come here, or have ended.
    fn wait(&self, limit: Duration) {
        let mut parties = self.lock();
        let meeting = parties.meetings;
        parties.waiting += 1;
        if parties.meet() {
            self.changed.notify_all();
            return;
        }
        let end = Instant::now() + limit;
        while parties.meetings == meeting {
            if self.interrupt.load(Ordering::Relaxed) || Instant::now() >= end {
                parties.waiting -= 1;
                return;
            }
            let woken = self.changed.wait_timeout(parties, LOOK_EVERY);
            parties = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A run has ended.
    fn leave(&self) {
        let mut parties = self.lock();
        parties.running = parties.running.saturating_sub(1);
        parties.meet();
        self.changed.notify_all();
    }

    /// Waits until only runs are left whose drives do not answer.
    fn wait_for_end_of_others(&self) {
        let mut parties = self.lock();
        parties.stuck += 1;
        parties.meet();
        self.changed.notify_all();
        while parties.stuck < parties.running {
            let woken = self.changed.wait_timeout(parties, LOOK_EVERY);
            parties = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The watcher of a run that keeps in step with others.
pub(super) struct InStep {
    watcher: Box<dyn Watcher>,
    rendezvous: Arc<Rendezvous>,
}

impl InStep {
    pub(super) fn new(watcher: Box<dyn Watcher>, rendezvous: Arc<Rendezvous>) -> InStep {
        InStep { watcher, rendezvous }
    }
}

impl Watcher for InStep {
    fn event(&mut self, event: &Event) {
        if matches!(event, Event::Step { skipped: false, .. } | Event::Part { .. }) {
            self.rendezvous.wait(WAIT_MAX);
        }
        self.watcher.event(event);
    }

    fn measured(&mut self, run: &Run) {
        self.watcher.measured(run);
    }

    fn warn(&mut self, line: &str) {
        self.watcher.warn(line);
    }

    fn notice_store(&mut self, line: &str) {
        self.watcher.notice_store(line);
    }

    /// The other drives answer: their records are finished before the process ends.
    fn give_up(&mut self, recorded: Recorded) -> ! {
        self.rendezvous.wait_for_end_of_others();
        self.watcher.give_up(recorded)
    }
}

impl Drop for InStep {
    fn drop(&mut self) {
        self.rendezvous.leave();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn no_run_begins_a_step_before_all_have_ended_the_one_before() {
        let rendezvous = Rendezvous::new(4, Arc::default());
        let steps = AtomicUsize::new(0);
        thread::scope(|scope| {
            for run in 0..4_usize {
                let (rendezvous, steps) = (&rendezvous, &steps);
                scope.spawn(move || {
                    for step in 0..50 {
                        rendezvous.wait(WAIT_MAX);
                        let ended = steps.fetch_add(1, Ordering::SeqCst);
                        // One run has fewer steps.
                        let least = if step <= 20 { 4 * step } else { 84 + 3 * (step - 21) };
                        assert!(ended >= least, "step {step} after {ended}");
                        if run == 0 && step == 20 {
                            break;
                        }
                    }
                    rendezvous.leave();
                });
            }
        });
        assert_eq!(rendezvous.lock().running, 0);
    }

    #[test]
    fn a_stuck_run_and_an_interrupt_hold_nobody() {
        let interrupt = Arc::new(AtomicBool::new(false));
        let rendezvous = Rendezvous::new(2, Arc::clone(&interrupt));
        let start = Instant::now();
        rendezvous.wait(SHORT);
        assert!(start.elapsed() >= SHORT);
        interrupt.store(true, Ordering::Relaxed);
        rendezvous.wait(WAIT_MAX);
        interrupt.store(false, Ordering::Relaxed);
        thread::scope(|scope| {
            let stuck = scope.spawn(|| rendezvous.wait_for_end_of_others());
            while rendezvous.lock().stuck == 0 {
                thread::sleep(SHORT / 10);
            }
            rendezvous.wait(WAIT_MAX);
            assert!(!stuck.is_finished(), "the process would end before the other record");
            rendezvous.leave();
        });
    }
}
