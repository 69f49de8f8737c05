//! The worker: one job, one backend, one thread.
//!
//! It has several phases (issuing the operations of a part, draining those in flight, flushing) and
//! can be paused between any two turns: [`Worker::step`] returns when its next turn would wait
//! beyond a horizon. On a real target there is no horizon, and a job is one step. On a virtual
//! drive several workers share one thread and one clock ([`crate::conductor`]).
//!
//! The loop is in `issue`. It never drains the queue to keep a pace and makes one system call per
//! turn. It postpones due times only if the whole process stood still, never for a slow drive.
//! Everything except issuing, timestamping and counting is on the cold path.

mod complete;
mod control;
mod drawn;
mod issue;
mod phase;
mod read_back;
mod stood;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rig::{Issue, JobControl, Logged, StopReason, ThreadUsage};
use workload::{Filler, Op, Pace, Source, Workload};

use crate::backend::{Backend, Completion};
use crate::borrowed::BorrowedBlocks;
use crate::recorder::{JobEnd, Recorder};
use crate::sys::thread;
use crate::verify::Verifier;
use control::Control;
use drawn::Drawn;
use phase::Phase;
pub(crate) use phase::Step;

/// Maximum length of a sleep, nanoseconds. The stop flag is checked between sleeps.
const NAP_NS: u64 = 50_000_000;

/// A sleep before the start ends this much earlier, nanoseconds, because wake-ups can be late.
const WAKE_NS: u64 = 1_000_000;

/// The task of a worker.
pub(crate) struct Task<'a> {
    pub workload: &'a Workload,
    pub issue: &'a Issue,
    /// Number of its first lane among the jobs of the workload.
    pub lane: u32,
    /// Jobs of the workload that this worker runs: one on a real target, where each has its own
    /// thread; usually all of them on a virtual drive.
    pub lanes: u32,
    /// Address bits for the offset within a file.
    pub place_bits: u32,
    /// Set to end the job.
    pub stop: &'a AtomicBool,
    /// The original content, if writes carry it.
    pub borrowed: Option<&'a BorrowedBlocks>,
}

#[derive(Clone, Copy)]
struct Slot {
    op: Op,
    due: u64,
    issued: u64,
}

