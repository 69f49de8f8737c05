//! The command line and its help.

mod complete;
mod drives;
mod fio;
mod image;
mod import;
mod io;
mod iozone;
mod partition;
mod prepare;
mod records;
mod recover;
mod run;
mod target;
mod web;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::builder::styling::{AnsiColor, Styles};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use self::drives::{
    CheckArgs, DrivesArgs, DrivesCommand, FitArgs, HereArgs, MakeArgs, ReplicateArgs,
};
pub use self::fio::FioArgs;
pub use self::image::{ImageArgs, ImageCommand};
pub use self::import::ImportArgs;
pub use self::io::IoArgs;
pub use self::iozone::IozoneArgs;
pub use self::partition::PartitionArgs;
pub use self::prepare::{DriverArgs, EraseArgs, PrepareArgs};
pub use self::records::{CompareArgs, ExportArgs, ExportFormat, RmArgs, RunsArgs, ShowArgs};
pub use self::recover::RecoverArgs;
pub use self::run::{DoctorArgs, ListArgs, MethodsArgs, RESUME, RunArgs};
pub use self::target::{
    LabelArgs, MeasureArgs, OutputArgs, StoreArgs, TargetArgs, drawn_seed, parse_switch,
};
pub use self::web::{SiteArgs, WebArgs};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const EXAMPLES: &str = "\
Examples:
  ssdyno run .                          the drive under this directory
  ssdyno show last --html               the last run as a page with charts

In a directory, a scratch file is used. A device is only read, unless --borrow
or --destroy=SERIAL permits more.";

/// How fast a drive really is, why, and whether the number can be trusted.
#[derive(Debug, Parser)]
#[command(name = "ssdyno", version, styles = STYLES, after_help = EXAMPLES)]
#[command(subcommand_required = true, disable_help_subcommand = true)]
#[command(max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure a drive
    Run(RunArgs),
    /// List the drives of this machine, and what a run may do to them
    List(ListArgs),
    /// Run one workload, given by options
    Io(Box<IoArgs>),
    /// Run fio's command lines and job files, with fio's output
    #[command(disable_help_flag = true)]
    Fio(FioArgs),
    /// Run iozone's command lines, with iozone's table
    #[command(disable_help_flag = true)]
    Iozone(IozoneArgs),
    /// Bring a drive into a state: fresh, filled, used or trimmed
    Prepare(PrepareArgs),
    /// List the methods: question, duration, bytes written, safety
    Methods(MethodsArgs),
    /// List the virtual drives, and the sources of their figures
    Drives(DrivesArgs),
    /// Repeat a published experiment on virtual drives or your own
    Replicate(ReplicateArgs),
    /// Show, plan or write the partition table of a drive
    Partition(PartitionArgs),
    /// List the records
    Runs(RunsArgs),
    /// Show one record: as text, or --html, --json, --markdown, --csv
    Show(ShowArgs),
    /// Compare runs; with -m, targets measured in turns
    Compare(CompareArgs),
    /// Show the records in a browser, and start runs there
    Web(WebArgs),
    /// Write the records as a static web site
    Site(SiteArgs),
    /// Print records as JSON lines or CSV, for other programs
    Export(ExportArgs),
    /// Import results of fio, iozone, dd, f3, CrystalDiskMark and others
    Import(ImportArgs),
    /// Remove records
    Rm(RmArgs),
    /// Restore borrowed blocks after a kill or a power loss
    Recover(RecoverArgs),
    /// Make images for `run -m restore`
    Image(ImageArgs),
    /// Check whether this machine is fit for measuring
    Doctor(DoctorArgs),
    /// Print the completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual, or write a page for every command
    Man {
        /// Directory for ssdyno.1 and a page for every command
        directory: Option<PathBuf>,
    },
}

impl Command {
    /// Whether it opens the store, or journals, outside a run.
    pub fn opens_store(&self) -> bool {
        match self {
            Command::List(_)
            | Command::Runs(_)
            | Command::Show(_)
            | Command::Export(_)
            | Command::Import(_)
            | Command::Rm(_)
            | Command::Recover(_) => true,
            Command::Compare(args) => args.live.method.is_none(),
            Command::Drives(args) => matches!(args.what, Some(DrivesCommand::Fit(_))),
            _ => false,
        }
    }
}

/// Parses the file of a page. Where it may be omitted, `show --html 3` would otherwise write the last
/// run's page to a file named 3: a number or another word that selects a run or a document is
/// refused, in every command.
fn parse_page(text: &str) -> Result<PathBuf, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number || text == "last" || text.starts_with("pub:") {
        return Err(format!("'{text}' is not the file of a page: place it before --html"));
    }
    Ok(PathBuf::from(text))
}

