//! Runs a document on the user's own drive: the author's steps, with a record for each.
//!
//! An fio command line that writes is skipped if the target may only be read; methods skip their
//! own writes. Figures are shown side by side; none passes or fails.

use std::process::ExitCode;

use fio::run::Quiet;
use lab::fio::Permissions;
use lab::replicate::here::{self, Done, HereStep};
use lab::replicate::{Document, OwnDriveSteps};
use lab::{Options, Recorded, Request, TargetRequest, Work};

use crate::cli::{HereArgs, OutputArgs, ReplicateArgs};
use crate::commands::{fio as fio_command, session};
use crate::failure::{Failure, Result};
use crate::{present, screen};

/// Runs a document's steps on the target and shows the results next to the published figures.
pub fn run(name: &str, document: &Document, target: &str, args: &ReplicateArgs) -> Result {
    let target = TargetRequest {
        spec: target.to_string(),
        size: args.here.size,
        destroy: args.here.destroy.clone(),
        ..TargetRequest::default()
    };
    let steps = document.steps_for(name, &target, args.only.as_deref())?;
    let request = Request { target, ..super::request(String::new(), args) };
    let runner = StepRunner { request, args, seen: super::output(args) };
    let (mut steps_done, mut left_out, mut ended) = (Vec::new(), Vec::new(), Ok(()));
    for step in steps {
        match runner.step(step)? {
            StepOutcome::Planned => {}
            StepOutcome::LeftOut(why) => left_out.push(format!("{}: {why}", step.id)),
            StepOutcome::Ran(mut recorded) => {
                ended = std::mem::replace(&mut recorded.ended, Ok(()));
                steps_done.push(Done { step: step.id.clone(), recorded: *recorded });
            }
        }
        if ended.is_err() {
            break;
        }
    }
    if args.here.dry_run {
        left_out.iter().for_each(|text| screen::say(&format!("left out: {text}")));
        return Ok(ExitCode::SUCCESS);
    }
    conclude(name, document, &runner, (steps_done, left_out, ended))
}

type StepResults = (Vec<Done>, Vec<String>, lab::Result<()>);

fn conclude(
    name: &str,
    document: &Document,
    runner: &StepRunner<'_>,
    results: StepResults,
) -> Result {
    let (steps_done, left_out, ended) = results;
    let target = &runner.request.target.spec;
    let own_steps =
        OwnDriveSteps { name, document, target, done: &steps_done, left_out: &left_out };
    let text = if runner.args.json {
        present::json(&own_steps.json())?
    } else {
        report::replication::beside(&own_steps.view(), &screen::style())
    };
    present::print(&text)?;
    ended?;
    let mut code = ExitCode::SUCCESS;
    for Done { recorded, .. } in steps_done {
        recorded.kept.map_err(Failure::reported)?;
        if code == ExitCode::SUCCESS {
            code = present::exit_code(&recorded.run);
        }
    }
    Ok(code)
}

enum StepOutcome {
    Ran(Box<Recorded>),
    /// Its plan was shown.
    Planned,
    /// The reason for skipping it.
    LeftOut(&'static str),
}

/// Runs steps on the target.
struct StepRunner<'a> {
    request: Request,
    args: &'a ReplicateArgs,
    seen: OutputArgs,
}

impl StepRunner<'_> {
    fn step(&self, step: &HereStep) -> Result<StepOutcome> {
        match &step.run {
            here::StepWork::Method(name) => self.method(name),
            here::StepWork::Fio(words) => self.fio(words),
        }
    }

    fn method(&self, name: &str) -> Result<StepOutcome> {
        let HereArgs { size, time, dry_run, .. } = self.args.here;
        let options = Options { size, time, ..Options::default() };
        let work = Work::method(name, &options)?;
        if dry_run {
            session::show_plan(&self.request, &self.seen, &work)?;
            return Ok(StepOutcome::Planned);
        }
        let recorded = session::record(&self.request, &self.seen, &work)?;
        Ok(StepOutcome::Ran(Box::new(recorded)))
    }

    fn fio(&self, words: &str) -> Result<StepOutcome> {
        let options = &self.args.here;
        let jobs = here::Jobs::parse(words, &self.request.target, options.time, !options.dry_run)?;
        if !jobs.permitted {
            return Ok(StepOutcome::LeftOut("it writes, and the target may only be read"));
        }
        let plan = &jobs.plan;
        let request = lab::fio::Request {
            jobs: plan,
            permissions: Permissions {
                destroy: options.destroy.iter().cloned().collect(),
                ..Permissions::default()
            },
            traces: false,
            store: self.request.store.clone(),
            command: self.request.command.clone(),
            labels: self.request.labels.clone(),
        };
        let (mut quiet, mut results) = (Quiet, None);
        let planned = request.plan(&mut quiet, &mut results)?;
        if options.dry_run {
            fio_command::show_plan(&planned)?;
            return Ok(StepOutcome::Planned);
        }
        let recorded = fio_command::record(planned, plan, &self.seen)?;
        Ok(StepOutcome::Ran(Box::new(recorded)))
    }
}
