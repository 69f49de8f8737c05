//! A fio job section, resolved and typed.
//!
//! Fields have fio's names where a fio user would expect them. Sizes are in bytes, rates in bytes
//! or operations per second, and times are [`Duration`]s. A value that fio infers when the job
//! starts (the size of an existing file) is `None`.

mod access;
mod content;
mod files;
mod measure;
mod run;

pub use access::{
    Access, Blocks, Distribution, Rw, Sequencer, Share, Sprandom, Spread, StridedZone, ZoneBytes,
    ZonePercent,
};
pub use content::{ContentOptions, DataVerify, VerifyKind};
pub use files::{
    FadviseHint, Fallocate, FileOptions, FileService, MAX_FILES, ServiceOrder, SpaceOptions,
    SyncMode, Syncing,
};
pub(crate) use files::{is_drive, is_virtual};
pub use measure::{
    Criterion, ErrorSet, Errors, LatencyTarget, Logs, Reporting, Steady, Threshold, UnifiedRw,
};
pub use run::{
    CpuPolicy, Engine, ExitWhat, FlowWeight, MachineOptions, MemoryPolicy, NameCall, PaceOptions,
    PriorityShare, QueueOptions, RateProcess, RingFeatures, Schedule, ThinkOptions,
};

use std::time::Duration;

use workload::OpKind;
use workload::units::gcd;

use crate::Replay;

/// A job section, including the values inherited from `[global]` and the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Name in the results: the section's, or the value of `name=`.
    pub name: String,
    /// Name of the section, from which file names are derived.
    pub section: String,
    /// `description=`, shown with the results.
    pub description: Option<String>,
    /// Its own options as given, without those from `[global]`: fio's name and the text.
    pub given: Vec<(String, String)>,
    /// Start of the section: `file:line`, or `command line`.
    pub origin: String,
    /// Number of clones that run in parallel, 1 to 4096. Each does the whole job, on its own files
    /// unless `filename=` names them. With `offset_increment`, clone `n` starts `n` increments
    /// further into each file.
    pub numjobs: u32,
    /// `thread`: its clones are threads in fio, and processes without it.
    pub thread: bool,
    /// Index of its reporting group, from 0; a stonewall or `new_group` starts a new group.
    pub group: u32,
    /// Start and end, the jobs it waits for, and the jobs it terminates.
    pub schedule: Schedule,
    /// I/O engine (`ioengine=`).
    pub engine: Engine,
    /// Queue depth and batches.
    pub queue: QueueOptions,
    /// Direction, block sizes, order of offsets.
    pub access: Access,
    /// The region of the files to use, and the number of bytes to transfer.
    pub space: SpaceOptions,
    /// Names, number and creation of the files.
    pub files: FileOptions,
    /// Durability of writes, and use of the page cache.
    pub syncing: Syncing,
    /// Rates and pauses.
    pub pace: PaceOptions,
    /// Content of writes.
    pub content: ContentOptions,
    /// Verification of written data.
    pub verify: DataVerify,
    /// CPU affinity, NUMA policy and priorities.
    pub machine: MachineOptions,
    /// Selection and format of the results.
    pub reporting: Reporting,
    /// Bandwidth, IOPS and latency logs.
    pub logs: Logs,
    /// Behaviour after an error.
    pub errors: Errors,
    /// Ends the job at steady state (`steadystate=`).
    pub steady: Option<Steady>,
    /// The I/O logs that it repeats instead of drawing operations (`read_iolog=`).
    pub replay: Option<Replay>,
    /// Adjusts the queue depth to meet a target latency (`latency_target=`).
    pub latency_target: Option<LatencyTarget>,
}

impl Default for Job {
    fn default() -> Job {
        Job {
            name: String::new(),
            section: String::new(),
            description: None,
            given: Vec::new(),
            origin: String::new(),
            numjobs: 1,
            thread: false,
            group: 0,
            schedule: Schedule { loops: 1, ..Schedule::default() },
            engine: Engine::default(),
            queue: QueueOptions::default(),
            access: Access::default(),
            space: SpaceOptions::default(),
            files: FileOptions::default(),
            syncing: Syncing::default(),
            pace: PaceOptions::default(),
            content: ContentOptions::default(),
            verify: DataVerify::default(),
            machine: MachineOptions::default(),
            reporting: Reporting::default(),
            logs: Logs::default(),
            errors: Errors::default(),
            steady: None,
            replay: None,
            latency_target: None,
        }
    }
}

impl Job {
    /// Paths of the files of clone `clone` (from 0), in the order of their numbers.
    pub fn paths(&self, clone: u32) -> Vec<String> {
        match &self.replay {
            Some(replay) => replay.log(clone).files.clone(),
            None => self.files.paths(&self.section, clone),
        }
    }

    /// Whether it moves nothing: with `create_only`, and as in fio with `verify_only` if it has
    /// written what no `verify` checks, or not with `do_verify=0`.
    pub(crate) fn only_creates_files(&self) -> bool {
        let is_checked = self.verify.kind != VerifyKind::None && self.verify.do_verify;
        let checks_nothing = self.access.rw.writes() && !is_checked;
        self.files.create_only || self.verify.only && checks_nothing
    }

