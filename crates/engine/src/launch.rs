//! Launches the lanes of a performance on a real target: each on its own thread with its own
//! backend, and all at the same time.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rig::{BackendKind, EndsAll, Placement, StopReason};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::backend::Backend;
use crate::clock::Clock;
use crate::device::{AnyDevice, IoAsk, UseBackend};
use crate::gate::Gate;
use crate::lane::{Lane, LaneContext};
use crate::sys;

/// The way of a job's operations: its device and the kind of backend.
#[derive(Clone, Copy)]
pub(crate) struct Route<'a> {
    pub device: &'a AnyDevice,
    pub backend: BackendKind,
}

/// A launch on a real target.
pub(crate) struct Launch<'a> {
    pub clock: Clock,
    /// The route of each job.
    pub routes: &'a [Route<'a>],
    /// Whether to bind every thread to a processor.
    pub pin: bool,
}

/// Time for every thread to leave the gate before the first operation is due, nanoseconds. Without
/// it, an open loop would begin with late operations.
const RUN_UP_NS: u64 = 100_000;

/// Interval at which a job that waits for others checks whether they have ended.
const WAITING_STEP: Duration = Duration::from_millis(1);

impl Launch<'_> {
    /// Runs all lanes. Meanwhile `watch` is called on this thread with their start time. If a lane
    /// fails, its error is returned after all have ended. If a thread cannot be started, no thread
    /// issues any operation.
    pub(crate) fn run<T>(
        &self,
        lanes: Vec<Lane<'_>>,
        context: LaneContext<'_>,
        watch: impl FnOnce(u64) -> T,
    ) -> io::Result<T> {
        let (gate, count) = (Gate::default(), lanes.len());
        let ended: Vec<_> =
            lanes.iter().map(|lane| (lane.job_index, AtomicBool::new(false))).collect();
        thread::scope(|scope| {
            let threads = lanes.into_iter().map(|lane| {
                let (context, ended, gate) = (context.clone(), &ended[..], &gate);
                let thread = LaneThread { launch: self, lane, context, ended, gate };
                thread::Builder::new().spawn_scoped(scope, move || thread.run())
            });
            let threads: io::Result<Vec<_>> = threads.collect();
            let threads = threads.map_err(|error| {
                gate.cancel();
                let threads = if count == 1 { "thread" } else { "threads" };
                let text = format!("cannot start {count} {threads}: {error}");
                io::Error::new(error.kind(), text)
            })?;
            // The reports end with the last thread.
            drop(context);
            let begin = gate.open(count, || self.clock.now() + RUN_UP_NS);
            let observations = watch(begin);
            for thread in threads {
                // A panic in a worker is a bug of ours, and it continues here.
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            Ok(observations)
        })
    }
}

/// A thread about to run its lane.
struct LaneThread<'a> {
    launch: &'a Launch<'a>,
    lane: Lane<'a>,
    context: LaneContext<'a>,
    /// The job of each lane, and a flag set when the lane has ended.
    ended: &'a [(u32, AtomicBool)],
    gate: &'a Gate,
}

impl LaneThread<'_> {
    fn run(self) -> io::Result<()> {
        let Lane { job, job_index, number, .. } = self.lane;
        let (halt, ended) = (self.context.halt, &self.ended[number as usize].1);
        let placing = self.take_place();
        sys::file::exact_timers();
        let Route { device, backend } = self.launch.routes[job_index as usize];
        let ask = IoAsk {
            kind: backend,
            workload: &job.workload,
            issue: &job.issue,
            clock: self.launch.clock,
        };
        let result = device.io(&ask, placing, self);
        let ends_all = matches!(
            (&result, job.start.ends_all),
            (Err(_), _) | (_, EndsAll::Always) | (Ok(StopReason::Errors), EndsAll::OnError)
        );
        if ends_all {
            halt.end_all();
        }
        ended.store(true, Ordering::Release);
        result.map(drop)
    }

    /// Takes the placement of the job, or that on a processor of its own.
    fn take_place(&self) -> io::Result<()> {
        if self.launch.pin {
            take_place(&pinned(self.lane.number)?)
        } else {
            take_place(&self.lane.job.placement)
        }
    }
}

impl UseBackend for LaneThread<'_> {
    type Out = io::Result<StopReason>;

    /// Passes the gate even without a backend, because the other threads wait for all.
    fn with<B: Backend>(self, backend: io::Result<B>) -> Self::Out {
        let LaneThread { launch, lane, context, ended, gate } = self;
        let (start, stop) = (&lane.job.start, context.halt.flag(lane.number));
        let worker = backend.map(|backend| lane.worker(backend, &context));
        let Some(origin) = gate.pass() else { return Ok(StopReason::Interrupted) };
        let mut begin = origin;
        if !start.after.is_empty() {
            wait_for(&start.after, ended, stop);
            begin = launch.clock.now().max(origin);
        }
        begin += start.delay_ns;
        worker?.run(begin, begin - origin)
    }
}

/// Waits until these jobs have ended, or until it is stopped.
fn wait_for(jobs: &Range<usize>, ended: &[(u32, AtomicBool)], stop: &AtomicBool) {
    for (_, ended) in ended.iter().filter(|(job, _)| jobs.contains(&(*job as usize))) {
        while !ended.load(Ordering::Acquire) && !stop.load(Ordering::Relaxed) {
            thread::sleep(WAITING_STEP);
        }
    }
}

/// The placement on the processor with this number among those available to the process, modulo
/// their count.
fn pinned(number: u32) -> io::Result<Placement> {
    let allowed = sched_getaffinity(None)?;
    let usable: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let cpus = vec![usable[number as usize % usable.len().max(1)]];
    Ok(Placement { cpus, ..Placement::default() })
}

/// Applies the placement to the calling thread.
fn take_place(place: &Placement) -> io::Result<()> {
    if !place.cpus.is_empty() {
        let mut set = CpuSet::new();
        place.cpus.iter().for_each(|&cpu| set.set(cpu));
        sched_setaffinity(None, &set)?;
    }
    place.memory.as_ref().map_or(Ok(()), sys::thread::set_memory_policy)?;
    place.nice.map_or(Ok(()), sys::thread::set_nice)?;
    let io_priority = place.io_priority;
    io_priority.map_or(Ok(()), |(class, level)| sys::thread::set_io_priority(class, level))
}
