//! Arguments of `drives` and `replicate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use workload::units;

use super::run::Shard;
use super::{LabelArgs, StoreArgs, parse_page};

#[derive(Debug, Args)]
pub struct DrivesArgs {
    /// `show NAME` lists every figure of one drive with its source
    #[command(subcommand)]
    pub what: Option<DrivesCommand>,
    /// Also show the size, link and description of each drive
    #[arg(long, short)]
    pub verbose: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum DrivesCommand {
    /// Show every figure of a virtual drive with its source
    Show {
        /// A preset, your own file, or either with ?key=value&key=value
        ///
        /// Keys are those shown, or short ones: capacity, op, slc, link, temperature, seed, ... and
        /// state, in which each run begins: fresh (the default), filled, used or trimmed. With
        /// skip=on, work of ten minutes or more skips steady stretches, which costs accuracy. A
        /// key changes only itself: with capacity=64GB, the cache keeps its size from the 1 TB
        /// drive unless slc=2GB changes it, too.
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Fit a virtual drive to records of a drive, and show how well it predicts them
    Fit(FitArgs),
    /// Hold a run against a fitted drive: the same drive as before, or what has changed
    Check(CheckArgs),
    /// Describe a virtual drive from a maker's data sheet and a class
    Make(MakeArgs),
}

const CHECK_EXAMPLES: &str = "\
Examples:
  ssdyno drives fit 12 13 -o my-drive.toml      the drive as it is now
  ssdyno run /dev/nvme0n1                       half a year later: run 40
  ssdyno drives check my-drive.toml 40          the same as before? If not: wear, heat, the link?
  ssdyno drives check samsung-980-pro-1t 40     is it as its model should be?
The work of the run is repeated on the twin in virtual time. A cause is named only if the drive
reports it and the twin with this cause shows the same figures; otherwise it is UNDETERMINED.
Exit code: 0 if it is the same drive as before, 1 if anything differs.";

#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct CheckArgs {
    /// A file of `drives fit`, a preset, or either with ?key=value&key=value
    #[arg(value_name = "TWIN")]
    pub twin: String,
    /// Number, start of an id, or `last`: a run of a method
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

const MAKE_EXAMPLES: &str = "\
Examples:
  ssdyno drives make --from sheet.toml -o x1.toml    a drive that has no preset
  ssdyno run sim:./x1.toml                           what it should do, before it is bought
A sheet needs at least:
  class = \"pcie4-8ch\"
  capacity = \"2TB\"
and may have model, read_mb_s, write_mb_s, read_iops, write_iops, slc, after_cache_mb_s, bits and
power_loss_protection.";

#[derive(Debug, Args)]
#[command(after_help = MAKE_EXAMPLES)]
pub struct MakeArgs {
    /// The data sheet
    #[arg(long, value_name = "SHEET.toml")]
    pub from: PathBuf,
    /// Name of the new drive
    #[arg(long, default_value = "made", value_name = "NAME")]
    pub name: String,
    /// File for the description
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const FIT_EXAMPLES: &str = "\
Examples:
  ssdyno drives fit 12 13 -o my-drive.toml      from runs of quick and sustain
  ssdyno run sim:./my-drive.toml -m sustain     measure the result
  ssdyno drives check my-drive.toml 40          is run 40 still that of the same drive?
What the runs do not determine is listed with the run that would.";

#[derive(Debug, Args)]
#[command(after_help = FIT_EXAMPLES)]
pub struct FitArgs {
    /// Numbers, starts of ids, or `last`: runs of quick, sustain, states, zones or snia-iops of one
    /// drive
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// Drive to start from; figures that the records do not determine are kept
    #[arg(long, value_name = "PRESET")]
    pub base: Option<String>,
    /// Name of the new drive
    #[arg(long, default_value = "fitted", value_name = "NAME")]
    pub name: String,
    /// File for the description
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

const REPLICATE_EXAMPLES: &str = "\
Examples:
  ssdyno replicate              the list of documents
  ssdyno replicate 003          effects of use and TRIM on an SSD: published and measured figures
  ssdyno replicate 004 --claims every claim of the document: reproduced, or why not
  ssdyno replicate 001 --json | jq '.figures[] | select(.met | not)'
  ssdyno replicate 002 .        the same tests on the drive under this directory
  ssdyno replicate 003 --out DIR --shard 1/4     a quarter of its experiments, as files
  ssdyno replicate 003 --from DIR                their figures, when all are there";

#[derive(Debug, Args)]
#[command(after_help = REPLICATE_EXAMPLES)]
pub struct ReplicateArgs {
    /// Document, or a file in its format (./NAME.toml) [default: list them]
    pub document: Option<String>,
    #[command(flatten)]
    pub here: HereArgs,
    #[command(flatten)]
    pub array: ExperimentArrayArgs,
    /// Only experiments whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Show every claim of the document by its place, and whether it is reproduced
    #[arg(long, conflicts_with = "target")]
    pub claims: bool,
    /// Also write a page with published figures next to ours, to FILE or beside the store
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_parser = parse_page)]
    #[arg(conflicts_with = "target")]
    pub html: Option<Option<PathBuf>>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Options for experiments on several machines.
#[derive(Debug, Args)]
#[command(next_help_heading = "On several machines")]
pub struct ExperimentArrayArgs {
    /// Write the record of each experiment to a file in DIR, the same on every machine, and compare
    /// nothing
    #[arg(long, value_name = "DIR")]
    #[arg(conflicts_with_all = ["target", "json", "claims", "html", "store"])]
    pub out: Option<PathBuf>,
    /// Only every N-th experiment, from the I-th on: 3/10
    #[arg(long, value_name = "I/N", requires = "out", value_parser = Shard::parse)]
    pub shard: Option<Shard>,
    #[command(flatten)]
    pub labels: LabelArgs,
    /// Take the experiments from these files and directories of records instead of running them
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with_all = ["target", "out"])]
    pub from: Vec<PathBuf>,
}

/// Options for the user's own drive instead of virtual ones.
#[derive(Debug, Args)]
#[command(next_help_heading = "On your own drive (000 and 002)")]
pub struct HereArgs {
    /// Directory, file or block device to run on [default: virtual drives]
    #[arg(value_name = "TARGET", help_heading = None)]
    pub target: Option<String>,
    /// Bytes to work on [default: as in the document]
    #[arg(long, value_parser = units::parse_bytes, value_name = "SIZE", requires = "target")]
    pub size: Option<u64>,
    /// Duration of `mark` and of each fio line [default: as in the document]
    #[arg(long, value_parser = units::parse_duration, value_name = "TIME", requires = "target")]
    pub time: Option<Duration>,
    /// Permit overwriting it: a device's serial number, or its size in bytes if it has none
    #[arg(long, value_name = "SERIAL", requires = "target")]
    pub destroy: Option<String>,
    /// Show the steps and their cost, then stop
    #[arg(long, requires = "target")]
    pub dry_run: bool,
}
