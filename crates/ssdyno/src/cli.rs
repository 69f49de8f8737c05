//! The command line: what can be typed, and the help for it.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use engine::BackendKind;
use workload::{BlockSizes, Content, Pattern, units};

use crate::words::{self, Burst};

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
    /// The tests: what each does, how long, what it writes and may destroy
    Methods(MethodsArgs),
    /// The virtual drives: what each is, and where its figures come from
    Drives(DrivesArgs),
    /// A published experiment on virtual drives, its figures beside the published ones
    Replicate(ReplicateArgs),
    /// The records there are
    Runs(RunsArgs),
    /// One record: as text, or --html, --json, --markdown, --csv
    Show(ShowArgs),
    /// Records as JSON lines or CSV, for other programs
    Export(ExportArgs),
    /// Remove records
    Rm(RmArgs),
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

#[derive(Clone, Debug, Args)]
pub struct StoreArgs {
    /// The store of records [default: in the XDG data directory]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only the drive behind this path
    pub path: Option<PathBuf>,
    /// JSON on stdout
    #[arg(long)]
    pub json: bool,
}

/// What `run` and `io` have in common.
#[derive(Debug, Args)]
#[command(next_help_heading = "Target")]
pub struct TargetArgs {
    /// Directory, file or block device
    #[arg(value_name = "TARGET", help_heading = None)]
    pub target: String,
    /// Bytes to work on: 1GiB, 500M [default: 1GiB or what fits; all of a file or device]
    #[arg(long, value_parser = units::parse_bytes, value_name = "SIZE")]
    pub size: Option<u64>,
    /// Give it away to be overwritten: a device by its serial number, or else by its size in bytes
    #[arg(long, value_name = "SERIAL")]
    pub destroy: Option<String>,
    /// Show what would be done and what it costs, and stop
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub instrument: InstrumentArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Instrument")]
pub struct InstrumentArgs {
    /// How I/O is issued: uring, aio, psync or null [default: the best that works]
    #[arg(long, value_name = "NAME")]
    pub backend: Option<BackendKind>,
    /// Bind every job to a processor
    #[arg(long)]
    pub pin: bool,
    /// Seed of everything random
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// The record as JSON on stdout, in one line
    #[arg(long)]
    pub json: bool,
    /// Before it a JSON line for every step and interval, as they happen
    #[arg(long, requires = "json")]
    pub events: bool,
    /// Where to write the HTML report [default: beside the store]
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// No progress on stderr
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Test", after_help = RUN_EXAMPLES)]
pub struct RunArgs {
    /// The tests to run, in order: see `ssdyno methods`
    #[arg(long, short, value_name = "METHOD", default_value = "quick")]
    pub method: Vec<String>,
    /// About how long it may take: 30s, 5m
    #[arg(long, value_parser = units::parse_duration, value_name = "TIME")]
    pub time: Option<Duration>,
    /// How often each workload is repeated; intervals need two
    #[arg(long, value_name = "N")]
    pub replicates: Option<u32>,
    #[command(flatten)]
    pub on: TargetArgs,
}

const RUN_EXAMPLES: &str = "\
Examples:
  ssdyno run .                              the drive under this directory, about a minute
  ssdyno run . --time 10s --size 256MiB     a short look
  ssdyno run /dev/sdb                       a whole drive, reads only
  ssdyno run /dev/sdb --destroy=S6Z1NJ0W    and writes: everything on it is lost
  ssdyno run . --json | jq .metrics         for programs";

/// Direction and order of a workload, in fio's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Access {
    Read,
    Write,
    Randread,
    Randwrite,
    Rw,
    Randrw,
}

impl Access {
    /// Whether addresses are in random order.
    pub fn is_random(self) -> bool {
        matches!(self, Access::Randread | Access::Randwrite | Access::Randrw)
    }
}

const IO_EXAMPLES: &str = "\
Examples:
  ssdyno io . --rw randread --bs 4k --depth 32
  ssdyno io . --rw write --bs 1M --depth 8 --size 4GiB --time 30s
  ssdyno io . --rw randrw --mix 70 --rate 5000 --poisson     response time under a load
  ssdyno io /dev/sdb --rw read --bs 1M --time 10s
  ssdyno io . --rw randwrite --verify --size 256MiB          check every sector written";

#[derive(Debug, Args)]
#[command(after_help = IO_EXAMPLES)]
pub struct IoArgs {
    #[command(flatten)]
    pub ops: OpsArgs,
    #[command(flatten)]
    pub flight: FlightArgs,
    #[command(flatten)]
    pub end: EndArgs,
    #[command(flatten)]
    pub place: PlaceArgs,
    #[command(flatten)]
    pub on: TargetArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Operations")]
pub struct OpsArgs {
    /// read, write, randread, randwrite, rw (both in order) or randrw
    #[arg(long, value_enum, default_value = "randread", hide_possible_values = true)]
    pub rw: Access,
    /// Share of reads in rw and randrw, percent
    #[arg(long, default_value_t = 70, value_parser = clap::value_parser!(u32).range(0..=100))]
    #[arg(value_name = "PERCENT")]
    pub mix: u32,
    /// Block size: 4k, 1M, or sizes with weights: 4k:60,64k:40
    #[arg(long, default_value = "4k", value_name = "SIZE", value_parser = words::blocks)]
    pub bs: BlockSizes,
    /// What writes carry: random, zeros, repeated, or a compressible share such as 50%
    #[arg(long, default_value = "random", value_parser = Content::parse)]
    pub content: Content,
    /// Stamp every sector written, check every sector read
    #[arg(long)]
    pub verify: bool,
    /// Through the page cache
    #[arg(long)]
    pub buffered: bool,
    /// A flush after this many writes
    #[arg(long, value_name = "WRITES", value_parser = words::count::<u32>)]
    pub flush_every: Option<u32>,
    /// Leave the last flush out of the time of writes
    #[arg(long)]
    pub no_flush: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "How many and how fast")]
pub struct FlightArgs {
    /// Operations in flight, per job
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    #[arg(value_name = "N")]
    pub depth: u32,
    /// Operations handed to the kernel at once, at most
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    #[arg(value_name = "N")]
    pub batch: u32,
    /// Concurrent jobs; they divide the region
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    #[arg(value_name = "N")]
    pub jobs: u32,
    /// Operations due per second: an open loop, with response times
    #[arg(long, value_name = "IOPS", allow_negative_numbers = true)]
    pub rate: Option<f64>,
    /// Poisson arrivals at --rate
    #[arg(long, requires = "rate")]
    pub poisson: bool,
    /// Bursts: on/off times, such as 1s/9s
    #[arg(long, conflicts_with = "poisson", value_name = "ON/OFF", value_parser = words::burst)]
    pub burst: Option<Burst>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "How long")]
