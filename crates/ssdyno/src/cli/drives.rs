//! `drives` and `replicate`: virtual drives, and published experiments on them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use workload::units;

use super::StoreArgs;

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
        /// A preset, a file of your own, or either with ?key=value&key=value
        ///
        /// Keys are those that are listed, or short: capacity, op, slc, link, temperature, seed, ...
        /// Each changes itself alone: with capacity=64GB the cache of a 1 TB drive stays as large as
        /// it was, until slc=2GB says otherwise.
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
  ssdyno replicate 001 --json | jq '.figures[] | select(.met | not)'
  ssdyno replicate 002 .        what 002 ran, on the drive under this directory, its figures beside";

#[derive(Debug, Args)]
#[command(after_help = REPLICATE_EXAMPLES)]
pub struct ReplicateArgs {
    /// The document, or a file in its format (./NAME.toml); none lists those there are
    pub document: Option<String>,
    #[command(flatten)]
    pub here: HereArgs,
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

/// A drive of one's own instead of virtual ones.
#[derive(Debug, Args)]
#[command(next_help_heading = "On a drive of your own (000 and 002)")]
pub struct HereArgs {
    /// A directory, file or block device to do it on [default: virtual drives]
    #[arg(value_name = "TARGET", help_heading = None)]
    pub target: Option<String>,
    /// Bytes to work on [default: what the document has]
    #[arg(long, value_parser = units::parse_bytes, value_name = "SIZE", requires = "target")]
    pub size: Option<u64>,
    /// How long mark and each line of fio's may take [default: what the document has]
    #[arg(long, value_parser = units::parse_duration, value_name = "TIME", requires = "target")]
    pub time: Option<Duration>,
    /// Give it away to be overwritten: a device by its serial number, or else by its size in bytes
    #[arg(long, value_name = "SERIAL", requires = "target")]
    pub destroy: Option<String>,
    /// Show what would be done and what it costs, and stop
    #[arg(long, requires = "target")]
    pub dry_run: bool,
}
