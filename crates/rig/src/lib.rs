//! The door between whoever measures and the drive under test.
//!
//! Methods, fio and iozone see a drive only through [`Rig`]. Real drives, virtual drives and the
//! planner implement it alike, so that none of its users can tell them apart. [`Job`]s go in, a
//! [`Performance`] comes out, and [`Event`]s go to the observer. Pure: no I/O, no clock.

#![forbid(unsafe_code)]

mod blocks;
mod command;
mod control;
mod event;
mod files;
mod issue;
mod job;
mod limits;
mod measurement;
mod result;

pub use blocks::{BlockDone, BlockRequest, BlockWay, Blocks};
pub use command::{CommandRun, Exit};
pub use control::{IntervalObserver, JobControl, Ruling};
pub use event::{Event, Interval, Observer};
pub use files::{Allocation, DiskUse, FilePlan, FileSeen, Files};
pub use issue::{
    Advice, BackendKind, FlowPart, Issue, OpenFlags, Priorities, PriorityRule, SyncWrites,
};
pub use job::{EndsAll, FileUse, Job, MemoryPolicy, Placement, Start, place_bits};
pub use limits::{Bus, Limits};
pub use measurement::{DeviceTraffic, KindStats, Measurement, StopReason, Temperature};
pub use result::{Dump, JobInterval, JobResult, JobSeen, Kinds, Logged, Performance, ThreadUsage};

use std::time::Duration;

use record::{Safety, State, Target, TargetKind};
use workload::{Content, Region, Workload, WorkloadError};

/// What a method may know of the drive under test before it begins.
#[derive(Clone, Debug)]
pub struct TargetInfo {
    /// Identity, as it goes into the record.
    pub target: Target,
    /// Bytes that may be used: size of the scratch file, file or drive.
    pub bytes: u64,
    /// Smallest unit of an O_DIRECT transfer, bytes.
    pub logical_block_bytes: u32,
    /// The most that was allowed.
    pub allowed: Safety,
    /// Data live in memory, whatever is read or written (tmpfs, zram, RAM disc).
    pub ram: bool,
    /// Whether discards can be issued.
    pub discard: bool,
    /// What the drive is known to have been through.
    pub state: State,
    /// Logical block sizes it can be formatted to, bytes; none where it cannot be formatted, or not
    /// by way of this target.
    pub formats: Vec<u32>,
    /// How it is attached.
    pub bus: Bus,
    /// Ceilings that are known before anything is measured.
    pub limits: Limits,
}

impl TargetInfo {
    /// No target at all: what is issued completes at once, and the instrument measures itself.
    pub fn null(bytes: u64) -> TargetInfo {
        let target = Target {
            spec: "null:".to_string(),
            kind: TargetKind::Null,
            path: None,
            bytes: Some(bytes),
            drive: None,
            layers: Vec::new(),
            filesystem: None,
            direct: None,
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
        }
    }
}

/// How everything is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erase {
    /// A discard: the drive is told that the blocks hold nothing.
    Discard,
    /// A discard that the drive has to make good at once, with all copies.
    SecureDiscard,
    /// Zeroes are written.
    Zero,
    /// The drive is formatted to logical blocks of this many bytes.
    Format {
        /// Bytes of a block.
        block_bytes: u32,
    },
    /// The drive erases all its flash, spares included.
    Sanitize,
}

impl Erase {
    /// The word for records and screens.
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

/// What can be done to a drive between measurements.
#[derive(Clone, Debug, PartialEq)]
pub enum Preparation {
    /// Write the whole region once, sequentially, and flush.
    Fill {
        /// Where.
        region: Region,
        /// With what.
        content: Content,
        /// Seed of the content.
        seed: u64,
    },
    /// Keep what is in the region, so that it may be written with its own content
    /// ([`Content::Original`]). What is the user's is first kept in a journal on another drive.
    Borrow {
        /// Where.
        region: Region,
    },
    /// Compare all that was borrowed with what is there now, put back what differs, and forget it.
    /// Also works on a run that was ended. `Prepared::bytes` is what had to be put back.
    Restore,
    /// Give the region back to the drive.
    Discard {
        /// Where.
        region: Region,
    },
    /// Make everything written durable.
    Flush,
    /// Make the operating system forget what it cached of the target.
    DropCaches,
    /// Make a scratch file empty, so that the next workload makes it grow as a new file does. A
    /// device and a file of the user's have the size they have.
    Empty,
    /// Give the region back as its user would, and look at what its blocks hold then: a device by a
    /// discard, a file system by freeing the blocks and trimming. See [`Released`].
    Release {
        /// Where.
        region: Region,
    },
    /// Write canaries, erase the region (by format and sanitize: the whole drive), and look at what
    /// the blocks hold then. See [`Released`].
    Erase {
        /// Where.
        region: Region,
        /// By which means.
        how: Erase,
    },
    /// Make the file system that a scratch file lies in discard all it has free. Nothing is lost.
    TrimFree,
    /// Format to another logical block size (destroys everything).
    Format {
        /// New logical block size in bytes.
        block_bytes: u32,
    },
}

/// What a preparation did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepared {
    /// How long it took, nanoseconds of the target's clock.
    pub elapsed_ns: u64,
    /// Bytes written or discarded.
    pub bytes: u64,
    /// Bytes of the target that the operating system still holds, where it was made to forget and
    /// tells.
    pub cached_bytes: Option<u64>,
    /// What was found in blocks that were released.
    pub released: Option<Released>,
}

