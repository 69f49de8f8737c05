//! What is told while a run goes on: to the progress line, and to the store.

use record::Finding;

/// What happened in one interval of a workload, over all jobs.
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
    /// 99th percentile of the service time, where at least ten samples lie beyond.
    pub p99_ns: [Option<u64>; 2],
    /// Longest service time.
    pub max_ns: [Option<u64>; 2],
    /// Bytes the device itself read and wrote, where it can be watched.
    pub device_bytes: Option<[u64; 2]>,
    /// Temperature in degrees Celsius.
    pub temperature_c: Option<f64>,
}

/// Something a watcher may want to know.
#[derive(Clone, Debug)]
pub enum Event {
    /// The method begins a step of its plan. `replicate` counts from 0.
    Step {
        /// The step's name in the plan.
        name: String,
        /// Which repetition of it, from 0.
        replicate: u32,
    },
    /// An interval of a workload ended.
    Interval {
        /// The workload.
        workload: String,
        /// Which execution of that workload within the run, from 0.
        replicate: u32,
        /// When the workload began, nanoseconds since the run began.
        start_ns: u64,
        /// What happened in it.
        interval: Interval,
    },
    /// Share of a preparation that is done, 0 to 1.
    Progress {
        /// What is being done.
        name: String,
        /// 0 to 1.
        done: f64,
    },
    /// Something that bears on whether to believe the numbers.
    Finding(Finding),
    /// The drive has operations in hand and nothing was heard of it for a while. Told once, and once
    /// more when the patience is over: then the threads of the workload wait inside of the system,
    /// where nothing ends them. An observer that can keep what there is and end the process does so;
    /// if it returns, the wait goes on.
    NoAnswer {
        /// The workload.
        workload: String,
        /// Length of the silence, nanoseconds.
        silent_ns: u64,
        /// The patience, nanoseconds.
        limit_ns: u64,
    },
}

/// Whoever watches a run. Called from one thread, outside of the hot loop.
pub trait Observer: Send {
    /// Something happened.
    fn event(&mut self, event: &Event);
}

impl<F: FnMut(&Event) + Send> Observer for F {
    fn event(&mut self, event: &Event) {
        self(event);
    }
}
