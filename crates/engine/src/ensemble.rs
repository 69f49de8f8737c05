//! Several jobs that differ, at once: each with its own files, operations, backend and beginning.
//!
//! What `Machine` does for the equal jobs of one workload, for callers that bring their own source
//! of operations and their own files, such as another tool's job files. The same loop, recorder and
//! sampler; what each job did is kept apart.

use std::io;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use drive::Watch;
use rig::{Measurement, Observer, TargetInfo};
use workload::{Source, Workload};

use crate::clock::Clock;
use crate::doctor::{self, Case};
use crate::files::Files;
use crate::flow::FlowShare;
use crate::halt::Halt;
use crate::jobs::{Crew, EndsAll, Part, Place};
use crate::machine::hot_limit;
use crate::patience::{PATIENCE, Pulse};
use crate::prepare;
use crate::priority::Priorities;
use crate::probe::BackendKind;
use crate::recorder::{JobEnd, Logged};
use crate::referee::{Overseer, Referee};
use crate::sampler::{JobSeen, Sampler, Seen, Subject};
use crate::summary::summarise;
use crate::sys::thread::ThreadUsage;
use crate::verify::Dump;
use crate::worker::Terms;

/// One job of an ensemble.
pub struct Member<'a> {
    /// Depth, batch, content, pacing, time, verify and seed; `jobs` is 1. Its region holds every
    /// address of the source, its block sizes the smallest and the largest of its operations.
    pub workload: Workload,
    /// What it does.
    pub source: Box<dyn Source>,
    /// How.
    pub backend: BackendKind,
    /// On what; `None` on the null backend.
    pub files: Option<Files<'a>>,
    /// Whether the files were opened to go past the page cache.
    pub direct: bool,
    /// When it begins, nanoseconds since the start of all.
    pub start_ns: u64,
    /// What it asks for beyond its workload.
    pub terms: Terms,
    /// Who judges its operations, if anybody does.
    pub referee: Option<Box<dyn Referee>>,
    /// Its part in a flow, which then is its pace.
    pub flow: Option<FlowShare>,
    /// Priorities of single operations, on a backend that can tell the kernel.
    pub priorities: Option<Priorities>,
    /// Where it runs.
    pub place: Place,
    /// Numbers of the members that must have ended before it begins.
    pub after: Range<usize>,
    /// Whether its end is the end of all.
    pub ends_all: EndsAll,
}

/// What one job did.
#[derive(Debug)]
pub struct Performed {
    /// Counts, in all and by interval.
    pub seen: JobSeen,
    /// First issue or end of the ramp, nanoseconds since the job began.
    pub begin_ns: u64,
    /// End of the operations proper, last flush included.
    pub issue_end_ns: u64,
    /// Time until then that went into reading back, nanoseconds.
    pub checks_ns: u64,
    /// Blocks that verify found wrong, where that was asked for.
    pub dumps: Vec<Dump>,
    /// End of all, with what was read back.
    pub end_ns: u64,
    /// What its thread used.
    pub usage: ThreadUsage,
    /// Operations issued, the ramp's included.
    pub issued: u64,
    /// Operations in flight at an issue, by powers of two: 1, 2 to 3, 4 to 7, ..., 64 and more.
    pub depths: [u64; 7],
    /// Operations handed over in a turn: 0, 1 to 4, 5 to 8, ..., 33 to 64, more.
    pub handed: [u64; 7],
    /// Operations that came back in a turn.
    pub returned: [u64; 7],
    /// Every operation, where that was asked for.
    pub log: Vec<Logged>,
    /// The job in figures, with what to distrust that is its own.
    pub measurement: Measurement,
}

/// What all jobs share.
pub struct Stage<'a> {
    /// Name of what is performed.
    pub name: &'a str,
    /// The clock of the run.
    pub clock: Clock,
    /// When this began in the run, nanoseconds.
    pub start_ns: u64,
    /// Length of an interval, nanoseconds.
    pub interval_ns: u64,
    /// The drive they work on.
    pub info: &'a TargetInfo,
    /// Its own counters, where it has any.
    pub watch: Option<&'a mut Watch>,
    /// The user's wish to end.
    pub interrupt: &'a AtomicBool,
    /// Whoever watches.
    pub observer: &'a mut dyn Observer,
    /// Who looks at the jobs while they run, if anybody does.
    pub overseer: Option<&'a mut dyn Overseer>,
}

/// What came of it.
#[derive(Debug)]
pub struct Performance {
    /// Every job, in the order given.
    pub jobs: Vec<Performed>,
    /// All of them together: what the device did, what to distrust.
    pub whole: Measurement,
}

