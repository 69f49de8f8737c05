//! One stage of a plan: the jobs that run at the same time, as one job launch on the rig.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::{SystemTime, UNIX_EPOCH};

use record::{Finding, FindingKind, Level};
use rig::{IntervalObserver, JobResult, JobSeen, Logged, Measurement, Rig, RigError, Stage};
use workload::units::gcd;

use super::clones::JobClone;
use super::control::Judgement;
use super::launch::launch;
use super::oplog::OpLog;
use super::result::JobRun;
use super::steady::{SteadySeen, SteadyWatch};
use super::{Announcer, Ran, RunError, numa};
use crate::{Job, Plan};

/// Bounds of the sampling intervals, nanoseconds: shorter intervals cost too much, longer ones show
/// too little.
const SHORTEST_INTERVAL_NS: u64 = 1_000_000;
const LONGEST_INTERVAL_NS: u64 = 100_000_000;

/// Runs the clones after those that ran before; returns the result of each, and the combined result.
pub(super) fn perform<'p>(
    clones: &[&JobClone<'p>],
    before: &Ran<'p>,
    announcer: &mut dyn Announcer,
    rig: &mut dyn Rig,
) -> Result<(Vec<JobRun<'p>>, Measurement), RunError> {
    let (plan, real) = (before.plan, before.real);
    let (mut jobs, mut judgements) = (Vec::new(), Vec::new());
    for clone in clones {
        let node_cpus = if real { numa::processors(clone.job)? } else { Vec::new() };
        let (job, judgement) = launch(clone, waited_for(clones, clone.waits_for), node_cpus);
        jobs.push(job);
        judgements.push(judgement);
    }
    let (began_unix_ns, interval_ns) = (unix_ns(), interval_ns(clones));
    let steady = SteadyWatch::new(clones, interval_ns);
    let logs = clones.iter().map(|clone| op_log(clone, plan)).collect::<Result<_, _>>()?;
    let status = plan.globals.status_interval.map(|interval| Status {
        interval_ns: interval.as_nanos() as u64,
        printed: 0,
        clones,
        before,
        announcer,
        began: (began_unix_ns, interval_ns),
    });
    let mut observer = StageObserver { steady, logs, status };
    let name = clones.first().map_or("", |clone| &clone.job.name);
    let stage = Stage {
        name,
        interval_ns: Some(interval_ns),
        by_job: true,
        intervals: Some(&mut observer),
    };
    let performance = rig.perform(jobs, stage)?;
    assert_eq!(performance.jobs.len(), clones.len(), "every clone has a result");
    let mut whole = performance.whole;
    let StageObserver { steady, logs, .. } = observer;
    let results = clones.iter().zip(performance.jobs.into_iter().zip(logs)).zip(judgements);
    let mut runs = Vec::new();
    for (number, ((clone, (did, log)), judgement)) in (0..).zip(results) {
        runs.push(JobRun {
            job: clone.job,
            clone: clone.number,
            serial: clone.serial,
            began_unix_ns,
            interval_ns,
            place_bits: clone.place_bits(),
            did,
            log,
            judgement: judgement.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            steady: steady.seen(number),
        });
    }
    whole.findings.extend(runs.iter().filter_map(limit_passed));
    Ok((runs, whole))
}

/// The result of a clone whose job only creates files.
pub(super) fn idle<'p>(clone: &JobClone<'p>) -> JobRun<'p> {
    JobRun {
        job: clone.job,
        clone: clone.number,
        serial: clone.serial,
        began_unix_ns: unix_ns(),
        interval_ns: LONGEST_INTERVAL_NS,
        place_bits: clone.place_bits(),
        did: JobResult::default(),
        log: OpLog::default(),
        judgement: Judgement::default(),
        steady: clone.job.steady.map(SteadySeen::new),
    }
}

/// Observes the jobs of a stage while they run.
struct StageObserver<'s, 'p> {
    steady: SteadyWatch,
    /// The log of each clone.
    logs: Vec<OpLog>,
    /// The results so far, if requested.
    status: Option<Status<'s, 'p>>,
}

/// Announces the results so far at intervals.
struct Status<'s, 'p> {
    interval_ns: u64,
    /// Number of intervals announced.
    printed: u64,
    clones: &'s [&'s JobClone<'p>],
    /// The results of earlier stages.
    before: &'s Ran<'p>,
    announcer: &'s mut dyn Announcer,
    /// Start of the stage, nanoseconds since 1970, and length of its sampling intervals.
    began: (u64, u64),
}

