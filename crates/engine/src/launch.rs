//! Launches the jobs of a performance on a real target: each on its own thread with its own
//! backend, and all at the same time.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use rig::{BackendKind, EndsAll, Issue, JobControl, Placement, Start, StopReason};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use workload::{Pace, Source, Workload};

use crate::backend::Backend;
use crate::borrowed::BorrowedBlocks;
use crate::clock::Clock;
use crate::device::{AnyDevice, IoAsk, UseBackend};
use crate::flow::FlowShare;
use crate::gate::Gate;
use crate::halt::Halt;
use crate::pacing::{self, UsePace};
use crate::patience::Pulse;
use crate::recorder::{Recorder, Report, ReportSender};
use crate::sys;
use crate::worker::{Task, Worker};

/// One thread of a performance: a job, or one of the equal jobs of a workload.
pub(crate) struct Part<'a> {
    /// Number of its job.
    pub job: u32,
    pub workload: &'a Workload,
    pub issue: &'a Issue,
    /// Its lane among the jobs of the workload.
    pub lane: u32,
    pub source: Box<dyn Source>,
    /// The device for its operations.
    pub device: &'a AnyDevice,
    pub backend: BackendKind,
    pub place_bits: u32,
    pub start: Start,
    pub placement: Placement,
    pub control: Option<Box<dyn JobControl>>,
    pub flow: Option<FlowShare>,
}

/// The state that all threads of a launch share.
pub(crate) struct Launch<'a> {
    pub clock: Clock,
    pub interval_ns: u64,
    pub halt: &'a Halt,
    /// Signs of life of all threads.
    pub pulse: Pulse,
    /// The original content, if the workload writes it.
    pub borrowed: Option<&'a BorrowedBlocks>,
}

/// Time for every thread to leave the gate before the first operation is due, nanoseconds. Without
/// it, an open loop would begin with late operations.
const RUN_UP_NS: u64 = 100_000;

/// Interval at which a job that waits for others checks whether they have ended.
const WAITING_STEP: Duration = Duration::from_millis(1);

/// Maximum reports queued for the sampler. A thread that reports faster than the sampler reads has
/// to wait.
const REPORTS_MAX: usize = 1024;

impl Launch<'_> {
    /// Runs all parts. Meanwhile `watch` is called on this thread with their start time. If a part
    /// fails, its error is returned after all have ended. If a thread cannot be started, no thread
    /// issues any operation.
    pub(crate) fn run<T>(
        &self,
        parts: Vec<Part<'_>>,
        watch: impl FnOnce(u64, &Receiver<Report>) -> T,
    ) -> io::Result<T> {
        let (sender, reports) = sync_channel(REPORTS_MAX);
        let sender = ReportSender::Bounded(sender);
        let (gate, count) = (Gate::default(), parts.len());
        let ended: Vec<_> = parts.iter().map(|part| (part.job, AtomicBool::new(false))).collect();
        thread::scope(|scope| {
            let threads = (0..).zip(parts).map(|(number, part)| {
                let (sender, ended, gate) = (sender.clone(), &ended[..], &gate);
                let runner = Runner { launch: self, number, ended, sender, gate };
                thread::Builder::new().spawn_scoped(scope, move || runner.run(part))
            });
            let threads: io::Result<Vec<_>> = threads.collect();
            let threads = threads.map_err(|error| {
                gate.cancel();
                let threads = if count == 1 { "thread" } else { "threads" };
                let text = format!("cannot start {count} {threads}: {error}");
                io::Error::new(error.kind(), text)
            })?;
            drop(sender);
            let begin = gate.open(count, || self.clock.now() + RUN_UP_NS);
            let seen = watch(begin, &reports);
            for thread in threads {
                // A panic in a worker is a bug of ours, and it continues here.
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            Ok(seen)
        })
    }
}

