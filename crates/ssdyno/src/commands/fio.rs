//! `ssdyno fio ...`: runs fio command lines and prints fio's output.
//!
//! The crate `fio` parses the arguments, except for ssdyno's own options, which are removed first.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fio::run::{Announcer, ClonesLayout, Ran};
use fio::{self, CommandLine, Eta, OutputFormat, Plan, output};
use lab::fio::Permissions;
use lab::{PlannedRun, Recorded};
use record::Labels;

use super::session;
use super::words::{self, OptionWord};
use crate::cli::{self, FioArgs, OutputArgs};
use crate::failure::{Failure, IO, Result, USAGE};
use crate::interrupt::INTERRUPTED;
use crate::live::Live;
use crate::{interrupt, present, screen};

/// The effect of jobs on a directory, as shown in a plan.
const SCRATCH: &str = "creates its files, and keeps them as fio does";

const OWN_HELP: &str = "
ssdyno's own options:
  --destroy=SERIAL   allow overwriting a device, named by its serial number, or a file, named by its
                     size in bytes
  --overwrite-files  allow overwriting all files made by other programs, but no device;
                     SSDYNO_OVERWRITE=DIR: those below a directory
  --no-iommu         detach a pci: drive from the kernel even if no IOMMU protects other memory
  --store=FILE       the store for the record
  --prom=DIR         also write the metrics to a textfile of node_exporter in a directory
  --title=TEXT       a title for the record
  --note=TEXT        a remark for the record
  --tag=NAME=VALUE   a tag to group and filter by, as in board=mini-a
  --where=on         follow requests in the kernel (as root), which shows where the time goes
  --dry-run          show the plan, then stop
  --as-is            what a script sees is only what fio prints; also SSDYNO_AS_IS=1, or a link
                     named fio

Files are laid out and kept as in fio. Figures that fio hides go to stderr: response time, a queue
depth that was not reached, reads that came from RAM. filename=sim:NAME or directory=sim:NAME
runs the jobs on a virtual drive.
";

/// The environment variable that does what `--as-is` does, for scripts that run other scripts.
const AS_IS: &str = "SSDYNO_AS_IS";

/// The environment variable that names the directory of files that may be overwritten, for scripts
/// that lay out their files with `dd`.
const OVERWRITE: &str = "SSDYNO_OVERWRITE";

