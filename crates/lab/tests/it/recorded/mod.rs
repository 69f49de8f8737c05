//! Runs on virtual drives as a user starts them, for tests and examples.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lab::{Options, Request, Work};
use record::Run;

use crate::quiet::Quiet;

/// The run of a method on `target`, which is recorded in `store`. Its options give the session's seed.
///
/// # Panics
/// If the run cannot be planned, ends early or cannot be stored.
pub fn recorded(method: &str, target: &str, options: &Options, store: &Path) -> Run {
    let mut request = Request { store: Some(store.to_path_buf()), ..Request::on(target) };
    request.instrument.seed = options.seed;
    let work = Work::method(method, options).expect("a method");
    let interrupt = Arc::new(AtomicBool::new(false));
    let planned = request.plan(&work).expect("a plan");
    let begun = planned.begin(Box::new(Quiet), &interrupt).expect("it begins");
    let recorded = begun.run(&interrupt);
    recorded.ended.and(recorded.kept).expect("it ends well");
    recorded.run
}
