//! One run: plan it, enter it into the store, open the target, measure, and finish the record.
//!
//! The steps are separate so that the caller can show a plan and stop, or announce the run's number
//! before the first byte moves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use record::{Finding, FindingKind, Health, Level, Plan, Safety, Target, TargetKind};
use rig::{Rig as _, TargetInfo};
use script::{Outcome, Session};
use workload::{Mix, Pattern, Region, Workload};

use crate::beside::TOGETHER;
use crate::error::Result;
use crate::forecast;
use crate::peers;
use crate::real::{self, FileIdentity, Machine};
use crate::recording::{Recording, Shared, Test};
use crate::request::Request;
use crate::simulation;
use crate::target::Stand;
use crate::virtual_drive;
use crate::watcher::{Recorded, Watcher};
use crate::work::Work;

/// Operations on the null backend to measure the instrument's own cost, about a millisecond's
/// worth.
const CALIBRATION_OPS: u64 = 20_000;

/// What a kill may cost of a run in which many replicates end in that time: conclusions and a record for
/// each of them would take longer than they do on a virtual drive.
const CHECKPOINT_EVERY: Duration = Duration::from_millis(200);

/// A run with a checked request and a known cost. Nothing has been touched yet.
pub struct PlannedRun<'a> {
    /// The steps of the run and their cost.
    pub plan: Plan,
    pub(crate) info: TargetInfo,
    pub(crate) test: Test<'a>,
    /// The work of the run, if it is a script.
    pub(crate) work: Option<&'a Work<'a>>,
    /// The store of records; `None`: the user's own.
    pub(crate) store: Option<&'a Path>,
    /// Whether the work may fill the file system.
    pub(crate) fills: bool,
    /// The directory for borrowed blocks, if the run borrows any.
    pub(crate) journals: Option<PathBuf>,
    pub(crate) measure: Measure<'a>,
}

/// How carefully the time of a simulation is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// Beside a run that follows.
    Brief,
    /// In place of a run.
    Thorough,
}

impl Care {
    /// Processor time that the estimate may take however short the work, seconds.
    fn seconds(self) -> f64 {
        match self {
            Care::Brief => 0.3,
            Care::Thorough => 5.0,
        }
    }
}

/// Opens the target and runs the work. Everything measured before an error is in the outcome.
type Measure<'a> = Box<dyn FnOnce(&Shared, &Arc<AtomicBool>) -> (Outcome, Result<()>) + 'a>;

/// A run that has a number in the store but has not moved a byte.
pub struct Begun<'a> {
    recording: Recording,
    measure: Measure<'a>,
}

impl Request {
    /// Makes every check that is possible without touching the target, and plans the work.
    pub fn plan<'a>(&'a self, work: &'a Work<'a>) -> Result<PlannedRun<'a>> {
        self.target.admit_backend(self.instrument.backend)?;
        let real::PlannedTarget { info, destroys, file } = self.target.plan(work.info.scratch)?;
        let mut plan = forecast::plan(&info, work, self.store.as_deref())?;
        plan.command.clone_from(&self.command);
        plan.destroys = plan.destroys.and(destroys);
        let borrows = plan.safety == Safety::Borrows && self.target.borrow;
        let skips = virtual_drive::skips(&self.target.spec, plan.seconds);
        Ok(PlannedRun {
            plan,
            info,
            test: Test {
                method: work.info.name,
                protocol: work.protocol(),
                options: self.recorded_options(work),
                seed: Some(self.instrument.seed),
                provokes: work.info.provokes,
                part_of: self.part_of.clone(),
                labels: self.labels.clone(),
            },
            work: Some(work),
            store: self.store.as_deref(),
            fills: work.info.scratch.fills,
            journals: borrows.then(|| real::journals(&self.target)).flatten(),
            measure: Box::new(move |shared, interrupt| {
                measure(self, work, file, skips, shared, interrupt)
            }),
        })
    }

    /// The options of the work, and how many drives are measured at the same time: the figures of
    /// such a run are no measure for those of a drive alone.
    fn recorded_options(&self, work: &Work<'_>) -> Option<BTreeMap<String, String>> {
        let mut options = work.options.clone();
        if let Some(drives) = self.together {
            options.get_or_insert_default().insert(TOGETHER.into(), drives.to_string());
        }
        options
    }
}

impl<'a> PlannedRun<'a> {
    /// The name of the work in the record.
    pub fn name(&self) -> &str {
        self.test.method
    }

    /// The target as the user named it.
    pub fn spec(&self) -> &str {
        &self.info.target.spec
    }

    /// The method to run.
    pub fn method(&self) -> &str {
        self.test.method
    }

    /// Wear and errors reported by the drive before the run.
    pub fn health(&self) -> Option<&Health> {
        self.info.target.drive.as_ref().map(|drive| &drive.health)
    }

    /// Estimated processor time for simulating a virtual drive here, seconds, from a rehearsal of the work;
    /// `None` for other targets, or if the time is too short to matter.
    pub fn seconds_here(&self, care: Care) -> Option<f64> {
        let spec = virtual_drive::described(self.spec(), self.test.seed?)?.ok()?;
        let cost = simulation::cost(&spec, self.spec(), &self.plan, self.work?, care.seconds())?;
        Some(cost.seconds)
    }

    /// The target as found by the plan.
    pub(crate) fn target(&self) -> &Target {
        &self.info.target
    }

