//! Results of jobs: the counts of each, in all and by interval, and all of them as one measurement.

use workload::Op;

use crate::{KindStats, Measurement};

/// Statistics by `OpKind as usize`; `None` for kinds that did not occur.
pub type Kinds = [Option<KindStats>; 4];

/// The results of a performance.
#[derive(Clone, Debug, Default)]
pub struct Performance {
    /// Every job, in the order given.
    pub jobs: Vec<JobResult>,
    /// All of them together, with device traffic and findings.
    pub whole: Measurement,
}

/// The results of one job.
#[derive(Clone, Debug, Default)]
pub struct JobResult {
    /// Counts, in all and by interval.
    pub seen: JobSeen,
    /// First issue or end of the ramp, nanoseconds since the job began.
    pub begin_ns: u64,
    /// End of the operations proper, including the last flush, nanoseconds since the job began.
    pub issue_end_ns: u64,
    /// End of everything, including reading back, nanoseconds since the job began.
    pub end_ns: u64,
    /// Part of the time until `issue_end_ns` spent reading back, nanoseconds.
    pub checks_ns: u64,
    /// Blocks that verify found wrong, if requested.
    pub dumps: Vec<Dump>,
    /// Usage of its threads.
    pub usage: ThreadUsage,
    /// Operations issued, including the ramp.
    pub issued: u64,
    /// Operations in flight at an issue, by powers of two: 1, 2 to 3, 4 to 7, ..., 64 and more.
    pub depths: [u64; 7],
    /// Operations submitted in a turn: 0, 1 to 4, 5 to 8, ..., 33 to 64, more.
    pub handed: [u64; 7],
    /// Operations completed in a turn, in the same classes.
    pub returned: [u64; 7],
    /// The measurement of the job, with its own findings.
    pub measurement: Measurement,
}

/// The counts of one job so far.
#[derive(Clone, Debug, Default)]
pub struct JobSeen {
    /// Statistics by `OpKind as usize`; `None` for kinds that did not occur.
    pub kinds: Kinds,
    /// The intervals with activity, in order. Of a very long job only the latest are kept.
    pub intervals: Vec<JobInterval>,
    /// Number of earlier intervals with activity that are no longer kept.
    pub forgotten: u64,
    /// Intervals below this number are final. 0 before its first report, `u64::MAX` after its end.
    pub closed: u64,
}

/// The counts of one job in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobInterval {
    /// Number of the interval, counted from the start of all jobs.
    pub index: u64,
    /// By `OpKind as usize`: operations, their bytes, the sum of their service times in
    /// nanoseconds, and the longest.
    pub kinds: [(u64, u64, u64, u64); 4],
}

/// Usage of the processor and of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Processor time outside the kernel, nanoseconds.
    pub user_ns: u64,
    /// Processor time in the kernel, nanoseconds.
    pub system_ns: u64,
    /// Context switches, voluntary or not.
    pub switches: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
}

impl ThreadUsage {
    /// Adds the usage of another thread.
    pub fn add(&mut self, other: ThreadUsage) {
        self.user_ns += other.user_ns;
        self.system_ns += other.system_ns;
        self.switches += other.switches;
        self.major_faults += other.major_faults;
        self.minor_faults += other.minor_faults;
    }

    /// The difference to an earlier reading.
    pub fn since(self, before: ThreadUsage) -> ThreadUsage {
        ThreadUsage {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            switches: self.switches.saturating_sub(before.switches),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
        }
    }
}

/// One completed operation of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Its own priority, as in [`crate::PriorityRule`]; 0 for none.
    pub priority: u16,
    /// When it completed, nanoseconds since its job began.
    pub done_ns: u64,
    /// Issue to completion, nanoseconds.
    pub service_ns: u64,
    /// The operation. Its offset is an address, see [`crate::Job::files`].
    pub op: Op,
}

/// A block that verify found wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// Its address; see [`crate::Job::files`].
    pub address: u64,
    /// The bytes read.
    pub found: Vec<u8>,
    /// The bytes written, where they are known.
    pub expected: Option<Vec<u8>>,
}