impl Status<'_, '_> {
    fn interval(&mut self, now_ns: u64, jobs: &[JobSeen]) {
        let intervals = now_ns / self.interval_ns;
        if intervals <= self.printed {
            return;
        }
        self.printed = intervals;
        let running = self.clones.iter().zip(jobs).map(|(clone, seen)| {
            let origin_ns = clone.job.schedule.startdelay.low.as_nanos() as u64;
            let end_ns = now_ns.saturating_sub(origin_ns);
            let ops = seen.kinds.iter().flatten().map(|kind| kind.ops);
            let did = JobResult {
                issued: ops.sum(),
                seen: seen.clone(),
                origin_ns,
                issue_end_ns: end_ns,
                end_ns,
                ..JobResult::default()
            };
            let (began_unix_ns, interval_ns) = self.began;
            JobRun { began_unix_ns, interval_ns, did, ..idle(clone) }
        });
        let jobs = self.before.jobs.iter().map(JobRun::without_log).chain(running);
        let (before, mut jobs) = (self.before, jobs.collect::<Vec<_>>());
        jobs.sort_by_key(|run| run.serial);
        self.announcer.status(&Ran {
            jobs,
            stages: Vec::new(),
            disks: Vec::new(),
            processors_idle: None,
            left: Vec::new(),
            unremoved: Vec::new(),
            ended_unix_ms: unix_ns() / 1_000_000,
            ..*before
        });
    }
}

impl IntervalObserver for StageObserver<'_, '_> {
    fn interval(&mut self, now_ns: u64, jobs: &[JobSeen], end: &dyn Fn(u32)) {
        self.steady.interval(now_ns, jobs, end);
        if let Some(status) = &mut self.status {
            status.interval(now_ns, jobs);
        }
    }

    fn reset(&mut self, job: u32) {
        self.logs[job as usize].clear();
    }

    fn ops(&mut self, job: u32, log: &[Logged]) {
        self.logs[job as usize].add(log);
    }
}

/// The log of a clone, in the directory to which its lines will be written.
pub(super) fn op_log(clone: &JobClone<'_>, plan: &Plan) -> Result<OpLog, RunError> {
    if !clone.logs_each_op() {
        return Ok(OpLog::default());
    }
    let logs = &clone.job.logs;
    let prefix = [&logs.bw, &logs.iops, &logs.lat, &logs.histogram].into_iter().flatten().next();
    let is_for_priorities = prefix.is_none() && logs.iolog.is_none();
    if is_for_priorities {
        // Not a log of the user's: it needs no place where the user may write.
        return Ok(OpLog::within(&std::env::temp_dir()).unwrap_or_default());
    }
    let prefix_path = match (prefix, &logs.iolog) {
        (None, Some(iolog)) => PathBuf::from(iolog),
        _ => plan.aux_directory().join(prefix.map_or("", String::as_str)),
    };
    let place = emit::directory_of(&prefix_path);
    OpLog::within(place).map_err(|source| {
        RunError::Rig(RigError::Io {
            context: format!("create a log in {}", place.display()),
            source,
        })
    })
}

/// The finding for a job that ended because it exceeded one of its limits.
fn limit_passed(run: &JobRun<'_>) -> Option<Finding> {
    let (_, reason) = run.judgement.failed.as_ref()?;
    let text = format!("{} ended early: {reason}", run.job.name);
    Some(Finding::new(FindingKind::LimitPassed, Level::Bad, text))
}

/// The clones of a job within a stage; empty if they ran in an earlier stage.
fn waited_for(clones: &[&JobClone<'_>], job: Option<&Job>) -> Range<usize> {
    let Some(job) = job else { return 0..0 };
    let mut jobs = clones.iter().map(|clone| clone.job);
    let start = jobs.position(|other| std::ptr::eq(other, job)).unwrap_or(0);
    let count = clones.iter().filter(|clone| std::ptr::eq(clone.job, job)).count();
    start..start + count
}

/// A short interval that divides every requested average.
fn interval_ns(clones: &[&JobClone<'_>]) -> u64 {
    let requested = clones.iter().flat_map(|clone| {
        let (logs, reporting) = (&clone.job.logs, &clone.job.reporting);
        let steady = clone.job.steady.map(|steady| steady.interval).unwrap_or_default();
        [logs.average, reporting.bw_avg_time, reporting.iops_avg_time, steady]
    });
    let common = requested.fold(0, |common, time| gcd(common, time.as_nanos() as u64));
    let common = if common == 0 { LONGEST_INTERVAL_NS } else { common };
    let parts = common.div_ceil(LONGEST_INTERVAL_NS);
    let divisor = (parts..=common).find(|parts| common.is_multiple_of(*parts));
    (common / divisor.unwrap_or(parts)).max(SHORTEST_INTERVAL_NS)
}

/// Nanoseconds since 1970.
pub(super) fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64)
}
