//! The description of a workload, and its checks.
//!
//! A description is data. It is written into the plan of every record, and the same description and
//! seed give the same workload on a real or a virtual drive.

use serde::{Deserialize, Serialize};

use crate::stamp::Proof;
use crate::units::gcd;
use crate::{Content, IN_FLIGHT_MAX, OpKind, Pacing, Pattern, Region, WorkloadError};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockSizes {
    /// Every operation has this many bytes.
    Fixed(u32),
    /// Sizes in bytes and their weights; the share of a size is its weight over the sum.
    Split(Vec<(u32, u32)>),
}

impl BlockSizes {
    /// The largest size, which buffers must be able to hold.
    pub fn max(&self) -> u32 {
        match self {
            BlockSizes::Fixed(bytes) => *bytes,
            BlockSizes::Split(parts) => parts.iter().map(|p| p.0).max().unwrap_or(0),
        }
    }

    /// The smallest size, of which random addresses are multiples.
    pub fn min(&self) -> u32 {
        match self {
            BlockSizes::Fixed(bytes) => *bytes,
            BlockSizes::Split(parts) => parts.iter().map(|p| p.0).min().unwrap_or(0),
        }
    }
}

/// Relative shares of the operation kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mix {
    pub read: u32,
    pub write: u32,
    #[serde(default)]
    pub flush: u32,
    #[serde(default)]
    pub discard: u32,
}

impl Mix {
    pub const READ: Mix = Mix { read: 1, write: 0, flush: 0, discard: 0 };
    pub const WRITE: Mix = Mix { read: 0, write: 1, flush: 0, discard: 0 };
    pub const DISCARD: Mix = Mix { read: 0, write: 0, flush: 0, discard: 1 };

    /// `read_percent` percent reads, the rest writes.
    pub fn read_percent(read_percent: u32) -> Mix {
        let read = read_percent.min(100);
        Mix { read, write: 100 - read, flush: 0, discard: 0 }
    }

    /// One kind only.
    pub fn from_kind(kind: OpKind) -> Mix {
        let weight = |of: OpKind| u32::from(of == kind);
        Mix {
            read: weight(OpKind::Read),
            write: weight(OpKind::Write),
            flush: weight(OpKind::Flush),
            discard: weight(OpKind::Discard),
        }
    }

    pub fn weight(&self, kind: OpKind) -> u32 {
        match kind {
            OpKind::Read => self.read,
            OpKind::Write => self.write,
            OpKind::Flush => self.flush,
            OpKind::Discard => self.discard,
        }
    }

    /// Sum of the weights.
    pub fn total(&self) -> u64 {
        OpKind::ALL.iter().map(|&kind| u64::from(self.weight(kind))).sum()
    }

    /// The smallest number of operations that has the exact shares; 0 for an empty mix.
    pub fn cycle(&self) -> u64 {
        let divisor = OpKind::ALL.iter().fold(0, |d, &kind| gcd(d, u64::from(self.weight(kind))));
        self.total() / divisor.max(1)
    }

    /// The kind, if the mix has only one.
    pub fn only(&self) -> Option<OpKind> {
        let total = self.total();
        OpKind::ALL.into_iter().find(|&kind| u64::from(self.weight(kind)) == total && total > 0)
    }

    /// Whether the workload changes data on the drive.
    pub fn changes_data(&self) -> bool {
        self.write > 0 || self.discard > 0
    }
}

/// Whether the operating system may cache the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caching {
    /// Direct to the drive (O_DIRECT). If the file system refuses it, the record notes that.
    #[default]
    Bypass,
    /// Buffered by the page cache.
    Buffered,
}

/// The system calls that move blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Calls {
    /// The fastest available, or the user's choice.
    #[default]
    Best,
    /// One `pread` or `pwrite` after another, like a simple program.
    Plain,
    /// One byte at a time through a stream with a buffer of one block, like C's `getc` and `putc`.
    /// An operation is one bufferful, including the calls that fill or empty it.
    Bytes {
        /// Host time per call on a virtual drive, in nanoseconds. A real drive ignores it, because
        /// the calls are made.
        host_ns: u32,
    },
}

/// When a workload ends: at the first of these limits. Without any, it runs forever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// After this time, in nanoseconds of the target's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
    /// After issuing this many bytes, over all jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// After this many operations, over all jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<u64>,
    /// After issuing this multiple of the region's size (1.0: one pass).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
}

impl Stop {
    /// Stops after `ns` nanoseconds.
    pub fn after_ns(ns: u64) -> Stop {
        Stop { time_ns: Some(ns), ..Stop::default() }
    }

    /// Stops after `seconds`, rounded down to whole nanoseconds; a negative time counts as 0.
    pub fn after_seconds(seconds: f64) -> Stop {
        Stop::after_ns((seconds * 1e9) as u64)
    }

    /// Stops after issuing `share` of the region.
    pub fn coverage(share: f64) -> Stop {
        Stop { coverage: Some(share), ..Stop::default() }
    }

