//! Runs a performance on real devices: turns jobs into parts, and reports into results.
//!
//! [`crate::Machine`] decides which jobs may run and on which device; this module runs them.

use std::io;

use rig::{BackendKind, IntervalObserver, Job, Observer, Performance, TargetInfo};

use crate::borrowed::BorrowedBlocks;
use crate::device::{AnyDevice, Device};
use crate::flow::FlowShare;
use crate::halt::Halt;
use crate::launch::{self, Launch, Part};
use crate::patience::Pulse;
use crate::performance::{Description, Kept, Results, shares};
use crate::sampler::{Sampler, Subject, Workers};

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
