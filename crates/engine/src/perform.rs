//! Runs a performance on real devices: jobs in, results out.
//!
//! [`crate::Machine`] decides which jobs may run and on which device; this module runs them.

use std::io;
use std::sync::mpsc::sync_channel;

use rig::{BackendKind, IntervalObserver, Job, Observer, Performance, TargetInfo};

use crate::borrowed::BorrowedBlocks;
use crate::device::Device;
use crate::halt::Halt;
use crate::lane::{LaneContext, lanes};
use crate::launch::{Launch, Route};
use crate::patience::Pulse;
use crate::performance::{Description, Results};
use crate::recorder::ReportSender;
use crate::sampler::{Sampler, Subject, Workers};
use crate::sys::bpf::Tracer;

/// Maximum reports queued for the sampler. A thread that reports faster than the sampler reads has
/// to wait.
const REPORTS_MAX: usize = 1024;

/// The context in which the jobs of a performance run.
pub(crate) struct Performer<'a> {
    pub subject: Subject<'a>,
    pub info: &'a TargetInfo,
    /// The device whose counters are sampled, if any.
    pub watch: Option<&'a dyn Device>,
    /// The kernel's trace of this process's requests, if there is one.
    pub tracer: Option<&'a Tracer>,
    pub observer: &'a mut dyn Observer,
    pub intervals: Option<&'a mut (dyn IntervalObserver + 'a)>,
    /// Whether to bind every lane to a processor.
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
    /// Runs the jobs, each on its route, until the last has ended. Also returns the reason if the
    /// drive ended the run.
    pub(crate) fn perform(
        self,
        mut jobs: Vec<Job>,
        routes: &[Route<'_>],
    ) -> io::Result<(Performance, Option<Cut>)> {
        let descriptions: Vec<_> = jobs.iter().zip(routes).map(describe).collect();
        let lanes = lanes(&mut jobs, |_| false);
        let workers: Vec<u32> = lanes.iter().map(|lane| lane.job_index).collect();
        let (halt, pulse) = (Halt::new(workers.len() as u32), Pulse::default());
        let watched_workers = Workers {
            jobs: workers.clone(),
            halt: &halt,
            pulse: pulse.clone(),
            cached: descriptions.iter().any(|description| !description.direct),
            rings: routes.iter().any(|route| route.backend == BackendKind::Uring),
        };
        let Subject { name, clock, interval_ns, .. } = self.subject;
        let sampler = Sampler::new(self.subject, watched_workers, self.observer, self.watch);
        let sampler = sampler.observed(self.intervals);
        let (sender, reports) = sync_channel(REPORTS_MAX);
        let sender = ReportSender::Bounded(sender);
        let context = LaneContext {
            interval_ns,
            halt: &halt,
            sender,
            pulse,
            leaps: false,
            borrowed: self.borrowed,
        };
        let launch = Launch { clock, routes, pin: self.pin };
        let traced_before = self.tracer.map(Tracer::read);
        let mut observations =
            launch.run(lanes, context, |origin| sampler.watch(origin, &reports))?;
        observations.traced = self
            .tracer
            .map(Tracer::read)
            .zip(traced_before.as_ref())
            .map(|(traced, before)| traced.since(before));
        let cut = if observations.too_hot {
            Some(Cut::Heat)
        } else if observations.silent {
            Some(Cut::Silence)
        } else {
            None
        };
        let results = Results {
            name,
            info: self.info,
            descriptions: &descriptions,
            jobs: &jobs,
            workers: &workers,
        };
        Ok((results.assemble(observations), cut))
    }
}

fn describe((job, route): (&Job, &Route<'_>)) -> Description {
    let Route { device, backend } = route;
    let reads = job.workload.mix.read > 0;
    Description {
        backend: Some(*backend),
        direct: device.bypasses_cache(job.workload.caching),
        written_share: reads.then(|| device.written_share(job.workload.region)).flatten(),
    }
}
