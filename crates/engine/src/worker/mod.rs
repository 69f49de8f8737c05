//! The worker: one lane, one backend, one thread.
//!
//! It has several phases (issuing the operations of a part, draining those in flight, flushing) and
//! can be paused between any two turns: [`AnyWorker::step`] returns when its next turn would wait
//! beyond a horizon. On a real target there is no horizon, and a job is one step. On a virtual
//! drive several workers share one thread and one clock ([`crate::conductor`]).
//!
//! Every operation issued completes before the job ends and is counted or has failed
//! ([`Recorder::finish`]). A part never issues more operations than its limit (`phase`).
//!
//! The loop is in `issue`. It never drains the queue to keep a pace and makes one system call per
//! turn. It postpones due times only if the whole process stood still, never for a slow drive.
//! Everything except issuing, timestamping and counting is on the cold path.

mod complete;
mod control;
mod drawn;
mod issue;
pub(crate) mod leap;
mod paced;
mod phase;
mod read_back;
mod stood;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rig::{Issue, Logged, StopReason, ThreadUsage};
use workload::{Filler, Op, Pace, Workload};

use crate::backend::{Backend, Completion};
use crate::borrowed::BorrowedBlocks;
use crate::lane::{Lane, LaneContext};
use crate::recorder::{JobEnd, Recorder};
use crate::sys::thread;
use crate::verify::Verifier;
use control::Control;
use drawn::Drawn;
use leap::Leaper;
pub(crate) use paced::AnyWorker;
use phase::Phase;
pub(crate) use phase::WorkerStep;

/// Maximum length of a sleep, nanoseconds. The stop flag is checked between sleeps.
const NAP_NS: u64 = 50_000_000;

/// A sleep before the start ends this much earlier, nanoseconds, because wake-ups can be late.
const WAKE_NS: u64 = 1_000_000;

#[derive(Clone, Copy)]
struct Slot {
    op: Op,
    due: u64,
    issued: u64,
}

/// A job in progress. Times are nanoseconds since the job began.
pub(crate) struct Worker<'a, B> {
    backend: B,
    workload: &'a Workload,
    issue: &'a Issue,
    /// Number of its first source among those of the job.
    first: u32,
    sources: Vec<Drawn>,
    /// Set to end the job.
    stop: &'a AtomicBool,
    /// The original content, if writes carry it.
    borrowed: Option<&'a BorrowedBlocks>,
    /// Start of the job on the backend's clock.
    origin: u64,
    recorder: Recorder,
    slots: Vec<Slot>,
    /// Number of slots in use: all, unless the control requests fewer.
    open: usize,
    free: Vec<u32>,
    done: Vec<Completion>,
    verifier: Option<Verifier>,
    /// Whether completions are examined one by one, for verification, the log or the control, or
    /// until enough reads have been checked for zeros.
    looks: bool,
    filler: Filler,
    issued: u64,
    /// Operations issued that failed; the recorder does not count them.
    failed: u64,
    /// Operations issued when the current part began.
    issued_before: u64,
    /// Failures in succession.
    failures: u32,
    control: Control,
    /// Whether the loop must stop for a ruling.
    called: bool,
    /// Operations logged and not yet reported.
    log: Vec<Logged>,
    phase: Phase,
    /// Limits of the current part; its bytes are those left.
    part: Limits,
    /// If the current part reads back: its start, and whether it is the last part.
    reading: Option<(u64, bool)>,
    /// What skips steady stretches of virtual time, if that is allowed.
    leaper: Option<Leaper>,
    /// Whether the final flush is still outstanding.
    flushes: bool,
    /// Standstill time already accounted for, nanoseconds.
    stood_ns: u64,
    /// Usage of the thread when the counts began: at the start, after the ramp-up, or at a restart.
    used_before: ThreadUsage,
    end: JobEnd,
}

