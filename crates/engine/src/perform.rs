//! Runs a performance on real devices: turns jobs into parts, and reports into results.
//!
//! [`crate::Machine`] decides which jobs may run and on which device; this module runs them. Jobs
//! on a virtual drive use the same results.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use record::Series;
use rig::{
    BackendKind, IntervalObserver, Issue, Job, JobResult, JobSeen, Measurement, Observer,
    Performance, Stage, TargetInfo,
};
use workload::Workload;

use crate::borrowed::BorrowedBlocks;
use crate::device::{AnyDevice, Device};
use crate::doctor::{self, Case};
use crate::flow::{Flow, FlowShare};
use crate::halt::Halt;
use crate::launch::{self, Launch, Part};
use crate::patience::Pulse;
use crate::recorder::JobEnd;
use crate::sampler::{Sampler, Seen, Subject, Workers};
use crate::summary::summarise;

/// The name of a performance: the given one, or that of its first job.
pub(crate) fn name_of(jobs: &[Job], stage: &Stage<'_>) -> String {
    let first = jobs.first().map_or("", |job| job.name());
    if stage.name.is_empty() { first } else { stage.name }.to_string()
}

/// A job with its device and backend.
pub(crate) struct Assignment<'a> {
    pub job: Job,
    pub device: &'a AnyDevice,
    pub backend: BackendKind,
}

/// The context in which the jobs of a performance run.
pub(crate) struct Performer<'a> {
    pub subject: Subject<'a>,
    pub info: &'a TargetInfo,
    /// The device whose counters are sampled, if any.
    pub watch: Option<&'a dyn Device>,
    pub observer: &'a mut dyn Observer,
    pub intervals: Option<&'a mut (dyn IntervalObserver + 'a)>,
    /// Whether to bind every part to a processor.
    pub pin: bool,
    /// The original content, if writes carry it.
    pub borrowed: Option<&'a BorrowedBlocks>,
}

/// The reason the drive, rather than the user, ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The drive became too hot.
    Heat,
    /// The drive stayed silent.
    Silence,
}

impl Performer<'_> {
    /// Runs the jobs until the last has ended. Also returns the reason if the drive ended the run.
    pub(crate) fn perform(
        self,
        assignments: Vec<Assignment<'_>>,
    ) -> io::Result<(Performance, Option<Cut>)> {
        let descriptions: Vec<_> = assignments.iter().map(Description::of).collect();
        let (kept, moved): (Vec<_>, Vec<_>) = assignments.into_iter().map(split).unzip();
        let flows = shares(&kept);
        let parts = parts(&kept, moved, flows, self.pin)?;
        let workers: Vec<u32> = parts.iter().map(|part| part.job).collect();
        let (halt, pulse) = (Halt::new(workers.len() as u32), Pulse::default());
        let watched = Workers {
            jobs: workers.clone(),
            halt: &halt,
            pulse: pulse.clone(),
            cached: descriptions.iter().any(|description| !description.direct),
        };
        let (Subject { name, clock, interval_ns, .. }, borrowed) = (self.subject, self.borrowed);
        let sampler = Sampler::new(self.subject, watched, self.observer, self.watch);
        let sampler = sampler.observed(self.intervals);
        let launch = Launch { clock, interval_ns, halt: &halt, pulse, borrowed };
        let seen = launch.run(parts, |origin, reports| sampler.watch(origin, reports))?;
        let cut = match (seen.too_hot, seen.silent) {
            (true, _) => Some(Cut::Heat),
            (_, true) => Some(Cut::Silence),
            _ => None,
        };
        let workloads: Vec<_> = kept.iter().map(|(workload, _)| workload).collect();
        let results = Results {
            name,
            info: self.info,
            descriptions: &descriptions,
            workloads: &workloads,
            workers: &workers,
        };
        Ok((results.of(seen), cut))
    }
}

/// A workload and its issue, which the parts of a job share.
type Kept = (Workload, Issue);

/// The rest of a job, which moves into its parts.
struct Moved<'a> {
    sources: Vec<Box<dyn workload::Source>>,
    place_bits: u32,
    start: rig::Start,
    placement: rig::Placement,
    control: Option<Box<dyn rig::JobControl>>,
    device: &'a AnyDevice,
    backend: BackendKind,
}

fn split(assignment: Assignment<'_>) -> (Kept, Moved<'_>) {
    let Assignment { job, device, backend } = assignment;
    let place_bits = rig::place_bits(&job.files);
    let Job { workload, sources, issue, start, placement, control, .. } = job;
    let moved = Moved { sources, place_bits, start, placement, control, device, backend };
    ((workload, issue), moved)
}

/// One part for each source of each job.
fn parts<'a>(
    kept: &'a [Kept],
    moved: Vec<Moved<'a>>,
    flows: Vec<Option<FlowShare>>,
    pin: bool,
) -> io::Result<Vec<Part<'a>>> {
    let mut parts = Vec::new();
    for (job, ((kept, moved), flow)) in (0..).zip(kept.iter().zip(moved).zip(flows)) {
        let (workload, issue) = kept;
        let (mut control, mut flow) = (moved.control, flow);
        for (lane, source) in (0..).zip(moved.sources) {
            let number = parts.len() as u32;
            let placement = if pin { launch::pinned(number)? } else { moved.placement.clone() };
            parts.push(Part {
                job,
                workload,
                issue,
                lane,
                source,
                device: moved.device,
                backend: moved.backend,
                place_bits: moved.place_bits,
                start: moved.start.clone(),
                placement,
                control: control.take(),
                flow: flow.take(),
            });
        }
    }
    Ok(parts)
}