    /// The smaller of the two byte limits, in a region of `region_bytes`.
    pub fn bytes_bound(&self, region_bytes: u64) -> Option<u64> {
        let coverage = self.coverage.map(|share| (share * region_bytes as f64) as u64);
        match (self.bytes, coverage) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

/// A workload: its I/O, concurrency, pace and end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name of the metric, such as `rand-read-4KiB-q32`.
    pub name: String,
    /// Order of addresses.
    pub pattern: Pattern,
    /// Kinds of operations.
    pub mix: Mix,
    pub blocks: BlockSizes,
    /// The part of the target it uses.
    pub region: Region,
    /// Added to every address, in bytes (to measure misalignment).
    #[serde(default)]
    pub shift_bytes: u64,
    pub content: Content,
    /// How operations are paced.
    pub pacing: Pacing,
    /// Maximum operations in flight, per job.
    pub depth: u32,
    /// Maximum operations submitted in one call.
    pub batch: u32,
    /// Concurrent jobs, which divide the region into equal contiguous slices.
    pub jobs: u32,
    /// End condition.
    pub stop: Stop,
    /// Flush (fdatasync) after this many writes of a job, inside the measured time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_every: Option<u32>,
    /// Final flush, inside the measured time.
    #[serde(default)]
    pub flush_at_end: bool,
    /// Page cache or direct I/O.
    #[serde(default)]
    pub caching: Caching,
    #[serde(default, skip_serializing_if = "is_best")]
    pub calls: Calls,
    /// Each write returns once it is durable, including the metadata needed to find it (O_SYNC).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sync_writes: bool,
    /// Stamp every sector written and check every sector read.
    #[serde(default)]
    pub verify: bool,
    /// How verified writes are marked.
    #[serde(default, skip_serializing_if = "is_default")]
    pub proof: Proof,
    /// Seed of all random choices.
    pub seed: u64,
}

fn is_default(proof: &Proof) -> bool {
    *proof == Proof::default()
}

fn is_best(calls: &Calls) -> bool {
    *calls == Calls::Best
}

impl Workload {
    /// A closed-loop workload with the defaults: depth 1, one job, random content, no end
    /// condition.
    pub fn new(
        name: impl Into<String>,
        pattern: Pattern,
        mix: Mix,
        block: u32,
        region: Region,
    ) -> Workload {
        Workload {
            name: name.into(),
            pattern,
            mix,
            blocks: BlockSizes::Fixed(block),
            region,
            shift_bytes: 0,
            content: Content::Random,
            pacing: Pacing::Closed,
            depth: 1,
            batch: 1,
            jobs: 1,
            stop: Stop::default(),
            flush_every: None,
            flush_at_end: false,
            caching: Caching::Bypass,
            calls: Calls::Best,
            sync_writes: false,
            verify: false,
            proof: Proof::default(),
            seed: 1,
        }
    }

    /// The slice of the region used by job `job`. Slices are equal multiples of the largest block,
    /// except for the last.
    pub fn slice(&self, job: u32) -> Region {
        let jobs = u64::from(self.jobs.max(1));
        let block = u64::from(self.blocks.max().max(1));
        let usable = self.region.bytes.saturating_sub(self.shift_bytes);
        let part = usable / jobs / block * block;
        let start = self.region.start + self.shift_bytes + u64::from(job) * part;
        // The last job also takes the remainder, down to a multiple of the smallest block.
        let last = u64::from(job) + 1 == jobs;
        let grid = u64::from(self.blocks.min().max(1));
        let bytes = if last { (usable - part * (jobs - 1)) / grid * grid } else { part };
        Region { start, bytes }
    }

    /// Checks the description before any I/O is issued.
    pub fn check(&self) -> Result<(), WorkloadError> {
        use WorkloadError as E;
        if self.mix.total() == 0 {
            return Err(E::EmptyMix);
        }
        if self.depth == 0 || self.batch == 0 || self.jobs == 0 {
            return Err(E::Zero("depth, batch and jobs"));
        }
        let operations = u64::from(self.depth) * u64::from(self.jobs);
        if operations > IN_FLIGHT_MAX {
            return Err(E::TooDeep { operations });
        }
        if self.blocks.min() == 0 {
            return Err(E::Zero("block size"));
        }
        if self.flush_every == Some(0) {
            return Err(E::Zero("writes between flushes"));
        }
        if let BlockSizes::Split(parts) = &self.blocks
            && parts.iter().map(|p| u64::from(p.1)).sum::<u64>() == 0
        {
            return Err(E::Zero("sum of the block split's weights"));
        }
        let slice = self.region.bytes.saturating_sub(self.shift_bytes) / u64::from(self.jobs);
        if slice < u64::from(self.blocks.max()) {
            return Err(E::RegionTooSmall { bytes: slice, block: self.blocks.max() });
        }
        if self.calls != Calls::Best && self.depth != 1 {
            return Err(E::Synchronous { depth: self.depth });
        }
        self.pattern.check()?;
        self.content.check()?;
        self.pacing.check()
    }
}
