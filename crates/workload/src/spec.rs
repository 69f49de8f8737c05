//! The description of a workload, and the checks that make a description usable.
//!
//! A description is data: it is written into the plan of every record, and the same description
//! with the same seed is the same workload, on a real or a virtual drive.

use serde::{Deserialize, Serialize};

use crate::stamp::Proof;
use crate::{Content, OpKind, Pacing, Pattern};

/// The part of the target a workload stays within.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// First byte, counted from the start of the target.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl Region {
    /// The region of `bytes` bytes at the start of the target.
    pub fn first(bytes: u64) -> Region {
        Region { start: 0, bytes }
    }

    /// First byte behind the region.
    pub fn end(&self) -> u64 {
        self.start + self.bytes
    }
}

/// Sizes of operations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockSizes {
    /// Every operation has this many bytes.
    Fixed(u32),
    /// Sizes in bytes with their weights; the share of a size is its weight over the sum.
    Split(Vec<(u32, u32)>),
}

impl BlockSizes {
    /// The largest size, which slots and buffers must hold.
    pub fn max(&self) -> u32 {
        match self {
            BlockSizes::Fixed(bytes) => *bytes,
            BlockSizes::Split(parts) => parts.iter().map(|p| p.0).max().unwrap_or(0),
        }
    }

    /// The smallest size, which is the grid random addresses lie on.
    pub fn min(&self) -> u32 {
        match self {
            BlockSizes::Fixed(bytes) => *bytes,
            BlockSizes::Split(parts) => parts.iter().map(|p| p.0).min().unwrap_or(0),
        }
    }
}

/// Shares of the op kinds, as weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mix {
    /// Weight of reads.
    pub read: u32,
    /// Weight of writes.
    pub write: u32,
    /// Weight of flushes.
    #[serde(default)]
    pub flush: u32,
    /// Weight of discards.
    #[serde(default)]
    pub discard: u32,
}

impl Mix {
    /// Reads only.
    pub const READ: Mix = Mix { read: 1, write: 0, flush: 0, discard: 0 };
    /// Writes only.
    pub const WRITE: Mix = Mix { read: 0, write: 1, flush: 0, discard: 0 };
    /// Discards only.
    pub const DISCARD: Mix = Mix { read: 0, write: 0, flush: 0, discard: 1 };

    /// `read_percent` reads, the rest writes.
    pub fn read_percent(read_percent: u32) -> Mix {
        let read = read_percent.min(100);
        Mix { read, write: 100 - read, flush: 0, discard: 0 }
    }

    /// The weight of one kind.
    pub fn weight(&self, kind: OpKind) -> u32 {
        match kind {
            OpKind::Read => self.read,
            OpKind::Write => self.write,
            OpKind::Flush => self.flush,
            OpKind::Discard => self.discard,
        }
    }

    /// Sum of the weights.
    pub fn total(&self) -> u32 {
        self.read + self.write + self.flush + self.discard
    }

    /// The only kind of the mix, if there is only one.
    pub fn only(&self) -> Option<OpKind> {
        OpKind::ALL.into_iter().find(|&k| self.weight(k) == self.total() && self.total() > 0)
    }

    /// Whether the workload changes what is on the drive.
    pub fn changes_data(&self) -> bool {
        self.write > 0 || self.discard > 0
    }
}

/// Whether the operating system may keep and serve the data itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caching {
    /// Straight to the drive (O_DIRECT). Where the file system refuses, the record says so.
    #[default]
    Bypass,
    /// Through the page cache.
    Buffered,
}

/// By which calls blocks move between the program and the operating system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Calls {
    /// The best that works, or what the user chose.
    #[default]
    Best,
    /// One `pread` or `pwrite` after another, as a plain program does.
    Plain,
    /// A byte at a time through a stream whose buffer is one block, as C's `getc` and `putc` do.
    /// An operation then is a buffer full, the calls that fill or empty it included.
    Bytes {
        /// What a call takes on a virtual drive, which has no host of its own, nanoseconds. On a
        /// real one the calls are made.
        host_ns: u32,
    },
}

/// When a workload ends: at the first of the given bounds. With none it never ends by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// After this time, in nanoseconds of the target's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
    /// After this many bytes were issued, over all jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// After this many operations, over all jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<u64>,
    /// After the bytes issued reach this multiple of the region (1.0 = once over it).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
}

impl Stop {
    /// Stop after `ns` nanoseconds.
    pub fn after_ns(ns: u64) -> Stop {
        Stop { time_ns: Some(ns), ..Stop::default() }
    }

    /// Stop once `share` of the region was issued.
    pub fn coverage(share: f64) -> Stop {
        Stop { coverage: Some(share), ..Stop::default() }
    }

