//! The rig of virtual drives: the same worker, recorder and doctor as on real drives, in virtual
//! time.
//!
//! One thread keeps the time and runs all jobs ([`crate::conductor`]); the sampler merges their
//! reports as on a real drive. The simulator is a separate rig rather than a device of
//! [`crate::Machine`], because the machine's threads wait for a clock, whereas here the clock waits
//! for the workers. Time passes only in jobs, preparations, the block interface and `idle`.

mod age;
mod blocks;
mod files;
mod info;
mod perform;
mod prepare;
mod stamped;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use model::{Drive, DriveSpec, WorkOfDies};
use record::State;
use rig::{
    Blocks, Event, Files, Job, Observer, Performance, Preparation, Prepared, Result, Rig, RigError,
    Stage, TargetInfo,
};
use workload::Region;

pub use perform::timed_share;

use blocks::Stored;
use files::Regions;

/// The longest virtual time of a run, nanoseconds: 20 years, well within the range of a 64-bit
/// clock.
const TIME_MAX_NS: u64 = 20 * 365 * 86_400 * 1_000_000_000;

/// A virtual drive under test.
pub struct Simulator {
    spec: DriveSpec,
    drive: Drive,
    info: TargetInfo,
    now: u64,
    interrupt: Arc<AtomicBool>,
    observer: Box<dyn Observer>,
    replicates: HashMap<String, u32>,
    borrowed: Vec<Region>,
    /// Whether steady stretches may be skipped, and the time skipped so far, nanoseconds.
    leaps: bool,
    skipped_ns: u64,
    interrupted: bool,
    /// Content written through the block interface.
    stored: Stored,
    /// Named files, as regions of the drive.
    regions: Regions,
}

impl Simulator {
    /// Creates a drive from a description, fresh and idle. `spec_text` is the target as the user
    /// typed it.
    pub fn new(
        spec: DriveSpec,
        spec_text: &str,
        interrupt: Arc<AtomicBool>,
        observer: Box<dyn Observer>,
    ) -> Simulator {
        let drive = Drive::new(&spec, *spec.seed);
        let info = Simulator::info(&spec, spec_text);
        let replicates = HashMap::new();
        let now = 0;
        let mut simulator = Simulator {
            spec,
            drive,
            info,
            now,
            interrupt,
            observer,
            replicates,
            borrowed: Vec::new(),
            leaps: false,
            skipped_ns: 0,
            interrupted: false,
            stored: Stored::default(),
            regions: Regions::default(),
        };
        let health = simulator.health();
        if let Some(drive) = &mut simulator.info.target.drive {
            drive.health = health;
        }
        simulator
    }

    /// Skips stretches of a long steady load: their rate is that of the timed ones around them.
    pub fn leaping(self, leaps: bool) -> Simulator {
        Simulator { leaps, ..self }
    }

    /// Virtual time skipped so far, nanoseconds.
    pub fn skipped_ns(&self) -> u64 {
        self.skipped_ns
    }

    /// Work of the virtual drive's dies.
    pub fn work_of_dies(&self) -> WorkOfDies {
        self.drive.work_of_dies()
    }

    /// Wear, traffic and temperature from the virtual drive's own counters.
    pub fn health(&self) -> record::Health {
        let health = self.drive.health();
        record::Health {
            temperature_c: Some(health.temperature_c),
            temperature_warn_c: self.warn_c(),
            wear_percent: Some(health.wear_percent),
            written_bytes: Some(health.counters.written_bytes),
            read_bytes: Some(health.counters.read_bytes),
            flash_written_bytes: Some(health.programmed_bytes),
            spare_percent: Some(health.spare_percent),
            ..record::Health::default()
        }
    }

    /// The drive's warning temperature: the lowest one at which it throttles.
    fn warn_c(&self) -> Option<f64> {
        self.spec.heat.throttle.iter().map(|step| *step.above_c).reduce(f64::min)
    }

    /// Whether the user wants the run to end.
    fn stopped(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    fn goes_on(&self) -> Result<()> {
        if self.now >= TIME_MAX_NS {
            let text = "the run ends here: virtual time has reached its limit of 20 years";
            return Err(RigError::usage(text, "fewer operations, or a faster drive"));
        }
        let ended = self.interrupted || self.stopped();
        if ended { Err(RigError::Interrupted) } else { Ok(()) }
    }
}

impl Rig for Simulator {
    fn target(&self) -> &TargetInfo {
        &self.info
    }

    fn perform(&mut self, jobs: Vec<Job>, stage: Stage<'_>) -> Result<Performance> {
        self.goes_on()?;
        let jobs: Vec<Job> =
            jobs.into_iter().map(|job| self.admit_job(job)).collect::<Result<_>>()?;
        crate::admit::admit_depth(&jobs)?;
        let changes = jobs.iter().any(|job| job.workload.mix.changes_data());
        let performance = self.run(jobs, stage)?;
        if changes {
            self.info.state = State::Used;
        }
        Ok(performance)
    }

    fn prepare(&mut self, preparation: Preparation) -> Result<Prepared> {
        crate::prepare::prepare(self, preparation)
    }

    fn idle(&mut self, time: Duration) -> Result<()> {
        self.goes_on()?;
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.now = self.now.saturating_add(time).min(TIME_MAX_NS);
        self.drive.idle(self.now);
        Ok(())
    }

    fn health(&mut self) -> Option<record::Health> {
        Some(Simulator::health(self))
    }

    fn blocks(&mut self) -> Result<&mut dyn Blocks> {
        self.goes_on()?;
        self.drive.remember();
        Ok(self)
    }

    fn files(&mut self) -> Result<&mut dyn Files> {
        Ok(self)
    }

    fn note(&mut self, event: Event) {
        self.observer.event(&event);
    }

    fn elapsed_ns(&mut self) -> u64 {
        self.now
    }
}
