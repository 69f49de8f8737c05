//! How a job's operations are issued, beyond its workload: by which calls, with which ramp, waits,
//! priorities and tolerance of failures.

use std::str::FromStr;

use workload::Think;

/// Failures in a row after which a target is given up, unless a job says otherwise.
const FAILURES_MAX: u32 = 100;

/// A way to issue I/O on a real target. A virtual drive has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    /// io_uring.
    Uring,
    /// Linux AIO.
    Aio,
    /// Synchronous `pread` and `pwrite`.
    Psync,
    /// Files mapped into memory.
    Mmap,
    /// Nothing: measures the instrument.
    Null,
}

impl BackendKind {
    /// Every kind that can be asked for by its word, best first.
    pub const ALL: [BackendKind; 4] =
        [BackendKind::Uring, BackendKind::Aio, BackendKind::Psync, BackendKind::Null];

    /// The word used on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            BackendKind::Uring => "uring",
            BackendKind::Aio => "aio",
            BackendKind::Psync => "psync",
            BackendKind::Mmap => "mmap",
            BackendKind::Null => "null",
        }
    }

    /// Whether it carries out one operation at a time, whatever depth was asked for.
    pub fn is_synchronous(self) -> bool {
        matches!(self, BackendKind::Psync | BackendKind::Mmap)
    }
}

impl FromStr for BackendKind {
    type Err = String;

    fn from_str(text: &str) -> Result<BackendKind, String> {
        let found = BackendKind::ALL.into_iter().find(|k| k.name() == text);
        found.ok_or_else(|| format!("backend '{text}' is none of uring, aio, psync, null"))
    }
}

/// How a job's operations are issued.
#[derive(Clone, Debug)]
pub struct Issue {
    /// By which calls; `None`: the rig's choice.
    pub backend: Option<BackendKind>,
    /// Ramp-up: statistics are reset after this time, which is added to the run time, nanoseconds.
    pub ramp_ns: u64,
    /// Completions to wait for at once when the queue is full, at least 1.
    pub complete_min: u32,
    /// Failures in a row that end the job, at least 1.
    pub failures_max: u32,
    /// Log every operation.
    pub log: bool,
    /// The last flush is part of the time, but not counted as an operation.
    pub flush_uncounted: bool,
    /// The first fault that verify finds ends the job.
    pub fault_ends: bool,
    /// Keep blocks that verify found wrong.
    pub dump: bool,
    /// Tells this job's content from that of others with its seed.
    pub salt: u64,
    /// Advise the kernel of the access order of mapped files.
    pub fadvise: bool,
    /// Pauses to think.
    pub think: Option<Think>,
    /// An operation that overlaps one in flight waits for it.
    pub serialize_overlap: bool,
    /// A flush is an `fsync` and not an `fdatasync`.
    pub fsync: bool,
    /// Its part in a flow, which then is its pace.
    pub flow: Option<FlowPart>,
    /// Priorities of single operations, where the backend can pass them to the kernel.
    pub priorities: Option<Priorities>,
    /// How its files are opened.
    pub open: OpenFlags,
}

impl Default for Issue {
    fn default() -> Self {
        Issue {
            backend: None,
            ramp_ns: 0,
            complete_min: 1,
            failures_max: FAILURES_MAX,
            log: false,
            flush_uncounted: false,
            fault_ends: false,
            dump: false,
            salt: 0,
            fadvise: true,
            think: None,
            serialize_overlap: false,
            fsync: false,
            flow: None,
            priorities: None,
            open: OpenFlags::default(),
        }
    }
}

/// A job's part in a flow: jobs with the same group keep the ratio of their weights in operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPart {
    /// The flow that it belongs to.
    pub group: u32,
    /// Its weight, at least 1.
    pub weight: u64,
    /// How long it rests when it is ahead, nanoseconds.
    pub rest_ns: u64,
}

/// A share of the operations of one direction, and its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityRule {
    /// Operations of that many bytes only; all where none is given.
    pub bytes: Option<u32>,
    /// Percent of them, 0 to 100; rules for the same operations add up to 100 at most.
    pub percent: u32,
    /// Class (0 to 3) in the upper three bits, level (0 to 7) in the lowest, as for `ioprio_set`.
    pub priority: u16,
}

/// Priorities of single operations. Which operations a rule hits depends on the seed alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Priorities {
    /// For reads.
    pub reads: Vec<PriorityRule>,
    /// For writes.
    pub writes: Vec<PriorityRule>,
    /// Seed of the draws.
    pub seed: u64,
}

/// How a job's files are opened on a real machine; a virtual drive has no files to open. Whether the
/// page cache is bypassed follows from the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFlags {
    /// For reading.
    pub read: bool,
    /// For writing; a file that is not there is created.
    pub write: bool,
    /// Writes return when they are durable.
    pub sync: SyncWrites,
    /// Read each file once before the job, so that the page cache holds what fits.
    pub pre_read: bool,
    /// Drop what the page cache holds of a buffered file before the job.
    pub invalidate: bool,
    /// The access order that the kernel is told.
    pub advice: Option<Advice>,
}

impl Default for OpenFlags {
    fn default() -> Self {
        OpenFlags {
            read: true,
            write: true,
            sync: SyncWrites::None,
            pre_read: false,
            invalidate: false,
            advice: None,
        }
    }
}

/// When a write returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncWrites {
    /// When the system has it.
    #[default]
    None,
    /// When its data are durable (O_DSYNC).
    Data,
    /// When data and metadata are durable (O_SYNC).
    All,
}

/// What the kernel is told about the coming accesses to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// In order.
    Sequential,
    /// In no order.
    Random,
    /// Once only.
    NoReuse,
}
