//! The rig of real targets, which admits and carries out jobs and preparations.

mod blocks;
mod erase;
mod named;
#[cfg(test)]
mod pci_tests;
mod perform;
mod prepare;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use drive::{Opened, PciOpened};
use record::{Finding, FindingKind, Health, Level, State, TargetKind};
use rig::{
    BackendKind, Blocks, CommandRun, Event, Job, Observer, Performance, Preparation, Prepared,
    Result, Rig, RigError, Stage, TargetInfo,
};
use workload::{Caching, Workload};

use crate::borrowed::BorrowedBlocks;
use crate::clock::Clock;
use crate::command;
use crate::device::{AnyDevice, MemoryDevice, device_error};
use crate::failure::io_error;
use crate::fileset::FileSet;
use crate::launch::Route;
use crate::patience::PATIENCE;
use crate::perform::Performer;
use crate::sampler::Subject;
use crate::sys::bpf::Tracer;
use blocks::Queue;

/// Margin below the drive's own warning temperature at which a run ends (safety: 6), kelvin.
const HEAT_MARGIN_K: f64 = 5.0;

/// Options of the engine.
#[derive(Clone, Debug)]
pub struct RigOptions {
    /// The backend; `None`: the fastest available.
    pub backend: Option<BackendKind>,
    /// Whether to bind every job to a processor.
    pub pin: bool,
    /// Interval length of time series, nanoseconds.
    pub interval_ns: u64,
    /// Where borrowed blocks are saved; `None`: the user's blocks cannot be borrowed.
    pub journal: Option<journal::JournalDir>,
    /// Whether to follow requests in the kernel, if it permits that.
    pub traces: bool,
    /// How long the drive may stay silent before the run gives up; see [`Event::NoAnswer`].
    pub patience: Duration,
}

impl Default for RigOptions {
    fn default() -> Self {
        let interval_ns = 100_000_000;
        RigOptions {
            backend: None,
            pin: false,
            interval_ns,
            journal: None,
            traces: false,
            patience: PATIENCE,
        }
    }
}

/// A real target under test.
pub struct Machine {
    info: TargetInfo,
    /// Shared with the thread of the block interface while that is open.
    device: Arc<AnyDevice>,
    options: RigOptions,
    backend: BackendKind,
    clock: Clock,
    began: u64,
    interrupt: Arc<AtomicBool>,
    observer: Box<dyn Observer>,
    /// Number of executions so far, by workload.
    replicates: HashMap<String, u32>,
    borrowed: BorrowedBlocks,
    ended: Option<fn() -> RigError>,
    /// Whether the scratch file was truncated, so that the next workload makes it grow.
    empty: bool,
    reference: Option<Box<Machine>>,
    /// The queue of the block interface.
    queue: Queue,
    /// The files that jobs name, on a machine opened for named files.
    files: Option<FileSet>,
    /// The kernel's trace of its requests, attached before the first jobs.
    tracer: OnceCell<Option<Tracer>>,
    /// Reads and writes per second of the last performance.
    ops_per_s: Option<f64>,
}

impl Machine {
    /// Creates the rig of an opened target. Setting `interrupt` ends a run cleanly.
    pub fn new(
        opened: Opened,
        options: RigOptions,
        interrupt: Arc<AtomicBool>,
        observer: Box<dyn Observer>,
    ) -> Result<Machine> {
        let (info, orphans) = (opened.info.clone(), opened.orphans_removed);
        if options.backend == Some(BackendKind::Uring) {
            crate::probe::uring()?;
        }
        let device =
            AnyDevice::from_opened(opened).map_err(|source| io_error(&info, "open", source))?;
        let mut machine = Machine::on(device, info, options, interrupt, observer);
        if orphans > 0 {
            let text = format!("removed {orphans} scratch files of killed runs");
            let finding = Finding::new(FindingKind::OrphansRemoved, Level::Note, text);
            machine.note(Event::Finding(finding));
        }
        Ok(machine)
    }

