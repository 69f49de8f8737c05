//! `ssdyno fio ...`: fio's command lines, run and shown by ssdyno.
//!
//! The crate `fio` parses the words, except for ssdyno's own, which are removed first: `--destroy`,
//! `--store` and `--dry-run`, as in all commands.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fio::{self, Eta, Format, Plan, Request, output, run};
use lab::{ErrorKind, FioTarget, LabError, Outcome, Recorded, Recording, Shared, TargetInfo};
use record::{Safety, Step, TargetKind};

use super::words;
use crate::cli::{FioArgs, OutputArgs, StoreArgs};
use crate::failure::{Failure, INTERRUPTED, IO, Result, USAGE};
use crate::live::Live;
use crate::{interrupt, present, screen};

const OWN_HELP: &str = "
ssdyno's own options:
  --destroy=SERIAL   allow a device to be overwritten, or a file, by its size in bytes
  --store=FILE       the store that keeps the record
  --dry-run          show the plan and stop

Files are laid out and kept as in fio. Below fio's figures are those that fio hides: response time,
a queue depth that is a fiction, reads that never left RAM. filename=sim:NAME or directory=sim:NAME
runs the jobs on a virtual drive.
";

/// Runs a fio command line.
pub fn run(args: &FioArgs) -> Result {
    let (own, words) = Own::split(&args.words)?;
    let help = words.is_empty() || words.iter().any(|w| w == "--help" || w == "-h");
    let words = if help { vec!["--help".to_string()] } else { words };
    let request = fio::parse(&words, &fio::Here).map_err(usage)?;
    match request {
        Request::Answer(text) => {
            let own = if help { OWN_HELP } else { "" };
            present::print(&format!("{text}{own}"))?;
            Ok(ExitCode::SUCCESS)
        }
        Request::Run(plan) => execute(&own, &plan),
    }
}

/// ssdyno's own options among the words.
#[derive(Debug, Default, PartialEq)]
struct Own {
    destroy: Vec<String>,
    store: Option<PathBuf>,
    dry_run: bool,
}

impl Own {
    fn split(words: &[String]) -> Result<(Own, Vec<String>)> {
        let mut own = Own::default();
        let rest = words::split(words, |word| {
            match word.name {
                "--destroy" => own.destroy.push(word.value()?),
                "--store" => own.store = Some(word.value()?.into()),
                "--dry-run" => own.dry_run = true,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok((own, rest))
    }
}

pub fn usage(error: fio::FioError) -> Failure {
    Failure::new(USAGE, &error).advise_if(error.advice)
}

fn execute(own: &Own, plan: &Plan) -> Result {
    for note in &plan.notes {
        screen::say(&format!("ssdyno: {}: {}", note.place, note.text));
    }
    let checked = check(plan, &own.destroy)?;
    if own.dry_run {
        show_plan(&checked)?;
        return Ok(ExitCode::SUCCESS);
    }
    let interrupt = interrupt::flag()?;
    if speaks(plan) {
        present::print(&output::announce(plan))?;
    }
    let how = How {
        store: &StoreArgs { store: own.store.clone() },
        seen: &seen(plan),
        speaks: speaks(plan),
        interrupt: &interrupt,
    };
    let (ran, recorded) = record(checked, &how)?;
    write_results(plan, &ran, recorded.run.number)?;
    recorded.kept?;
    Ok(ExitCode::from(code(&ran)))
}

/// Prints the jobs of a plan and their cost.
pub fn show_plan(checked: &Checked<'_>) -> Result<()> {
    let target = &checked.info.target;
    let health = target.drive.as_ref().map(|drive| &drive.health);
    let style = screen::style();
    present::print(&present::plan("fio", &target.spec, &cost(checked), health, &style))
}

/// A plan that its target has admitted.
pub struct Checked<'p> {
    plan: &'p Plan,
    target: FioTarget,
    info: TargetInfo,
    prepared: run::Prepared<'p>,
}

/// Checks a plan against its target. Nothing is touched.
pub fn check<'p>(plan: &'p Plan, destroy: &[String]) -> Result<Checked<'p>> {
    let mut target = FioTarget::of(plan, destroy)?;
    let prepared = run::prepare(plan, target.files()).map_err(LabError::from)?;
    let info = target.info(&prepared);
    Ok(Checked { plan, target, info, prepared })
}

/// How a plan is run.
pub struct How<'a> {
    /// Where its record goes.
    pub store: &'a StoreArgs,
    /// The progress that is shown.
    pub seen: &'a OutputArgs,
    /// Whether stdout announces files that are laid out.
    pub speaks: bool,
    /// Set when the user ends the run.
    pub interrupt: &'a Arc<AtomicBool>,
}

/// Runs a plan and enters its record.
pub fn record<'p>(checked: Checked<'p>, how: &How<'_>) -> Result<(run::Ran<'p>, Recorded)> {
    let cost = cost(&checked);
    let lines = checked.plan.globals.eta_newline.filter(|_| !how.seen.quiet);
    let live = Live::new(&cost, how.seen).with_lines(lines);
    let bar = live.bar();
    let store = how.store.store.as_deref();
    let recording = Recording::begin(store, "fio", &checked.info, cost, Box::new(live))?;
    let shared = Shared::new(recording);
    let ran = perform(checked, shared.clone(), how);
    bar.finish_and_clear();
    let ran = match ran {
        Ok(ran) => ran,
        Err(error) => {
            shared.lock().finish(&Outcome::default(), Err(error.clone())).kept?;
            return Err(error.into());
        }
    };
    let ended = match ran.interrupted {
        true => Err(LabError::new(ErrorKind::Interrupted, "interrupted")),
        false => Ok(()),
    };
    let recorded = shared.lock().finish(&outcome(&ran), ended);
    Ok((ran, recorded))
}