/// One thread about to run its part.
struct Runner<'a> {
    launch: &'a Launch<'a>,
    /// Its number among all parts.
    number: u32,
    /// The job of each part, and a flag set when the part has ended.
    ended: &'a [(u32, AtomicBool)],
    sender: ReportSender,
    gate: &'a Gate,
}

impl Runner<'_> {
    fn run(self, part: Part<'_>) -> io::Result<()> {
        let (halt, ends_all) = (self.launch.halt, part.start.ends_all);
        let (ended, number) = (self.ended, self.number as usize);
        let placed = take_place(&part.placement);
        sys::file::exact_timers();
        let device = part.device;
        let ask = IoAsk {
            kind: part.backend,
            workload: part.workload,
            issue: part.issue,
            clock: self.launch.clock,
        };
        let result = device.io(&ask, placed, OnBackend { runner: self, part });
        let ends = matches!(
            (&result, ends_all),
            (Err(_), _) | (_, EndsAll::Always) | (Ok(StopReason::Errors), EndsAll::OnError)
        );
        if ends {
            halt.end_all();
        }
        ended[number].1.store(true, Ordering::Release);
        result.map(drop)
    }

    /// Waits for the jobs that must end first. Returns the time they ended, or the common start if
    /// there are none.
    fn begin_after(&self, jobs: &Range<usize>, origin: u64) -> u64 {
        if jobs.is_empty() {
            return origin;
        }
        let before = || self.ended.iter().filter(|(job, _)| jobs.contains(&(*job as usize)));
        let all_ended = || before().all(|(_, ended)| ended.load(Ordering::Acquire));
        let stop = self.launch.halt.flag(self.number);
        while !all_ended() && !stop.load(Ordering::Relaxed) {
            thread::sleep(WAITING_STEP);
        }
        self.launch.clock.now().max(origin)
    }
}

/// A part that is waiting for its backend.
struct OnBackend<'a, 'p> {
    runner: Runner<'a>,
    part: Part<'p>,
}

impl UseBackend for OnBackend<'_, '_> {
    type Out = io::Result<StopReason>;

    fn with<B: Backend>(self, backend: io::Result<B>) -> Self::Out {
        let OnBackend { runner, mut part } = self;
        let flow = part.flow.take();
        let (workload, issue, lane) = (part.workload, part.issue, (part.lane, part.workload.jobs));
        pacing::choose(workload, issue, lane, flow, OnPace { runner, part, backend })
    }
}

/// A part that is waiting for its pacer.
struct OnPace<'a, 'p, B> {
    runner: Runner<'a>,
    part: Part<'p>,
    backend: io::Result<B>,
}

impl<B: Backend> UsePace for OnPace<'_, '_, B> {
    type Out = io::Result<StopReason>;

    /// Passes the gate even without a backend, because the other threads wait for all.
    fn with<P: Pace + 'static>(self, pacer: P) -> Self::Out {
        let OnPace { runner, part, backend } = self;
        let launch = runner.launch;
        let recorder = Recorder::new(
            runner.number,
            part.workload.pacing.is_open(),
            launch.interval_ns,
            &part.workload.name,
            part.issue.ramp_ns,
            (runner.sender.clone(), launch.pulse.clone()),
        );
        let task = Task {
            workload: part.workload,
            issue: part.issue,
            lane: part.lane,
            lanes: 1,
            place_bits: part.place_bits,
            stop: launch.halt.flag(runner.number),
            borrowed: launch.borrowed,
        };
        let worker = backend
            .map(|backend| Worker::new(backend, task, vec![part.source], recorder, part.control));
        let Some(origin) = runner.gate.pass() else { return Ok(StopReason::Interrupted) };
        let begin = runner.begin_after(&part.start.after, origin) + part.start.delay_ns;
        worker?.run(pacer, begin, begin - origin)
    }
}

/// The placement on the processor with this number among those available to the process, modulo
/// their count.
pub(crate) fn pinned(number: u32) -> io::Result<Placement> {
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
