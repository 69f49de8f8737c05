//! Runs fio command lines on files of this machine, without a store or a screen.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::{FileSet, Machine, Permissions, RigOptions};
use fio::run::{CheckedPlan, Quiet, Ran, RunError, Setting, prepare};
use fio::{CommandLine, Here, Plan, output, parse};
use rig::{Event, Observer};
use serde_json::Value;

/// The plan for this command line.
#[track_caller]
pub fn plan(words: &[String]) -> Plan {
    match parse(words, &Here) {
        Ok(CommandLine::Run(plan)) => *plan,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn files_given(words: &[String]) -> FileSet {
    FileSet::new(Permissions { destroy: words.to_vec(), ..Permissions::default() })
}

/// Checks a plan; `given` are the values of `--destroy`.
pub fn check<'p>(plan: &'p Plan, given: &[String]) -> Result<CheckedPlan<'p>, RunError> {
    prepare(plan, &mut files_given(given))
}

/// Checks and runs a plan.
pub fn perform<'p>(plan: &'p Plan, given: &[String]) -> Result<Ran<'p>, RunError> {
    observed(plan, given, |_: &Event| {})
}

/// Checks and runs a plan with an observer.
pub fn observed<'p>(
    plan: &'p Plan,
    given: &[String],
    observer: impl Observer + 'static,
) -> Result<Ran<'p>, RunError> {
    let mut files = files_given(given);
    let prepared = prepare(plan, &mut files)?;
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut rig =
        Machine::over(files, RigOptions::default(), Arc::clone(&interrupt), Box::new(observer))?;
    prepared.run(&mut rig, &mut Setting { interrupt: &interrupt, announcer: &mut Quiet })
}

/// Runs this command line and passes its results to `look`.
#[track_caller]
pub fn runs<T>(words: &str, look: impl FnOnce(&Ran<'_>) -> T) -> T {
    let words: Vec<String> = words.split_whitespace().map(String::from).collect();
    let plan = plan(&words);
    look(&perform(&plan, &[]).unwrap_or_else(|e| panic!("{words:?}: {e}")))
}

/// The results of this command line in fio's JSON.
#[track_caller]
pub fn run(words: &str) -> Value {
    runs(words, json)
}

/// The results in fio's JSON.
pub fn json(ran: &Ran<'_>) -> Value {
    serde_json::from_str(&output::json(ran, false)).expect("JSON")
}

/// A number in the results; 0 if missing.
pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}
