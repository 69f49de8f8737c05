//! The common start of several threads.
//!
//! Every thread reports that it is ready and waits. The starter waits for all threads, then sets
//! the start time. If a thread cannot be started, the gate is cancelled and the others return.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The gate; all threads of a launch share it.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Threads that are ready.
    ready: usize,
    start: Option<Start>,
}

#[derive(Clone, Copy, Debug)]
enum Start {
    /// At this time of the common clock, nanoseconds.
    At(u64),
    /// Never.
    Cancelled,
}

impl Gate {
    /// Reports this thread as ready and waits. Returns the start time, or `None` if the start is
    /// cancelled.
    pub(crate) fn pass(&self) -> Option<u64> {
        let mut state = self.lock();
        state.ready += 1;
        self.changed.notify_all();
        loop {
            match state.start {
                Some(Start::At(time)) => return Some(time),
                Some(Start::Cancelled) => return None,
                None => state = self.wait(state),
            }
        }
    }

    /// Waits until `count` threads are ready and lets them start at the time that `at` returns.
    pub(crate) fn open(&self, count: usize, at: impl FnOnce() -> u64) -> u64 {
        let mut state = self.lock();
        while state.ready < count {
            state = self.wait(state);
        }
        let time = at();
        state.start = Some(Start::At(time));
        self.changed.notify_all();
        time
    }

    /// Releases all threads without a start.
    pub(crate) fn cancel(&self) {
        self.lock().start = Some(Start::Cancelled);
        self.changed.notify_all();
    }

    /// Locks the state. Poisoning is ignored, because a panic is reported where its thread is
    /// joined.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(&self, state: MutexGuard<'g, State>) -> MutexGuard<'g, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn all_start_at_one_moment_or_not_at_all() {
        let passed = |act: fn(&Gate)| {
            let gate = Gate::default();
            thread::scope(|scope| {
                let threads = [(); 3].map(|()| scope.spawn(|| gate.pass()));
                act(&gate);
                threads.map(|thread| thread.join().expect("no panic"))
            })
        };
        let open: fn(&Gate) = |gate| assert_eq!(gate.open(3, || 7), 7);
        assert_eq!(passed(open), [Some(7); 3]);
        assert_eq!(passed(Gate::cancel), [None; 3]);
    }
}
