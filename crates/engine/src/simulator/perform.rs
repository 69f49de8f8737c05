//! Runs jobs on a virtual drive, on one virtual clock.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::thread;

use model::{Drive, Health};
use record::{Finding, FindingKind, Level};
use rig::{
    BackendKind, DeviceTraffic, Issue, Job, Performance, Result, RigError, Stage, StopReason,
};
use workload::{Caching, Pacing, Workload};

use super::{Simulator, TIME_MAX_NS};
use crate::admit::{admit, admit_sources};
use crate::backend::FileMap;
use crate::clock::Clock;
use crate::conductor::{Conductor, Player};
use crate::halt::Halt;
use crate::patience::Pulse;
use crate::performance::{Description, Results, name_of, shares};
use crate::recorder::{Recorder, Report, ReportSender};
use crate::sampler::{Observations, Sampler, Subject, Workers};

/// Approximate number of intervals of a workload with a time limit of a minute or more.
const INTERVALS: u64 = 600;

/// Maximum reports queued between the drive's thread and the one that merges them. Each contains
/// histograms of 30 KB.
const REPORTS_AHEAD: usize = 64;

/// Minimum length of an interval, nanoseconds; also the length without a time limit.
const INTERVAL_NS: u64 = 100_000_000;

impl Simulator {
    /// Checks that a job can run, and returns it as it will run.
    pub(super) fn admit_job(&self, mut job: Job) -> Result<Job> {
        if job.workload.verify {
            let text = format!("verify in {}: a virtual drive keeps no data", job.name());
            return Err(RigError::Unsupported(text));
        }
        if job.issue.backend == Some(BackendKind::Mmap) {
            let text = format!("mapped memory in {}: a virtual drive has no pages", job.name());
            return Err(RigError::Unsupported(text));
        }
        admit_sources(&job)?;
        if job.files.is_empty() {
            admit(&job.workload, &self.info)?;
        } else {
            job.workload.check()?;
        }
        // There is nothing between host and drive, so a durable write is a write followed by a
        // flush.
        if job.workload.sync_writes && job.workload.flush_every.is_none() {
            job.workload.flush_every = Some(1);
            job.sources = Job::from_workload(&job.workload).sources;
        }
        Ok(job)
    }

    /// Runs admitted jobs.
    pub(super) fn run(&mut self, jobs: Vec<Job>, stage: Stage<'_>) -> Result<Performance> {
        let name = name_of(&jobs, &stage);
        let replicate = self.replicates.entry(name.clone()).or_default();
        let number = *replicate;
        *replicate += 1;
        let (notes, before) = (notes(&jobs), self.drive.health());
        let interval_ns = stage.interval_ns.unwrap_or_else(|| interval(&jobs));
        let jobs: Vec<Split> =
            jobs.into_iter().map(|job| self.split(job)).collect::<Result<_>>()?;
        let (kept, moved): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
        let workers: Vec<u32> = (0..).zip(&moved).flat_map(|(n, m)| vec![n; m.workers()]).collect();
        let halt = Halt::new(workers.len() as u32);
        let flag = Arc::clone(&self.interrupt);
        let subject = Subject {
            name: &name,
            replicate: number,
            start_ns: self.now,
            interval_ns,
            clock: Clock::new(),
            interrupt: &flag,
            alarm: None,
            hot_c: None,
            patience_ns: u64::MAX,
            by_job: stage.by_job,
        };
        let observed = stage.intervals.is_some();
        let jobs = workers.clone();
        let watched = Workers { jobs, halt: &halt, pulse: Pulse::default(), cached: false };
        let sampler = Sampler::new(subject, watched, self.observer.as_mut(), None);
        let sampler = sampler.observed(stage.intervals);
        let (sender, reports) = report_channel(observed);
        let players = players(&kept, moved, interval_ns, &sender);
        drop(sender);
        let score = Score { start: self.now, interval_ns, halt: &halt, observed };
        let drive = &mut self.drive;
        let done = score.play(drive, players, sampler, &reports);
        let (mut seen, end) =
            done.map_err(|source| RigError::Io { context: name.clone(), source })?;
        self.now = self.now.max(end.min(TIME_MAX_NS));
        self.drive.set_stored_share(1.0);
        // The processor time is the simulator's, not that of a host issuing the operations.
        seen.ends.iter_mut().for_each(|end| end.usage = Default::default());
        seen.device = Some(moved_since(&before, &self.drive.health()));
        let descriptions: Vec<_> = kept.iter().map(describe).collect();
        let workloads: Vec<_> = kept.iter().map(|(workload, _)| workload).collect();
        let results = Results {
            name: &name,
            info: &self.info,
            descriptions: &descriptions,
            workloads: &workloads,
            workers: &workers,
        };
        let mut performance = results.of(seen);
        let whole = &mut performance.whole;
        // There is nothing between host and drive, so the drive's queue is the host's.
        let depth = whole.effective_depth;
        whole.device = whole.device.map(|seen| DeviceTraffic { depth, ..seen });
        whole.findings.extend(notes);
        self.interrupted |= whole.stop == StopReason::Interrupted && self.stopped();
        Ok(performance)
    }

