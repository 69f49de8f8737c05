//! A run as its caller sees it: events and warnings while it goes on, and its result.

use std::path::PathBuf;

use record::Run;
use rig::Event;

use crate::error::Result;

/// The result of a run.
#[derive(Debug)]
pub struct Recorded {
    /// Its record.
    pub run: Run,
    /// The store.
    pub store: PathBuf,
    /// Why the run ended early, if it did.
    pub ended: Result<()>,
    /// Whether the store has the record.
    pub kept: Result<()>,
}

/// Follows a run, from the thread that measures but outside of its hot loop.
pub trait Watcher: Send {
    /// Something happened; it is in the record already.
    fn event(&mut self, event: &Event);

    /// A step has ended, and the record has its results.
    fn measured(&mut self, run: &Run) {
        let _ = run;
    }

    /// A warning for the user; the run goes on.
    fn warn(&mut self, line: &str);

    /// The drive has not answered within the patience, and the record ends with the results so far.
    /// This must end the process: the threads that wait for the drive are blocked in the kernel
    /// and cannot be ended from here.
    fn give_up(&mut self, recorded: Recorded) -> !;
}
