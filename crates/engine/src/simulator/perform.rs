//! Runs jobs on a virtual drive, on one virtual clock.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::thread;

use model::ReportedHealth;
use record::{Finding, FindingKind, Level};
use rig::{BackendKind, DeviceTraffic, Job, Performance, Result, RigError, Stage, StopReason};
use workload::{Caching, Pacing, Workload};

use super::{Simulator, TIME_MAX_NS};
use crate::admit::{admit, admit_sources};
use crate::backend::FileMap;
use crate::clock::Clock;
use crate::conductor::Conductor;
use crate::halt::Halt;
use crate::lane::{LaneContext, lanes};
use crate::patience::Pulse;
use crate::performance::{Description, Results, name_of};
use crate::recorder::{Report, ReportSender};
use crate::sampler::{Observations, Sampler, Subject, Workers};
use crate::worker::leap;

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
    pub(super) fn run(&mut self, mut jobs: Vec<Job>, stage: Stage<'_>) -> Result<Performance> {
        let name = name_of(&jobs, &stage);
        let replicates = self.replicates.entry(name.clone()).or_default();
        let replicate = *replicates;
        *replicates += 1;
        let (notes, health) = (notes(&jobs), self.drive.health());
        let interval_ns = stage.interval_ns.unwrap_or_else(|| interval(&jobs));
        let files = jobs.iter().map(|job| self.regions.map(&job.files));
        let files: Vec<FileMap> = files.collect::<Result<_>>()?;
        let lanes = lanes(&mut jobs, |job| !pauses(job));
        let workers: Vec<u32> = lanes.iter().map(|lane| lane.job_index).collect();
        let (halt, pulse) = (Halt::new(workers.len() as u32), Pulse::default());
        let interrupt = Arc::clone(&self.interrupt);
        let subject = Subject {
            name: &name,
            replicate,
            start_ns: self.now,
            interval_ns,
            // Virtual time does not come from it, and a calibration would take longer than most jobs.
            clock: Clock::kernels(),
            interrupt: &interrupt,
            alarm: None,
            hot_c: None,
            patience_ns: u64::MAX,
            by_job: stage.by_job,
        };
        let observed = stage.intervals.is_some();
        let watched_workers = Workers {
            jobs: workers.clone(),
            halt: &halt,
            pulse: pulse.clone(),
            cached: false,
            rings: false,
        };
        let sampler = Sampler::new(subject, watched_workers, self.observer.as_mut(), None);
        let sampler = sampler.observed(stage.intervals);
        let (sender, reports) = report_channel(observed);
        let leaps = self.leaps && !observed && lanes.len() == 1;
        let context =
            LaneContext { interval_ns, halt: &halt, sender, pulse, leaps, borrowed: None };
        let (drive, origin) = (&mut self.drive, self.now);
        let conduct = |between: &mut dyn FnMut(u64)| {
            let drive = RefCell::new(drive);
            let mut conductor = Conductor::new(&drive, &files, context, origin, lanes);
            conductor.run(observed, TIME_MAX_NS, between)
        };
        let outcome = if observed {
            observe(sampler, &reports, origin, conduct)
        } else {
            watch(sampler, &reports, conduct)
        };
        let (mut observations, end) =
            outcome.map_err(|source| RigError::Io { context: name.clone(), source })?;
        self.now = self.now.max(end.min(TIME_MAX_NS));
        self.drive.check_counts();
        self.drive.set_stored_share(1.0);
        // The processor time is the simulator's, not that of a host issuing the operations.
        observations.ends.iter_mut().for_each(|end| end.usage = Default::default());
        self.skipped_ns += observations.ends.iter().map(|end| end.skipped_ns).sum::<u64>();
        observations.device = Some(traffic_since(&health, &self.drive.health()));
        let description = Description { backend: None, direct: true, written_share: None };
        let results = Results {
            name: &name,
            info: &self.info,
            descriptions: &vec![description; jobs.len()],
            jobs: &jobs,
            workers: &workers,
        };
        let mut performance = results.assemble(observations);
        let whole = &mut performance.whole;
        // There is nothing between host and drive, so the drive's queue is the host's.
        let depth = whole.effective_depth;
        whole.device = whole.device.map(|traffic| DeviceTraffic { depth, ..traffic });
        whole.findings.extend(notes);
        self.interrupted |= whole.stop == StopReason::Interrupted && self.stopped();
        Ok(performance)
    }
}

/// Whether each source of a job has pauses of its own, so that they cannot share a worker.
fn pauses(job: &Job) -> bool {
    job.issue.think.is_some()
        || matches!(job.workload.pacing, Pacing::Pauses { .. } | Pacing::Source)
}

/// Share of the time of a workload that is timed on a virtual drive that skips steady stretches, if the
/// workload takes so long, writes so many bytes and is steady.
pub fn timed_share(workload: &Workload, elapsed_ns: u64, write_bytes: f64) -> f64 {
    let interval_ns = interval(&[Job::from_workload(workload)]);
    leap::timed_share(workload, elapsed_ns as f64 / interval_ns as f64, write_bytes)
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

/// Conducts jobs on this thread. An observer receives each interval as it ends and can end jobs at
/// exactly that time. Returns the sampler's data and the end of the last job.
fn observe(
    mut sampler: Sampler<'_>,
    reports: &Receiver<Report>,
    origin: u64,
    conduct: impl FnOnce(&mut dyn FnMut(u64)) -> io::Result<u64>,
) -> io::Result<(Observations, u64)> {
    let end = conduct(&mut |now| sampler.take_all(reports, now - origin))?;
    Ok((sampler.finish(), end))
}

/// Conducts jobs on a thread of their own, while this one merges their reports.
fn watch(
    sampler: Sampler<'_>,
    reports: &Receiver<Report>,
    conduct: impl FnOnce(&mut dyn FnMut(u64)) -> io::Result<u64> + Send,
) -> io::Result<(Observations, u64)> {
    thread::scope(|scope| {
        let conductor = thread::Builder::new().spawn_scoped(scope, || conduct(&mut |_| {}))?;
        let observations = sampler.watch_virtual(reports);
        let end = conductor.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((observations, end))
    })
}

/// A note about host settings, which have no effect on a virtual drive.
fn notes(jobs: &[Job]) -> Vec<Finding> {
    let mut names = Vec::new();
    if jobs.iter().any(|job| job.workload.caching == Caching::Buffered) {
        names.push("page cache");
    }
    if jobs.iter().any(|job| job.issue.open.advice.is_some()) {
        names.push("access advice");
    }
    if jobs.iter().any(|job| job.issue.priorities.is_some()) {
        names.push("priorities");
    }
    if jobs.iter().any(|job| job.placement != rig::Placement::default()) {
        names.push("job placement");
    }
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
fn traffic_since(before: &ReportedHealth, after: &ReportedHealth) -> DeviceTraffic {
    let (a, b) = (&before.counters, &after.counters);
    DeviceTraffic {
        read_bytes: b.read_bytes - a.read_bytes,
        written_bytes: b.written_bytes - a.written_bytes,
        discarded_bytes: b.discarded_bytes - a.discarded_bytes,
        ..DeviceTraffic::default()
    }
}