/// Whether a variable of the environment is set, to other than nothing and 0.
fn has_environment(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Runs a fio command line.
pub fn run(args: &FioArgs) -> Result {
    let (mut own_options, words) = OwnOptions::split(&args.words)?;
    own_options.as_is |= has_environment(AS_IS);
    own_options.permissions.overwrite_below = std::env::var_os(OVERWRITE).map(PathBuf::from);
    let is_help = words.is_empty() || words.iter().any(|word| word == "--help" || word == "-h");
    let words = if is_help { vec!["--help".to_string()] } else { words };
    match fio::parse(&words, &fio::Here).map_err(usage)? {
        CommandLine::Answer(text) if is_help => present::done(&format!("{text}{OWN_HELP}")),
        CommandLine::Answer(text) => present::done(&text),
        CommandLine::Inflate(log) => {
            let mut text = Vec::new();
            let packed = std::fs::read(&log);
            packed
                .and_then(|packed| output::inflate_log(&packed, &mut text))
                .map_err(|e| Failure::new(IO, format!("{log} cannot be inflated: {e}")))?;
            present::done(&String::from_utf8_lossy(&text))
        }
        CommandLine::Run(mut plan) => {
            plan.globals.as_is = own_options.as_is;
            if own_options.as_is {
                plan.draw_seeds(cli::drawn_seed());
            }
            execute(&own_options, &plan)
        }
    }
}

/// ssdyno's own options on the command line.
#[derive(Debug, Default, PartialEq)]
struct OwnOptions {
    permissions: Permissions,
    store: Option<PathBuf>,
    labels: Labels,
    /// Directory of textfiles for node_exporter.
    prom: Option<PathBuf>,
    dry_run: bool,
    /// Requests are followed in the kernel.
    traces: bool,
    /// The run stands in for fio in a script.
    as_is: bool,
}

impl OwnOptions {
    fn split(words: &[String]) -> Result<(OwnOptions, Vec<String>)> {
        let mut own_options = OwnOptions::default();
        let permissions = &mut own_options.permissions;
        let rest = words::split(words, |word| {
            match word.name {
                "--destroy" => permissions.destroy.push(word.value()?),
                "--title" | "--note" | "--tag" => label(&mut own_options.labels, word)?,
                "--prom" => own_options.prom = Some(word.value()?.into()),
                "--store" => own_options.store = Some(word.value()?.into()),
                "--overwrite-files" => permissions.overwrite_files = true,
                "--no-iommu" => permissions.no_iommu = true,
                "--where" => own_options.traces = switch(&word.value()?)?,
                "--dry-run" => own_options.dry_run = true,
                "--as-is" => own_options.as_is = true,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok((own_options, rest))
    }
}

/// Adds a label.
fn label(labels: &mut Labels, word: &mut OptionWord<'_, '_>) -> Result<()> {
    let value = word.value()?;
    let result = match word.name {
        "--title" => record::parse_title(&value).map(|title| labels.title = Some(title)),
        "--note" => record::parse_note(&value).map(|note| labels.note = Some(note)),
        _ => record::parse_tag(&value).map(|(name, value)| drop(labels.tags.insert(name, value))),
    };
    result.map_err(|reason| Failure::new(USAGE, format!("{}: {reason}", word.name)))
}

/// Whether a switch is on.
fn switch(text: &str) -> Result<bool> {
    cli::parse_switch(text).map_err(|range| Failure::new(USAGE, format!("--where {range}")))
}

pub fn usage(error: fio::FioError) -> Failure {
    Failure::new(USAGE, &error).advise_if(error.advice)
}

fn execute(own_options: &OwnOptions, plan: &Plan) -> Result {
    let as_is = plan.globals.as_is;
    for note in plan.notes.iter().filter(|note| !as_is || note.drops_option) {
        screen::say(&format!("ssdyno: {}: {}", note.place, note.text));
    }
    let request = lab::fio::Request {
        jobs: plan,
        permissions: own_options.permissions.clone(),
        traces: own_options.traces,
        store: own_options.store.clone(),
        command: cli::typed(),
        labels: own_options.labels.clone(),
    };
    let is_announced = is_stdout_for_people(plan);
    let mut announcer = OutputAnnouncer { plan, is_announced, text: String::new() };
    let mut results = None;
    let planned = request.plan(&mut announcer, &mut results)?;
    if own_options.dry_run {
        show_plan(&planned)?;
        return Ok(ExitCode::SUCCESS);
    }
    check_outputs(plan)?;
    if plan.globals.output.is_none() {
        present::print(&output::debug(plan))?;
    }
    if is_announced {
        present::print(&output::announce(plan))?;
    }
    let recorded = record(planned, plan, &progress_output(plan))?;
    if let Some(directory) = &own_options.prom {
        present::write_textfile(&recorded.run, directory)?;
    }
    let Some(ran) = results else {
        recorded.ended?;
        return Ok(ExitCode::SUCCESS);
    };
    for path in &ran.unremoved {
        let path = path.to_string_lossy();
        screen::say(&format!("ssdyno: {} could not be removed", emit::plain(&path)));
    }
    write_results(plan, &ran, &announcer.text, recorded.run.number)?;
    let code = exit_code(&ran);
    if code != INTERRUPTED {
        recorded.kept.map_err(Failure::reported)?;
    }
    Ok(ExitCode::from(code))
}

/// Announces lay-outs and the results so far where the results will be.
struct OutputAnnouncer<'p> {
    plan: &'p Plan,
    /// Whether stdout is for people.
    is_announced: bool,
    /// What the file of the results will have before them.
    text: String,
}

impl OutputAnnouncer<'_> {
    /// Adds to the file, or to stdout.
    fn add(&mut self, text: &str, is_printed: bool) {
        if is_printed {
            // A closed stdout is noticed when the results are printed.
            let _ = present::print(text);
        }
        self.text += text;
    }
}

impl Announcer for OutputAnnouncer<'_> {
    fn laying_out(&mut self, layout: &ClonesLayout<'_>) {
        if self.plan.globals.formats.contains(&OutputFormat::Normal) {
            self.add(&layout_line(layout), self.is_announced);
        }
    }

    fn status(&mut self, ran: &Ran<'_>) {
        let text = results_text(self.plan, ran);
        self.add(&text, self.plan.globals.output.is_none());
    }
}

/// Prints the jobs of a plan and their cost.
pub fn show_plan(planned: &PlannedRun<'_>) -> Result<()> {
    let (plan, health) = (&planned.plan, planned.health());
    let announcement = present::announce("fio", planned.spec(), plan, health, None);
    session::print_plan(planned, &announcement, SCRATCH)
}

/// Carries out the plan of jobs and returns its record.
pub fn record(planned: PlannedRun<'_>, jobs: &Plan, output: &OutputArgs) -> Result<Recorded> {
    let lines = jobs.globals.eta_newline.filter(|_| !output.quiet);
    let live = Live::new(&planned.plan, planned.spec(), planned.method(), output)
        .with_lines(lines)
        .hiding_store(jobs.globals.as_is);
    session::carry_out(planned, live, |_| {})
}

/// fio's line about the files of a clone that are about to be laid out.
fn layout_line(layout: &ClonesLayout<'_>) -> String {
    let &ClonesLayout { job, files, bytes } = layout;
    let (s, total) = if files > 1 { ("s", "total ") } else { ("", "") };
    let (job, mib) = (emit::plain(job), bytes >> 20);
    format!("{job}: Laying out IO file{s} ({files} file{s} / {total}{mib}MiB)\n")
}

/// Whether stdout is for people, so that progress and lay-outs are announced.
fn is_stdout_for_people(plan: &Plan) -> bool {
    plan.globals.output.is_none() && plan.globals.formats.contains(&OutputFormat::Normal)
}

/// The progress line to show during the run, depending on `--eta`.
fn progress_output(plan: &Plan) -> OutputArgs {
    let quiet = match plan.globals.eta {
        Eta::Never => true,
        Eta::Always => false,
        Eta::Auto => !std::io::stderr().is_terminal(),
    };
    OutputArgs { quiet, ..OutputArgs::default() }
}

fn exit_code(ran: &Ran<'_>) -> u8 {
    if ran.interrupted {
        INTERRUPTED
    } else if ran.jobs.iter().any(|job| job.error() != 0) {
        IO
    } else {
        0
    }
}

/// Checks that the results and the logs can be written, before the first byte.
fn check_outputs(plan: &Plan) -> Result<()> {
    let logs = output::log_paths(plan, plan.aux_directory()).into_iter();
    let outputs = plan.globals.output.iter().map(PathBuf::from);
    for path in outputs.chain(logs) {
        emit::check(&path, None).map_err(|e| Failure::cannot_write(&path, &e))?;
    }
    for path in output::iolog_paths(plan) {
        let head = Some(fio::HEADER_3.as_bytes());
        emit::check(&path, head).map_err(|e| Failure::cannot_write(&path, &e))?;
    }
    Ok(())
}

/// The remarks on a run, and the number of its record.
fn remarks_of_run(ran: &Ran<'_>, number: Option<i64>) -> String {
    let record = number.map(|number| format!("\nKept as run {number}: ssdyno show {number}\n"));
    output::remarks(ran) + &record.unwrap_or_default()
}

/// The results in every requested form.
fn results_text(plan: &Plan, ran: &Ran<'_>) -> String {
    let globals = &plan.globals;
    let mut text = String::new();
    let mut formats = globals.formats.clone();
    formats.sort_unstable();
    let has_bins = formats.contains(&OutputFormat::JsonPlus);
    // Bins are an addition to the one document.
    formats.retain(|format| *format != OutputFormat::Json || !has_bins);
    for format in formats {
        match format {
            OutputFormat::Normal => text += &output::normal(ran),
            OutputFormat::Terse => text += &output::terse(ran, globals.terse_version),
            OutputFormat::Json | OutputFormat::JsonPlus => {
                text += &output::json(ran, format == OutputFormat::JsonPlus);
                text.push('\n');
            }
        }
    }
    text
}

/// Writes the results in every requested form to the requested place, and remarks to stderr. `before`
/// is what a file has before them.
fn write_results(plan: &Plan, ran: &Ran<'_>, before: &str, number: Option<i64>) -> Result<()> {
    let globals = &plan.globals;
    let (mut text, mut remarks) = (String::new(), String::new());
    let is_for_people = globals.formats.contains(&OutputFormat::Normal);
    if globals.output.is_some() {
        text += &output::debug(plan);
        if is_for_people {
            text += &output::announce(plan);
        }
        text += before;
    }
    text += &results_text(plan, ran);
    if is_for_people && !globals.as_is {
        remarks = remarks_of_run(ran, number);
    }
    let directory = plan.aux_directory();
    output::write_logs(ran, directory)
        .map_err(|e| Failure::new(IO, format!("the logs cannot be written: {e}")))?;
    output::write_iologs(ran)
        .map_err(|e| Failure::new(IO, format!("the I/O log cannot be written: {e}")))?;
    let unknown = output::write_states(ran, directory)
        .map_err(|e| Failure::new(IO, format!("the state of verify cannot be saved: {e}")))?;
    for name in unknown {
        let name = emit::plain(&name);
        screen::say(&format!("ssdyno: {name}: verify_state_save: not all its writes are known"));
    }
    let dumps = output::write_dumps(ran, directory)
        .map_err(|e| Failure::new(IO, format!("wrong blocks cannot be saved: {e}")))?;
    for path in dumps {
        let path = path.to_string_lossy();
        screen::say(&format!("ssdyno: block that failed verification: {}", emit::plain(&path)));
    }
    let _limit = interrupt::OutputLimit::begin();
    match &globals.output {
        None => present::print(&text)?,
        Some(path) => emit::replace(Path::new(path), emit::screen(&text).as_bytes())
            .map_err(|e| Failure::new(IO, format!("{path} cannot be written: {e}")))?,
    }
    if remarks.is_empty() {
        // The remarks name them; other formats go to programs.
        output::failures(ran).for_each(|failure| screen::say(&format!("ssdyno: {failure}")));
    } else {
        screen::say(remarks.trim_end());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_options_are_removed() {
        let words = ["--name=a", "--destroy=S1", "--store", "f.db", "--size=1m", "--dry-run"];
        let (own, rest) = OwnOptions::split(&words.map(String::from)).expect("understood");
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
        assert_eq!(names.len(), 11, "{names:?}");
        assert!(names.iter().all(|name| page.contains(&format!("| `--{name}` |"))), "{names:?}");
    }
}