/// The flow share of each job.
pub(crate) fn shares(kept: &[Kept]) -> Vec<Option<FlowShare>> {
    let mut flows: BTreeMap<u32, Arc<Flow>> = BTreeMap::new();
    let share = |(_, issue): &Kept| {
        let part = issue.flow?;
        let flow = flows.entry(part.group).or_default();
        Some(FlowShare::new(flow, part.weight, part.rest_ns))
    };
    kept.iter().map(share).collect()
}

/// The facts about a job that its results need.
pub(crate) struct Description {
    /// `None` on a virtual drive.
    pub backend: Option<BackendKind>,
    pub direct: bool,
    pub ramp_ns: u64,
    /// Share of its region that was already written, if known.
    pub written_share: Option<f64>,
}

impl Description {
    fn of(assignment: &Assignment<'_>) -> Description {
        let Assignment { job, device, backend } = assignment;
        let reads = job.workload.mix.read > 0;
        Description {
            backend: Some(*backend),
            direct: device.bypasses_cache(job.workload.caching),
            ramp_ns: job.issue.ramp_ns,
            written_share: reads.then(|| device.written_share(job.workload.region)).flatten(),
        }
    }
}

/// Turns the sampler's data into results.
pub(crate) struct Results<'a> {
    pub name: &'a str,
    pub info: &'a TargetInfo,
    pub descriptions: &'a [Description],
    pub workloads: &'a [&'a Workload],
    /// The job of each worker.
    pub workers: &'a [u32],
}

impl Results<'_> {
    pub(crate) fn of(&self, mut seen: Seen) -> Performance {
        let series = std::mem::take(&mut seen.series);
        let whole = self.whole(&seen, series);
        let jobs = if seen.by_job.is_empty() { Vec::new() } else { self.jobs(seen) };
        Performance { jobs, whole }
    }

    /// All jobs as one measurement. It uses the description of the job with the greatest depth and
    /// the total number of workers.
    fn whole(&self, seen: &Seen, series: Series) -> Measurement {
        let all = self.workloads.iter().zip(self.descriptions);
        let Some((deepest, description)) = all.max_by_key(|(w, _)| w.depth) else {
            return Measurement::default();
        };
        let jobs = self.workers.len().max(deepest.jobs as usize) as u32;
        let workload = Workload { name: self.name.to_string(), jobs, ..(*deepest).clone() };
        let mut whole = summarise(&workload, seen, description.backend, description.direct);
        whole.series = series;
        let shares = self.descriptions.iter().filter_map(|d| d.written_share);
        whole.findings = doctor::examine(&Case {
            backend: description.backend,
            workload: &workload,
            info: self.info,
            measurement: &whole,
            seen,
            written_share: shares.min_by(f64::total_cmp),
        });
        whole
    }

    fn jobs(&self, seen: Seen) -> Vec<JobResult> {
        let mut ends: Vec<Option<JobEnd>> = self.workloads.iter().map(|_| None).collect();
        for end in seen.ends {
            let job = self.workers[end.job as usize] as usize;
            match &mut ends[job] {
                Some(merged) => merged.merge(end),
                none => *none = Some(end),
            }
        }
        let each = ends.into_iter().zip(seen.by_job);
        let described = self.descriptions.iter().zip(self.workloads);
        let result = |((end, mine), (description, workload)): (_, (&Description, &&Workload))| {
            self.result(description, workload, Option::unwrap_or_default(end), mine)
        };
        each.zip(described).map(result).collect()
    }

    fn result(
        &self,
        description: &Description,
        workload: &Workload,
        end: JobEnd,
        mine: JobSeen,
    ) -> JobResult {
        let mut seen = Seen::of_job(end, mine.kinds.clone());
        let mut measurement = summarise(workload, &seen, description.backend, description.direct);
        let end = seen.ends.pop().unwrap_or_default();
        let begin_ns = end.begin_ns.max(description.ramp_ns).min(end.issue_end_ns);
        measurement.elapsed_ns = end.end_ns.saturating_sub(begin_ns);
        let in_flight: u128 = mine.kinds.iter().flatten().map(|k| k.service.sum()).sum();
        measurement.effective_depth = in_flight as f64 / measurement.elapsed_ns.max(1) as f64;
        JobResult {
            begin_ns,
            origin_ns: end.origin_ns,
            issue_end_ns: end.issue_end_ns,
            checks_ns: end.checks_ns,
            end_ns: end.end_ns,
            usage: end.usage,
            issued: end.issued,
            depths: end.depths.depths(),
            handed: end.handed.batches(),
            returned: end.returned.batches(),
            dumps: end.dumps,
            seen: mine,
            measurement,
        }
    }
}