    /// Creates the rig of a drive that is detached from the kernel.
    pub fn pci(
        opened: PciOpened,
        options: RigOptions,
        interrupt: Arc<AtomicBool>,
        observer: Box<dyn Observer>,
    ) -> Result<Machine> {
        let info = opened.info.clone();
        let device = AnyDevice::pci(opened, options.patience);
        let device = device.map_err(|e| device_error(&info, "starting the controller", e))?;
        Ok(Machine::on(device, info, options, interrupt, observer))
    }

    /// Creates the null target, which completes every operation without carrying it out, so that a
    /// run measures the instrument.
    pub fn null(
        info: TargetInfo,
        options: RigOptions,
        interrupt: Arc<AtomicBool>,
        observer: Box<dyn Observer>,
    ) -> Machine {
        Machine::on(AnyDevice::null(), info, options, interrupt, observer)
    }

    /// Creates a simulated NVMe controller that completes every command at once, behind the driver
    /// for real controllers. A run measures the instrument, the driver and the simulated
    /// controller.
    pub fn null_nvme(
        info: TargetInfo,
        options: RigOptions,
        interrupt: Arc<AtomicBool>,
        observer: Box<dyn Observer>,
    ) -> Result<Machine> {
        let device = AnyDevice::null_nvme(info.target.spec.clone(), info.bytes, options.patience);
        let device = device.map_err(|e| device_error(&info, "starting the controller", e))?;
        Ok(Machine::on(device, info, options, interrupt, observer))
    }

    /// Creates the rig of a drive in memory, for tests of methods.
    pub fn in_memory(
        memory: MemoryDevice,
        info: TargetInfo,
        options: RigOptions,
        interrupt: Arc<AtomicBool>,
        observer: Box<dyn Observer>,
    ) -> Machine {
        Machine::on(AnyDevice::Memory(memory), info, options, interrupt, observer)
    }

    /// Creates the rig of any device.
    pub(crate) fn on(
        device: AnyDevice,
        mut info: TargetInfo,
        options: RigOptions,
        interrupt: Arc<AtomicBool>,
        observer: Box<dyn Observer>,
    ) -> Machine {
        let clock = Clock::new();
        let (backend, finding) = match options.backend {
            Some(kind) => (device.backend(kind), None),
            None => device.best_backend(clock),
        };
        if device.storage().is_some() {
            info.target.direct = Some(device.bypasses_cache(Caching::Bypass));
        }
        let mut machine = Machine {
            info,
            device: Arc::new(device),
            options,
            backend,
            clock,
            began: clock.now(),
            interrupt,
            observer,
            replicates: HashMap::new(),
            borrowed: BorrowedBlocks::default(),
            ended: None,
            empty: false,
            reference: None,
            queue: Queue::default(),
            files: None,
            tracer: OnceCell::new(),
            ops_per_s: None,
        };
        finding.into_iter().for_each(|finding| machine.note(Event::Finding(finding)));
        machine
    }

    /// Sets the drive's state as an earlier run left it.
    pub fn assume(&mut self, state: State) {
        self.info.state = state;
    }

    /// Adds a RAM disc for methods that compare the target with one.
    pub fn with_reference(self, reference: Option<Box<Machine>>) -> Machine {
        Machine { reference, ..self }
    }

