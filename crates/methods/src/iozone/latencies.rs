//! Every operation of the tests that iozone's `-Q` lists: its offset and its latency.
//!
//! They are no part of the record: 16 bytes an operation, in memory until the run has ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rig::{IntervalObserver, JobSeen, Logged, Performance, ThreadUsage};

use super::spec::{IozoneFigure, Row};

/// A test by one process.
#[derive(Clone, Debug)]
pub struct Trial {
    /// File and record size.
    pub row: Row,
    /// The test.
    pub figure: IozoneFigure,
    /// Number of the process, from 0.
    pub process: u32,
    /// Offset in the process's part of the file in bytes, and latency in nanoseconds, of every
    /// operation in order of completion.
    pub operations: Vec<(u64, u64)>,
    /// Duration, nanoseconds.
    pub elapsed_ns: u64,
    /// Processor time.
    pub usage: ThreadUsage,
}

/// The trials of a run in order; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Latencies(Arc<Mutex<Vec<Trial>>>);

impl Latencies {
    /// All trials so far.
    pub fn trials(&self) -> MutexGuard<'_, Vec<Trial>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn keep(&self, trials: impl IntoIterator<Item = Trial>) {
        self.trials().extend(trials);
    }
}

/// Sees the operations of every process of a test.
pub(super) struct Watch(Vec<Vec<(u64, u64)>>);

impl Watch {
    pub(super) fn new(processes: u32) -> Watch {
        Watch(vec![Vec::new(); processes as usize])
    }

    /// The trials, after the test has ended.
    pub(super) fn trials(
        self,
        row: Row,
        figure: IozoneFigure,
        performance: &Performance,
    ) -> impl Iterator<Item = Trial> {
        let jobs = (0..).zip(self.0).zip(&performance.jobs);
        jobs.map(move |((process, mut operations), job)| {
            let start = u64::from(process) * row.used_bytes();
            operations.iter_mut().for_each(|(offset, _)| *offset -= start);
            let elapsed_ns = job.measurement.elapsed_ns;
            Trial { row, figure, process, operations, elapsed_ns, usage: job.usage }
        })
    }
}

impl IntervalObserver for Watch {
    fn interval(&mut self, _now_ns: u64, _jobs: &[JobSeen], _end: &dyn Fn(u32)) {}

    fn ops(&mut self, job: u32, log: &[Logged]) {
        // The flush at the end is no operation of iozone's.
        let transfers = log.iter().filter(|logged| logged.op.bytes > 0);
        self.0[job as usize].extend(transfers.map(|logged| (logged.op.offset, logged.service_ns)));
    }
}
