//! A job section of fio, resolved and typed.
//!
//! Fields carry fio's names where a fio user would look for them. Sizes are bytes, rates bytes or
//! operations per second, times [`Duration`]s. A value that fio leaves to be inferred when the job
//! starts (the size of a file that exists) is `None` here.

mod access;
mod content;
mod files;
mod measure;
mod run;

pub use access::{
    Access, Blocks, Distribution, Generator, Rw, Sequencer, Share, Spread, Zone, ZoneBytes,
    ZoneMode, ZonePercent,
};
pub use content::{Content, DataVerify, PatternFormat, VerifyKind};
pub use files::{
    FadviseHint, Fallocate, FileService, Files, MAX_FILES, ServiceOrder, Space, SyncMode, Syncing,
};
pub use measure::{
    Criterion, ErrorSet, Errors, LatencyTarget, Logs, Reporting, Steady, Threshold, UnifiedRw,
};
pub use run::{
    CpuPolicy, Engine, ExitWhat, Flow, Machine, MemoryPolicy, Pace, PriorityShare, Queue,
    RateProcess, Schedule, Think,
};

use std::time::Duration;

/// One job section with everything inherited from `[global]` and the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// What results are shown under: the section's name, or what `name=` made of it.
    pub name: String,
    /// Name of the section, which names of files are made from.
    pub section: String,
    /// `description=`, shown with the results.
    pub description: Option<String>,
    /// Where the section begins: `file:line`, or `command line`.
    pub origin: String,
    /// How many clones of it run side by side, 1 to 4096; each does the whole job, on files of its
    /// own unless `filename=` names them. With `offset_increment` clone `n` begins `n` steps on.
    pub numjobs: u32,
    /// Number of its reporting group, from 0; a stonewall or `new_group` begins another.
    pub group: u32,
    /// When it starts and what else it waits for or ends.
    pub schedule: Schedule,
    /// What issues its I/O.
    pub engine: Engine,
    /// How many operations are in flight, and how they are handed over.
    pub queue: Queue,
    /// Which I/O: direction, block sizes, order of offsets.
    pub access: Access,
    /// How much of the files is used, and how many bytes are moved.
    pub space: Space,
    /// Names, number and making of the files.
    pub files: Files,
    /// When writes are made durable, and whether the page cache is used.
    pub syncing: Syncing,
    /// How fast operations are issued.
    pub pace: Pace,
    /// What writes carry.
    pub content: Content,
    /// Whether and how what was written is checked.
    pub verify: DataVerify,
    /// Processors and priorities.
    pub machine: Machine,
    /// What is shown of the results.
    pub reporting: Reporting,
    /// Logs over time.
    pub logs: Logs,
    /// What happens after an error.
    pub errors: Errors,
    /// End when performance is steady.
    pub steady: Option<Steady>,
    /// Look for the depth that keeps a latency.
    pub latency_target: Option<LatencyTarget>,
}

impl Default for Job {
    fn default() -> Job {
        Job {
            name: String::new(),
            section: String::new(),
            description: None,
            origin: String::new(),
            numjobs: 1,
            group: 0,
            schedule: Schedule { loops: 1, ..Schedule::default() },
            engine: Engine::default(),
            queue: Queue::default(),
            access: Access::default(),
            space: Space::default(),
            files: Files::default(),
            syncing: Syncing::default(),
            pace: Pace::default(),
            content: Content::default(),
            verify: DataVerify::default(),
            machine: Machine::default(),
            reporting: Reporting::default(),
            logs: Logs::default(),
            errors: Errors::default(),
            steady: None,
            latency_target: None,
        }
    }
}

impl Job {
    /// Paths of the files of clone `clone` (from 0), in the order of their numbers.
    pub fn paths(&self, clone: u32) -> Vec<String> {
        self.files.paths(&self.section, clone)
    }
}

/// A value for each direction, as `bs=4k,8k,16k` or `rate=1m,500k` gives them: read, write, trim.
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

    /// The same with every value passed through `f`.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> PerKind<U> {
        PerKind { read: f(self.read), write: f(self.write), trim: f(self.trim) }
    }
}

/// A number of bytes, or a share of the file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Percent, 0 to 100.
    Percent(u32),
}

impl Amount {
    /// Bytes of a whole of `bytes` bytes.
    pub fn of(self, bytes: u64) -> u64 {
        match self {
            Amount::Bytes(amount) => amount,
            Amount::Percent(percent) => (u128::from(bytes) * u128::from(percent) / 100) as u64,
        }
    }
}

/// A time drawn once between two bounds (`startdelay=2-5`); usually both are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// Shortest.
    pub low: Duration,
    /// Longest.
    pub high: Duration,
}
