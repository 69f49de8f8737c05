//! The conductor: runs several jobs on one virtual drive, on one virtual clock and one thread.
//!
//! Every worker knows when its next turn returns. The conductor runs the earliest worker until its
//! turns would pass the time of the next one, so that commands reach the drive in chronological
//! order. Starts, waits for other jobs, and ends are events on the same clock.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::atomic::Ordering;

use model::Drive;
use rig::{EndsAll, Issue, JobControl, Start, StopReason, SyncWrites};
use workload::{Pace, Source, Workload};

use crate::backend::{Backend, FileMap, SerializeOverlap, Sim};
use crate::flow::FlowShare;
use crate::halt::Halt;
use crate::pacing::{self, UsePace};
use crate::recorder::Recorder;
use crate::worker::{Step, Task, Worker};

/// One worker for the conductor: a job, or several equal lanes of one.
pub(crate) struct Player<'a> {
    pub workload: &'a Workload,
    pub issue: &'a Issue,
    /// Number of its first lane among the jobs of the workload.
    pub lane: u32,
    pub sources: Vec<Box<dyn Source>>,
    /// Positions of its files on the drive.
    pub files: FileMap,
    pub start: Start,
    pub control: Option<Box<dyn JobControl>>,
    pub flow: Option<FlowShare>,
    pub recorder: Recorder,
}

/// State of a worker.
enum State<'a> {
    Waits(Box<Player<'a>>),
    Runs(Box<dyn Steps + 'a>),
    Ended,
}

/// All jobs on one drive.
pub(crate) struct Conductor<'a> {
    drive: &'a RefCell<&'a mut Drive>,
    halt: &'a Halt,
    interval_ns: u64,
    origin: u64,
    /// The time of the latest event.
    time: u64,
    jobs: Vec<State<'a>>,
    /// Start conditions of each worker.
    starts: Vec<Start>,
    /// The job of each worker.
    numbers: Vec<usize>,
    /// Times at which workers continue, earliest first.
    wakes: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<'a> Conductor<'a> {
    /// A conductor for these players, each with the number of its job, starting at `origin`.
    pub(crate) fn new(
        drive: &'a RefCell<&'a mut Drive>,
        halt: &'a Halt,
        (origin, interval_ns): (u64, u64),
        players: Vec<(usize, Player<'a>)>,
    ) -> Conductor<'a> {
        let starts = players.iter().map(|(_, player)| player.start.clone()).collect();
        let numbers = players.iter().map(|(number, _)| *number).collect();
        let jobs = players.into_iter().map(|(_, player)| State::Waits(Box::new(player))).collect();
        let wakes = BinaryHeap::new();
        let mut conductor = Conductor {
            drive,
            halt,
            interval_ns,
            origin,
            time: origin,
            jobs,
            starts,
            numbers,
            wakes,
        };
        conductor.release(origin);
        conductor
    }

    /// Runs all jobs until the last has ended and returns that time. `between` is called with the
    /// time after each step; with `stops`, no step passes the end of an interval. At `limit`, in
    /// nanoseconds of the drive's clock, all jobs are stopped.
    pub(crate) fn run(
        &mut self,
        stops: bool,
        limit: u64,
        mut between: impl FnMut(u64),
    ) -> io::Result<u64> {
        let mut limit = limit;
        while let Some(Reverse((at, number))) = self.wakes.pop() {
            let now = self.turn_to(at, number);
            if now >= limit {
                self.halt.end_all();
                limit = u64::MAX;
            }
            let next = self.wakes.peek().map_or(limit, |Reverse((at, _))| limit.min(*at));
            let interval_end = match stops {
                true => now - (now - self.origin) % self.interval_ns + self.interval_ns,
                false => u64::MAX,
            };
            let step = self.step(number, now, next.min(interval_end))?;
            match step {
                Step::Wake(at) => self.wakes.push(Reverse((at, number))),
                Step::Ended => self.end(number)?,
            }
            between(now);
        }
        Ok(self.time)
    }

    /// Advances the time to that of a worker and returns it. A worker that is stopped before its
    /// start ends at once, without advancing the time.
    fn turn_to(&mut self, at: u64, number: usize) -> u64 {
        let waits = matches!(self.jobs[number], State::Waits(_));
        let ends = self.halt.flag(number as u32).load(Ordering::Relaxed);
        self.time = if waits && ends { self.time } else { self.time.max(at) };
        self.time
    }

    fn step(&mut self, number: usize, now: u64, horizon: u64) -> io::Result<Step> {
        if let State::Waits(_) = &self.jobs[number] {
            let State::Waits(player) = std::mem::replace(&mut self.jobs[number], State::Ended)
            else {
                return Ok(Step::Ended);
            };
            let stage = (self.drive, now, now - self.origin, self.halt, number);
            self.jobs[number] = State::Runs(begin(*player, stage));
        }
        match &mut self.jobs[number] {
            State::Runs(worker) => worker.step(horizon),
            _ => Ok(Step::Ended),
        }
    }

    /// Ends a worker after its last phase: it reports, and others can begin or have to end.
    fn end(&mut self, number: usize) -> io::Result<()> {
        let State::Runs(worker) = std::mem::replace(&mut self.jobs[number], State::Ended) else {
            return Ok(());
        };
        let (stop, now) = worker.close()?;
        self.time = self.time.max(now);
        let ends = match self.starts[number].ends_all {
            EndsAll::Never => false,
            EndsAll::OnError => stop == StopReason::Errors,
            EndsAll::Always => true,
        };
        if ends {
            self.halt.end_all();
        }
        self.release(now);
        Ok(())
    }

    /// Schedules the start of every worker that no longer waits for others.
    fn release(&mut self, now: u64) {
        for number in 0..self.jobs.len() {
            let scheduled = self.wakes.iter().any(|Reverse((_, other))| *other == number);
            if !matches!(self.jobs[number], State::Waits(_)) || scheduled {
                continue;
            }
            let start = &self.starts[number];
            let over = |other: usize| matches!(self.jobs[other], State::Ended);
            let mut before =
                (0..self.jobs.len()).filter(|other| start.after.contains(&self.numbers[*other]));
            if before.all(over) {
                self.wakes.push(Reverse((now + start.delay_ns, number)));
            }
        }
    }
}

/// A worker in progress, with any pacer.
trait Steps {
    fn step(&mut self, horizon: u64) -> io::Result<Step>;

    /// Reports the end; returns its reason and its time on the drive's clock.
    fn close(self: Box<Self>) -> io::Result<(StopReason, u64)>;
}

struct Running<'a, B, P> {
    worker: Worker<'a, B>,
    pacer: P,
}

