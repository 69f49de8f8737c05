//! `ssdyno iozone ...`: iozone's command lines, run by ssdyno, with iozone's table of the results.
//!
//! `compat` parses the words, except for ssdyno's own, which all begin with two dashes and are removed
//! first. The file after `-f` only names the place: a scratch file beside it is used.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use compat::iozone::{self, Command, Request};
use lab::{Options, Recorded, Request as LabRequest, Work};
use record::{Level, Run};

use super::{session, words};
use crate::cli::{BorrowArgs, InstrumentArgs, IozoneArgs, OutputArgs, StoreArgs, TargetArgs};
use crate::failure::{Failure, IO, Result, USAGE};
use crate::{interrupt, present, screen};

const OWN_HELP: &str = "
ssdyno's own options:
  --destroy=SERIAL   give a device behind -f away to be overwritten
  --legacy           only iozone's figures, not those that can be believed
  --store=FILE       the store that keeps the record
  --json             the record as JSON, no table
  --quiet            no progress on stderr
  --dry-run          what would be done, and stop
";

/// A scratch file has at least this many bytes.
const LEAST_BYTES: u64 = 4 << 20;

/// Runs an iozone command line.
pub fn run(args: &IozoneArgs) -> Result {
    let (own, words) = Own::split(&args.words)?;
    let mut command = match iozone::parse(&words).map_err(usage)? {
        Request::Answer(text) => {
            present::print(&format!("{text}{OWN_HELP}"))?;
            return Ok(ExitCode::SUCCESS);
        }
        Request::Run(command) => *command,
    };
    command.run.honest = !own.legacy;
    execute(&own, &command)
}

/// ssdyno's own options among the words.
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
        let mut own = Own::default();
        let mut rest = words::split(words, |word| {
            match word.name {
                "--destroy" => own.destroy = Some(word.value()?),
                "--store" => own.store = Some(word.value()?.into()),
                "--legacy" => own.legacy = true,
                "--json" => own.json = true,
                "--quiet" => own.quiet = true,
                "--dry-run" => own.dry_run = true,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        // iozone's own option for help.
        rest.iter_mut().filter(|word| *word == "--help").for_each(|word| *word = "-h".to_string());
        Ok((own, rest))
    }
}

fn usage(error: iozone::IozoneError) -> Failure {
    Failure::new(USAGE, &error).advise_if(error.advice)
}

fn execute(own: &Own, command: &Command) -> Result {
    for note in &command.notes {
        screen::say(&format!("ssdyno: {note}"));
    }
    let on = target(own, command);
    let options = Options::default().with(&lab::IOZONE, Some(command.run.clone()));
    let work = Work::method("iozone", &options)?;
    let interrupt = interrupt::flag()?;
    if own.dry_run {
        return session::run(&on, &work, &interrupt);
    }
    let Recorded { run, ended, kept, .. } =
        session::record(&LabRequest::from(&on), &on.output, &work, &interrupt)?;
    if own.json {
        present::print(&present::record_json(&run, false)?)?;
    } else {
        present::print(&iozone::table(command, &run, &run.started))?;
        present::print(&beside(&run))?;
    }
    if let Some(path) = &command.csv {
        std::fs::write(path, iozone::csv(&command.run, &run))
            .map_err(|e| Failure::new(IO, format!("-b: {path} cannot be written: {e}")))?;
    }
    ended?;
    kept?;
    Ok(present::exit_code(&run))
}

/// The part that iozone does not have: verdicts, warnings and the place of the record.
fn beside(run: &Run) -> String {
    let mut text = String::from("\n");
    let width = screen::style().width.min(100);
    for verdict in &run.verdicts {
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

fn target(own: &Own, command: &Command) -> TargetArgs {
    let target = place(command.file.as_deref());
    let directory = Path::new(&target).is_dir();
    TargetArgs {
        size: directory.then(|| command.run.file_bytes_max().max(LEAST_BYTES)),
        target,
        destroy: own.destroy.clone(),
        borrow: BorrowArgs { allowed: false, journal: None },
        dry_run: own.dry_run,
        instrument: InstrumentArgs { backend: None, pin: false, seed: 1, patience: None },
        output: OutputArgs {
            json: own.json,
            events: false,
            html: None,
            quiet: own.quiet || own.json,
        },
        store: StoreArgs { store: own.store.clone() },
    }
}

/// The directory of the file after `-f`. A device and a virtual drive are the place themselves.
fn place(file: Option<&str>) -> String {
    let Some(file) = file else { return ".".into() };
    let path = Path::new(file);
    let itself = file.starts_with("sim:") || file == "null:" || path.is_dir();
    if itself || path.exists() && !path.is_file() {
        return file.to_string();
    }
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => parent.display().to_string(),
        None => ".".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_is_taken_out() {
        let words = ["-e", "--store", "f.db", "-s", "1m", "--legacy", "--destroy=S1"];
        let (own, rest) = Own::split(&words.map(String::from)).expect("understood");
        assert_eq!(rest, ["-e", "-s", "1m"]);
        assert_eq!(own.destroy.as_deref(), Some("S1"));
        assert!(own.legacy && own.store.is_some() && !own.json);
    }

    #[test]
    fn a_file_says_where_and_is_not_touched() {
        assert_eq!(place(None), ".");
        assert_eq!(place(Some("iozone.tmp")), ".");
        assert_eq!(place(Some("/no/such/place/iozone.tmp")), "/no/such/place");
        assert_eq!(place(Some("/")), "/");
        assert_eq!(place(Some("/dev/null")), "/dev/null");
        assert_eq!(place(Some("sim:qlc-1t")), "sim:qlc-1t");
    }
}
