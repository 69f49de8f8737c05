//! The results of a performance, on real and on virtual drives.

use record::Series;
use rig::{BackendKind, Job, JobResult, JobSeen, Measurement, Performance, Stage, TargetInfo};
use workload::Workload;

use crate::doctor::{self, Case};
use crate::recorder::JobEnd;
use crate::sampler::Observations;
use crate::split;
use crate::summary::summarise;

/// The name of a performance: the given one, or that of its first job.
pub(crate) fn name_of(jobs: &[Job], stage: &Stage<'_>) -> String {
    let first = jobs.first().map_or("", |job| job.name());
    if stage.name.is_empty() { first } else { stage.name }.to_string()
}

/// The facts about a job that its results need.
#[derive(Clone)]
pub(crate) struct Description {
    /// `None` on a virtual drive.
    pub backend: Option<BackendKind>,
    pub direct: bool,
    /// Share of its region that was already written, if known.
    pub written_share: Option<f64>,
}

/// Turns the sampler's data into results.
pub(crate) struct Results<'a> {
    pub name: &'a str,
    pub info: &'a TargetInfo,
    pub descriptions: &'a [Description],
    pub jobs: &'a [Job],
    /// The job of each worker.
    pub workers: &'a [u32],
}

impl Results<'_> {
    pub(crate) fn assemble(&self, mut observations: Observations) -> Performance {
        let series = std::mem::take(&mut observations.series);
        let whole = self.whole(&observations, series);
        let mut jobs =
            if observations.by_job.is_empty() { Vec::new() } else { self.by_job(observations) };
        if let [job] = &mut jobs[..] {
            // The counts of the drive are those of the only job.
            for (kind, divided) in job.seen.kinds.iter_mut().zip(&whole.kinds) {
                let split = divided.as_ref().and_then(|stats| stats.split.as_ref());
                kind.iter_mut().for_each(|stats| stats.split = split.cloned());
            }
        }
        Performance { jobs, whole }
    }

    /// All jobs as one measurement. It uses the description of the job with the greatest depth and
    /// the total number of workers.
    fn whole(&self, observations: &Observations, series: Series) -> Measurement {
        let jobs = self.jobs.iter().zip(self.descriptions);
        let Some((deepest, description)) = jobs.max_by_key(|(job, _)| job.workload.depth) else {
            return Measurement::default();
        };
        let deepest = &deepest.workload;
        let jobs = self.workers.len().max(deepest.jobs as usize) as u32;
        let workload = Workload { name: self.name.to_string(), jobs, ..deepest.clone() };
        let mut whole = summarise(&workload, observations, description.backend, description.direct);
        if description.backend.is_some() && !self.info.ram {
            split::divide(&workload, observations, &mut whole);
        }
        whole.series = series;
        let shares = self.descriptions.iter().filter_map(|d| d.written_share);
        whole.findings = doctor::examine(&Case {
            backend: description.backend,
            workload: &workload,
            info: self.info,
            measurement: &whole,
            observations,
            written_share: shares.min_by(f64::total_cmp),
        });
        whole
    }

    fn by_job(&self, observations: Observations) -> Vec<JobResult> {
        let mut ends: Vec<Option<JobEnd>> = self.jobs.iter().map(|_| None).collect();
        for end in observations.ends {
            let job = self.workers[end.job as usize] as usize;
            match &mut ends[job] {
                Some(merged) => merged.merge(end),
                none => *none = Some(end),
            }
        }
        let ends = ends.into_iter().map(Option::unwrap_or_default);
        let jobs = self.jobs.iter().zip(self.descriptions);
        let results = jobs.zip(ends.zip(observations.by_job));
        results
            .map(|((job, description), (end, seen))| result(job, description, end, seen))
            .collect()
    }
}

fn result(job: &Job, description: &Description, end: JobEnd, seen: JobSeen) -> JobResult {
    let observations = Observations::from_job(end, seen.kinds.clone());
    let Description { backend, direct, .. } = *description;
    let mut measurement = summarise(&job.workload, &observations, backend, direct);
    let end = observations.ends.into_iter().next().unwrap_or_default();
    let begin_ns = end.begin_ns.max(job.issue.ramp_ns).min(end.issue_end_ns);
    measurement.elapsed_ns = end.end_ns.saturating_sub(begin_ns);
    let in_flight: u128 = seen.kinds.iter().flatten().map(|k| k.service.sum()).sum();
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
        seen,
        measurement,
    }
}