    /// Name of the backend in use, for records.
    pub fn backend(&self) -> &'static str {
        self.backend.name()
    }

    /// Name of the clock in use, for records.
    pub fn clock(&self) -> &'static str {
        self.clock.name()
    }

    /// Cost of the instrument itself: nanoseconds per operation of `workload` on the null backend,
    /// over `ops` operations.
    pub fn instrument_ns(&self, workload: &Workload, ops: u64) -> Result<f64> {
        let stop = workload::Stop { ops: Some(ops), ..Default::default() };
        let workload = Workload { stop, jobs: 1, flush_at_end: false, ..workload.clone() };
        let (device, interrupt) = (AnyDevice::null(), AtomicBool::new(false));
        let mut nobody = |_: &Event| {};
        let subject = Subject {
            name: &workload.name,
            replicate: 0,
            start_ns: 0,
            interval_ns: u64::MAX / 2,
            clock: self.clock,
            interrupt: &interrupt,
            alarm: None,
            hot_c: None,
            patience_ns: u64::MAX,
            by_job: true,
        };
        let performer = Performer {
            subject,
            info: &self.info,
            watch: None,
            tracer: None,
            observer: &mut nobody,
            intervals: None,
            pin: false,
            borrowed: None,
        };
        let (jobs, route) = (
            vec![Job::from_workload(&workload)],
            Route { device: &device, backend: BackendKind::Null },
        );
        let outcome = performer.perform(jobs, &[route]);
        let (performance, _) = outcome.map_err(|e| io_error(&self.info, "null backend", e))?;
        Ok(performance
            .jobs
            .first()
            .map_or(f64::NAN, |job| (job.end_ns - job.begin_ns) as f64 / job.issued.max(1) as f64))
    }

    /// Whether the user wants the run to end.
    fn stopped(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Returns an error once the user or the drive's temperature has ended the run.
    fn goes_on(&self) -> Result<()> {
        match self.ended {
            Some(error) => Err(error()),
            None if self.stopped() => Err(RigError::Interrupted),
            None => Ok(()),
        }
    }
}

impl Rig for Machine {
    fn target(&self) -> &TargetInfo {
        &self.info
    }

    fn perform(&mut self, jobs: Vec<Job>, stage: Stage<'_>) -> Result<Performance> {
        self.queue.begin_step();
        jobs.iter().try_for_each(|job| self.admit(job))?;
        let changes = jobs.iter().any(|job| job.workload.mix.changes_data());
        let performance = self.run(jobs, stage)?;
        if changes && self.info.target.kind == TargetKind::Device {
            self.info.state = State::Used;
        }
        Ok(performance)
    }

    fn prepare(&mut self, preparation: Preparation) -> Result<Prepared> {
        self.queue.begin_step();
        crate::prepare::prepare(self, preparation)
    }

    fn idle(&mut self, time: Duration) -> Result<()> {
        let step = Duration::from_millis(50);
        let mut left = time;
        while !left.is_zero() {
            self.goes_on()?;
            thread::sleep(left.min(step));
            left = left.saturating_sub(step);
            let share = 1.0 - left.as_secs_f64() / time.as_secs_f64();
            self.observer.event(&Event::Progress { name: "idle".into(), done: share });
        }
        Ok(())
    }

    fn command(&mut self, words: &[String]) -> Result<CommandRun> {
        self.goes_on()?;
        let stage = command::Stage {
            directory: match self.info.target.kind {
                TargetKind::Directory => self.info.target.path.as_deref(),
                _ => None,
            },
            device: &**self.device,
            clock: self.clock,
            interrupt: &self.interrupt,
        };
        let what = format!("running '{}'", words.join(" "));
        stage.run(words).map_err(|e| device_error(&self.info, &what, e))
    }

    /// A device that bypasses the kernel asks the drive directly.
    fn health(&mut self) -> Option<Health> {
        self.device.health().or_else(|| drive::health(self.info.target.drive.as_ref()?))
    }

    fn blocks(&mut self) -> Result<&mut dyn Blocks> {
        self.goes_on()?;
        Ok(self)
    }

    fn files(&mut self) -> Result<&mut dyn rig::Files> {
        match self.files {
            Some(_) => Ok(self),
            None => Err(RigError::Unsupported("jobs that name their files".into())),
        }
    }

    fn reference(&mut self) -> Option<&mut dyn Rig> {
        self.reference.as_deref_mut().map(|reference| reference as &mut dyn Rig)
    }

    fn note(&mut self, event: Event) {
        if matches!(event, Event::Step { .. } | Event::Part { .. }) {
            self.queue.begin_step();
        }
        self.observer.event(&event);
    }

    fn elapsed_ns(&mut self) -> u64 {
        self.clock.now() - self.began
    }
}

pub(crate) fn hot_limit(info: &TargetInfo) -> Option<f64> {
    let health = &info.target.drive.as_ref()?.health;
    health.temperature_warn_c.map(|warn| warn - HEAT_MARGIN_K)
}