    /// Bytes that stay free on the file system, and its mount point, if the work may leave less
    /// than other work does.
    pub fn fills(&self) -> Option<(u64, &str)> {
        let filesystem = self.info.target.filesystem.as_ref().filter(|_| self.fills)?;
        let free_bytes = filesystem.free_bytes?.saturating_sub(self.plan.region_bytes);
        (free_bytes < real::kept_free(filesystem.bytes?))
            .then_some((free_bytes, &*filesystem.mount))
    }

    /// The directory for borrowed blocks, if the run borrows any.
    pub fn borrows_into(&self) -> Option<&Path> {
        self.journals.as_deref()
    }

    /// Enters the run into the store. An interrupt ends the wait for a store that another process
    /// has locked.
    pub fn begin(
        self,
        watcher: Box<dyn Watcher>,
        interrupt: &Arc<AtomicBool>,
    ) -> Result<Begun<'a>> {
        let PlannedRun { plan, info, test, store, measure, .. } = self;
        let recording = Recording::begin(store, test, &info, plan, watcher, interrupt)?;
        Ok(Begun { recording, measure })
    }
}

impl Begun<'_> {
    /// The number of the run.
    pub fn number(&self) -> i64 {
        self.recording.number()
    }

    /// Opens the target and runs the work. A record is made whatever happens.
    pub fn run(self, interrupt: &Arc<AtomicBool>) -> Recorded {
        let shared = Shared::new(self.recording);
        let (outcome, ended) = (self.measure)(&shared, interrupt);
        shared.lock().finish(&outcome, ended)
    }
}

/// Opens the target of a request and runs work on it.
fn measure(
    request: &Request,
    work: &Work<'_>,
    file: Option<FileIdentity>,
    skips: bool,
    shared: &Shared,
    interrupt: &Arc<AtomicBool>,
) -> (Outcome, Result<()>) {
    let mut outcome = Outcome::default();
    let observer = Box::new(shared.clone());
    let stand = Stand::open(request, interrupt, observer, file, work.info.scratch);
    let ended = stand.and_then(|stand| {
        let mut stand = if skips { stand.leaping() } else { stand };
        describe(shared, &mut stand)?;
        if work.info.wants_reference {
            stand = stand.with_reference(interrupt);
        }
        stand.assume(shared.lock().recall());
        // Ageing a virtual drive is not part of the run.
        let began_ns = stand.rig().elapsed_ns();
        let neighbours = shared.lock().neighbours();
        let session = Session::new(stand.rig())
            .with_checkpoints(|outcome: &Outcome| shared.lock().checkpoint(outcome))
            .with_spaced_checkpoints(CHECKPOINT_EVERY);
        let mut session = session.with_neighbours(neighbours);
        let result = work.run(&mut session);
        outcome = session.finish();
        if let Stand::Virtual(simulator) = &mut stand {
            let now_ns = simulator.elapsed_ns();
            let elapsed_ns = now_ns.saturating_sub(began_ns);
            outcome.warnings.extend(skipped(simulator.skipped_ns(), elapsed_ns));
            shared.lock().note_simulated(elapsed_ns);
        }
        // An interrupted run has worn the drive, too.
        shared.lock().note_health(stand.health());
        // A run is not complete if the target was replaced during it.
        result.and_then(|()| stand.check_again())
    });
    let spec = &request.target.spec;
    if real::stayed_away(spec) {
        let line = format!("{spec} was not returned to the kernel: ssdyno recover");
        shared.lock().warn(&line);
    }
    // Beside others, it would take processor time from those that still measure.
    if ended.is_ok() && request.together.is_none() {
        let (target, elapsed) = shared.lock().so_far();
        let model = peers::simulate(request, work, &target, elapsed, interrupt);
        shared.lock().note_model(model);
    }
    (outcome, ended)
}

/// A note on the time that a simulation skipped.
fn skipped(skipped_ns: u64, elapsed_ns: u64) -> Option<Finding> {
    let share = skipped_ns as f64 / elapsed_ns.max(1) as f64;
    let text = format!(
        "{:.0}% of the simulated time was skipped: steady stretches are timed in part, and the \
         rest of their writes only reaches the map",
        100.0 * share
    );
    let finding = Finding::new(FindingKind::SteadySkipped, Level::Note, text);
    (skipped_ns > 0).then(|| finding.advise("the same without skip=on times every operation"))
}

/// Records the opened target, the engine, and the instrument's own cost.
fn describe(shared: &Shared, stand: &mut Stand) -> Result<()> {
    let (backend, clock, instrument) = match stand {
        Stand::Real(machine) => (machine.backend(), machine.clock(), instrument_ns(machine)?),
        Stand::Virtual(_) => (rig::backend_name(None), "virtual", None),
    };
    shared.lock().describe(stand.rig().target(), |environment| {
        environment.backend = Some(backend.to_string());
        environment.clock = Some(clock.to_string());
        environment.instrument_ns_per_io = instrument;
    });
    Ok(())
}

/// The instrument's own cost per operation; `None` on the null target, where the run itself
/// measures it.
fn instrument_ns(machine: &mut Machine) -> Result<Option<f64>> {
    if real::rig(machine).target().target.kind == TargetKind::Null {
        return Ok(None);
    }
    let region = Region::first(1 << 30);
    let probe = Workload::new("instrument", Pattern::UniformOnce, Mix::READ, 4096, region);
    Ok(Some(machine.instrument_ns(&probe, CALIBRATION_OPS)?))
}