    /// Whether a flush is an `fsync`, which also makes metadata durable, rather than an `fdatasync`.
    pub(crate) fn flushes_metadata(&self) -> bool {
        match &self.replay {
            Some(replay) => replay.logs.iter().any(|log| log.fsync),
            None => self.syncing.fdatasync == 0 || self.syncing.fsync > 0,
        }
    }

    /// Whether its operations include reads, besides those that verify.
    pub(crate) fn reads(&self) -> bool {
        let replay = self.replay.as_ref();
        replay.map_or(self.access.rw.reads(), |replay| replay.has(OpKind::Read))
    }

    /// Whether an operation of one pass may overlap an earlier one.
    pub(crate) fn may_overlap(&self) -> bool {
        let access = &self.access;
        let is_steady = access.zone.is_none() && access.sequence_add == 0;
        if access.rw.random() { access.norandommap || access.lfsr } else { !is_steady }
    }

    /// Whether single operations have priorities of their own.
    pub(crate) fn has_priorities(&self) -> bool {
        self.machine.priorities.each().iter().any(|shares| !shares.is_empty())
    }

    /// Whether it modifies its files.
    pub(crate) fn changes(&self) -> bool {
        if let Some(replay) = &self.replay {
            return replay.changes();
        }
        (self.access.rw.writes() || self.access.rw.trims()) && !self.verify.only
    }

    /// Whether it verifies the data that it reads.
    pub(crate) fn verifies(&self) -> bool {
        !matches!(self.verify.kind, VerifyKind::None | VerifyKind::Null)
    }

    /// The same job without the options that add to its results, as fio shows one of `stats=0`.
    pub(crate) fn hidden(&self) -> Job {
        Job {
            name: String::new(),
            description: None,
            given: Vec::new(),
            reporting: Reporting { stats: false, clat_percentiles: false, ..Reporting::default() },
            errors: Errors::default(),
            latency_target: None,
            ..self.clone()
        }
    }

    /// A clone's seed. It depends only on `randseed` and the clone's number, so that a verifying
    /// job can reproduce the stamps of the job that wrote the data.
    pub(crate) fn seed(&self, clone: u32) -> u64 {
        self.access.seed().wrapping_add(u64::from(clone).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The greatest common divisor of all offsets and sizes.
    pub(crate) fn grid(&self) -> u32 {
        if let Some(replay) = &self.replay {
            return replay.grid();
        }
        let access = &self.access;
        let sizes = access.blocks.each().map(Blocks::step).into_iter();
        let parts = sizes.chain(access.block_align.each().map(|align| *align));
        let grid = parts.filter(|n| *n > 0).fold(0, gcd);
        if access.bs_unaligned { 1 } else { grid.max(1) as u32 }
    }

    /// Class and level of its I/O priority, if it has one.
    pub(crate) fn io_priority(&self) -> Option<(u8, u8)> {
        /// Best effort, the class of a job that specifies only a level.
        const BEST_EFFORT: u8 = 2;
        let (level, class) = (self.machine.prio, self.machine.prioclass);
        (level.is_some() || class.is_some())
            .then(|| (class.unwrap_or(BEST_EFFORT), level.unwrap_or(0)))
    }
}

/// Directions of operations, in fio's order; a flush has none.
pub(crate) const DIRECTIONS: [OpKind; 3] = [OpKind::Read, OpKind::Write, OpKind::Discard];

/// fio's number for a direction, which is also its index in [`PerKind::each`].
pub(crate) fn direction(kind: OpKind) -> Option<usize> {
    DIRECTIONS.into_iter().position(|other| other == kind)
}

/// A value per direction, as in `bs=4k,8k,16k` or `rate=1m,500k`: read, write, trim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerKind<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
    /// For trims (discards).
    pub trim: T,
}

impl<T> PerKind<T> {
    /// One value for all three.
    pub fn all(value: T) -> PerKind<T>
    where
        T: Clone,
    {
        PerKind { read: value.clone(), write: value.clone(), trim: value }
    }

    /// Read, write, trim, in this order.
    pub fn each(&self) -> [&T; 3] {
        [&self.read, &self.write, &self.trim]
    }

    /// Maps every value with `f`.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> PerKind<U> {
        PerKind { read: f(self.read), write: f(self.write), trim: f(self.trim) }
    }
}

/// A number of bytes, or a percentage of the file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    Bytes(u64),
    /// Percent, 0 to 100.
    Percent(u32),
}

impl Default for Amount {
    fn default() -> Amount {
        Amount::Bytes(0)
    }
}

impl Amount {
    /// The amount in bytes, relative to a total.
    pub fn bytes_of(self, total_bytes: u64) -> u64 {
        match self {
            Amount::Bytes(amount) => amount,
            Amount::Percent(percent) => {
                (u128::from(total_bytes) * u128::from(percent) / 100) as u64
            }
        }
    }
}

/// A duration drawn once from a range (`startdelay=2-5`); usually both bounds are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// Shortest.
    pub low: Duration,
    /// Longest.
    pub high: Duration,
}
