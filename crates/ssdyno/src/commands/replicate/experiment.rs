//! An experiment on its virtual drive: the steps in order, one record for all of them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use lab::virtual_drive::PREFIX;
use methods::{Options, Outcome, Session};
use record::{Metric, Unit};
use rig::{Preparation, TargetInfo};
use workload::{Region, Workload, units};

use super::document::{Experiment, Step};
use crate::cli::{BorrowArgs, Cli, Command, InstrumentArgs, OutputArgs, ReplicateArgs, TargetArgs};
use crate::commands::io;
use crate::commands::session::{self, Job, Recorded};
use crate::failure::{Failure, Result, USAGE};

/// Runs an experiment and gives its record.
pub fn run(
    experiment: &Experiment,
    args: &ReplicateArgs,
    interrupt: &Arc<AtomicBool>,
) -> Result<Recorded> {
    let target = format!("{PREFIX}{}", experiment.drive);
    let output =
        OutputArgs { json: args.json, events: false, html: None, quiet: args.quiet || args.json };
    let on = TargetArgs {
        target,
        size: None,
        destroy: None,
        borrow: BorrowArgs { allowed: false, journal: None },
        dry_run: false,
        instrument: InstrumentArgs { backend: None, pin: false, seed: 1, patience: None },
        output,
        store: args.store.clone(),
    };
    let Some(name) = &experiment.method else {
        let act = |session: &mut Session<'_>| act(experiment, session);
        let job = Job { method: "replicate", act: &act };
        return session::record(&on, &job, interrupt);
    };
    let (method, options) = (methods::find(name)?, Options::default());
    let job = Job { method: name, act: &|session| Ok(method.run(session, &options)?) };
    session::record(&on, &job, interrupt)
}

/// All steps, in order. No rule concludes from them together.
fn act(experiment: &Experiment, session: &mut Session<'_>) -> Result<()> {
    session.conclude(Vec::new());
    experiment.steps.iter().try_for_each(|step| {
        act_step(step, experiment, session)?;
        session.checkpoint();
        Ok(())
    })
}

fn act_step(step: &Step, experiment: &Experiment, session: &mut Session<'_>) -> Result<()> {
    match step {
        Step::Idle { idle } => {
            let time = units::parse_duration(idle).map_err(|e| Failure::new(USAGE, e))?;
            session.rest("idle", time.as_secs_f64())?;
        }
        Step::Discard { discard } => {
            let region = Region::first(session.target().bytes);
            let done = session.prepare(discard, Preparation::Discard { region })?;
            let name = format!("{discard}.time");
            session.put_metric(Metric::single(name, Unit::Nanoseconds, done.elapsed_ns as f64));
        }
        Step::Io { name, io } => {
            let workload = workload(experiment, name, io, session.target())?;
            let (part, ended) = session.apart(|part| methods::by_hand(part, &workload));
            add(name, part, session.outcome_mut());
            ended?;
        }
    }
    Ok(())
}

/// The workload of a step, in the words of `ssdyno io`.
fn workload(experiment: &Experiment, name: &str, io: &str, info: &TargetInfo) -> Result<Workload> {
    let target = format!("{PREFIX}{}", experiment.drive);
    let words = ["ssdyno", "io", &target].into_iter().chain(io.split_whitespace());
    let wrong = |e: &dyn std::fmt::Display| {
        Failure::new(USAGE, format!("experiment {}, step {name}: {e}", experiment.id))
    };
    let cli = Cli::try_parse_from(words).map_err(|e| wrong(&e))?;
    let Command::Io(args) = cli.command else { return Err(wrong(&"not a workload")) };
    Ok(Workload { name: name.to_string(), ..io::workload(&args, info)? })
}

/// Adds what a step left behind; its metrics begin with its name.
fn add(step: &str, part: Outcome, out: &mut Outcome) {
    let named = |m: Metric| Metric { name: format!("{step}.{}", m.name), ..m };
    out.metrics.extend(part.metrics.into_iter().map(named));
    out.series.extend(part.series);
    out.latencies.extend(part.latencies);
    out.errors.extend(part.errors);
    out.workloads.extend(part.workloads);
    for warning in part.warnings {
        if !out.warnings.contains(&warning) {
            out.warnings.push(warning);
        }
    }
    out.state_after = part.state_after;
}

#[cfg(test)]
mod tests {
    use methods::Planner;

    use super::*;
    use crate::commands::replicate::document;
    use lab::virtual_drive::described;

    #[test]
    fn every_step_of_every_document_can_be_done() {
        for name in document::names() {
            let document = document::document(name).unwrap_or_else(|e| panic!("{}", e.text()));
            for experiment in &document.experiments {
                let target = format!("{PREFIX}{}", experiment.drive);
                let spec = described(&target).expect("virtual");
                let spec = spec.unwrap_or_else(|e| panic!("{e}"));
                let info = engine::Simulator::info(&spec, &target);
                let plan = Planner::plan(&info, |session| act(experiment, session));
                plan.unwrap_or_else(|e| panic!("{name}, {}: {}", experiment.id, e.text()));
            }
        }
    }
}
