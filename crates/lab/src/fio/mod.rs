//! Runs fio jobs: checks them against their target, plans them, enters them into the store and runs
//! them on a rig.
//!
//! The steps are those of any other run (`session.rs`). The crate `fio` has the job language, the
//! runner and the output. It names files to a rig and knows neither drives nor the store.

mod target;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use engine::Permissions;
use fio::output;
use fio::run::{self, Prepared, Ran};
use record::{Health, Plan, Safety, Step, TargetKind};
use rig::TargetInfo;
use script::Outcome;

use crate::error::{ErrorKind, LabError, Result};
use crate::recording::{Recording, Shared, Test};
use crate::watcher::{Recorded, Watcher};
use target::FioTarget;

/// Jobs to run, with the user's permissions, and the store for the record.
#[derive(Clone, Debug)]
pub struct Request<'p> {
    /// The jobs.
    pub jobs: &'p fio::Plan,
    /// The user's permissions for the files that the jobs name.
    pub permissions: Permissions,
    /// The store of records; `None`: the user's own.
    pub store: Option<PathBuf>,
    /// The words of the command line, for the record.
    pub command: Vec<String>,
}

/// Jobs that are permitted on their target. Nothing has been touched yet.
pub struct Planned<'p> {
    /// The jobs and their cost.
    pub plan: Plan,
    store: Option<PathBuf>,
    target: FioTarget,
    info: TargetInfo,
    prepared: Prepared<'p>,
}

/// Jobs that have a number in the store but have not moved a byte.
pub struct Begun<'p> {
    target: FioTarget,
    prepared: Prepared<'p>,
    recording: Recording,
}

impl<'p> Request<'p> {
    /// Makes every check that is possible without touching the target, and plans the jobs.
    pub fn plan(self) -> Result<Planned<'p>> {
        let Request { jobs, permissions, store, command } = self;
        let mut target = FioTarget::from_plan(jobs, permissions)?;
        let prepared = run::prepare(jobs, target.files())?;
        target.admit_overwrites()?;
        let info = target.info(&prepared);
        let plan = Plan { command, ..plan(jobs, &prepared, &info) };
        Ok(Planned { plan, store, target, info, prepared })
    }
}

impl<'p> Planned<'p> {
    /// The target as the user named it.
    pub fn target(&self) -> &str {
        &self.info.target.spec
    }

    /// Wear and errors reported by the drive before the run.
    pub fn health(&self) -> Option<&Health> {
        self.info.target.drive.as_ref().map(|drive| &drive.health)
    }

    /// Enters the run into the store. An interrupt ends the wait for a store that another process
    /// has locked.
    pub fn begin(
        self,
        watcher: Box<dyn Watcher>,
        interrupt: &Arc<AtomicBool>,
    ) -> Result<Begun<'p>> {
        let Planned { plan, store, target, info, prepared } = self;
        let test = Test { method: "fio", protocol: None, seed: None, provokes: &[], part_of: None };
        let recording = Recording::begin(store.as_deref(), test, &info, plan, watcher, interrupt)?;
        Ok(Begun { target, prepared, recording })
    }
}

impl<'p> Begun<'p> {
    /// Opens the target and runs the jobs. Calls `laying_out` before a file is laid out, with its
    /// size in bytes. A record is made whatever happens; the results of the jobs are returned
    /// unless an error ended the run.
    pub fn run(
        self,
        interrupt: &Arc<AtomicBool>,
        laying_out: &mut dyn FnMut(&Path, u64),
    ) -> (Result<Ran<'p>>, Recorded) {
        let Begun { target, prepared, recording } = self;
        let shared = Shared::new(recording);
        let observer = Box::new(shared.clone());
        let mut setting = run::Setting { interrupt, laying_out };
        let ran = target
            .open(&prepared, Arc::clone(interrupt), observer)
            .and_then(|mut rig| Ok(prepared.run(rig.as_mut(), &mut setting)?));
        let (outcome, ended) = match &ran {
            Ok(ran) if ran.interrupted => {
                (outcome(ran), Err(LabError::new(ErrorKind::Interrupted, "interrupted")))
            }
            Ok(ran) => (outcome(ran), Ok(())),
            Err(error) => (Outcome::default(), Err(error.clone())),
        };
        let recorded = shared.lock().finish(&outcome, ended);
        (ran, recorded)
    }
}

/// The plan for the record, without the command line.
fn plan(jobs: &fio::Plan, prepared: &Prepared<'_>, info: &TargetInfo) -> Plan {
    let safety = match info.target.kind {
        TargetKind::Directory => Safety::Scratch,
        _ => info.allowed,
    };
    Plan {
        safety,
        seconds: prepared.seconds(),
        write_bytes_max: prepared.write_bytes_max(info),
        region_bytes: info.bytes,
        destroys: prepared.destroys().map(String::from),
        steps: jobs
            .jobs
            .iter()
            .map(|job| Step {
                name: job.name.clone(),
                seconds: job.schedule.runtime.map_or(0.0, |time| time.as_secs_f64()),
                repeats: job.numjobs,
                repeats_least: None,
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
