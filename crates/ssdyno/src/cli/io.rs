//! Arguments of `io`, which runs one workload given by options.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lab::io::{Access, Burst, Io};
use workload::{BlockSizes, Content, Pattern, units};

use super::TargetArgs;
use crate::words;

/// Direction and order of a workload, in fio's terms.
const ACCESSES: [(&str, Access); 6] = [
    ("read", Access::Read),
    ("write", Access::Write),
    ("randread", Access::RandRead),
    ("randwrite", Access::RandWrite),
    ("rw", Access::Rw),
    ("randrw", Access::RandRw),
];

fn access() -> impl TypedValueParser<Value = Access> {
    let words = PossibleValuesParser::new(ACCESSES.map(|(name, _)| name));
    words.try_map(|word| {
        let access = ACCESSES.iter().find(|(name, _)| *name == word);
        access.map(|(_, access)| *access).ok_or("unknown")
    })
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
    /// read, write, randread, randwrite, rw (both sequential) or randrw
    #[arg(long, value_parser = access(), default_value = "randread", hide_possible_values = true)]
    pub rw: Access,
    /// Share of reads in rw and randrw, percent
    #[arg(long, default_value_t = 70, value_parser = clap::value_parser!(u32).range(0..=100))]
    #[arg(value_name = "PERCENT")]
    pub mix: u32,
    /// Block size: 4k, 1M, or sizes with weights: 4k:60,64k:40
    #[arg(long, default_value = "4k", value_name = "SIZE", value_parser = words::blocks)]
    pub bs: BlockSizes,
    /// Content of writes: random, zeros, repeated, or a compressible share such as 50%
    #[arg(long, default_value = "random", value_parser = Content::parse)]
    pub content: Content,
    /// Stamp every sector written and check every sector read
    #[arg(long)]
    pub verify: bool,
    /// Use the page cache
    #[arg(long)]
    pub buffered: bool,
    /// Flush after this many writes
    #[arg(long, value_name = "WRITES", value_parser = words::count::<u32>)]
    pub flush_every: Option<u32>,
    /// Exclude the final flush from the time of writes
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
    /// Maximum operations per submission
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    #[arg(value_name = "N")]
    pub batch: u32,
    /// Concurrent jobs, which divide the region
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    #[arg(value_name = "N")]
    pub jobs: u32,
    /// Arrivals per second, such as 5k: an open loop, with response times
    #[arg(long, value_name = "IOPS", allow_negative_numbers = true)]
    #[arg(value_parser = units::parse_amount)]
    pub rate: Option<f64>,
    /// Poisson arrivals at --rate
    #[arg(long, requires = "rate")]
    pub poisson: bool,
    /// Bursts and pauses, such as 1s/9s
    #[arg(long, conflicts_with = "poisson", value_name = "ON/OFF", value_parser = words::burst)]
    pub burst: Option<Burst>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "How long")]
pub struct EndArgs {
    /// Stop after this time [default: 10s, if nothing else ends it]
    #[arg(long = "time", value_parser = words::time_ns, value_name = "TIME")]
    pub time_ns: Option<u64>,
    /// Stop after writing or reading the region this many times
    #[arg(long, value_parser = words::positive, value_name = "TIMES")]
    #[arg(allow_negative_numbers = true)]
    pub coverage: Option<f64>,
    /// Stop after this many operations
    #[arg(long, value_parser = words::count::<u64>, value_name = "N")]
    pub ops: Option<u64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Addresses")]
pub struct PlaceArgs {
    /// Start of the region
    #[arg(long, value_parser = units::parse_bytes, default_value = "0", value_name = "SIZE")]
    pub offset: u64,
    /// Add this to every address, to measure misalignment
    #[arg(long, value_parser = units::parse_bytes, default_value = "0", value_name = "SIZE")]
    pub shift: u64,
    /// Sequential, with this distance between starts
    #[arg(long, value_parser = units::parse_bytes, value_name = "SIZE")]
    pub stride: Option<u64>,
    /// Sequential, descending
    #[arg(long, conflicts_with = "stride")]
    pub backwards: bool,
    /// Random; addresses may repeat before all have been visited
    #[arg(long)]
    pub repeats: bool,
    /// Random, Zipf-distributed with this exponent
    #[arg(long, conflicts_with = "repeats", value_name = "THETA", allow_negative_numbers = true)]
    pub zipf: Option<f64>,
    /// Random, hot and cold: percent of space / percent of accesses, such as 20/80
    #[arg(long, conflicts_with_all = ["zipf", "repeats"], value_name = "SPACE/ACCESS")]
    #[arg(value_parser = words::hot_cold)]
    pub hot: Option<Pattern>,
}

impl From<&IoArgs> for Io {
    fn from(args: &IoArgs) -> Io {
        let IoArgs { ops, flight, end, place, on: target } = args;
        Io {
            rw: ops.rw,
            mix: ops.mix,
            blocks: ops.bs.clone(),
            content: ops.content.clone(),
            verify: ops.verify,
            buffered: ops.buffered,
            flush_every: ops.flush_every,
            no_flush: ops.no_flush,
            depth: flight.depth,
            batch: flight.batch,
            jobs: flight.jobs,
            rate: flight.rate,
            poisson: flight.poisson,
            burst: flight.burst,
            time_ns: end.time_ns,
            coverage: end.coverage,
            ops: end.ops,
            offset: place.offset,
            size: target.measure.size,
            shift: place.shift,
            stride: place.stride,
            backwards: place.backwards,
            repeats: place.repeats,
            zipf: place.zipf,
            hot: place.hot.clone(),
            seed: target.measure.instrument.content_seed(),
        }
    }
}
