//! The interface between a measurement and the drive under test.
//!
//! Methods, fio and iozone see a drive only through [`Rig`]. Real drives, virtual drives and the
//! planner all implement it, so its users cannot distinguish them. A rig takes [`Job`]s, returns a
//! [`Performance`], and passes [`Event`]s to the observer. This crate does no I/O and reads no
//! clock.

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod blocks;
pub mod bound;
mod command;
mod control;
pub mod errno;
mod event;
mod files;
mod issue;
mod job;
mod limits;
mod measurement;
mod rates;
mod result;
mod split;
mod stall;

pub use blocks::{BlockDone, BlockRequest, BlockWay, Blocks};
pub use command::{CommandRun, Exit, ProgramTraffic};
pub use control::{Continuation, IntervalObserver, JobControl};
pub use errno::error_name;
pub use event::{Event, Interval, Observer, Pass, Returning};
pub use files::{Allocation, DiskUse, FilePlan, FileSeen, Files, Filling, NameCall};
pub use issue::{
    Advice, BackendKind, FlowPart, Issue, OpenFlags, Priorities, PriorityRule, RingFeatures,
    SyncWrites, backend_name,
};
pub use job::{EndsAll, FileUse, Job, MemoryPolicy, Placement, Start, place_bits};
pub use limits::{Bus, Flash, GroupLimits, Limits};
pub use measurement::{
    DeviceTraffic, KindStats, Measurement, StopReason, SubmissionTimes, Temperature, ThreadLoad,
};
pub use rates::{DirectionRates, DurableRates, Rates};
pub use result::{Dump, JobInterval, JobResult, JobSeen, Kinds, Logged, Performance, ThreadUsage};
pub use split::{DividedTime, SplitPart, TimeSplit};
pub use stall::STALL_NS_MIN;

use std::fmt;
use std::time::Duration;

use record::{Safety, State, Target, TargetKind};
use workload::{Content, Region, Workload, WorkloadError};

/// The facts known about the drive under test before a measurement.
#[derive(Clone, Debug)]
pub struct TargetInfo {
    /// Identity, as it appears in the record.
    pub target: Target,
    /// Usable bytes: the size of the scratch file, file or drive.
    pub bytes: u64,
    /// Smallest unit of an O_DIRECT transfer, bytes.
    pub logical_block_bytes: u32,
    /// The highest safety class allowed.
    pub allowed: Safety,
    /// Whether the data are in memory (tmpfs, zram, RAM disc).
    pub ram: bool,
    /// Whether discards can be issued.
    pub discard: bool,
    /// The known state of the drive.
    pub state: State,
    /// Logical block sizes it can be formatted to, bytes; empty if this target cannot format it.
    pub formats: Vec<u32>,
    /// The drive's bus.
    pub bus: Bus,
    /// Ceilings known before any measurement.
    pub limits: Limits,
    /// Rates known before any measurement, for the plan; `None` if unknown.
    pub rates: Option<Rates>,
    /// The hypervisor, if this machine is a guest: any storage can back its drives.
    pub guest: Option<String>,
}

impl TargetInfo {
    /// Describes the null target: operations complete without being carried out, so the instrument
    /// measures itself.
    pub fn null(bytes: u64) -> TargetInfo {
        let target = Target {
            spec: "null:".to_string(),
            kind: TargetKind::Null,
            bytes: Some(bytes),
            ..Target::default()
        };
        TargetInfo {
            target,
            bytes,
            logical_block_bytes: 512,
            allowed: Safety::Destroys,
            ram: false,
            discard: true,
            state: State::Unknown,
            formats: Vec::new(),
            bus: Bus::Other,
            limits: Limits::default(),
            rates: None,
            guest: None,
        }
    }

    /// Whether it is a file or a device of the user: a write overwrites the user's data.
    pub fn is_user_data(&self) -> bool {
        matches!(self.target.kind, TargetKind::File | TargetKind::Device)
    }
}

/// A method of erasing a region or a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erase {
    /// A discard, which marks the blocks as unused.
    Discard,
    /// A discard that erases immediately, including all copies.
    SecureDiscard,
    /// Writing zeroes.
    Zero,
    /// Formatting to logical blocks of this size.
    Format {
        /// Block size, bytes.
        block_bytes: u32,
    },
    /// The drive erases all its flash, including spares.
    Sanitize,
}

impl Erase {
    /// The name used in records and on screen.
    pub fn name(self) -> &'static str {
        match self {
            Erase::Discard => "discard",
            Erase::SecureDiscard => "secure-discard",
            Erase::Zero => "zero",
            Erase::Format { .. } => "format",
            Erase::Sanitize => "sanitize",
        }
    }
}

