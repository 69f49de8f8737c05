//! Test support: a small world, and values parsed in it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;

use rig::JobResult;

use super::run::{JobRun, Judgement, OpLog, Ran};
use super::value::Value;
use super::{CommandLine, Job, Plan, World, parse};

/// A world with the given files and variables.
#[derive(Debug, Default)]
pub(crate) struct Small {
    pub files: HashMap<String, String>,
    pub env: HashMap<String, String>,
}

impl Small {
    /// A world with these files.
    pub fn with(files: &[(&str, &str)]) -> Small {
        let file = |(name, text): &(&str, &str)| (name.to_string(), text.to_string());
        Small { files: files.iter().map(file).collect(), env: HashMap::new() }
    }
}

impl World for Small {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let file = self.files.get(path).map(|text| text.clone().into_bytes());
        file.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned()
    }
}

/// Calls `f` with a value of the text, with `kb_base=1024`.
pub(crate) fn with_value<T>(text: &str, f: impl FnOnce(&Value) -> T) -> T {
    let notes = RefCell::default();
    f(&Value { text: Some(text), world: &Small::default(), kb: 1024, notes: &notes })
}

/// The plan for these words.
pub(crate) fn plan(words: &[&str]) -> Plan {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    match parse(&words, &Small::default()) {
        Ok(CommandLine::Run(plan)) => *plan,
        other => panic!("{words:?}: {other:?}"),
    }
}

/// A clone that did nothing.
pub(crate) fn job_run(job: &Job) -> JobRun<'_> {
    JobRun {
        job,
        clone: 0,
        serial: 0,
        began_unix_ns: 0,
        interval_ns: 100_000_000,
        place_bits: 63,
        did: JobResult::default(),
        log: OpLog::default(),
        judgement: Judgement::default(),
        steady: None,
    }
}

/// The results of a plan with these clones.
pub(crate) fn ran<'p>(plan: &'p Plan, jobs: Vec<JobRun<'p>>) -> Ran<'p> {
    Ran {
        plan,
        jobs,
        stages: Vec::new(),
        disks: Vec::new(),
        processors_idle: None,
        left: Vec::new(),
        unremoved: Vec::new(),
        ended_unix_ms: 0,
        interrupted: false,
        real: true,
    }
}
