//! `ssdyno fio ...`: runs fio command lines and prints fio's output.
//!
//! The crate `fio` parses the arguments, except for ssdyno's own options, which are removed first.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use fio::run::Ran;
use fio::{self, Eta, Format, Plan, Request, output};
use lab::Recorded;
use lab::fio::{Permissions, Planned};
use workload::units;

use super::words;
use crate::cli::{self, FioArgs, OutputArgs};
use crate::failure::{Failure, IO, Result, USAGE};
use crate::interrupt::INTERRUPTED;
use crate::live::Live;
use crate::relay::Relay;
use crate::{interrupt, present, screen};

/// The effect of jobs on a directory, as shown in a plan.
const SCRATCH: &str = "creates its files, and keeps them as fio does";

const OWN_HELP: &str = "
ssdyno's own options:
  --destroy=SERIAL   allow overwriting a device, named by its serial number, or a file, named by its
                     size in bytes
  --overwrite-files  allow overwriting all files made by other programs, but no device
  --no-iommu         detach a pci: drive from the kernel even if no IOMMU protects other memory
  --store=FILE       the store for the record
  --dry-run          show the plan, then stop
  --as-is            has no effect: stdout is always fio's own output, and remarks go to stderr

Files are laid out and kept as in fio. Figures that fio hides go to stderr: response time, a queue
depth that was not reached, reads that came from RAM. filename=sim:NAME or directory=sim:NAME
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
            present::done(&format!("{text}{own}"))
        }
        Request::Run(plan) => execute(&own, &plan),
    }
}

/// ssdyno's own options on the command line.
#[derive(Debug, Default, PartialEq)]
struct Own {
    permissions: Permissions,
    store: Option<PathBuf>,
    dry_run: bool,
}