/// An action on a drive between measurements.
#[derive(Clone, Debug, PartialEq)]
pub enum Preparation {
    /// Write the whole region once, sequentially, and flush.
    Fill {
        /// Region.
        region: Region,
        /// Content.
        content: Content,
        /// Seed of the content.
        seed: u64,
    },
    /// Keep the content of the region, so that it may be overwritten with itself
    /// ([`Content::Original`]). User data first go into a journal on another drive; if a second
    /// read returns other bytes, the error is [`RigError::Unsteady`].
    Borrow {
        /// Region.
        region: Region,
    },
    /// Compare all borrowed blocks with their original content, restore those that differ, and
    /// forget them. This also works after the run has been ended. `Prepared::bytes` counts the
    /// bytes restored.
    Restore,
    /// Discard the region.
    Discard {
        /// Region.
        region: Region,
    },
    /// Make everything written durable.
    Flush,
    /// Drop the target's pages from the operating system's cache.
    DropCaches,
    /// Truncate a scratch file, so that the next workload makes it grow like a new file. Devices
    /// and the user's own files keep their size.
    Empty,
    /// Release the region as in normal use (a device discards it; a file system frees its blocks
    /// and trims), then read its blocks. See [`Released`].
    Release {
        /// Region.
        region: Region,
    },
    /// Write canaries, erase the region (with format and sanitize, the whole drive), then read the
    /// blocks. See [`Released`].
    Erase {
        /// Region.
        region: Region,
        /// Method.
        how: Erase,
    },
    /// Make a scratch file's file system discard its free space. No data are lost.
    TrimFree,
    /// Format to another logical block size (destroys everything).
    Format {
        /// New logical block size in bytes.
        block_bytes: u32,
    },
}

/// The result of a preparation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepared {
    /// Duration in nanoseconds of the target's clock.
    pub elapsed_ns: u64,
    /// Bytes written or discarded.
    pub bytes: u64,
    /// Bytes of the target still in the operating system's cache after the drop, if it reports
    /// them.
    pub cached_bytes: Option<u64>,
    /// Content of released blocks.
    pub released: Option<Released>,
    /// Borrowed blocks that returned different bytes when they were compared.
    pub unsteady: Unsteady,
}

/// Blocks that returned different bytes when they were read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsteady {
    /// Their number.
    pub blocks: u64,
    /// Number of blocks read.
    pub of: u64,
}

impl Unsteady {
    /// Whether there are any.
    pub fn is_seen(&self) -> bool {
        self.blocks > 0
    }

    /// Both counts, of this and of later reads.
    #[must_use]
    pub fn and(self, later: Unsteady) -> Unsteady {
        Unsteady { blocks: self.blocks + later.blocks, of: self.of + later.of }
    }
}

impl fmt::Display for Unsteady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unsteady { blocks, of } = self;
        let text = "this drive, reader or cable reads different bytes each time";
        write!(f, "{text}: {blocks} of {of} blocks")
    }
}

/// Content of blocks after their release. The remaining bytes are neither zero nor unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Released {
    /// Bytes read before and after, bypassing all caches.
    pub looked_bytes: u64,
    /// Bytes that read as zeros now but not before.
    pub zero_bytes: u64,
    /// Bytes that are unchanged.
    pub kept_bytes: u64,
    /// Bytes reported as trimmed by the file system; `None` on a device, or if it cannot trim.
    pub trimmed_bytes: Option<u64>,
}

/// The reason a rig did not carry out a request.
#[derive(Debug, thiserror::Error)]
pub enum RigError {
    /// The user ended the run; the measurements so far count.
    #[error("interrupted")]
    Interrupted,
    /// The safety class does not allow it.
    #[error("not allowed: {0}")]
    Refused(String),
    /// The blocks to be borrowed return different bytes each time, so no copy of them is safe.
    #[error("{0}; nothing was overwritten")]
    Unsteady(Unsteady),
    /// The target cannot do it.
    #[error("not supported by this target: {0}")]
    Unsupported(String),
    /// A target or file cannot be used as requested.
    #[error("{text}")]
    Target {
        /// Who has to act.
        fault: ErrorClass,
        /// The reason, in one line.
        text: String,
        /// What to try.
        advice: Option<String>,
    },
    /// The workload makes no sense on this target.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The target failed.
    #[error("{context}: {source}")]
    Io {
        /// Action and target.
        context: String,
        /// The system's error.
        source: std::io::Error,
    },
}