    /// Splits a job into its workload and issue settings, which stay, and the parts that move into
    /// its workers.
    fn split(&mut self, job: Job) -> Result<Split> {
        let place_bits = rig::place_bits(&job.files);
        let starts = job.files.iter().map(|file| self.regions.start(&file.path));
        let starts: Vec<u64> = starts.collect::<Result<_>>()?;
        // The jobs of a workload share a worker, unless each has pauses of its own.
        let pauses = matches!(job.workload.pacing, Pacing::Pauses { .. } | Pacing::Source);
        let apart = pauses || job.issue.think.is_some();
        let Job { workload, sources, issue, start, control, .. } = job;
        let sources = match apart {
            true => sources.into_iter().map(|source| vec![source]).collect(),
            false => vec![sources],
        };
        let files = FileMap { starts, place_bits };
        Ok(((workload, issue), Moved { sources, files, start, control }))
    }
}

type Split = ((Workload, Issue), Moved);

/// The parts of a job that move into its workers.
struct Moved {
    /// The sources of each worker.
    sources: Vec<Vec<Box<dyn workload::Source>>>,
    files: FileMap,
    start: rig::Start,
    control: Option<Box<dyn rig::JobControl>>,
}

impl Moved {
    fn workers(&self) -> usize {
        self.sources.len()
    }
}

fn describe((_, issue): &(Workload, Issue)) -> Description {
    Description { backend: None, direct: true, ramp_ns: issue.ramp_ns, written_share: None }
}

/// The channel for reports. With an observer, both ends are on one thread, which must not wait for
/// itself.
fn report_channel(observed: bool) -> (ReportSender, Receiver<Report>) {
    if observed {
        let (sender, reports) = channel();
        return (ReportSender::Unbounded(sender), reports);
    }
    let (sender, reports) = sync_channel(REPORTS_AHEAD);
    (ReportSender::Bounded(sender), reports)
}

fn players<'a>(
    kept: &'a [(Workload, Issue)],
    moved: Vec<Moved>,
    interval_ns: u64,
    sender: &ReportSender,
) -> Vec<(usize, Player<'a>)> {
    let mut players = Vec::new();
    let flows = shares(kept);
    for (number, ((kept, moved), flow)) in (0..).zip(kept.iter().zip(moved).zip(flows)) {
        let (workload, issue) = kept;
        let Moved { sources, files, start, mut control } = moved;
        let mut flow = flow;
        for (lane, sources) in (0..).zip(sources) {
            let out = (sender.clone(), Pulse::default());
            let open = workload.pacing.is_open();
            let worker = players.len() as u32;
            let ramp_ns = issue.ramp_ns;
            let recorder = Recorder::new(worker, open, interval_ns, &workload.name, ramp_ns, out);
            let (files, start) = (files.clone(), start.clone());
            let (control, flow) = (control.take(), flow.take());
            let player =
                Player { workload, issue, lane, sources, files, start, control, flow, recorder };
            players.push((number, player));
        }
    }
    players
}

/// Parameters of a performance in virtual time.
struct Score<'a> {
    start: u64,
    interval_ns: u64,
    halt: &'a Halt,
    /// Whether an observer receives each interval as it ends and can end jobs at exactly that time.
    observed: bool,
}

impl Score<'_> {
    /// Runs the players until the last has ended. Returns the sampler's observations and the time
    /// of that end.
    fn play(
        &self,
        drive: &mut Drive,
        players: Vec<(usize, Player<'_>)>,
        sampler: Sampler<'_>,
        reports: &Receiver<Report>,
    ) -> io::Result<(Observations, u64)> {
        let times = (self.start, self.interval_ns);
        if self.observed {
            let drive = RefCell::new(drive);
            let mut sampler = sampler;
            let mut conductor = Conductor::new(&drive, self.halt, times, players);
            let end = conductor
                .run(true, TIME_MAX_NS, |now| sampler.take_all(reports, now - self.start))?;
            drop(conductor);
            return Ok((sampler.finish(), end));
        }
        // One thread simulates while this one merges reports.
        thread::scope(|scope| {
            let play = move || {
                let drive = RefCell::new(drive);
                Conductor::new(&drive, self.halt, times, players).run(false, TIME_MAX_NS, |_| {})
            };
            let worker = thread::Builder::new().spawn_scoped(scope, play)?;
            let seen = sampler.watch_virtual(reports);
            let end = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            Ok((seen, end))
        })
    }
}

/// A note about host settings, which have no effect on a virtual drive.
fn notes(jobs: &[Job]) -> Vec<Finding> {
    let asked = |name: &'static str, is: fn(&Job) -> bool| jobs.iter().any(is).then_some(name);
    let names = [
        asked("page cache", |job| job.workload.caching == Caching::Buffered),
        asked("access advice", |job| job.issue.open.advice.is_some()),
        asked("priorities", |job| job.issue.priorities.is_some()),
        asked("job placement", |job| job.placement != rig::Placement::default()),
    ];
    let names: Vec<&str> = names.into_iter().flatten().collect();
    if names.is_empty() {
        return Vec::new();
    }
    let text = format!("a virtual drive has no host around it: no {}", names.join(", no "));
    vec![Finding::new(FindingKind::NoHost, Level::Note, text)]
}

/// Interval length for a time series of a few hundred rows.
fn interval(jobs: &[Job]) -> u64 {
    let times = jobs.iter().filter_map(|job| job.workload.stop.time_ns);
    times.max().map_or(0, |ns| ns / INTERVALS).max(INTERVAL_NS)
}

/// The drive's traffic between two readings of its counters.
fn moved_since(before: &Health, after: &Health) -> DeviceTraffic {
    let (a, b) = (&before.counters, &after.counters);
    DeviceTraffic {
        read_bytes: b.read_bytes - a.read_bytes,
        written_bytes: b.written_bytes - a.written_bytes,
        discarded_bytes: b.discarded_bytes - a.discarded_bytes,
        ..DeviceTraffic::default()
    }
}