impl Own {
    fn split(words: &[String]) -> Result<(Own, Vec<String>)> {
        let mut own = Own::default();
        let may = &mut own.permissions;
        let rest = words::split(words, |word| {
            match word.name {
                "--destroy" => may.destroy.push(word.value()?),
                "--store" => own.store = Some(word.value()?.into()),
                "--overwrite-files" => may.overwrite_files = true,
                "--no-iommu" => may.no_iommu = true,
                "--dry-run" => own.dry_run = true,
                // Stdout is always fio's own.
                "--as-is" => {}
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
    let planned = lab::fio::Request {
        jobs: plan,
        permissions: own.permissions.clone(),
        store: own.store.clone(),
        command: cli::typed(),
    };
    let planned = planned.plan()?;
    if own.dry_run {
        show_plan(&planned)?;
        return Ok(ExitCode::SUCCESS);
    }
    check_outputs(plan)?;
    if speaks(plan) {
        present::print(&output::announce(plan))?;
    }
    let how = How { seen: &seen(plan), lines: plan.globals.eta_newline, speaks: speaks(plan) };
    let (ran, recorded) = record(planned, &how)?;
    if let Ok(ran) = &ran {
        for path in &ran.unremoved {
            let path = path.to_string_lossy();
            screen::say(&format!("ssdyno: {} could not be removed", emit::plain(&path)));
        }
        write_results(plan, ran, recorded.run.number)?;
    }
    let code = code(&ran?);
    if code != INTERRUPTED {
        recorded.kept.map_err(Failure::reported)?;
    }
    Ok(ExitCode::from(code))
}

/// Prints the jobs of a plan and their cost.
pub fn show_plan(planned: &Planned<'_>) -> Result<()> {
    let (target, style) = (planned.target(), screen::style());
    let (plan, health) = (&planned.plan, planned.health());
    let announcement = present::announce("fio", target, plan, health, None);
    present::print(&present::plan(&announcement, plan, SCRATCH, health, &style))
}

/// How to show the progress of a run.
pub struct How<'a> {
    /// The progress line.
    pub seen: &'a OutputArgs,
    /// Interval between new progress lines.
    pub lines: Option<Duration>,
    /// Whether stdout announces files being laid out.
    pub speaks: bool,
}

/// Runs a plan and returns its results and its record. A record that is not in the store is
/// reported.
pub fn record<'p>(planned: Planned<'p>, how: &How<'_>) -> Result<(lab::Result<Ran<'p>>, Recorded)> {
    let lines = how.lines.filter(|_| !how.seen.quiet);
    let live = Live::new(&planned.plan, planned.target(), how.seen).with_lines(lines);
    let bar = live.bar();
    let interrupted = interrupt::Run::begin();
    let interrupt = interrupted.flag();
    let done = planned.begin(Relay::start(live, interrupt), interrupt)?.run(
        interrupt,
        &mut |path, bytes| {
            if how.speaks {
                let (path, size) = (path.to_string_lossy(), units::binary_tight(bytes));
                let line = format!("Laying out IO file ({} / {size})\n", emit::plain(&path));
                // A closed stdout is noticed when the results are printed.
                let _ = present::print(&line);
            }
        },
    );
    present::report_unkept(&done.1);
    {
        let _limit = interrupt::Limit::begin();
        bar.finish_and_clear();
    }
    Ok(done)
}

/// Whether stdout is for people, so that progress and lay-outs are announced.
fn speaks(plan: &Plan) -> bool {
    plan.globals.output.is_none() && plan.globals.formats.contains(&Format::Normal)
}

/// The progress line to show during the run, depending on `--eta`.
fn seen(plan: &Plan) -> OutputArgs {
    let quiet = match plan.globals.eta {
        Eta::Never => true,
        Eta::Always => false,
        Eta::Auto => !std::io::stderr().is_terminal(),
    };
    OutputArgs { quiet, ..OutputArgs::default() }
}

fn code(ran: &Ran<'_>) -> u8 {
    match ran.jobs.iter().any(|job| job.error() != 0) {
        _ if ran.interrupted => INTERRUPTED,
        true => IO,
        false => 0,
    }
}

/// Checks that the results and the logs can be written, before the first byte.
fn check_outputs(plan: &Plan) -> Result<()> {
    let logs = output::log_paths(plan, aux_directory(plan)).into_iter();
    let outputs = plan.globals.output.iter().map(PathBuf::from);
    for path in outputs.chain(logs) {
        emit::check(&path, None).map_err(|e| Failure::cannot_write(&path, &e))?;
    }
    Ok(())
}

/// The directory of the logs.
fn aux_directory(plan: &Plan) -> &Path {
    plan.globals.aux_path.as_deref().map_or(Path::new("."), Path::new)
}

/// Writes the results in every requested form to the requested place, and remarks to stderr.
fn write_results(plan: &Plan, ran: &Ran<'_>, number: Option<i64>) -> Result<()> {
    let globals = &plan.globals;
    let (mut text, mut ours) = (String::new(), String::new());
    if globals.output.is_some() && globals.formats.contains(&Format::Normal) {
        text += &output::announce(plan);
    }
    for format in &globals.formats {
        match format {
            Format::Normal => {
                text += &output::normal(ran);
                ours = output::remarks(ran);
                if let Some(number) = number {
                    ours += &format!("\nKept as run {number}: ssdyno show {number}\n");
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
    let directory = aux_directory(plan);
    output::write_logs(ran, directory)
        .map_err(|e| Failure::new(IO, format!("the logs cannot be written: {e}")))?;
    for path in output::write_dumps(ran, directory)
        .map_err(|e| Failure::new(IO, format!("wrong blocks cannot be saved: {e}")))?
    {
        let path = path.to_string_lossy();
        screen::say(&format!("ssdyno: block that failed verification: {}", emit::plain(&path)));
    }
    let _limit = interrupt::Limit::begin();
    match &globals.output {
        None => present::print(&text)?,
        Some(path) => emit::replace(Path::new(path), emit::screen(&text).as_bytes())
            .map_err(|e| Failure::new(IO, format!("{path} cannot be written: {e}")))?,
    }
    if ours.is_empty() {
        // The remarks name them; other formats go to programs.
        output::failures(ran).for_each(|failure| screen::say(&format!("ssdyno: {failure}")));
    } else {
        screen::say(ours.trim_end());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_options_are_removed() {
        let words = ["--name=a", "--destroy=S1", "--store", "f.db", "--size=1m", "--dry-run"];
        let (own, rest) = Own::split(&words.map(String::from)).expect("understood");
        assert_eq!(rest, ["--name=a", "--size=1m"]);
        assert_eq!(own.permissions.destroy, ["S1"]);
        assert_eq!(own.store.as_deref(), Some(Path::new("f.db")));
        assert!(own.dry_run);
    }

    #[test]
    fn own_options_are_documented() {
        let page = include_str!("../../../../docs/fio.md");
        let lines = OWN_HELP.lines().filter_map(|line| line.trim().strip_prefix("--"));
        let names: Vec<_> = lines.filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(names.len(), 6, "{names:?}");
        assert!(names.iter().all(|name| page.contains(&format!("| `--{name}` |"))), "{names:?}");
    }
}