impl<B: Backend, P: Pace> Steps for Running<'_, B, P> {
    fn step(&mut self, horizon: u64) -> io::Result<Step> {
        self.worker.step(&mut self.pacer, horizon)
    }

    fn close(self: Box<Self>) -> io::Result<(StopReason, u64)> {
        let Running { worker, pacer } = *self;
        let now = worker.time();
        Ok((worker.close(pacer, Ok(()))?, now))
    }
}

/// The drive, the time at which a job begins, that time since the start of all, and its number.
type Begin<'a> = (&'a RefCell<&'a mut Drive>, u64, u64, &'a Halt, usize);

fn begin<'a>(player: Player<'a>, stage: Begin<'a>) -> Box<dyn Steps + 'a> {
    let (drive, now, ..) = stage;
    let durable = player.issue.open.sync != SyncWrites::None;
    let sim = Sim::new(drive, now, player.workload, player.files.clone()).durable(durable);
    match player.issue.serialize_overlap {
        true => paced(player, stage, SerializeOverlap::new(sim)),
        false => paced(player, stage, sim),
    }
}

fn paced<'a, B: Backend + 'a>(
    mut player: Player<'a>,
    stage: Begin<'a>,
    backend: B,
) -> Box<dyn Steps + 'a> {
    let flow = player.flow.take();
    // The lanes of a worker share one schedule with their combined rate.
    let jobs = player.workload.jobs / player.sources.len() as u32;
    let (workload, issue, lane) = (player.workload, player.issue, (player.lane, jobs.max(1)));
    pacing::choose(workload, issue, lane, flow, OnPace { player, stage, backend })
}

struct OnPace<'a, B> {
    player: Player<'a>,
    stage: Begin<'a>,
    backend: B,
}

impl<'a, B: Backend + 'a> UsePace for OnPace<'a, B> {
    type Out = Box<dyn Steps + 'a>;

    fn with<P: Pace + 'static>(self, pacer: P) -> Self::Out {
        let OnPace { player, stage: (_, now, after_ns, halt, number), backend } = self;
        let task = Task {
            workload: player.workload,
            issue: player.issue,
            lane: player.lane,
            lanes: player.sources.len() as u32,
            place_bits: player.files.place_bits,
            stop: halt.flag(number as u32),
            borrowed: None,
        };
        let mut worker =
            Worker::new(backend, task, player.sources, player.recorder, player.control);
        worker.begin::<P>(now, after_ns);
        Box::new(Running { worker, pacer })
    }
}
