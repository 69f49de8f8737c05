//! Results of jobs: totals and intervals per job, and one measurement of all jobs together.

use workload::Op;

use crate::{KindStats, Measurement};

/// Statistics by `OpKind as usize`; `None` for kinds that did not occur.
pub type Kinds = [Option<KindStats>; 4];

/// The results of a performance.
#[derive(Clone, Debug, Default)]
pub struct Performance {
    /// The results of each job, in the order of the jobs.
    pub jobs: Vec<JobResult>,
    /// The measurement of all jobs together, with device traffic and findings.
    pub whole: Measurement,
}

/// The results of one job.
#[derive(Clone, Debug, Default)]
pub struct JobResult {
    /// Counts in total and per interval.
    pub seen: JobSeen,
    /// First issue, or end of the ramp-up, nanoseconds since the job began.
    pub begin_ns: u64,
    /// Start of the job, nanoseconds since the start of all jobs.
    pub origin_ns: u64,
    /// End of the workload, including its last flush, nanoseconds since the job began.
    pub issue_end_ns: u64,
    /// End of the job, including verification, nanoseconds since the job began.
    pub end_ns: u64,
    /// Time spent on verification before `issue_end_ns`, nanoseconds.
    pub checks_ns: u64,
    /// Blocks that failed verification, if requested.
    pub dumps: Vec<Dump>,
    /// Resource usage of its threads since the ramp-up or the last reset.
    pub usage: ThreadUsage,
    /// Operations issued since the ramp-up or the last reset.
    pub issued: u64,
    /// Histogram of operations in flight at each issue: 1, 2-3, 4-7, ..., 64 or more.
    pub depths: [u64; 7],
    /// Histogram of operations submitted per turn of the worker: 0, 1-4, 5-8, ..., 33-64, more than
    /// 64. Turns without any are not counted, so the first class is always empty.
    pub handed: [u64; 7],
    /// Histogram of operations completed per turn, in the same classes.
    pub returned: [u64; 7],
    /// The measurement of the job, with its own findings.
    pub measurement: Measurement,
}

/// The counts of one job so far.
#[derive(Clone, Debug, Default)]
pub struct JobSeen {
    /// Statistics by `OpKind as usize`; `None` for kinds that did not occur.
    pub kinds: Kinds,
    /// The intervals with activity, in order. A very long job keeps only the latest ones.
    pub intervals: Vec<JobInterval>,
    /// Number of earlier intervals with activity that were dropped.
    pub forgotten: u64,
    /// Index of the first interval that can still change: 0 before the first report, `u64::MAX`
    /// after the end.
    pub closed: u64,
}

/// The counts of one job in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobInterval {
    /// Index of the interval, counted from the start of all jobs.
    pub index: u64,
    /// Indexed by `OpKind as usize`: operations, bytes, and the sum and maximum of the service
    /// times in nanoseconds.
    pub kinds: [(u64, u64, u64, u64); 4],
}

/// Processor time, context switches and page faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Processor time in user mode, nanoseconds.
    pub user_ns: u64,
    /// Processor time in the kernel, nanoseconds.
    pub system_ns: u64,
    /// Time in which it could have run but waited for a processor, nanoseconds; 0 if the kernel
    /// does not count it.
    pub waiting_ns: u64,
    /// Context switches, voluntary and involuntary.
    pub switches: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
}

impl ThreadUsage {
    /// Adds the usage of another thread.
    pub fn add(&mut self, other: ThreadUsage) {
        self.user_ns += other.user_ns;
        self.system_ns += other.system_ns;
        self.waiting_ns += other.waiting_ns;
        self.switches += other.switches;
        self.major_faults += other.major_faults;
        self.minor_faults += other.minor_faults;
    }

    /// Usage since an earlier reading.
    pub fn since(self, before: ThreadUsage) -> ThreadUsage {
        ThreadUsage {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            waiting_ns: self.waiting_ns.saturating_sub(before.waiting_ns),
            switches: self.switches.saturating_sub(before.switches),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
        }
    }
}

/// Log entry of one completed operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Its own priority, as in [`crate::PriorityRule`]; 0 for none.
    pub priority: u16,
    /// Time of completion, nanoseconds since the job began.
    pub done_ns: u64,
    /// Issue to completion, nanoseconds.
    pub service_ns: u64,
    /// The part of it until the call that submits it returned, nanoseconds; 0 unless that is timed
    /// ([`crate::Issue::times_submission`]).
    pub submission_ns: u64,
    /// The operation. Its offset is an address, see [`crate::Job::files`].
    pub op: Op,
}

/// A block that failed verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// Its address; see [`crate::Job::files`].
    pub address: u64,
    /// The bytes read.
    pub found: Vec<u8>,
    /// The bytes written, if known.
    pub expected: Option<Vec<u8>>,
}