impl RigError {
    /// A request that cannot be served, and the advice on what to try instead.
    pub fn usage(text: impl Into<String>, advice: impl Into<String>) -> RigError {
        RigError::Target {
            fault: ErrorClass::Usage,
            text: text.into(),
            advice: Some(advice.into()),
        }
    }

    /// A request that is not safe or not allowed, and the advice on what to try instead.
    pub fn refused(text: impl Into<String>, advice: impl Into<String>) -> RigError {
        RigError::Target {
            fault: ErrorClass::Refused,
            text: text.into(),
            advice: Some(advice.into()),
        }
    }

    /// Who has to act; `None` if the user ended the run.
    pub fn fault(&self) -> Option<ErrorClass> {
        match self {
            RigError::Interrupted => None,
            RigError::Refused(_) | RigError::Unsteady(_) => Some(ErrorClass::Refused),
            RigError::Unsupported(_) | RigError::Workload(_) => Some(ErrorClass::Usage),
            RigError::Target { fault, .. } => Some(*fault),
            RigError::Io { .. } => Some(ErrorClass::Io),
        }
    }

    /// What to try.
    pub fn advice(&self) -> Option<&str> {
        match self {
            RigError::Target { advice, .. } => advice.as_deref(),
            _ => None,
        }
    }
}

/// Who has to act on an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The user: the command line is wrong.
    Usage,
    /// The user: the request is not safe, or not allowed.
    Refused,
    /// No one: the system or the drive failed.
    Io,
}

/// The result of a fallible [`Rig`] method.
pub type Result<T> = std::result::Result<T, RigError>;

/// How the jobs of a performance run together.
#[derive(Default)]
pub struct Stage<'a> {
    /// Name of the performance; if empty, the name of its first job.
    pub name: &'a str,
    /// Interval length of time series and interval counts, nanoseconds; `None`: the rig's default.
    pub interval_ns: Option<u64>,
    /// Report each job separately, with its intervals; otherwise [`Performance::jobs`] stays empty.
    pub by_job: bool,
    /// Sees the counts and logs of these jobs while they run, and may end them. The rig's own
    /// observer gets the events of the whole run, but no counts per job, and decides nothing.
    pub intervals: Option<&'a mut dyn IntervalObserver>,
}

/// Access to the drive under test.
pub trait Rig {
    /// Capacity, block sizes, identity, limits, safety class.
    fn target(&self) -> &TargetInfo;

    /// Runs jobs concurrently until the last has ended. If the user interrupts, it returns the
    /// results so far with [`StopReason::Interrupted`], and the next call returns
    /// [`RigError::Interrupted`].
    fn perform(&mut self, jobs: Vec<Job>, stage: Stage<'_>) -> Result<Performance>;

    /// Runs a workload as one job on the target.
    fn measure(&mut self, workload: &Workload) -> Result<Measurement> {
        Ok(self.perform(vec![Job::from_workload(workload)], Stage::default())?.whole)
    }

    /// Carries out a preparation.
    fn prepare(&mut self, preparation: Preparation) -> Result<Prepared>;

    /// Lets time pass without I/O: waits on a real drive, advances the clock of a virtual one.
    fn idle(&mut self, time: Duration) -> Result<()>;

    /// Runs a user's program on the target: in its directory, or while sampling the device. A
    /// virtual drive has no host to run it.
    fn command(&mut self, words: &[String]) -> Result<CommandRun> {
        let program = words.first().map_or("", String::as_str);
        Err(RigError::Unsupported(format!("running '{program}': this drive has no host to run it")))
    }

    /// The drive's current wear, errors and temperature; `None` if it reports none.
    fn health(&mut self) -> Option<record::Health> {
        None
    }

    /// The target's block interface, which writes given bytes and reads them back.
    fn blocks(&mut self) -> Result<&mut dyn Blocks>;

    /// The files named by jobs. Unsupported if the rig has a single target, because its jobs name
    /// no files.
    fn files(&mut self) -> Result<&mut dyn Files> {
        Err(RigError::Unsupported("jobs that name their files".into()))
    }

    /// A RAM disc for the same measurements: it shows the limit of the machine.
    fn reference(&mut self) -> Option<&mut dyn Rig> {
        None
    }

    /// Passes an event to the observer.
    fn note(&mut self, event: Event);

    /// Nanoseconds since the start of the run, on the target's clock.
    fn elapsed_ns(&mut self) -> u64;
}
