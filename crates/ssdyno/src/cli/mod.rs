//! The command line: what can be typed, and the help for it.

mod drives;
mod fio;
mod import;
mod io;
mod iozone;
mod partition;
mod prepare;
mod records;
mod recover;
mod run;
mod target;

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};

pub use self::drives::{DrivesArgs, DrivesCommand, FitArgs, HereArgs, ReplicateArgs};
pub use self::fio::FioArgs;
pub use self::import::ImportArgs;
pub use self::io::IoArgs;
pub use self::iozone::IozoneArgs;
pub use self::partition::PartitionArgs;
pub use self::prepare::{EraseArgs, PrepareArgs, StateWanted};
pub use self::records::{CompareArgs, ExportArgs, RmArgs, RunsArgs, ShowArgs};
pub use self::recover::RecoverArgs;
pub use self::run::{DoctorArgs, ListArgs, MethodsArgs, RunArgs};
pub use self::target::{BorrowArgs, InstrumentArgs, OutputArgs, StoreArgs, TargetArgs};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const EXAMPLES: &str = "\
Examples:
  ssdyno run .                          the drive under this directory, about a minute
  ssdyno list                           the drives here, and what may be done to them
  ssdyno run /dev/nvme0n1               a whole drive, reads only
  ssdyno io . --rw randread --bs 4k --depth 32 --time 10s
  ssdyno show last --html               the last run as a page with charts

A directory gets a scratch file that is removed again; a device is only read, unless you give it
away by name with --destroy=SERIAL.";

/// How fast a drive really is, why, and whether the number can be believed.
#[derive(Debug, Parser)]
#[command(name = "ssdyno", version, styles = STYLES, after_help = EXAMPLES)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
#[command(max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure a drive: the main job
    Run(RunArgs),
    /// The drives here: identity, link, file systems, temperature, what is allowed
    List(ListArgs),
    /// One workload by hand, in the words storage people know
    Io(Box<IoArgs>),
    /// What fio would run: its command line and job files, its results and what they hide
    #[command(disable_help_flag = true)]
    Fio(FioArgs),
    /// iozone's command lines, and its table
    #[command(disable_help_flag = true)]
    Iozone(IozoneArgs),
    /// Bring a drive into a state: fresh, filled, used, trimmed
    Prepare(PrepareArgs),
    /// The tests: what each does, how long, what it writes and may destroy
    Methods(MethodsArgs),
    /// The virtual drives: what each is, and where its figures come from
    Drives(DrivesArgs),
    /// A published experiment on virtual drives or your own, its figures beside ours
    Replicate(ReplicateArgs),
    /// The partition table of a drive: read, or planned and written
    Partition(PartitionArgs),
    /// The records there are
    Runs(RunsArgs),
    /// One record: as text, or --html, --json, --markdown, --csv
    Show(ShowArgs),
    /// Two records beside each other: what may be said of the difference, and what not
    Compare(CompareArgs),
    /// Records as JSON lines or CSV, for other programs
    Export(ExportArgs),
    /// Results of other tools: fio, iozone, dd, hdparm, f3, CrystalDiskMark, ...
    Import(ImportArgs),
    /// Remove records
    Rm(RmArgs),
    /// After a kill or a loss of power: compare what was borrowed, put back what differs
    Recover(RecoverArgs),
    /// Is this machine fit to measure?
    Doctor(DoctorArgs),
    /// Completions for a shell, on stdout
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// The manual: of the command on stdout, or a page for each in a directory
    Man {
        /// Where to write ssdyno.1 and a page for every command
        directory: Option<PathBuf>,
    },
}