/// What blocks hold after they were given back. What is neither zero nor kept is something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Released {
    /// Bytes that were read before and after, past all caches.
    pub looked_bytes: u64,
    /// Of those, bytes that read as zeros now, and did not before.
    pub zero_bytes: u64,
    /// Bytes that read as before.
    pub kept_bytes: u64,
    /// Bytes the file system says it trimmed; `None` on a device, and where it cannot trim.
    pub trimmed_bytes: Option<u64>,
}

/// Why the rig could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum RigError {
    /// The user ended the run; what was measured so far counts.
    #[error("interrupted")]
    Interrupted,
    /// The safety class does not allow it.
    #[error("not allowed: {0}")]
    Refused(String),
    /// The target cannot do it.
    #[error("not supported by this target: {0}")]
    Unsupported(String),
    /// The workload makes no sense on this target.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The target failed.
    #[error("{context}: {source}")]
    Io {
        /// What was tried, on what.
        context: String,
        /// The system's word.
        source: std::io::Error,
    },
}

/// Result of everything on a [`Rig`].
pub type Result<T> = std::result::Result<T, RigError>;

/// How the jobs of a performance run together.
#[derive(Default)]
pub struct Stage<'a> {
    /// Name of the performance; empty: that of its first job.
    pub name: &'a str,
    /// Length of the intervals of series and of interval counts, nanoseconds; `None`: the rig's own.
    pub interval_ns: Option<u64>,
    /// Report each job apart, with its intervals; else [`Performance::jobs`] stays empty.
    pub by_job: bool,
    /// Sees what each job does while it runs, and may end jobs.
    pub observer: Option<&'a mut dyn IntervalObserver>,
}

/// What may be done to the drive under test.
pub trait Rig {
    /// Capacity, block sizes, identity, limits, safety class.
    fn target(&self) -> &TargetInfo;

    /// Runs jobs at the same time, to the end of the last. When the user interrupts, the results
    /// come back as far as they got, with [`StopReason::Interrupted`], and the next call gives
    /// [`RigError::Interrupted`].
    fn perform(&mut self, jobs: Vec<Job>, _stage: Stage<'_>) -> Result<Performance> {
        let name = jobs.first().map_or("", |job| job.name());
        Err(RigError::Unsupported(format!("performing the jobs of {name}")))
    }

    /// Runs a workload as one job on the target.
    fn measure(&mut self, workload: &Workload) -> Result<Measurement> {
        Ok(self.perform(vec![Job::of(workload)], Stage::default())?.whole)
    }

    /// Brings the drive into a state.
    fn prepare(&mut self, preparation: Preparation) -> Result<Prepared>;

    /// Lets time pass without I/O: a real drive sleeps, a virtual one advances its clock.
    fn idle(&mut self, time: Duration) -> Result<()>;

    /// Runs a program of the user's on the target: in the directory, or beside the device that is
    /// watched. A virtual drive has no machine around it that could run one.
    fn command(&mut self, words: &[String]) -> Result<CommandRun> {
        let program = words.first().map_or("", String::as_str);
        Err(RigError::Unsupported(format!("running '{program}': no machine is around the drive")))
    }

    /// The blocks of the target, with content.
    fn blocks(&mut self) -> Result<&mut dyn Blocks> {
        Err(RigError::Unsupported("writing and reading given bytes".into()))
    }

    /// The files that jobs name.
    fn files(&mut self) -> Result<&mut dyn Files> {
        Err(RigError::Unsupported("files by name".into()))
    }

    /// A disc in memory, to measure the same on: what the machine around the drive can do at most.
    fn reference(&mut self) -> Option<&mut dyn Rig> {
        None
    }

    /// Tells whoever watches what the method is at.
    fn note(&mut self, event: Event);

    /// Nanoseconds since the run began, on the target's clock.
    fn elapsed_ns(&mut self) -> u64;
}
