//! `ssdyno iozone ...`: runs iozone command lines and prints iozone's table of the results.
//!
//! `compat` parses the arguments, except for ssdyno's own options, which all begin with two dashes
//! and are removed first.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use compat::iozone::{self, IozoneCommand, IozoneRequest};
use lab::{Recorded, Request};
use record::{Ending, Level, Run};

use super::{session, words};
use crate::cli::{self, IozoneArgs, OutputArgs};
use crate::failure::{Failure, IO, Result, USAGE};
use crate::{interrupt, present, screen};

const OWN_HELP: &str = "
ssdyno's own options:
  --destroy=SERIAL   permit overwriting the device after -f
  --legacy           only iozone's figures, not those that can be believed
  --store=FILE       the store for the record
  --json             the record as JSON, no table
  --quiet            no progress on stderr
  --dry-run          show the plan and stop
  --as-is            has no effect: stdout is always iozone's own output, and remarks go to stderr
";

/// Runs an iozone command line.
pub fn run(args: &IozoneArgs) -> Result {
    let (own_options, words) = Own::split(&args.words)?;
    let command = match iozone::parse(&words).map_err(usage)? {
        IozoneRequest::Answer(text) => {
            return present::done(&format!("{text}{OWN_HELP}"));
        }
        IozoneRequest::Version(text) => return present::done(text),
        IozoneRequest::Run(command) => *command,
    };
    execute(&own_options, &command)
}

/// ssdyno's own options on the command line.
#[derive(Debug, Default, PartialEq)]
struct Own {
    destroy: Option<String>,
    store: Option<PathBuf>,
    legacy: bool,
    json: bool,
    quiet: bool,
    dry_run: bool,
}

impl Own {
    fn split(words: &[String]) -> Result<(Own, Vec<String>)> {
        let mut own_options = Own::default();
        let mut rest = words::split(words, |word| {
            match word.name {
                "--destroy" => own_options.destroy = Some(word.value()?),
                "--store" => own_options.store = Some(word.value()?.into()),
                "--legacy" => own_options.legacy = true,
                "--json" => own_options.json = true,
                "--quiet" => own_options.quiet = true,
                "--dry-run" => own_options.dry_run = true,
                // Stdout is always iozone's own.
                "--as-is" => {}
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        // iozone's own option for help.
        rest.iter_mut().filter(|word| *word == "--help").for_each(|word| *word = "-h".to_string());
        Ok((own_options, rest))
    }
}

fn usage(error: iozone::IozoneError) -> Failure {
    Failure::new(USAGE, &error).advise_if(error.advice)
}

fn execute(own_options: &Own, command: &IozoneCommand) -> Result {
    for note in &command.notes {
        screen::say(&format!("ssdyno: {note}"));
    }
    let work = lab::iozone::work(command, own_options.legacy)?;
    let request = Request {
        target: lab::iozone::target(command, own_options.destroy.clone()),
        store: own_options.store.clone(),
        instrument: lab::iozone::instrument(command),
        command: cli::typed(),
        ..Request::default()
    };
    let quiet = own_options.quiet || own_options.json;
    let output = OutputArgs { json: own_options.json, quiet, ..OutputArgs::default() };
    if own_options.dry_run {
        session::show_plan(&request, &output, &work)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(path) = &command.sheet {
        emit::check(Path::new(path), None).map_err(|e| cannot_write_sheet(path, &e))?;
    }
    for name in iozone::latency_names(command) {
        let example = Some(iozone::LATENCIES.as_bytes());
        emit::check(Path::new(&name), example).map_err(|e| cannot_write_latencies(&name, &e))?;
    }
    let Recorded { run, ended, kept, .. } = session::record(&request, &output, &work)?;
    if own_options.json {
        present::print(&present::record_json(&run, false)?)?;
    } else {
        present::print(&iozone::table(command, &run, &run.started))?;
        screen::say(beside(command, &run).trim_end());
    }
    if let Some(path) = &command.sheet {
        let _limit = interrupt::OutputLimit::begin();
        let is_text = Path::new(path).extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"));
        let content = if is_text {
            iozone::csv(&command.run, &run).into_bytes()
        } else {
            iozone::sheet(command, &run)
        };
        emit::replace(Path::new(path), content).map_err(|e| cannot_write_sheet(path, &e))?;
    }
    for (name, content) in iozone::latency_files(command) {
        let _limit = interrupt::OutputLimit::begin();
        emit::renew(Path::new(&name), content).map_err(|e| cannot_write_latencies(&name, &e))?;
    }
    ended?;
    kept.map_err(Failure::reported)?;
    Ok(present::exit_code(&run))
}

fn cannot_write_sheet(path: &str, error: &io::Error) -> Failure {
    Failure::new(IO, format!("-b: {path} cannot be written: {error}"))
}

fn cannot_write_latencies(name: &str, error: &io::Error) -> Failure {
    Failure::new(IO, format!("-Q: {name} cannot be written: {error}"))
}

/// The remarks: trustworthy figures, verdicts, warnings and the number of the record.
fn beside(command: &IozoneCommand, run: &Run) -> String {
    let mut text = String::from("\n");
    let honest = iozone::honest(&command.run, run);
    if !honest.is_empty() {
        text += &format!("{honest}\n");
    }
    let width = screen::style().width.min(100);
    // The figures of a failed run need no comment; the error follows.
    let is_judged = run.ending() != Ending::Failed;
    for verdict in run.verdicts.iter().filter(|_| is_judged) {
        text += &(screen::wrap(&format!("{}: {}", verdict.kind, verdict.text), width) + "\n");
    }
    for warning in run.warnings.iter().filter(|w| w.level > Level::Note) {
        text += &(screen::wrap(&format!("distrust: {}", warning.text), width) + "\n");
    }
    match run.number {
        Some(number) => text + &format!("Kept as run {number}: ssdyno show {number}\n"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_options_are_removed() {
        let words = ["-e", "--store", "f.db", "-s", "1m", "--legacy", "--destroy=S1"];
        let (own, rest) = Own::split(&words.map(String::from)).expect("understood");
        assert_eq!(rest, ["-e", "-s", "1m"]);
        assert_eq!(own.destroy.as_deref(), Some("S1"));
        assert!(own.legacy && own.store.is_some() && !own.json);
    }
}
