//! A watcher for runs of which nothing is shown.

use lab::{Event, Recorded, Watcher};

/// Ignores events; fails the test if a run gives up, or warns of more than a busy disk.
pub struct Quiet;

impl Watcher for Quiet {
    fn event(&mut self, _: &Event) {}

    fn warn(&mut self, line: &str) {
        assert!(line.starts_with("waiting for the store"), "{line}");
    }

    fn give_up(&mut self, recorded: Recorded) -> ! {
        panic!("{:?}", recorded.ended);
    }
}