/// Parses a command line; its help shows what concerns this line.
pub fn parse(words: Vec<OsString>) -> Result<Cli, clap::Error> {
    let typed: Vec<String> = words.iter().map(|w| w.to_string_lossy().into_owned()).collect();
    let mut definition = run::shown_for(Cli::command(), &typed);
    let mut matches = definition.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut definition))
}

/// The command line that the answers to questions stand for.
static MEANT: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// Sets the command line that is shown and recorded from now on.
pub fn mean(words: &[String]) {
    *MEANT.lock().unwrap_or_else(PoisonError::into_inner) = Some(words.to_vec());
}

/// The command line as shown and recorded; bytes that are not UTF-8 are replaced.
pub fn typed() -> Vec<String> {
    let meant = MEANT.lock().unwrap_or_else(PoisonError::into_inner).clone();
    meant.unwrap_or_else(words_of_process)
}

fn words_of_process() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The command of a recorded command line; `None` if this version does not understand it.
pub fn reparsed(words: &[String]) -> Option<Command> {
    Cli::try_parse_from(words).ok().map(|cli| cli.command)
}

/// The command line. If called through a link named `fio` or `iozone`, inserts that command, which
/// stands in for the tool; `help run` is `run --help`.
pub fn under_other_names(words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|word| word == "help") {
        let (name, topic) = (words.iter().take(1), words.iter().skip(2).take(1));
        return name.chain(topic).cloned().chain([OsString::from("--help")]).collect();
    }
    let name = words.first().and_then(|word| Path::new(word).file_name()?.to_str());
    let Some(tool @ ("fio" | "iozone")) = name else { return words };
    let command = ["ssdyno", tool, "--as-is"].map(OsString::from);
    command.into_iter().chain(words.into_iter().skip(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The options in the help of `run`, for these further words.
    fn listed(words: &[&str]) -> Vec<String> {
        let line = [&["ssdyno", "run"], words, &["--help"]].concat();
        let help = parse(line.into_iter().map(OsString::from).collect()).expect_err("help");
        let text = help.to_string();
        let options = text.split("Examples:").next().unwrap_or_default();
        let starts = options.lines().filter_map(|line| {
            let word = line.trim_start().split([' ', '=']).find(|word| word.starts_with("--"))?;
            line.starts_with("  ").then(|| word.to_string())
        });
        starts.collect()
    }

    #[test]
    fn the_help_of_run_fits_a_page_and_shows_the_options_of_the_methods_asked() {
        let plain = listed(&[]);
        // 20 and --help.
        assert!(plain.len() <= 21, "{}: {plain:?}", plain.len());
        assert!(plain.iter().all(|option| option != "--rate" && option != "--answers"));
        for (words, option) in [
            (&["-m", "quick,stream"][..], "--rate"),
            (&["--method=iometer"], "--icf"),
            (&["--protocol", "state-bars"], "--answers"),
            (&["pci:0000:01:00.0"], "--no-iommu"),
            (&["instrument"], "--patience"),
            (&["--borrow"], "--journal"),
        ] {
            assert!(listed(words).iter().any(|listed| listed == option), "{words:?}: {option}");
        }
    }

    #[test]
    fn html_takes_a_file_in_every_command_and_no_run() {
        let page = |line: &str| {
            let words: Vec<String> = line.split(' ').map(String::from).collect();
            match reparsed(&words).unwrap_or_else(|| panic!("{line}")) {
                Command::Run(args) => args.measure.output.html.map(Some),
                Command::Io(args) => args.on.measure.output.html.map(Some),
                Command::Compare(args) => args.html.map(Some),
                Command::Show(args) => args.html,
                Command::Replicate(args) => args.html,
                other => panic!("{other:?}"),
            }
        };
        let commands = ["run .", "io .", "compare 1 2", "show 1", "replicate 003 --claims"];
        for command in commands {
            for option in ["--html p.html", "--html=p.html"] {
                let line = format!("ssdyno {command} {option}");
                assert_eq!(page(&line), Some(Some("p.html".into())), "{line}");
            }
            for run in ["3", "last", "pub:003/m225-fresh"] {
                let line = format!("ssdyno {command} --html {run}");
                assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{line}");
            }
        }
        for command in ["show", "show 1", "replicate 003"] {
            assert_eq!(page(&format!("ssdyno {command} --html")), Some(None), "{command}");
        }
    }

    #[test]
    fn a_link_named_like_a_tool_is_that_command() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let table = [
            ("/usr/bin/fio --name=a", "ssdyno fio --as-is --name=a"),
            ("iozone -e -I", "ssdyno iozone --as-is -e -I"),
            ("ssdyno fio --name=a", "ssdyno fio --name=a"),
            ("./ssdyno-1 run .", "./ssdyno-1 run ."),
            ("ssdyno help", "ssdyno --help"),
            ("ssdyno help run", "ssdyno run --help"),
        ];
        for (typed, meant) in table {
            assert_eq!(under_other_names(words(typed)), words(meant));
        }
    }
}
