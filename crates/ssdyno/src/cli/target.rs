//! Arguments shared by all measuring commands: target, instrument, output, store.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use clap::{ArgAction, Args};
use lab::{BackendKind, Instrument, Request, TargetRequest};
use record::Labels;
use workload::units;

use super::{complete, parse_page};

#[derive(Clone, Debug, Args)]
pub struct StoreArgs {
    /// File for the records [default: in the XDG data directory]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
}

/// Arguments of a command that measures one target.
#[derive(Debug, Args)]
pub struct TargetArgs {
    /// Directory, file, block device, or an NVMe drive detached from the kernel: pci:0000:01:00.0
    #[arg(value_name = "TARGET", help_heading = None, add = complete::targets())]
    pub target: String,
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Arguments of every command that measures.
#[derive(Debug, Args)]
#[command(next_help_heading = "Target")]
pub struct MeasureArgs {
    /// Bytes to work on: 1GiB, 500M [default: 1GiB or what fits; all of a file or device]
    #[arg(long, value_parser = units::parse_bytes, value_name = "SIZE")]
    pub size: Option<u64>,
    /// Permit overwriting it: a device's serial number, or its size in bytes if it has none
    #[arg(long, value_name = "SERIAL", add = complete::confirmations())]
    pub destroy: Option<String>,
    #[command(flatten)]
    pub borrow: BorrowArgs,
    /// Detach a pci: drive from the kernel even if no IOMMU protects other memory from it
    #[arg(long)]
    pub no_iommu: bool,
    /// Show the steps and their cost, then stop
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub instrument: InstrumentArgs,
    #[command(flatten)]
    pub labels: LabelArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// What the user calls a run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Labels")]
pub struct LabelArgs {
    /// A title for the record
    #[arg(long, value_name = "TEXT", value_parser = record::parse_title)]
    pub title: Option<String>,
    /// A remark for the record
    #[arg(long, value_name = "TEXT", value_parser = record::parse_note)]
    pub note: Option<String>,
    /// A tag to group and filter by, as in board=mini-a; can be repeated
    #[arg(long = "tag", value_name = "NAME=VALUE", value_parser = record::parse_tag)]
    pub tags: Vec<(String, String)>,
}

impl LabelArgs {
    /// The labels for the record. Of two tags with one name, the last counts.
    pub fn labels(&self) -> Labels {
        let LabelArgs { title, note, tags } = self.clone();
        Labels { title, note, tags: tags.into_iter().collect() }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Target")]
pub struct BorrowArgs {
    /// Borrow blocks of a device: overwrite them with their own content, after copying it to a
    /// journal on another drive
    #[arg(long = "borrow", conflicts_with = "destroy")]
    pub allowed: bool,
    /// Directory of that journal [default: in the XDG state directory]
    #[arg(long, value_name = "DIR")]
    pub journal: Option<PathBuf>,
}

/// A seed from the standard library's randomness, in the range that every JSON parser represents
/// exactly. It is drawn once per process, so that one `--seed` repeats all of its runs.
pub fn drawn_seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| RandomState::new().build_hasher().finish() >> 11)
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Instrument")]
pub struct InstrumentArgs {
    /// I/O backend: uring, aio, psync or null [default: the best available]
    #[arg(long, value_name = "NAME")]
    pub backend: Option<BackendKind>,
    /// Bind every job to a CPU
    #[arg(long)]
    pub pin: bool,
    /// Follow requests in the kernel to show where the time goes, if it permits that (as root): on,
    /// off
    #[arg(long = "where", value_name = "SWITCH", value_parser = parse_switch, default_value = "on")]
    #[arg(action = ArgAction::Set)]
    pub traces: bool,
    /// Seed for everything random, also for how a virtual drive varies between runs [default:
    /// random; 1 for content]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// End the run if the drive does not respond for this long [default: 5m]
    #[arg(long, value_parser = units::parse_duration, value_name = "TIME")]
    pub patience: Option<Duration>,
}

/// Whether a switch is on.
pub fn parse_switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("must be on or off".into()),
    }
}

impl InstrumentArgs {
    /// The seed of this session: given, or drawn once for the process.
    pub fn session_seed(&self) -> u64 {
        self.seed.unwrap_or_else(drawn_seed)
    }

    /// The seed for content that a later run must know in order to verify it.
    pub fn content_seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print the record as one line of JSON
    #[arg(long)]
    pub json: bool,
    /// Print JSON: a line for every step and interval as it happens, then the record
    #[arg(long)]
    pub events: bool,
    /// All values, conclusions with their evidence, time series, the machine
    #[arg(long, short, conflicts_with_all = ["json", "events"])]
    pub verbose: bool,
    /// File for the HTML report [default: beside the store]
    #[arg(long, value_name = "FILE", value_parser = parse_page)]
    pub html: Option<PathBuf>,
    /// Also write the metrics to a textfile of node_exporter in DIR
    #[arg(long, value_name = "DIR")]
    pub prom: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

impl OutputArgs {
    /// Whether stdout gets JSON: a record, events, or both.
    pub fn is_json(&self) -> bool {
        self.json || self.events
    }
}

impl MeasureArgs {
    /// The request to measure a target with these options.
    pub fn request(&self, target: &str) -> Request {
        let InstrumentArgs { backend, pin, traces, patience, .. } = self.instrument;
        let seed = self.instrument.session_seed();
        Request {
            target: TargetRequest {
                spec: target.to_string(),
                size: self.size,
                destroy: self.destroy.clone(),
                borrow: self.borrow.allowed,
                no_iommu: self.no_iommu,
                journal: self.borrow.journal.clone(),
                keep: None,
            },
            instrument: Instrument { backend, pin, traces, patience, seed },
            store: self.store.store.clone(),
            command: super::typed(),
            part_of: None,
            labels: self.labels.labels(),
            together: None,
        }
    }
}
