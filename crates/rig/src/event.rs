//! Events of a run, for the progress line and the store.

use record::Finding;

/// One interval of a workload, over all jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// Start, nanoseconds since the workload began.
    pub start_ns: u64,
    /// End, nanoseconds since the workload began.
    pub end_ns: u64,
    /// Bytes read and written by the application.
    pub bytes: [u64; 2],
    /// Reads and writes completed.
    pub ops: [u64; 2],
    /// Median service time of reads and writes, nanoseconds.
    pub p50_ns: [Option<u64>; 2],
    /// 99th percentile of the service time of reads and writes, nanoseconds, if at least ten
    /// samples are beyond it.
    pub p99_ns: [Option<u64>; 2],
    /// Longest service time of reads and writes, nanoseconds.
    pub max_ns: [Option<u64>; 2],
    /// Bytes read and written by the device itself, if it can be observed.
    pub device_bytes: Option<[u64; 2]>,
    /// Temperature in degrees Celsius.
    pub temperature_c: Option<f64>,
    /// Whether the process stood still during part of it. Its counts are then those of the rest,
    /// and its rates are unknown.
    pub stood_still: bool,
}

/// A pass over borrowed blocks that are being returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Every block is compared with its original content.
    Compare,
    /// The blocks that differ are written, then read back.
    Restore,
}

impl Pass {
    /// Its name on the progress line.
    pub fn name(self) -> &'static str {
        match self {
            Pass::Compare => "comparing",
            Pass::Restore => "restoring",
        }
    }

    /// How many times it moves each byte.
    fn turns(self) -> u64 {
        match self {
            Pass::Compare => 1,
            Pass::Restore => 2,
        }
    }
}

/// Progress of a pass over borrowed blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returning {
    /// The pass.
    pub pass: Pass,
    /// Bytes of its blocks.
    pub total_bytes: u64,
    moved_bytes: u64,
}

impl Returning {
    /// The start of a pass over blocks of `total_bytes`.
    pub fn new(pass: Pass, total_bytes: u64) -> Returning {
        Returning { pass, total_bytes, moved_bytes: 0 }
    }

    /// The progress after `bytes` more were read or written.
    #[must_use]
    pub fn after(self, bytes: u64) -> Returning {
        Returning { moved_bytes: self.moved_bytes + bytes, ..self }
    }

    /// Bytes done; a restored byte counts half when written, and whole when read back.
    pub fn done_bytes(&self) -> u64 {
        self.moved_bytes / self.pass.turns()
    }

    /// Whether the pass has ended.
    pub fn is_done(&self) -> bool {
        self.done_bytes() >= self.total_bytes
    }

    /// Share done, 0 to 1.
    pub fn share(&self) -> f64 {
        self.done_bytes() as f64 / self.total_bytes.max(1) as f64
    }
}

/// An event of a run, for observers.
#[derive(Clone, Debug)]
pub enum Event {
    /// The method begins a step of its plan, or skips it.
    Step {
        /// The step's name in the plan.
        name: String,
        /// Number of its repetition, from 0.
        replicate: u32,
        /// The step does not run, because it does not apply to this drive.
        skipped: bool,
    },
    /// An interval of a workload ended.
    Interval {
        /// The workload.
        workload: String,
        /// Number of its execution within the run, from 0.
        replicate: u32,
        /// When the workload began, nanoseconds since the run began.
        start_ns: u64,
        /// Its counts.
        interval: Interval,
    },
    /// Progress of a preparation.
    Progress {
        /// The preparation.
        name: String,
        /// 0 to 1.
        done: f64,
    },
    /// A part of a step with a budget begins. The plan lists only the step, because its parts vary.
    Part {
        /// The step.
        step: String,
        /// Share of its budget used, 0 to 1.
        done: f64,
        /// The workload.
        name: String,
        /// Number of its execution, from 0.
        replicate: u32,
    },
    /// Progress of returning borrowed blocks.
    Returning(Returning),
    /// All borrowed blocks are on the drive with their original content.
    Returned {
        /// Bytes borrowed, all compared.
        compared_bytes: u64,
        /// Bytes that differed, restored and verified.
        restored_bytes: u64,
    },
    /// A finding about the validity of the numbers.
    Finding(Finding),
    /// Operations are in flight, but the drive has completed none for a while. Reported once, and
    /// again at the limit: the workload's threads are then blocked in the kernel and cannot be
    /// killed. An observer that can save the results so far does so and ends the process; if it
    /// returns, the wait continues.
    NoAnswer {
        /// The workload.
        workload: String,
        /// Time without a completion, nanoseconds.
        silent_ns: u64,
        /// The limit, nanoseconds.
        limit_ns: u64,
    },
}

/// Observes a run. Called from one thread, outside the hot loop.
pub trait Observer: Send {
    /// Called for each event.
    fn event(&mut self, event: &Event);
}

impl<F: FnMut(&Event) + Send> Observer for F {
    fn event(&mut self, event: &Event) {
        self(event);
    }
}