impl Stage<'_> {
    /// Runs the jobs to the end of the last.
    pub fn perform(&mut self, members: Vec<Member<'_>>) -> io::Result<Performance> {
        let (halt, pulse) = (Halt::new(members.len() as u32), Pulse::default());
        let subject = Subject {
            name: self.name,
            replicate: 0,
            start_ns: self.start_ns,
            jobs: members.len() as u32,
            interval_ns: self.interval_ns,
            clock: self.clock,
            interrupt: self.interrupt,
            halt: &halt,
            hot_c: hot_limit(self.info),
            pulse: pulse.clone(),
            cached: members.iter().any(|member| !member.direct),
            patience_ns: PATIENCE.as_nanos() as u64,
            by_job: true,
        };
        let descriptions: Vec<_> = members.iter().map(Description::of).collect();
        let workloads: Vec<_> = members.iter().map(|m| m.workload.clone()).collect();
        let parts = members.into_iter().zip(&workloads).map(|(m, workload)| m.part(workload));
        let sampler = Sampler::new(subject, &mut *self.observer, self.watch.as_deref_mut());
        let sampler = sampler.overseen(match &mut self.overseer {
            Some(overseer) => Some(&mut **overseer),
            None => None,
        });
        let interval_ns = self.interval_ns;
        let crew = Crew { clock: self.clock, interval_ns, halt: &halt, pulse, loans: None };
        let seen = crew.run(parts.collect(), |origin, reports| sampler.watch(origin, reports))?;
        Ok(self.performance(&descriptions, &workloads, seen))
    }

    fn performance(
        &self,
        descriptions: &[Description],
        workloads: &[Workload],
        mut seen: Seen,
    ) -> Performance {
        let whole = self.whole(descriptions, workloads, &seen);
        seen.ends.sort_by_key(|end| end.job);
        let series = std::mem::take(&mut seen.series);
        let ends = std::mem::take(&mut seen.ends);
        let by_job = std::mem::take(&mut seen.by_job);
        let each = ends.into_iter().zip(by_job).zip(descriptions.iter().zip(workloads));
        let jobs = each.map(|((end, mine), (description, workload))| {
            self.performed(description, workload, end, mine)
        });
        Performance { jobs: jobs.collect(), whole: Measurement { series, ..whole } }
    }

    /// All jobs as one measurement. Its description is that of the deepest job, with the depth and
    /// the number of all.
    fn whole(
        &self,
        descriptions: &[Description],
        workloads: &[Workload],
        seen: &Seen,
    ) -> Measurement {
        let deepest = workloads.iter().zip(descriptions).max_by_key(|(w, _)| w.depth);
        let Some((workload, description)) = deepest else { return Measurement::default() };
        let workload = Workload {
            name: self.name.to_string(),
            jobs: workloads.len() as u32,
            ..workload.clone()
        };
        let mut whole = summarise(&workload, seen, description.backend.name(), description.direct);
        let case = Case {
            workload: &workload,
            info: self.info,
            measurement: &whole,
            seen,
            written_share: descriptions
                .iter()
                .filter_map(|d| d.written_share)
                .min_by(f64::total_cmp),
        };
        whole.findings = doctor::examine(&case);
        whole
    }

    fn performed(
        &self,
        description: &Description,
        workload: &Workload,
        end: JobEnd,
        mine: JobSeen,
    ) -> Performed {
        let seen = Seen::of_job(self.name, end, mine.kinds.clone());
        let Description { backend, direct, ramp_ns, .. } = *description;
        let mut measurement = summarise(workload, &seen, backend.name(), direct);
        let [end] = <[JobEnd; 1]>::try_from(seen.ends).unwrap_or_default();
        let begin_ns = end.begin_ns.max(ramp_ns).min(end.issue_end_ns);
        measurement.elapsed_ns = end.end_ns.saturating_sub(begin_ns);
        let in_flight: u128 = mine.kinds.iter().flatten().map(|k| k.service.sum()).sum();
        measurement.effective_depth = in_flight as f64 / measurement.elapsed_ns.max(1) as f64;
        Performed {
            begin_ns,
            issue_end_ns: end.issue_end_ns,
            checks_ns: end.checks_ns,
            dumps: end.dumps,
            end_ns: end.end_ns,
            usage: end.usage,
            issued: end.issued,
            depths: end.depths.depths(),
            handed: end.handed.batches(),
            returned: end.returned.batches(),
            log: end.log,
            seen: mine,
            measurement,
        }
    }
}

/// What has to be known of a job after it was consumed.
struct Description {
    backend: BackendKind,
    direct: bool,
    ramp_ns: u64,
    /// Share of its files that was written before, where it reads and that can be known.
    written_share: Option<f64>,
}

impl Description {
    fn of(member: &Member<'_>) -> Description {
        let reads = member.workload.mix.read > 0;
        let files = member.files.filter(|_| reads).map(|files| files.list()).unwrap_or_default();
        let shares = files.iter().filter_map(|file| {
            let bytes = file.metadata().ok()?.len();
            prepare::written_share(file, workload::Region::first(bytes))
        });
        Description {
            backend: member.backend,
            direct: member.direct,
            ramp_ns: member.terms.ramp_ns,
            written_share: shares.min_by(f64::total_cmp),
        }
    }
}

impl<'a> Member<'a> {
    fn part(self, workload: &'a Workload) -> Part<'a> {
        let Member { source, backend, files, start_ns, terms, referee, place, after, .. } = self;
        Part {
            workload,
            lane: 0,
            source,
            backend,
            files,
            start_ns,
            terms,
            referee,
            place,
            after,
            ends_all: self.ends_all,
            flow: self.flow,
            priorities: self.priorities,
        }
    }
}
