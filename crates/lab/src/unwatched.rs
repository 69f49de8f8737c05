//! Runs in unit tests that nobody watches.

use std::path::Path;

use rig::Event;

use crate::request::Request;
use crate::watcher::{Recorded, Watcher};

/// Ignores events; fails the test if a run warns or gives up.
pub(crate) struct Nobody;

impl Watcher for Nobody {
    fn event(&mut self, _: &Event) {}

    fn warn(&mut self, line: &str) {
        panic!("{line}");
    }

    fn give_up(&mut self, recorded: Recorded) -> ! {
        panic!("{:?}", recorded.ended);
    }
}

/// Requests on targets whose runs go to a store.
pub(crate) fn requests(targets: &[&str], store: &Path) -> Vec<Request> {
    let on = |target: &&str| Request { store: Some(store.to_path_buf()), ..Request::on(*target) };
    targets.iter().map(on).collect()
}
