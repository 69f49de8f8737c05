//! One run from plan to screen, the same for a method and for a workload by hand: plan, enter into
//! the store, open, measure, finish, show.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use drive::Planned;
use engine::Machine;
use methods::{Outcome, Planner, Session};
use record::{Health, Plan, Run, TargetKind};
use rig::{Rig, TargetInfo};
use workload::{Mix, Pattern, Region, Workload};

use super::recover;
use crate::cli::TargetArgs;
use crate::failure::{Failure, Result};
use crate::live::{Live, Shared, lock};
use crate::recording::Recording;
use crate::target::Stand;
use crate::{present, screen, target};

/// Operations on the null backend that give the instrument's own cost: a millisecond's worth.
const CALIBRATION_OPS: u64 = 20_000;

/// What is run.
pub struct Job<'a> {
    /// Name in the record.
    pub method: &'a str,
    /// Its script. Run on a planner it is the plan, and says where it cannot be done.
    pub act: &'a dyn Fn(&mut Session<'_>) -> Result<()>,
}

/// What a job left behind.
pub struct Recorded {
    /// Its record.
    pub run: Run,
    /// The directory for reports.
    pub reports: PathBuf,
    /// Why it ended early, where it did.
    pub ended: Result<()>,
    /// Whether the store kept it.
    pub kept: Result<()>,
}

/// Runs a job on the target and shows its record, or its plan for a dry run.
pub fn run(args: &TargetArgs, job: &Job<'_>, interrupt: &Arc<AtomicBool>) -> Result {
    let (planned, plan) = planned(args, job)?;
    if args.dry_run {
        return dry_run(args, job, &plan, &planned.info);
    }
    conclude(args, enter(args, job, &planned.info, plan, interrupt)?)
}

/// Runs a job on the target and gives its record.
pub fn record(args: &TargetArgs, job: &Job<'_>, interrupt: &Arc<AtomicBool>) -> Result<Recorded> {
    let (planned, plan) = planned(args, job)?;
    enter(args, job, &planned.info, plan, interrupt)
}

fn planned(args: &TargetArgs, job: &Job<'_>) -> Result<(Planned, Plan)> {
    let planned = target::plan(args)?;
    let mut plan = Planner::plan(&planned.info, job.act)?;
    plan.command = std::env::args().collect();
    plan.destroys = plan.destroys.and(planned.destroys.clone());
    Ok((planned, plan))
}

/// From the entry in the store to the end of the run.
fn enter(
    args: &TargetArgs,
    job: &Job<'_>,
    info: &TargetInfo,
    plan: Plan,
    interrupt: &Arc<AtomicBool>,
) -> Result<Recorded> {
    let recording = Recording::begin(&args.store, job.method, info, plan.clone())?;
    if !args.output.quiet {
        recover::mention(args.borrow.journal.as_deref());
        let number = recording.run().number;
        screen::say(&present::announce(number, job.method, &args.target, &plan, health(info)));
        target::lending(args, &plan).iter().for_each(|line| screen::say(line));
    }
    let shared = Arc::new(Mutex::new(recording));
    let live = Live::new(Arc::clone(&shared), &plan, &args.output);
    let bar = live.bar();
    let mut outcome = Outcome::default();
    let ended = target::open(args, Arc::clone(interrupt), Box::new(live)).and_then(|mut stand| {
        describe(&shared, &mut stand)?;
        if methods::find(job.method).is_ok_and(|method| method.info().wants_reference) {
            stand = stand.with_reference(interrupt);
        }
        stand.assume(lock(&shared).recall());
        let checkpoint = |outcome: &Outcome| lock(&shared).checkpoint(outcome);
        let mut session = Session::new(stand.rig()).with_checkpoints(checkpoint);
        let ended = (job.act)(&mut session);
        outcome = session.finish();
        // Also of a run that was cut short: the drive has its wear all the same.
        lock(&shared).note_health(stand.health());
        ended
    });
    bar.finish_and_clear();
    let mut recording = lock(&shared);
    let kept = recording.finish(&outcome, ended.as_ref().err().map(Failure::text));
    Ok(Recorded { run: recording.run().clone(), reports: recording.reports(), ended, kept })
}

/// Shows what was measured. The exit code is that of what ended the run early, else of the record.
fn conclude(args: &TargetArgs, recorded: Recorded) -> Result {
    let Recorded { run, reports, ended, kept } = recorded;
    let code = match ended {
        Ok(()) => present::show(&run, &args.output, &reports)?,
        Err(failure) => {
            let code = failure.report();
            if !run.metrics.is_empty() || args.output.json {
                present::show(&run, &args.output, &reports)?;
            }
            code
        }
    };
    kept.map(|()| code)
}

/// Wear and errors of the drive, as it told them when it was asked.
fn health(info: &TargetInfo) -> Option<&Health> {
    info.target.drive.as_ref().map(|drive| &drive.health)
}

fn dry_run(args: &TargetArgs, job: &Job<'_>, plan: &Plan, info: &TargetInfo) -> Result {
    let text = match args.output.json {
        true => present::json(plan)?,
        false => present::plan(job.method, &args.target, plan, health(info), &screen::style()),
    };
    present::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Enters what the engine turned out to be, and what it costs itself.
fn describe(shared: &Shared, stand: &mut Stand) -> Result<()> {
    let (backend, clock, instrument) = match stand {
        Stand::Real(machine) => (machine.backend(), machine.clock(), instrument_ns(machine)?),
        Stand::Virtual(_) => ("sim", "virtual", None),
    };
    lock(shared).describe(stand.rig().target(), |environment| {
        environment.backend = Some(backend.to_string());
        environment.clock = Some(clock.to_string());
        environment.instrument_ns_per_io = instrument;
    });
    Ok(())
}

/// What the instrument costs per operation; on the null target that is the measurement itself.
fn instrument_ns(machine: &Machine) -> Result<Option<f64>> {
    if machine.target().target.kind == TargetKind::Null {
        return Ok(None);
    }
    let region = Region::first(1 << 30);
    let probe = Workload::new("instrument", Pattern::UniformOnce, Mix::READ, 4096, region);
    Ok(Some(machine.instrument_ns(&probe, CALIBRATION_OPS)?))
}