    /// Bytes at which to stop in a region of `region_bytes`: the smaller of the byte bounds.
    pub fn bytes_bound(&self, region_bytes: u64) -> Option<u64> {
        let coverage = self.coverage.map(|share| (share * region_bytes as f64) as u64);
        match (self.bytes, coverage) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

/// A workload: which I/O, how much at once, how fast, and until when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name of the metric it measures, such as `rand-read-4KiB-q32`.
    pub name: String,
    /// Order of addresses.
    pub pattern: Pattern,
    /// Kinds of operations.
    pub mix: Mix,
    /// Sizes of operations.
    pub blocks: BlockSizes,
    /// Where.
    pub region: Region,
    /// Every address is moved up by this many bytes (to measure misalignment).
    #[serde(default)]
    pub shift_bytes: u64,
    /// What writes carry.
    pub content: Content,
    /// When operations are due.
    pub pacing: Pacing,
    /// Operations in flight at most, per job.
    pub depth: u32,
    /// Operations handed to the kernel in one call at most.
    pub batch: u32,
    /// Concurrent jobs. They divide the region into equal contiguous slices.
    pub jobs: u32,
    /// When it ends.
    pub stop: Stop,
    /// A flush after this many writes of a job (fdatasync), inside the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_every: Option<u32>,
    /// A last flush inside the measured time.
    #[serde(default)]
    pub flush_at_end: bool,
    /// Page cache or not.
    #[serde(default)]
    pub caching: Caching,
    /// By which calls.
    #[serde(default, skip_serializing_if = "is_best")]
    pub calls: Calls,
    /// A write returns when it is durable, with all that is needed to find it again (O_SYNC).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sync_writes: bool,
    /// Stamp every written sector and check every sector read.
    #[serde(default)]
    pub verify: bool,
    /// How verify marks what is written.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub proof: Proof,
    /// Seed of everything random in it.
    pub seed: u64,
}

fn is_usual(proof: &Proof) -> bool {
    *proof == Proof::default()
}

fn is_best(calls: &Calls) -> bool {
    *calls == Calls::Best
}

impl Workload {
    /// A closed-loop workload with usual values: depth 1, one job, random content, no bound.
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

    /// The slice of the region that job `job` works in: equal parts of whole largest blocks.
    pub fn slice(&self, job: u32) -> Region {
        let jobs = u64::from(self.jobs.max(1));
        let block = u64::from(self.blocks.max().max(1));
        let usable = self.region.bytes.saturating_sub(self.shift_bytes);
        let part = usable / jobs / block * block;
        let start = self.region.start + self.shift_bytes + u64::from(job) * part;
        // The last job also takes what does not divide, down to the grid of smallest blocks.
        let last = u64::from(job) + 1 == jobs;
        let grid = u64::from(self.blocks.min().max(1));
        let bytes = if last { (usable - part * (jobs - 1)) / grid * grid } else { part };
        Region { start, bytes }
    }

    /// Says what is wrong with a description, if anything, before any I/O is issued.
    pub fn check(&self) -> Result<(), WorkloadError> {
        use WorkloadError as E;
        if self.mix.total() == 0 {
            return Err(E::EmptyMix);
        }
        if self.depth == 0 || self.batch == 0 || self.jobs == 0 {
            return Err(E::Zero("depth, batch and jobs"));
        }
        if self.blocks.min() == 0 {
            return Err(E::Zero("block size"));
        }
        if let BlockSizes::Split(parts) = &self.blocks
            && parts.iter().map(|p| u64::from(p.1)).sum::<u64>() == 0
        {
            return Err(E::Zero("sum of the block split's weights"));
        }
        let least = self.region.bytes.saturating_sub(self.shift_bytes) / u64::from(self.jobs);
        if least < u64::from(self.blocks.max()) {
            return Err(E::RegionTooSmall { bytes: least, block: self.blocks.max() });
        }
        if self.calls != Calls::Best && self.depth != 1 {
            return Err(E::Synchronous { depth: self.depth });
        }
        self.pattern.check()?;
        self.content.check()?;
        self.pacing.check()
    }
}

/// What can be wrong with the description of a workload.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WorkloadError {
    /// No op kind has a weight.
    #[error("the mix is empty: no operation has a share")]
    EmptyMix,
    /// A number that must be at least 1.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
    /// A job's slice does not hold one block.
    #[error("a job's part of the region is {bytes} bytes, less than one block of {block} bytes")]
    RegionTooSmall {
        /// Bytes in the slice.
        bytes: u64,
        /// Largest block size.
        block: u32,
    },
    /// Plain calls cannot have more than one operation in flight.
    #[error("plain calls have one operation in flight, not {depth}")]
    Synchronous {
        /// Operations in flight that were asked for.
        depth: u32,
    },
    /// A parameter of a pattern or of pacing outside its range.
    #[error("{what} is {value}, must be {range}")]
    OutOfRange {
        /// The parameter.
        what: &'static str,
        /// Its value.
        value: f64,
        /// The range in words.
        range: &'static str,
    },
}
