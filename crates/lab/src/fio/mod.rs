//! Runs fio jobs: checks them against their target and plans them.
//!
//! The result is a [`PlannedRun`] run like any other, with the same steps (`session.rs`). The crate `fio` has the job language, the
//! runner and the output. It names files to a rig and knows neither drives nor the store.

mod target;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

pub use engine::Permissions;
use fio::output;
use fio::run::{self, Announcer, CheckedPlan, Ran};
use record::{Labels, Plan, PlanStep, Safety, TargetKind};
use rig::TargetInfo;
use script::Outcome;

use crate::error::{ErrorKind, LabError, Result};
use crate::recording::Test;
use crate::session::PlannedRun;
use target::FioTarget;

/// Options of a job that do not determine its work, except for the target.
const OTHER_OPTIONS: [&str; 4] = ["name", "filename", "ioengine", "group_reporting"];

/// Jobs to run, with the user's permissions, and the store for the record.
#[derive(Clone, Debug)]
pub struct Request<'p> {
    pub jobs: &'p fio::Plan,
    /// The user's permissions for the files that the jobs name.
    pub permissions: Permissions,
    /// Follow requests in the kernel, which shows where the time goes.
    pub traces: bool,
    /// The store of records; `None`: the user's own.
    pub store: Option<PathBuf>,
    /// The words of the command line, for the record.
    pub command: Vec<String>,
    /// The user's title, note and tags, for the record.
    pub labels: Labels,
}

impl<'p> Request<'p> {
    /// Makes every check that is possible without touching the target, and plans the jobs.
    /// `announcer` announces the progress of the run; `results` gets the results of the
    /// jobs, unless an error ends the run.
    pub fn plan<'a>(
        &'a self,
        announcer: &'a mut dyn Announcer,
        results: &'a mut Option<Ran<'p>>,
    ) -> Result<PlannedRun<'a>> {
        let mut target = FioTarget::from_plan(self.jobs, self.permissions.clone())?;
        let prepared = run::prepare(self.jobs, target.files())?;
        target.admit_overwrites()?;
        let info = target.info(&prepared);
        Ok(PlannedRun {
            plan: Plan { command: self.command.clone(), ..plan(self.jobs, &prepared, &info) },
            info,
            test: Test {
                method: "fio",
                protocol: None,
                options: Some(options(self.jobs)),
                seed: None,
                provokes: &[],
                part_of: None,
                labels: self.labels.clone(),
            },
            work: None,
            store: self.store.as_deref(),
            fills: false,
            journals: None,
            measure: Box::new(move |shared, interrupt| {
                let mut setting = run::Setting { interrupt, announcer };
                let result = target
                    .open(&prepared, self.traces, Arc::clone(interrupt), Box::new(shared.clone()))
                    .and_then(|mut rig| Ok(prepared.run(rig.as_mut(), &mut setting)?));
                let job_results = match result {
                    Ok(ran) => results.insert(ran),
                    Err(error) => return (Outcome::default(), Err(error)),
                };
                let interrupted = LabError::new(ErrorKind::Interrupted, "interrupted");
                (
                    outcome(job_results),
                    if job_results.interrupted { Err(interrupted) } else { Ok(()) },
                )
            }),
        })
    }
}

/// The options of the jobs that determine their work: not their names, files and engines. Those of
/// several jobs carry the job's name.
fn options(jobs: &fio::Plan) -> BTreeMap<String, String> {
    let is_single = jobs.jobs.len() == 1;
    let options = jobs.jobs.iter().flat_map(|job| {
        let options = output::job_options(job).into_iter();
        let options = options.filter(|(name, _)| !OTHER_OPTIONS.contains(&name.as_str()));
        let options = options.filter_map(|(name, value)| Some((name, value.as_str()?.into())));
        options.chain(pace(job)).map(move |(name, value): (String, String)| {
            let name = if is_single { name } else { format!("{}: {name}", job.name) };
            (name, value)
        })
    });
    options.collect()
}

/// The options of a job's pace and flushes, which fio does not print, if given: rates of reads,
/// writes and trims, and writes between flushes.
fn pace(job: &fio::Job) -> impl Iterator<Item = (String, String)> {
    let word = |rate: Option<u64>| rate.map_or(String::new(), |rate| rate.to_string());
    let rates = job.pace.rate.each().map(|rate| word(*rate)).join(",");
    let rates_iops = job.pace.rate_iops.each().map(|rate| word(rate.map(u64::from))).join(",");
    let flushes = [("fsync", job.syncing.fsync), ("fdatasync", job.syncing.fdatasync)];
    let flushes = flushes.map(|(name, writes)| (name, word((writes > 0).then_some(writes.into()))));
    let options = [("rate", rates), ("rate_iops", rates_iops)].into_iter().chain(flushes);
    let options = options.filter(|(_, value)| value.chars().any(|c| c != ','));
    options.map(|(name, value)| (name.to_string(), value))
}

/// The plan for the record, without the command line.
fn plan(jobs: &fio::Plan, prepared: &CheckedPlan<'_>, info: &TargetInfo) -> Plan {
    let safety = match info.target.kind {
        TargetKind::Directory => Safety::Scratch,
        _ => info.allowed,
    };
    Plan {
        safety,
        seconds: prepared.seconds(),
        write_bytes_expected: None,
        range: None,
        write_bytes_max: prepared.write_bytes_max(info),
        region_bytes: info.bytes,
        destroys: prepared.destroys().map(String::from),
        steps: jobs
            .jobs
            .iter()
            .map(|job| PlanStep {
                name: job.name.clone(),
                seconds: job.schedule.runtime.map_or(0.0, |time| time.as_secs_f64()),
                repeats: job.numjobs,
                repeats_least: None,
                write_bytes_expected: None,
                write_bytes_max: prepared.job_write_bytes_max(job, info),
            })
            .collect(),
        workloads: Vec::new(),
        command: Vec::new(),
    }
}

fn outcome(ran: &Ran<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    outcome.metrics = output::metrics(ran);
    outcome.latencies = output::latencies(ran);
    outcome.series = ran.stages.iter().map(|stage| stage.series.clone()).collect();
    outcome.warnings = ran.stages.iter().flat_map(|stage| stage.findings.clone()).collect();
    outcome.errors = ran.stages.iter().flat_map(|stage| stage.errors.clone()).collect();
    outcome
}
