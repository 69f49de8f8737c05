//! How a caller follows a run: every event, warnings, and the one failure that cannot return.

use rig::Event;

use crate::session::Recorded;

/// Follows a run, from the thread that measures but outside of its hot loop.
pub trait Watcher: Send {
    /// Something happened; it is in the record already.
    fn event(&mut self, event: &Event);

    /// A warning for the user; the run goes on.
    fn warn(&mut self, line: &str);

    /// The drive has not answered within the patience, and the record is finished with what there
    /// is. This must end the process: the threads that wait for the drive are blocked in the kernel
    /// and cannot be ended from here.
    fn give_up(&mut self, recorded: Recorded) -> !;
}
