//! Admits jobs on a real target and runs them.

use drive::DriveError;
use record::TargetKind;
use rig::{ErrorClass, Job, Performance, Result, RigError, Stage, StopReason};
use workload::{Content, Workload};

use super::{Machine, hot_limit};
use crate::admit;
use crate::failure::io_error;
use crate::launch::Route;
use crate::perform::{Cut, Performer};
use crate::performance::name_of;
use crate::probe;
use crate::sampler::Subject;
use crate::sys::bpf::Tracer;
use crate::vigil::{Vigil, Watched};

impl Machine {
    /// Checks that a job may run and that the target supports it.
    pub(super) fn admit(&self, job: &Job) -> Result<()> {
        admit::admit_sources(job)?;
        match (&self.files, job.files.is_empty()) {
            (None, false) => Err(RigError::Unsupported("jobs that name their files".into())),
            // The named files were admitted earlier.
            (Some(files), _) if !files.is_drive() => {
                self.goes_on()?;
                job.workload.check()?;
                files.check_again()
            }
            _ => self.admit_workload(&job.workload),
        }
    }

    /// Checks that a workload may run and that this target supports it.
    pub(super) fn admit_workload(&self, workload: &Workload) -> Result<()> {
        self.goes_on()?;
        admit::admit(workload, &self.info)?;
        let on_drive = self.device.storage().is_some();
        if writes_original(workload) && on_drive && !self.borrowed.cover(workload) {
            let text = format!("workload {} writes blocks that were not borrowed", workload.name);
            return Err(RigError::Refused(text));
        }
        let is_file = self.info.target.kind == TargetKind::File;
        if workload.mix.changes_data() || is_file { self.check_again() } else { Ok(()) }
    }

    /// Checks that the target is still the one that was opened. Called before each phase that
    /// changes it, and repeatedly while the block interface writes.
    pub fn check_again(&self) -> Result<()> {
        self.device.check().map_err(guard_error)
    }

    /// What to check while these jobs run: everything that they change, and files that they read.
    fn watched(&self, jobs: &[Job]) -> Vec<Watched> {
        if let Some(files) = &self.files {
            return files.watched();
        }
        let is_changed = jobs.iter().any(|job| job.workload.mix.changes_data());
        let is_watched = is_changed || self.info.target.kind == TargetKind::File;
        let sentry = self.device.sentry().filter(|_| is_watched);
        sentry.map(Watched::Target).into_iter().collect()
    }

    /// Runs admitted jobs.
    pub(super) fn run(&mut self, jobs: Vec<Job>, stage: Stage<'_>) -> Result<Performance> {
        self.reserve(&jobs)?;
        let named_devices = match &self.files {
            Some(files) if !files.is_drive() => {
                jobs.iter().map(|job| files.open(job)).collect::<Result<Vec<_>>>()?
            }
            _ => Vec::new(),
        };
        let name = name_of(&jobs, &stage);
        let replicate = *self.replicates.get(&name).unwrap_or(&0);
        let original = jobs.iter().any(|job| writes_original(&job.workload));
        let vigil = Vigil::begin(self.watched(&jobs));
        let vigil = vigil.map_err(|e| io_error(&self.info, "start a thread", e))?;
        let subject = Subject {
            name: &name,
            replicate,
            start_ns: self.clock.now() - self.began,
            interval_ns: stage.interval_ns.unwrap_or(self.options.interval_ns),
            clock: self.clock,
            interrupt: &self.interrupt,
            alarm: vigil.as_ref().map(Vigil::alarm),
            hot_c: hot_limit(&self.info),
            patience_ns: self.options.patience.as_nanos() as u64,
            by_job: stage.by_job,
        };
        let tracer = self.tracer.get_or_init(|| {
            let disk = self.device.disk().filter(|_| self.options.traces && !self.info.ram);
            disk.and_then(Tracer::attach)
        });
        if let Some(tracer) = tracer {
            tracer.follow_one_in(sample(self.ops_per_s));
        }
        let performer = Performer {
            subject,
            info: &self.info,
            watch: Some(&**self.device),
            tracer: tracer.as_ref(),
            observer: self.observer.as_mut(),
            intervals: stage.intervals.map(|observer| observer as _),
            pin: self.options.pin,
            borrowed: (original && self.device.storage().is_some()).then_some(&self.borrowed),
        };
        let (target, backend) = (&self.device, self.backend);
        let devices = named_devices.iter().chain(std::iter::repeat(&**target));
        let routes = jobs.iter().zip(devices).map(|(job, device)| {
            let kind = device.backend(job.issue.backend.unwrap_or(backend));
            Route { device, backend: probe::making(kind, job.workload.calls) }
        });
        let routes: Vec<Route<'_>> = routes.collect();
        let outcome = performer.perform(jobs, &routes);
        vigil.map_or(Ok(()), Vigil::end).map_err(guard_error)?;
        let (performance, cut) = outcome.map_err(|e| io_error(&self.info, &name, e))?;
        *self.replicates.entry(name).or_default() += 1;
        self.empty = false;
        self.ops_per_s = performance.whole.iops(None);
        let interrupted = performance.whole.stop == StopReason::Interrupted;
        match cut {
            Some(Cut::Heat) => {
                self.ended =
                    Some(|| RigError::Refused("the drive is at its temperature limit".into()));
            }
            // Jobs ended by each other or by an observer do not end the run.
            None if !self.stopped() => {}
            _ if interrupted => self.ended = Some(|| RigError::Interrupted),
            _ => {}
        }
        Ok(performance)
    }

    /// Reserves space for a scratch file, so that writing does not also grow it.
    fn reserve(&self, jobs: &[Job]) -> Result<()> {
        if self.empty {
            return Ok(());
        }
        let writing = jobs.iter().filter(|job| job.workload.mix.changes_data());
        let end = writing.map(|job| job.workload.region.end()).max();
        let reserved = end.map_or(Ok(()), |end| self.device.reserve(end));
        reserved.map_err(|e| io_error(&self.info, "reserve space", e))
    }
}

/// Operations per second of a workload of which nothing is known.
const USUAL_RATE: f64 = 10_000.0;

/// One request in so many is followed, at the rate of the last performance: a warm-up has that of
/// its workload. Following one takes about a microsecond.
fn sample(ops_per_s: Option<f64>) -> u64 {
    let rate = ops_per_s.unwrap_or(USUAL_RATE);
    if rate < 5_000.0 {
        1
    } else if rate < 15_000.0 {
        4
    } else {
        16
    }
}

fn guard_error(error: DriveError) -> RigError {
    match error.fault() {
        ErrorClass::Io => {
            RigError::Target { fault: ErrorClass::Io, text: error.to_string(), advice: None }
        }
        _ => RigError::Refused(error.to_string()),
    }
}

fn writes_original(workload: &Workload) -> bool {
    workload.content == Content::Original && workload.mix.write > 0
}