impl<'a, B: Backend> Worker<'a, B> {
    /// Creates a worker and fills its buffers, which can take a while.
    fn new(mut backend: B, lane: Lane<'a>, context: &LaneContext<'a>) -> Worker<'a, B> {
        let Lane { job, number, first, sources, control, .. } = lane;
        let (workload, issue) = (&job.workload, &job.issue);
        let depth = workload.depth.min(backend.depth_max()) * sources.len() as u32;
        let seed = workload.seed ^ u64::from(first) << 40 ^ issue.salt;
        let filler = Filler::new(workload.content.clone(), seed);
        if workload.mix.write > 0 && backend.carries_data() {
            for slot in 0..depth {
                filler.fill(backend.buffer(slot, workload.blocks.max()), u64::from(slot));
            }
        }
        let control = Control::new(control);
        let open = control.first_depth(depth);
        let verifier = workload
            .verify
            .then(|| Verifier::new(workload, first, depth, rig::place_bits(&job.files)));
        let end = JobEnd {
            depth_capped: (depth < workload.depth).then_some(depth),
            missing: backend.missing(),
            ..JobEnd::default()
        };
        let reports = (context.sender.clone(), context.pulse.clone());
        let is_free = context.leaps && !control.is_set() && !issue.serialize_overlap;
        let leaper =
            if is_free { Leaper::new(workload, issue, backend.is_virtual()) } else { None };
        let mut worker = Worker {
            looks: false,
            verifier,
            backend,
            workload,
            issue,
            first,
            sources: sources.into_iter().map(Drawn::new).collect(),
            stop: context.halt.flag(number),
            borrowed: context.borrowed,
            origin: 0,
            recorder: Recorder::new(number, job, context.interval_ns, reports),
            slots: vec![Slot { op: Op::FLUSH, due: 0, issued: 0 }; depth as usize],
            open: open as usize,
            free: (0..open).rev().collect(),
            done: Vec::with_capacity(depth as usize),
            filler,
            issued: 0,
            failed: 0,
            issued_before: 0,
            failures: 0,
            control,
            called: false,
            log: Vec::new(),
            phase: Phase::Issue,
            part: Limits::NONE,
            reading: None,
            leaper,
            flushes: workload.flush_at_end,
            stood_ns: 0,
            used_before: ThreadUsage::default(),
            end,
        };
        if worker.leaper.is_some() {
            worker.recorder.keep_intervals();
        }
        worker.look_again();
        worker
    }

    /// Begins the job at `origin` on the backend's clock, `after_ns` after the performance began.
    /// `is_open`: its operations follow a schedule.
    fn begin(&mut self, is_open: bool, origin: u64, after_ns: u64) {
        self.origin = origin;
        self.recorder.begins_after(after_ns);
        // A job that was stopped before its start began when it was stopped.
        let early_ns = origin.saturating_sub(self.backend.now());
        self.end.origin_ns = after_ns.saturating_sub(early_ns);
        self.used_before = thread::usage();
        // A schedule begins at the start, however late this thread woke. A closed loop begins with
        // its first operation.
        self.end.begin_ns = if is_open { 0 } else { self.now() };
        self.begin_part();
    }

    /// Sleeps for most of a long wait for the start and spins for the rest. An operation issued
    /// before the start would have no valid time.
    fn wait_for(&self, origin: u64) {
        while !self.stop.load(Ordering::Relaxed) {
            match origin.saturating_sub(self.backend.now()) {
                0 => return,
                left if left > 2 * WAKE_NS => {
                    let nap = (left - WAKE_NS).min(NAP_NS);
                    std::thread::sleep(std::time::Duration::from_nanos(nap));
                    self.recorder.pulse.beat();
                }
                _ => std::hint::spin_loop(),
            }
        }
    }

    /// Ends the job after its last phase: reads back if the source did not, and reports the end.
    fn close(mut self, pacer: &mut impl Pace, outcome: io::Result<()>) -> io::Result<StopReason> {
        self.end.usage = thread::usage().since(self.used_before);
        self.end.end_ns = self.now();
        if self.end.issue_end_ns == 0 {
            self.end.issue_end_ns = self.end.end_ns;
        }
        outcome?;
        self.end.backlog = self.backlog(pacer);
        if let Some(mut verifier) = self.verifier.take() {
            if !self.sources.iter().any(Drawn::reads_back) {
                self.read_back(&mut verifier)?;
            }
            self.end.verified_sectors = verifier.sectors();
        }
        self.report_log();
        // Each issue counted a depth.
        self.end.issued = self.end.depths.busy();
        let stop = self.end.stop;
        self.recorder.finish(self.end, self.issued - self.failed);
        Ok(stop)
    }

    /// The number of scheduled operations that were due before the end but not issued.
    fn backlog(&self, pacer: &mut impl Pace) -> u64 {
        if !pacer.is_open() || self.end.stop != StopReason::Time {
            return 0;
        }
        let limit = self.limits().time_ns.saturating_sub(1);
        std::iter::from_fn(|| pacer.next_due(limit)).take(10_000_000).count() as u64
    }

    /// The limits of its sources. The shares of all workers of a job add up to the whole. Coverage
    /// refers to each source's own slice.
    fn limits(&self) -> Limits {
        let Workload { stop, jobs, .. } = self.workload;
        let jobs = u64::from(*jobs);
        let time_ns = stop.time_ns.map_or(u64::MAX, |ns| ns.saturating_add(self.issue.ramp_ns));
        let none = Limits { time_ns, bytes: 0, ops: 0 };
        let sources = self.first..self.first + self.sources.len() as u32;
        sources.fold(none, |sum, source| {
            let slice = self.workload.slice(source).bytes as f64;
            let share = |whole: u64| whole / jobs + u64::from(u64::from(source) < whole % jobs);
            let covered = stop.coverage.map_or(u64::MAX, |share| (share * slice) as u64);
            let bytes = stop.bytes.map_or(u64::MAX, share).min(covered);
            let ops = stop.ops.map_or(u64::MAX, share);
            let (bytes, ops) = (sum.bytes.saturating_add(bytes), sum.ops.saturating_add(ops));
            Limits { bytes, ops, ..sum }
        })
    }

    #[inline]
    fn now(&self) -> u64 {
        self.backend.now().saturating_sub(self.origin)
    }
}

/// A worker's share of its workload's limits.
#[derive(Clone, Copy)]
struct Limits {
    time_ns: u64,
    bytes: u64,
    ops: u64,
}

impl Limits {
    const NONE: Limits = Limits { time_ns: u64::MAX, bytes: u64::MAX, ops: u64::MAX };
}
