//! Runs fio's words as `ssdyno fio` does, without a store and a screen.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use fio::{Here, Request, output, parse, run};
use rig::Event;
use serde_json::Value;

/// What `look` makes of what these words did.
#[track_caller]
pub fn runs<T>(words: &str, look: impl FnOnce(&run::Ran<'_>) -> T) -> T {
    let words: Vec<String> = words.split_whitespace().map(String::from).collect();
    let Ok(Request::Run(plan)) = parse(&words, &Here) else { panic!("no plan of {words:?}") };
    let interrupt = AtomicBool::new(false);
    let (mut nobody, mut silent) = (|_: &Event| {}, |_: &Path, _: u64| {});
    let mut setting =
        run::Setting { interrupt: &interrupt, observer: &mut nobody, laying_out: &mut silent };
    let prepared = run::prepare(&plan, &[]).unwrap_or_else(|e| panic!("{words:?}: {e}"));
    look(&prepared.run(&mut setting).unwrap_or_else(|e| panic!("{words:?}: {e}")))
}

/// The results of these words in fio's JSON.
#[track_caller]
pub fn run(words: &str) -> Value {
    runs(words, |ran| output::json(ran, false))
}

/// A number of the results; 0 for none.
pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}