/// A job in progress. Times are nanoseconds since the job began.
pub(crate) struct Worker<'a, B> {
    backend: B,
    task: Task<'a>,
    sources: Vec<Drawn>,
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
    pub(crate) fn new(
        mut backend: B,
        task: Task<'a>,
        sources: Vec<Box<dyn Source>>,
        recorder: Recorder,
        control: Option<Box<dyn JobControl>>,
    ) -> Worker<'a, B> {
        let workload = task.workload;
        let depth = workload.depth.min(backend.depth_max()) * task.lanes;
        let seed = workload.seed ^ u64::from(task.lane) << 40 ^ task.issue.salt;
        let filler = Filler::new(workload.content.clone(), seed);
        if workload.mix.write > 0 && B::CARRIES_DATA {
            for slot in 0..depth {
                filler.fill(backend.buffer(slot, workload.blocks.max()), u64::from(slot));
            }
        }
        let control = Control::new(control);
        let open = control.first_depth(depth);
        let verifier = || Verifier::new(workload, task.lane, depth, task.place_bits);
        let end = JobEnd {
            depth_capped: (depth < workload.depth).then_some(depth),
            missing: backend.missing(),
            ..JobEnd::default()
        };
        let mut worker = Worker {
            looks: false,
            verifier: workload.verify.then(verifier),
            backend,
            sources: sources.into_iter().map(Drawn::new).collect(),
            origin: 0,
            recorder,
            slots: vec![Slot { op: Op::FLUSH, due: 0, issued: 0 }; depth as usize],
            open: open as usize,
            free: (0..open).rev().collect(),
            done: Vec::with_capacity(depth as usize),
            filler,
            issued: 0,
            failures: 0,
            control,
            called: false,
            log: Vec::new(),
            phase: Phase::Issue,
            part: Limits::NONE,
            reading: None,
            flushes: workload.flush_at_end,
            stood_ns: 0,
            used_before: ThreadUsage::default(),
            end,
            task,
        };
        worker.look_again();
        worker
    }

    /// Runs the job from `origin` on the backend's clock to its end, on this thread. `after_ns` is
    /// the time since the performance began. The recorder reports the result. Returns the reason
    /// the job ended.
    pub(crate) fn run<P: Pace>(
        mut self,
        mut pacer: P,
        origin: u64,
        after_ns: u64,
    ) -> io::Result<StopReason> {
        self.wait_for(origin);
        self.begin::<P>(origin, after_ns);
        let outcome = loop {
            match self.step(&mut pacer, u64::MAX) {
                Ok(Step::Wake(_)) => {}
                Ok(Step::Ended) => break Ok(()),
                Err(e) => break Err(e),
            }
        };
        self.close(pacer, outcome)
    }

    /// Begins the job at `origin` on the backend's clock, `after_ns` after the performance began.
    pub(crate) fn begin<P: Pace>(&mut self, origin: u64, after_ns: u64) {
        self.origin = origin;
        self.recorder.begins_after(after_ns);
        // A job that was stopped before its start began when it was stopped.
        let early_ns = origin.saturating_sub(self.backend.now());
        self.end.origin_ns = after_ns.saturating_sub(early_ns);
        self.used_before = thread::usage();
        // A schedule begins at the start, however late this thread woke. A closed loop begins with
        // its first operation.
        self.end.begin_ns = if P::OPEN { 0 } else { self.now() };
        self.begin_part();
    }

    /// Sleeps for most of a long wait for the start and spins for the rest. An operation issued
    /// before the start would have no valid time.
    fn wait_for(&self, origin: u64) {
        while !self.task.stop.load(Ordering::Relaxed) {
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
    pub(crate) fn close<P: Pace>(
        mut self,
        mut pacer: P,
        outcome: io::Result<()>,
    ) -> io::Result<StopReason> {
        self.end.usage = thread::usage().since(self.used_before);
        self.end.end_ns = self.now();
        if self.end.issue_end_ns == 0 {
            self.end.issue_end_ns = self.end.end_ns;
        }
        outcome?;
        self.end.backlog = self.backlog(&mut pacer);
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
        self.recorder.finish(self.end);
        Ok(stop)
    }

    /// The number of scheduled operations that were due before the end but not issued.
    fn backlog<P: Pace>(&self, pacer: &mut P) -> u64 {
        if !P::OPEN || self.end.stop != StopReason::Time {
            return 0;
        }
        let limit = Limits::of(&self.task).time_ns.saturating_sub(1);
        std::iter::from_fn(|| pacer.next_due(limit)).take(10_000_000).count() as u64
    }

    /// The time on the backend's clock.
    pub(crate) fn time(&self) -> u64 {
        self.backend.now()
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

    /// The limits of a worker's lanes. Shares of all workers add up to the whole. Coverage refers
    /// to each lane's own slice.
    fn of(task: &Task<'_>) -> Limits {
        let workload = task.workload;
        let stop = &workload.stop;
        let jobs = u64::from(workload.jobs);
        let time_ns = stop.time_ns.map_or(u64::MAX, |ns| ns.saturating_add(task.issue.ramp_ns));
        let none = Limits { time_ns, bytes: 0, ops: 0 };
        let lanes = task.lane..task.lane + task.lanes;
        lanes.fold(none, |sum, lane| {
            let slice = workload.slice(lane).bytes as f64;
            let part = |whole: u64| whole / jobs + u64::from(u64::from(lane) < whole % jobs);
            let covered = stop.coverage.map_or(u64::MAX, |share| (share * slice) as u64);
            let bytes = stop.bytes.map_or(u64::MAX, part).min(covered);
            let ops = stop.ops.map_or(u64::MAX, part);
            let (bytes, ops) = (sum.bytes.saturating_add(bytes), sum.ops.saturating_add(ops));
            Limits { bytes, ops, ..sum }
        })
    }
}