pub struct EndArgs {
    /// End after this time [default: 10s, if nothing else ends it]
    #[arg(long = "time", value_parser = words::time_ns, value_name = "TIME")]
    pub time_ns: Option<u64>,
    /// End after this many times the region
    #[arg(long, value_parser = words::positive, value_name = "TIMES")]
    #[arg(allow_negative_numbers = true)]
    pub coverage: Option<f64>,
    /// End after this many operations
    #[arg(long, value_parser = words::count::<u64>, value_name = "N")]
    pub ops: Option<u64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Addresses")]
pub struct PlaceArgs {
    /// Start of the region in the target
    #[arg(long, value_parser = units::parse_bytes, default_value = "0", value_name = "SIZE")]
    pub offset: u64,
    /// Move every address up by this much, to measure misalignment
    #[arg(long, value_parser = units::parse_bytes, default_value = "0", value_name = "SIZE")]
    pub shift: u64,
    /// In order, with this distance between starts
    #[arg(long, value_parser = units::parse_bytes, value_name = "SIZE")]
    pub stride: Option<u64>,
    /// In order, descending
    #[arg(long, conflicts_with = "stride")]
    pub backwards: bool,
    /// At random, and an address may come again before all were visited
    #[arg(long)]
    pub repeats: bool,
    /// At random, Zipf-distributed with this exponent
    #[arg(long, conflicts_with = "repeats", value_name = "THETA", allow_negative_numbers = true)]
    pub zipf: Option<f64>,
    /// At random, hot and cold: percent of space / percent of accesses, such as 20/80
    #[arg(long, conflicts_with_all = ["zipf", "repeats"], value_name = "SPACE/ACCESS")]
    #[arg(value_parser = words::hot_cold)]
    pub hot: Option<Pattern>,
}

#[derive(Debug, Args)]
pub struct DrivesArgs {
    /// `show NAME` tells every figure of one and its source
    #[command(subcommand)]
    pub what: Option<DrivesCommand>,
    /// JSON on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum DrivesCommand {
    /// Every figure of a virtual drive, and where it comes from
    Show {
        /// A preset, a file of your own, or either with ?key=value
        name: String,
        /// JSON on stdout
        #[arg(long)]
        json: bool,
    },
    /// A virtual drive fitted to records of a drive, and how well it predicts them
    Fit(FitArgs),
}

const FIT_EXAMPLES: &str = "\
Examples:
  ssdyno drives fit 12 13 -o my-drive.toml      from runs of quick and sustain
  ssdyno run sim:./my-drive.toml -m sustain     and put the result on the dynamometer";

#[derive(Debug, Args)]
#[command(after_help = FIT_EXAMPLES)]
pub struct FitArgs {
    /// Numbers, starts of ids, or `last`: runs of quick, sustain, zones or states of one drive
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// The drive to begin with: what the records do not decide stays as it is there
    #[arg(long, value_name = "PRESET")]
    pub base: Option<String>,
    /// Name of the new drive
    #[arg(long, default_value = "fitted", value_name = "NAME")]
    pub name: String,
    /// Where to write the description
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// JSON on stdout
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

const REPLICATE_EXAMPLES: &str = "\
Examples:
  ssdyno replicate              the documents there are
  ssdyno replicate 003          what use and TRIM do to an SSD: every figure, published and here
  ssdyno replicate 001 --json | jq '.figures[] | select(.met | not)'";

#[derive(Debug, Args)]
#[command(after_help = REPLICATE_EXAMPLES)]
pub struct ReplicateArgs {
    /// The document; none lists those there are
    pub document: Option<String>,
    /// Only experiments whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// JSON on stdout
    #[arg(long)]
    pub json: bool,
    /// No progress on stderr
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub struct MethodsArgs {
    /// Only this one, in full
    pub name: Option<String>,
    /// JSON on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Part of the drive's model, serial number or name, or of the target
    #[arg(long, value_name = "TEXT")]
    pub drive: Option<String>,
    /// Only of this method
    #[arg(long, short, value_name = "METHOD")]
    pub method: Option<String>,
    /// Started on or after this day: 2026-11-21, or a time
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Started on or before this day
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
    /// The latest so many
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<u32>,
    /// JSON on stdout
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Number, start of the id, or `last`
    #[arg(default_value = "last")]
    pub run: String,
    /// As a page with charts, in FILE or beside the store
    // With a blank instead of `=`, `show --html 3` would be a page called 3 of the last run.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(conflicts_with_all = ["json", "markdown", "csv"])]
    pub html: Option<Option<PathBuf>>,
    /// Open the page in a browser
    #[arg(long, requires = "html")]
    pub open: bool,
    /// As JSON
    #[arg(long, conflicts_with_all = ["markdown", "csv"])]
    pub json: bool,
    /// As Markdown, for a forum or an issue
    #[arg(long, conflicts_with = "csv")]
    pub markdown: bool,
    /// The metrics as CSV
    #[arg(long)]
    pub csv: bool,
    /// The values over time as CSV
    #[arg(long, conflicts_with_all = ["html", "json", "markdown", "csv"])]
    pub series: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Numbers, starts of ids, or `last`; all when none is given
    pub runs: Vec<String>,
    /// Metrics as CSV instead of records as JSON lines
    #[arg(long)]
    pub csv: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub struct RmArgs {
    /// Numbers, starts of ids, or `last`
    #[arg(required = true)]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// JSON on stdout
    #[arg(long)]
    pub json: bool,
}
