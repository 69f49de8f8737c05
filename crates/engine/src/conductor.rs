//! The conductor: runs several jobs on one virtual drive, on one virtual clock and one thread.
//!
//! Every worker knows when its next turn returns. The conductor runs the earliest worker until its
//! turns would pass the time of the next one, so that commands reach the drive in chronological
//! order. Starts, waits for other jobs, and ends are events on the same clock, which never goes
//! backwards: no event is scheduled before the latest, and no worker stops before its horizon.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::atomic::Ordering;

use model::Drive;
use rig::{EndsAll, Job, StopReason, SyncWrites};

use crate::backend::{FileMap, SerializeOverlap, Sim};
use crate::lane::{Lane, LaneContext};
use crate::worker::{AnyWorker, WorkerStep};

/// A lane and the state of its worker.
struct Player<'a> {
    job: &'a Job,
    job_index: u32,
    state: State<'a>,
}

enum State<'a> {
    Waits(Lane<'a>),
    Runs(Box<dyn AnyWorker + 'a>),
    Ended,
}

/// All jobs on one drive.
pub(crate) struct Conductor<'a> {
    drive: &'a RefCell<&'a mut Drive>,
    /// Positions of each job's files on the drive.
    files: &'a [FileMap],
    context: LaneContext<'a>,
    origin: u64,
    /// The time of the latest event.
    time: u64,
    players: Vec<Player<'a>>,
    /// Times at which workers continue, earliest first.
    wakes: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<'a> Conductor<'a> {
    /// A conductor for these lanes, which start at `origin`.
    pub(crate) fn new(
        drive: &'a RefCell<&'a mut Drive>,
        files: &'a [FileMap],
        context: LaneContext<'a>,
        origin: u64,
        lanes: Vec<Lane<'a>>,
    ) -> Conductor<'a> {
        let players = lanes.into_iter().map(|lane| Player {
            job: lane.job,
            job_index: lane.job_index,
            state: State::Waits(lane),
        });
        let mut conductor = Conductor {
            drive,
            files,
            context,
            origin,
            time: origin,
            players: players.collect(),
            wakes: BinaryHeap::new(),
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
        while let Some(Reverse((time, number))) = self.wakes.pop() {
            let now = self.turn_to(time, number);
            if now >= limit {
                self.context.halt.end_all();
                limit = u64::MAX;
            }
            let next = self.wakes.peek().map_or(limit, |Reverse((time, _))| limit.min(*time));
            let interval_ns = self.context.interval_ns;
            let interval_end = if stops {
                now - (now - self.origin) % interval_ns + interval_ns
            } else {
                u64::MAX
            };
            let horizon = next.min(interval_end);
            match self.step(number, now, horizon)? {
                WorkerStep::Wake(time) => {
                    assert!(time > horizon, "a worker stopped at {time}, before {horizon}");
                    self.wakes.push(Reverse((time, number)));
                }
                WorkerStep::Ended => self.end(number)?,
            }
            between(now);
        }
        Ok(self.time)
    }

    /// Advances the time to that of a worker and returns it. A worker that is stopped before its
    /// start ends at once, without advancing the time.
    fn turn_to(&mut self, at: u64, number: usize) -> u64 {
        let waits = matches!(self.players[number].state, State::Waits(_));
        let ends = self.context.halt.flag(number as u32).load(Ordering::Relaxed);
        if !(waits && ends) {
            assert!(at >= self.time, "virtual time goes back from {} to {at}", self.time);
            self.time = at;
        }
        self.time
    }

    fn step(&mut self, number: usize, now: u64, horizon: u64) -> io::Result<WorkerStep> {
        let player = &mut self.players[number];
        player.state = match std::mem::replace(&mut player.state, State::Ended) {
            State::Waits(lane) => {
                let files = &self.files[lane.job_index as usize];
                let mut worker = worker(lane, self.drive, now, files, &self.context);
                worker.begin(now, now - self.origin);
                State::Runs(worker)
            }
            state => state,
        };
        match &mut player.state {
            State::Runs(worker) => worker.step(horizon),
            _ => Ok(WorkerStep::Ended),
        }
    }

    /// Ends a worker after its last phase: it reports, and others can begin or have to end.
    fn end(&mut self, number: usize) -> io::Result<()> {
        let player = &mut self.players[number];
        let State::Runs(worker) = std::mem::replace(&mut player.state, State::Ended) else {
            return Ok(());
        };
        let now = worker.time();
        let stop = worker.close()?;
        self.time = self.time.max(now);
        let ends_all = match player.job.start.ends_all {
            EndsAll::Never => false,
            EndsAll::OnError => stop == StopReason::Errors,
            EndsAll::Always => true,
        };
        if ends_all {
            self.context.halt.end_all();
        }
        self.release(now);
        Ok(())
    }

    /// Schedules the start of every worker that no longer waits for others.
    fn release(&mut self, now: u64) {
        for (number, player) in self.players.iter().enumerate() {
            let is_scheduled = self.wakes.iter().any(|Reverse((_, other))| *other == number);
            if !matches!(player.state, State::Waits(_)) || is_scheduled {
                continue;
            }
            let start = &player.job.start;
            let mut earlier = self.players.iter();
            if earlier.all(|other| {
                matches!(other.state, State::Ended)
                    || !start.after.contains(&(other.job_index as usize))
            }) {
                // A worker that was stopped ends at its last turn, which may lie before the latest
                // event.
                let wake = (now + start.delay_ns).max(self.time);
                self.wakes.push(Reverse((wake, number)));
            }
        }
    }
}

/// Creates the worker of a lane at this time of the drive.
fn worker<'a>(
    lane: Lane<'a>,
    drive: &'a RefCell<&'a mut Drive>,
    now: u64,
    files: &'a FileMap,
    context: &LaneContext<'a>,
) -> Box<dyn AnyWorker + 'a> {
    let Job { workload, issue, .. } = lane.job;
    let durable = issue.open.sync != SyncWrites::None;
    let sim = Sim::new(drive, now, workload, files).durable(durable).threads(lane.sources.len());
    if issue.serialize_overlap {
        lane.worker(SerializeOverlap::new(sim), context)
    } else {
        lane.worker(sim, context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use model::DriveSpec;
    use workload::{Mix, Pattern, Region, Stop, Workload};

    use super::*;
    use crate::halt::Halt;
    use crate::lane::lanes;
    use crate::patience::Pulse;
    use crate::recorder::ReportSender;

    /// Conducts two reads from this time on, with the conductor in the given state.
    fn conduct(origin: u64, set: impl FnOnce(&mut Conductor<'_>)) -> u64 {
        let spec = DriveSpec::preset("sd-150x").expect("a preset");
        let mut drive = Drive::new(&spec, 1);
        let drive = RefCell::new(&mut drive);
        let stop = Stop { ops: Some(2), ..Stop::default() };
        let region = Region::first(1 << 20);
        let workload = Workload::new("w", Pattern::Sequential, Mix::READ, 4096, region);
        let (halt, mut jobs) = (Halt::new(1), [Job::from_workload(&Workload { stop, ..workload })]);
        let context = LaneContext {
            interval_ns: 1_000_000_000,
            halt: &halt,
            sender: ReportSender::Unbounded(channel().0),
            pulse: Pulse::default(),
            leaps: false,
            borrowed: None,
        };
        let files = [FileMap::default()];
        let lanes = lanes(&mut jobs, |_| true);
        let mut conductor = Conductor::new(&drive, &files, context, origin, lanes);
        set(&mut conductor);
        conductor.run(false, u64::MAX, |_| {}).expect("no failure of a worker")
    }

    #[test]
    fn time_goes_on_from_the_origin() {
        assert!(conduct(5_000_000, |_| {}) > 5_000_000);
    }

    #[test]
    fn a_job_begins_at_the_time_of_its_event() {
        let wakes = BinaryHeap::from([Reverse((6_000_000, 0))]);
        assert!(conduct(5_000_000, |conductor| conductor.wakes = wakes) > 6_000_000);
    }

    #[test]
    #[should_panic(expected = "virtual time goes back from 5000001 to 5000000")]
    fn an_event_in_the_past_is_noticed() {
        conduct(5_000_000, |conductor| conductor.time += 1);
    }
}
