//! Several drives: each alone, then all at the same time, then the one that lost most alone again.
//!
//! Every run is a record with the same guard and journals as a run on one drive. Runs at the same
//! time begin each step together (see [`Rendezvous`]) and have the option `together` in their record,
//! with the number of drives, so that no later run is compared with them as if they had been alone.
//! The last run tells a limit of the host from drives that the first runs have changed: their caches
//! are full, or they are hot. What follows from the runs is in [`conclude`].

mod conclude;
mod rendezvous;
mod view;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use record::{Plan, Run};

pub use self::conclude::{DriveSet, Loss, SetDrive, SetOutlier, SetQuantity, most_slowed};
use self::rendezvous::{InStep, Rendezvous};
pub use self::view::view;
use crate::Options;
pub use crate::beside::DRIVES_MAX;
use crate::error::{ErrorKind, LabError, Result};
use crate::request::Request;
use crate::session::PlannedRun;
use crate::watcher::Watcher;
use crate::work::Work;

/// A measurement of several drives with one method.
pub struct Together<'a> {
    /// A request for each drive, 2 to [`DRIVES_MAX`].
    pub requests: Vec<Request>,
    /// The method.
    pub method: &'a str,
    /// Its options. Every run has its own I/O: the seed increases from run to run.
    pub options: Options,
}

/// Which runs are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetPhase {
    /// One drive after the other.
    Alone,
    /// All at the same time.
    Together,
    /// The drive that lost most, after that.
    Again,
}

/// Observes the runs.
pub trait Audience {
    /// A run on the drive with this index begins.
    fn begins(
        &mut self,
        drive: usize,
        phase: SetPhase,
        planned: &PlannedRun<'_>,
    ) -> Box<dyn Watcher>;

    /// The run, or the runs at the same time, have ended.
    fn ended(&mut self);
}

/// The runs of the drives.
#[derive(Debug, Default)]
pub struct SetRuns {
    /// The runs of each drive alone.
    pub alone: Vec<Vec<Run>>,
    /// The run of each drive beside the others; `None`: not made, or failed.
    pub together: Vec<Option<Run>>,
    /// The drive that was measured alone again, and its run.
    pub again: Option<(usize, Run)>,
    /// Why a run failed, if one did.
    pub failure: Option<LabError>,
}

/// Concludes from the runs of drives.
pub fn conclude(runs: &SetRuns) -> DriveSet {
    let set = DriveSet::new(runs);
    DriveSet { sentence: view::sentence(&set), ..set }
}

