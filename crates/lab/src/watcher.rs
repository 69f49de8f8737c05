//! The caller's view of a run: events and warnings during the run, and its result.

use std::path::PathBuf;

use record::Run;
use rig::Event;

use crate::error::Result;

/// The result of a run.
#[derive(Debug)]
pub struct Recorded {
    /// Its record.
    pub run: Run,
    pub store: PathBuf,
    /// Why the run ended early, if it did.
    pub ended: Result<()>,
    /// Whether the store has the record.
    pub kept: Result<()>,
}

/// Observes a run, on the measuring thread but outside its hot loop.
pub trait Watcher: Send {
    /// An event occurred; the record already has it.
    fn event(&mut self, event: &Event);

    /// A step has ended, and the record has its results.
    fn measured(&mut self, run: &Run) {
        let _ = run;
    }

    /// A warning for the user; the run continues.
    fn warn(&mut self, line: &str);

    /// The run waits for the store, or its record is stored later: nothing is lost so far.
    fn notice_store(&mut self, line: &str) {
        self.warn(line);
    }

    /// The drive has not answered within the time limit, and the record ends with the results so
    /// far. This function must end the process, because the threads waiting for the drive are
    /// blocked in the kernel and cannot be killed.
    fn give_up(&mut self, recorded: Recorded) -> !;
}
