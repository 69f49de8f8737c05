//! The settings of a job beyond its workload: backend, ramp-up, waits, priorities and failure
//! tolerance.

use std::str::FromStr;

use workload::Think;

/// Default number of consecutive failures that end a job.
const FAILURES_MAX: u32 = 100;

/// A backend for a real target. A virtual drive has its own.
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
    /// POSIX AIO: threads of the C library around `pread` and `pwrite`.
    Posixaio,
    /// Queue pairs of an NVMe controller, bypassing the kernel.
    Nvme,
    /// No I/O: measures the instrument's own cost.
    Null,
}

impl BackendKind {
    /// All kinds that can be selected by name, best first.
    pub const ALL: [BackendKind; 4] =
        [BackendKind::Uring, BackendKind::Aio, BackendKind::Psync, BackendKind::Null];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            BackendKind::Uring => "uring",
            BackendKind::Aio => "aio",
            BackendKind::Psync => "psync",
            BackendKind::Mmap => "mmap",
            BackendKind::Posixaio => "posixaio",
            BackendKind::Nvme => "nvme",
            BackendKind::Null => "null",
        }
    }

    /// Whether it executes one operation at a time, whatever the requested depth.
    pub fn is_synchronous(self) -> bool {
        matches!(self, BackendKind::Psync | BackendKind::Mmap)
    }
}

/// The name of a backend in records; `None`: that of a virtual drive.
pub fn backend_name(kind: Option<BackendKind>) -> &'static str {
    kind.map_or("sim", BackendKind::name)
}

impl FromStr for BackendKind {
    type Err = String;

    fn from_str(text: &str) -> Result<BackendKind, String> {
        let kind = BackendKind::ALL.into_iter().find(|k| k.name() == text);
        kind.ok_or_else(|| format!("unknown backend '{text}': expected uring, aio, psync or null"))
    }
}

/// How a job's operations are issued.
#[derive(Clone, Debug)]
pub struct Issue {
    /// Backend; `None`: the rig's choice.
    pub backend: Option<BackendKind>,
    /// Ramp-up: statistics are reset after this time, which is added to the run time, nanoseconds.
    pub ramp_ns: u64,
    /// Completions to wait for when the queue is full, at least 1.
    pub complete_min: u32,
    /// Consecutive failures that end the job, at least 1.
    pub failures_max: u32,
    /// Whether to pass every operation to [`crate::IntervalObserver::ops`].
    pub log: bool,
    /// Whether the time includes the final flush without counting it as an operation.
    pub flush_uncounted: bool,
    /// Whether the first verification failure ends the job.
    pub fault_ends: bool,
    /// Whether to keep the blocks that fail verification.
    pub dump: bool,
    /// Distinguishes this job's data from those of other jobs with the same seed.
    pub salt: u64,
    /// Whether to advise the kernel of the access pattern of mapped files.
    pub fadvise: bool,
    /// Think time.
    pub think: Option<Think>,
    /// Whether an operation that overlaps one in flight waits for it.
    pub serialize_overlap: bool,
    /// Whether the call that submits operations is one of its own, and timed
    /// ([`crate::KindStats::submission`]).
    pub times_submission: bool,
    /// Whether a flush is an `fsync` rather than an `fdatasync`.
    pub fsync: bool,
    /// Its share in a flow, which then sets its pace.
    pub flow: Option<FlowPart>,
    /// Priorities of individual operations, if the backend can pass them to the kernel.
    pub priorities: Option<Priorities>,
    /// How its files are opened.
    pub open: OpenFlags,
    /// Whether buffers are in pages of the usual size; otherwise large ones are in huge pages, so
    /// that a large direct transfer has fewer segments.
    pub small_pages: bool,
    /// Features of an io_uring that cost or need something.
    pub ring: RingFeatures,
}

/// Features of an io_uring that cost processor time, or need something of the drive: off unless
/// requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingFeatures {
    /// Whether a thread of the kernel polls for submissions.
    pub polls_submissions: bool,
    /// The processor of that thread; `None`: any.
    pub polling_cpu: Option<u32>,
    /// Whether completions are polled for; only direct transfers to a drive with queues for it can.
    pub polls_completions: bool,
    /// One of so many operations is given to the kernel's threads at once; 0: none.
    pub async_every: u32,
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
            times_submission: false,
            fsync: false,
            flow: None,
            priorities: None,
            open: OpenFlags::default(),
            small_pages: false,
            ring: RingFeatures::default(),
        }
    }
}

/// A job's share in a flow: jobs of the same group keep their operations in the ratio of their
/// weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPart {
    /// The group.
    pub group: u32,
    /// Its weight, at least 1.
    pub weight: u64,
    /// Pause when this job is ahead of the others, nanoseconds.
    pub rest_ns: u64,
}

/// The priority of a share of the operations in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityRule {
    /// Operation size it applies to, bytes; `None`: all sizes.
    pub bytes: Option<u32>,
    /// Percentage, 0 to 100; rules for the same operations add up to at most 100.
    pub percent: u32,
    /// Class (0 to 3) in the upper three bits, level (0 to 7) in the lower three, as for
    /// `ioprio_set`.
    pub priority: u16,
}

/// Priorities of individual operations. The choice of operations depends only on the seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Priorities {
    /// For reads.
    pub reads: Vec<PriorityRule>,
    /// For writes.
    pub writes: Vec<PriorityRule>,
    /// Seed for choosing the operations.
    pub seed: u64,
}

/// How a job's files are opened on a real machine; a virtual drive has no files. The workload
/// decides whether to bypass the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFlags {
    /// Open for reading.
    pub read: bool,
    /// Open for writing; a missing file is created.
    pub write: bool,
    /// When writes return.
    pub sync: SyncWrites,
    /// Whether to read each file once before the job, to fill the page cache.
    pub pre_read: bool,
    /// Whether to drop a buffered file's pages from the page cache before the job.
    pub invalidate: bool,
    /// The access pattern announced to the kernel.
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
    /// When the kernel has accepted it.
    #[default]
    None,
    /// When its data are durable (O_DSYNC).
    Data,
    /// When data and metadata are durable (O_SYNC).
    All,
}

/// The access pattern of a file, announced to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Sequential order.
    Sequential,
    /// Random order.
    Random,
    /// Each byte is accessed only once.
    NoReuse,
}