impl Together<'_> {
    /// Checks the requests and plans a run on each drive, without touching the drives.
    pub fn plans(&self) -> Result<Vec<Plan>> {
        let count = self.requests.len();
        if !(2..=DRIVES_MAX).contains(&count) {
            let text = format!("2 to {DRIVES_MAX} drives can be measured together, not {count}");
            return Err(LabError::usage(text));
        }
        let work = Work::method(self.method, &self.options)?;
        let (mut plans, mut places) = (Vec::new(), Vec::new());
        for request in &self.requests {
            let place = place(&request.target.spec);
            if places.contains(&place) {
                let text = format!("{} is given twice", request.target.spec);
                return Err(LabError::usage(text).advise("each target once"));
            }
            places.push(place);
            plans.push(request.plan(&work)?.plan);
        }
        Ok(plans)
    }

    /// Whether the drives exist only in this program, and share no host.
    pub fn is_simulated(&self) -> bool {
        self.requests.iter().all(|request| request.target.is_simulated())
    }

    /// Measures each drive alone, then all of them at the same time. Virtual drives share nothing, so
    /// they are measured alone.
    pub fn run(&self, interrupt: &Arc<AtomicBool>, audience: &mut dyn Audience) -> SetRuns {
        let mut runs =
            SetRuns { alone: vec![Vec::new(); self.requests.len()], ..SetRuns::default() };
        for drive in 0..self.requests.len() {
            match self.alone(drive, SetPhase::Alone, interrupt, audience) {
                Ok(run) => runs.alone[drive].push(run),
                Err(failure) => runs.failure = Some(failure),
            }
            if runs.failure.is_some() || interrupt.load(Ordering::Relaxed) {
                return runs;
            }
        }
        self.complete(&mut runs, interrupt, audience);
        runs
    }

    /// Measures drives at the same time that have been measured alone.
    pub fn complete(
        &self,
        runs: &mut SetRuns,
        interrupt: &Arc<AtomicBool>,
        audience: &mut dyn Audience,
    ) {
        if self.is_simulated() {
            return;
        }
        let results = self.at_once(interrupt, audience);
        audience.ended();
        for result in results {
            match result {
                Ok(run) => runs.together.push(Some(run)),
                Err(failure) => {
                    runs.together.push(None);
                    runs.failure.get_or_insert(failure);
                }
            }
        }
        let suspect = most_slowed(runs);
        let Some(drive) = suspect.filter(|_| !interrupt.load(Ordering::Relaxed)) else { return };
        match self.alone(drive, SetPhase::Again, interrupt, audience) {
            Ok(run) => runs.again = Some((drive, run)),
            Err(failure) => drop(runs.failure.get_or_insert(failure)),
        }
    }

    fn alone(
        &self,
        drive: usize,
        phase: SetPhase,
        interrupt: &Arc<AtomicBool>,
        audience: &mut dyn Audience,
    ) -> Result<Run> {
        let (request, options) = self.session(drive, phase);
        let work = Work::method(self.method, &options)?;
        let planned = request.plan(&work)?;
        let watcher = audience.begins(drive, phase, &planned);
        let result = carry_out(planned, watcher, interrupt);
        audience.ended();
        result
    }

    /// A run on every drive at the same time, in the order of the drives.
    fn at_once(
        &self,
        interrupt: &Arc<AtomicBool>,
        audience: &mut dyn Audience,
    ) -> Vec<Result<Run>> {
        let rendezvous = Arc::new(Rendezvous::new(self.requests.len(), Arc::clone(interrupt)));
        let mut watchers = Vec::new();
        for drive in 0..self.requests.len() {
            match self.watcher(drive, &rendezvous, audience) {
                Ok(watcher) => watchers.push(watcher),
                Err(failure) => return vec![Err(failure)],
            }
        }
        thread::scope(|scope| {
            let threads = watchers.into_iter().enumerate().map(|(drive, watcher)| {
                thread::Builder::new().name(format!("drive {drive}")).spawn_scoped(
                    scope,
                    move || {
                        let (request, options) = self.session(drive, SetPhase::Together);
                        let work = Work::method(self.method, &options)?;
                        carry_out(request.plan(&work)?, watcher, interrupt)
                    },
                )
            });
            let threads: Vec<_> = threads.collect();
            threads
                .into_iter()
                .map(|thread| match thread {
                    Ok(thread) => joined(thread.join()),
                    Err(error) => Err(LabError::new(ErrorKind::Io, error)),
                })
                .collect()
        })
    }

    /// The watcher of a run at the same time as others. It leaves the rendezvous when it is dropped.
    fn watcher(
        &self,
        drive: usize,
        rendezvous: &Arc<Rendezvous>,
        audience: &mut dyn Audience,
    ) -> Result<Box<dyn Watcher>> {
        let (request, options) = self.session(drive, SetPhase::Together);
        let work = Work::method(self.method, &options)?;
        let watcher = audience.begins(drive, SetPhase::Together, &request.plan(&work)?);
        Ok(Box::new(InStep::new(watcher, Arc::clone(rendezvous))))
    }

    /// The request and the options of a run: its own seed, and the number of drives beside it.
    fn session(&self, drive: usize, phase: SetPhase) -> (Request, Options) {
        let number = drive + self.requests.len() * phase as usize;
        let seed = self.options.seed.wrapping_add(number as u64);
        let mut request = self.requests[drive].clone();
        request.instrument.seed = seed;
        request.together = (phase == SetPhase::Together).then_some(self.requests.len());
        (request, Options { seed, ..self.options.clone() })
    }
}

fn carry_out(
    planned: PlannedRun<'_>,
    watcher: Box<dyn Watcher>,
    interrupt: &Arc<AtomicBool>,
) -> Result<Run> {
    let recorded = planned.begin(watcher, interrupt)?.run(interrupt);
    recorded.ended?;
    recorded.kept?;
    Ok(recorded.run)
}

/// The result of a thread. Our own panic stays one.
fn joined(result: thread::Result<Result<Run>>) -> Result<Run> {
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A target without links in its path. Targets of one drive are allowed, and said in the conclusion.
fn place(spec: &str) -> PathBuf {
    std::fs::canonicalize(spec).unwrap_or_else(|_| PathBuf::from(spec))
}

#[cfg(test)]
mod drawn_tests;
#[cfg(test)]
mod tests;
