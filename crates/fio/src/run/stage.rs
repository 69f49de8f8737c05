//! One stage of a plan: the jobs that run at the same time, from their files to what they did.

use std::fs::File;
use std::ops::Range;
use std::sync::PoisonError;
use std::time::{SystemTime, UNIX_EPOCH};

use drive::Watch;
use engine::{Clock, Member, Stage};
use record::{Finding, FindingKind, Level};
use rig::{Job as RigJob, Performance, TargetInfo};

use super::files::{self, Files, Use};
use super::referee::{Rules, Shared};
use super::steady::SteadyWatch;
use super::{Actor, JobRun, RunError, Setting, carried, member, numa};
use crate::{Engine, Job};

/// Bounds of the intervals in which a run is sampled, nanoseconds: shorter ones cost too much, longer
/// ones show too little.
const SHORTEST_INTERVAL_NS: u64 = 1_000_000;
const LONGEST_INTERVAL_NS: u64 = 100_000_000;

/// Opens the files of the clones, runs them, and gives what each did and all did together.
pub(super) fn perform<'p>(
    clones: &[&Actor<'p>],
    files: &Files,
    on: (&TargetInfo, &mut Watch, Clock),
    setting: &mut Setting<'_>,
) -> Result<(Vec<JobRun<'p>>, rig::Measurement), RunError> {
    let open = clones.iter().map(|clone| opened(clone, files)).collect::<Result<Vec<_>, _>>()?;
    let mut jobs: Vec<RigJob> =
        clones.iter().map(|clone| job_of(clones, clone)).collect::<Result<_, _>>()?;
    let told: Vec<_> = clones.iter().zip(&mut jobs).map(|(c, job)| ruled(c.job, job)).collect();
    let member = |(job, files)| Member { job, files };
    let members: Vec<_> = jobs.into_iter().zip(open).map(member).collect();
    let (info, watch, clock) = on;
    let (began_unix_ns, interval_ns) = (unix_ns(), interval_ns(clones));
    let mut steady = SteadyWatch::new(clones, interval_ns);
    let name = clones.first().map_or("", |clone| &clone.job.name);
    let stage = Stage {
        name,
        clock,
        start_ns: clock.now(),
        interval_ns,
        info,
        watch: Some(watch),
        interrupt: setting.interrupt,
        observer: setting.observer,
        intervals: Some(&mut steady),
    };
    let done = stage.perform(members).map_err(|e| RunError::io(name.to_string(), e))?;
    let Performance { jobs, mut whole } = done;
    let run = |(number, ((clone, did), told)): (u32, ((&&Actor<'p>, _), Shared))| JobRun {
        job: clone.job,
        clone: clone.number,
        began_unix_ns,
        interval_ns,
        shift: member::shift(&clone.uses),
        did,
        told: told.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        steady: steady.seen(number),
    };
    let runs: Vec<_> = (0..).zip(clones.iter().zip(jobs).zip(told)).map(run).collect();
    whole.findings.extend(runs.iter().filter_map(limit_passed));
    Ok((runs, whole))
}

/// The files of a clone, open; none for the engine that has none.
fn opened(clone: &Actor<'_>, files: &Files) -> Result<Vec<File>, RunError> {
    match clone.job.engine {
        Engine::Null => Ok(Vec::new()),
        _ => clone.uses.iter().map(|u| open_one(clone.job, u, files)).collect(),
    }
}

fn open_one(job: &Job, place: &Use, files: &Files) -> Result<File, RunError> {
    let file = files.open(job, &place.path)?;
    if job.engine == Engine::Mmap && files::writes(job) {
        // What is mapped must be there: writing makes no mapped file longer.
        let end = place.start + place.bytes;
        let longer = file.metadata().and_then(|meta| match meta.is_file() && meta.len() < end {
            true => file.set_len(end),
            false => Ok(()),
        });
        longer.map_err(|e| RunError::io(format!("make {} longer", place.path.display()), e))?;
    }
    Ok(file)
}

/// A clone as a job of its stage.
fn job_of(clones: &[&Actor<'_>], clone: &Actor<'_>) -> Result<RigJob, RunError> {
    let outline = member::outline(clone.job, clone.number, &clone.uses);
    let mut job = member::job(clone.job, clone.number, outline);
    job.workload.content = clone.carries.clone();
    job.issue.salt = carried::salt(clone.serial);
    job.start.after = waited_for(clones, clone.waits_for);
    job.files = member::file_uses(&clone.uses);
    let processors = numa::processors(clone.job)?;
    if !processors.is_empty() {
        job.placement.cpus = processors;
    }
    Ok(job)
}

/// What ended a job that passed a limit of its own.
fn limit_passed(run: &JobRun<'_>) -> Option<Finding> {
    let (_, why) = run.told.failed.as_ref()?;
    let text = format!("{} ended early: {why}", run.job.name);
    Some(Finding::new(FindingKind::LimitPassed, Level::Bad, text))
}

/// Gives a job its control, and where that will say what it found.
fn ruled(job: &Job, of: &mut RigJob) -> Shared {
    let Some(rules) = Rules::of(job, of.workload.depth) else { return Shared::default() };
    let told = rules.told();
    of.control = Some(Box::new(rules));
    told
}

/// The clones of that job among those of a stage; none where they ran in an earlier one.
fn waited_for(clones: &[&Actor<'_>], job: Option<&Job>) -> Range<usize> {
    let is = |clone: &&&Actor<'_>| job.is_some_and(|job| std::ptr::eq(clone.job, job));
    let first = clones.iter().position(|clone| is(&clone)).unwrap_or(0);
    first..first + clones.iter().filter(is).count()
}

/// A length of which every average that was asked for is a multiple, and short.
fn interval_ns(clones: &[&Actor<'_>]) -> u64 {
    let asked = clones.iter().flat_map(|clone| {
        let (logs, shown) = (&clone.job.logs, &clone.job.reporting);
        let steady = clone.job.steady.map(|steady| steady.interval).unwrap_or_default();
        [logs.average, shown.bw_avg_time, shown.iops_avg_time, steady]
    });
    let common = asked.fold(0, |common, time| member::gcd(common, time.as_nanos() as u64));
    let common = if common == 0 { LONGEST_INTERVAL_NS } else { common };
    let parts = common.div_ceil(LONGEST_INTERVAL_NS);
    let even = (parts..=common).find(|parts| common.is_multiple_of(*parts));
    (common / even.unwrap_or(parts)).max(SHORTEST_INTERVAL_NS)
}

/// Nanoseconds since 1970.
pub(super) fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64)
}
