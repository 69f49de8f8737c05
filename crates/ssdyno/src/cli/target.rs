//! What says where and how to measure, and where the result goes: shared by commands that measure.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lab::{BackendKind, Instrument, Request, Target};
use workload::units;

#[derive(Clone, Debug, Args)]
pub struct StoreArgs {
    /// The store of records [default: in the XDG data directory]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
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
    #[command(flatten)]
    pub borrow: BorrowArgs,
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
#[command(next_help_heading = "Target")]
pub struct BorrowArgs {
    /// Lend a device: its blocks may be overwritten with their own content, after a journal of them
    /// was synced on another drive
    #[arg(long = "borrow", conflicts_with = "destroy")]
    pub allowed: bool,
    /// Where borrowed blocks are kept meanwhile [default: in the XDG state directory]
    #[arg(long, value_name = "DIR")]
    pub journal: Option<PathBuf>,
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
    /// How long a drive may leave everything unanswered before the run is ended [default: 5m]
    #[arg(long, value_parser = units::parse_duration, value_name = "TIME")]
    pub patience: Option<Duration>,
}

#[derive(Clone, Debug, Args)]
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

impl From<&TargetArgs> for Request {
    fn from(args: &TargetArgs) -> Request {
        let InstrumentArgs { backend, pin, patience, .. } = args.instrument;
        Request {
            target: Target {
                spec: args.target.clone(),
                size: args.size,
                destroy: args.destroy.clone(),
                borrow: args.borrow.allowed,
                journal: args.borrow.journal.clone(),
            },
            instrument: Instrument { backend, pin, patience },
            store: args.store.store.clone(),
            command: std::env::args().collect(),
        }
    }
}