/// Whether stdout is for people, who are told about progress.
fn speaks(plan: &Plan) -> bool {
    plan.globals.output.is_none() && plan.globals.formats.contains(&Format::Normal)
}

/// The progress shown during the run: a line, depending on `--eta`.
fn seen(plan: &Plan) -> OutputArgs {
    let quiet = match plan.globals.eta {
        Eta::Never => true,
        Eta::Always => false,
        Eta::Auto => !std::io::stderr().is_terminal(),
    };
    OutputArgs { json: false, events: false, html: None, quiet }
}

fn perform<'p>(checked: Checked<'p>, observer: Shared, how: &How<'_>) -> lab::Result<run::Ran<'p>> {
    let mut laying_out = |path: &Path, bytes: u64| {
        if how.speaks {
            let mib = bytes.div_ceil(1 << 20);
            let line = format!("Laying out IO file ({} / {mib}MiB)\n", path.display());
            // A closed stdout is noticed when the results are printed.
            let _ = present::print(&line);
        }
    };
    let mut setting = run::Setting { interrupt: how.interrupt, laying_out: &mut laying_out };
    let Checked { target, prepared, .. } = checked;
    let mut rig = target.open(&prepared, Arc::clone(how.interrupt), Box::new(observer))?;
    Ok(prepared.run(rig.as_mut(), &mut setting)?)
}

fn code(ran: &run::Ran<'_>) -> u8 {
    match ran.jobs.iter().any(|job| job.error() != 0) {
        _ if ran.interrupted => INTERRUPTED,
        true => IO,
        false => 0,
    }
}

/// Writes the results in every form asked for, to the place asked for.
fn write_results(plan: &Plan, ran: &run::Ran<'_>, number: Option<i64>) -> Result<()> {
    let globals = &plan.globals;
    let mut text = String::new();
    if globals.output.is_some() && globals.formats.contains(&Format::Normal) {
        text += &output::announce(plan);
    }
    for format in &globals.formats {
        match format {
            Format::Normal => {
                text += &output::normal(ran);
                if let Some(number) = number {
                    text += &format!("\nKept as run {number}: ssdyno show {number}\n");
                }
            }
            Format::Terse => text += &output::terse(ran, globals.terse_version),
            Format::Json | Format::JsonPlus => {
                let json = output::json(ran, *format == Format::JsonPlus);
                let json = serde_json::to_string_pretty(&json)
                    .map_err(|e| Failure::new(IO, format!("the results have no JSON form: {e}")))?;
                text += &json;
                text.push('\n');
            }
        }
    }
    let directory = globals.aux_path.as_deref().map_or(Path::new("."), Path::new);
    output::write_logs(ran, directory)
        .map_err(|e| Failure::new(IO, format!("the logs cannot be written: {e}")))?;
    for path in output::write_dumps(ran, directory)
        .map_err(|e| Failure::new(IO, format!("wrong blocks cannot be kept: {e}")))?
    {
        screen::say(&format!("ssdyno: a block that verify found wrong: {}", path.display()));
    }
    match &globals.output {
        None => present::print(&text),
        Some(path) => std::fs::write(path, text)
            .map_err(|e| Failure::new(IO, format!("{path} cannot be written: {e}"))),
    }
}

/// The cost of a plan, for its record.
fn cost(checked: &Checked<'_>) -> record::Plan {
    let Checked { plan, info, prepared, .. } = checked;
    let safety = match info.target.kind {
        TargetKind::Directory => Safety::Scratch,
        _ => info.allowed,
    };
    let seconds: f64 = prepared.seconds();
    let write_bytes_max = prepared.write_bytes_max();
    let step = |job: &fio::Job| Step {
        name: job.name.clone(),
        seconds: job.schedule.runtime.map_or(0.0, |t| t.as_secs_f64()),
        repeats: job.numjobs,
        write_bytes_max: 0,
    };
    record::Plan {
        safety,
        seconds,
        write_bytes_max,
        region_bytes: info.bytes,
        destroys: prepared.destroys().map(String::from),
        steps: plan.jobs.iter().map(step).collect(),
        workloads: Vec::new(),
        command: std::env::args().collect(),
    }
}

fn outcome(ran: &run::Ran<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    outcome.metrics = output::metrics(ran);
    outcome.latencies = output::latencies(ran);
    outcome.series = ran.stages.iter().map(|stage| stage.series.clone()).collect();
    outcome.warnings = ran.stages.iter().flat_map(|stage| stage.findings.clone()).collect();
    outcome.errors = ran.stages.iter().flat_map(|stage| stage.errors.clone()).collect();
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_options_are_removed() {
        let words = ["--name=a", "--destroy=S1", "--store", "f.db", "--size=1m", "--dry-run"];
        let (own, rest) = Own::split(&words.map(String::from)).expect("understood");
        assert_eq!(rest, ["--name=a", "--size=1m"]);
        assert_eq!(own.destroy, ["S1"]);
        assert_eq!(own.store.as_deref(), Some(Path::new("f.db")));
        assert!(own.dry_run);
    }
}
