//! The rig of real targets: admits jobs and preparations, and carries them out.

mod blocks;
mod erase;
mod named;
mod perform;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use drive::{Guard, OpenRequest, Opened, Watch};
use record::{Finding, FindingKind, Level, Safety, State, TargetKind};
use rig::{
    BackendKind, Blocks, CommandRun, Event, Job, Observer, Performance, Preparation, Prepared,
    Released, Result, Rig, RigError, Stage, TargetInfo,
};
use workload::{Caching, Content, Region, Workload};

use crate::admit;
use crate::borrowed::{self, BorrowedBlocks};
use crate::clock::Clock;
use crate::command;
use crate::device::{AnyDevice, Device, FdDevice, Handles};
use crate::fileset::FileSet;
use crate::patience::PATIENCE;
use crate::perform::{Cast, Performer};
use crate::prepare;
use crate::probe;
use crate::release::{self, Found};
use blocks::Queue;

/// Margin below the drive's own warning temperature at which a run ends (safety: 6), kelvin.
const HEAT_MARGIN_K: f64 = 5.0;

/// Size of the pieces in which a discard is issued, so that it can be interrupted and shown, bytes.
const DISCARD_STEP: u64 = 1 << 30;

/// Options of the engine.
#[derive(Clone, Debug)]
pub struct Options {
    /// The backend; `None`: the fastest available.
    pub backend: Option<BackendKind>,
    /// Bind every job to a processor.
    pub pin: bool,
    /// Length of the intervals of series, nanoseconds.
    pub interval_ns: u64,
    /// Where borrowed blocks are kept; `None`: the user's blocks are not borrowed.
    pub journal: Option<journal::Place>,
    /// How long the drive may stay silent before it is given up: see [`Event::NoAnswer`].
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        let interval_ns = 100_000_000;
        Options { backend: None, pin: false, interval_ns, journal: None, patience: PATIENCE }
    }
}

/// A real target under test.
pub struct Machine {
    info: TargetInfo,
    device: AnyDevice,
    watch: Option<Watch>,
    guard: Option<Guard>,
    options: Options,
    backend: BackendKind,
    clock: Clock,
    began: u64,
    interrupt: Arc<AtomicBool>,
    observer: Box<dyn Observer>,
    /// Executions so far, by workload.
    replicates: HashMap<String, u32>,
    borrowed: BorrowedBlocks,
    ended: Option<fn() -> RigError>,
    /// The scratch file was emptied: the next workload makes it grow.
    empty: bool,
    reference: Option<Box<Machine>>,
    /// The request it was opened with, to open it again after a format.
    request: Option<OpenRequest>,
    /// The queue of the block door.
    queue: Queue,
    /// The files that jobs name, on a machine that was opened for those.
    files: Option<FileSet>,
}

impl Machine {
    /// Creates the rig of an opened target. Setting `interrupt` ends a run cleanly.
    pub fn new(
        opened: Opened,
        options: Options,
        interrupt: Arc<AtomicBool>,
        observer: Box<dyn Observer>,
    ) -> Result<Machine> {
        let Opened { info, file, watch, guard, orphans_removed, request, .. } = opened;
        let writable = info.allowed > Safety::Reads;
        let handles =
            Handles::new(file, writable).map_err(|source| io_error(&info, "open", source))?;
        let clock = Clock::new();
        let (backend, finding) = match options.backend {
            Some(kind) => (kind, None),
            None => probe::best(handles.buffered(), clock),
        };
        let mut machine = Machine::bare(info, options, backend, clock, interrupt, observer);
        machine.info.target.direct = Some(handles.direct_works());
        machine.device = AnyDevice::Fd(FdDevice::new(handles));
        machine.watch = Some(watch);
        machine.guard = Some(guard);
        machine.request = Some(request);
        let orphans = (orphans_removed > 0).then(|| {
            let text = format!("{orphans_removed} scratch files of killed runs were removed");
            Finding::new(FindingKind::OrphansRemoved, Level::Note, text)
        });
        for finding in finding.into_iter().chain(orphans) {
            machine.note(Event::Finding(finding));
        }
        Ok(machine)
    }

    /// A target that completes everything without doing it: a run on it measures the instrument.
    pub fn null(
        info: TargetInfo,
        options: Options,
        interrupt: Arc<AtomicBool>,
        observer: Box<dyn Observer>,
    ) -> Machine {
        Machine::bare(info, options, BackendKind::Null, Clock::new(), interrupt, observer)
    }

    fn bare(
        info: TargetInfo,
        options: Options,
        backend: BackendKind,
        clock: Clock,
        interrupt: Arc<AtomicBool>,
        observer: Box<dyn Observer>,
    ) -> Machine {
        Machine {
            info,
            device: AnyDevice::Null,
            watch: None,
            guard: None,
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
            request: None,
            queue: Queue::default(),
            files: None,
        }
    }

    /// Sets the drive's state as an earlier run left it.
    pub fn assume(&mut self, state: State) {
        self.info.state = state;
    }

    /// The same with a RAM disc beside it, for methods that compare with one.
    pub fn with_reference(self, reference: Option<Box<Machine>>) -> Machine {
        Machine { reference, ..self }
    }

    /// Name of the backend in use, for the record.
    pub fn backend(&self) -> &'static str {
        self.backend.name()
    }

    /// Name of the clock in use, for the record.
    pub fn clock(&self) -> &'static str {
        self.clock.name()
    }

    /// Cost of the instrument itself: nanoseconds per operation of `workload` on the null backend,
    /// over `ops` operations.
    pub fn instrument_ns(&self, workload: &Workload, ops: u64) -> Result<f64> {
        let stop = workload::Stop { ops: Some(ops), ..Default::default() };
        let workload = Workload { stop, jobs: 1, flush_at_end: false, ..workload.clone() };
        let (device, interrupt) = (AnyDevice::Null, AtomicBool::new(false));
        let mut nobody = |_: &Event| {};
        let performer = Performer {
            name: &workload.name,
            replicate: 0,
            clock: self.clock,
            start_ns: 0,
            interval_ns: u64::MAX / 2,
            info: &self.info,
            watch: None,
            interrupt: &interrupt,
            observer: &mut nobody,
            intervals: None,
            by_job: true,
            patience_ns: u64::MAX,
            hot_c: None,
            pin: false,
            borrowed: None,
        };
        let cast = Cast { job: Job::of(&workload), device: &device, backend: BackendKind::Null };
        let done = performer.perform(vec![cast]);
        let (done, _) = done.map_err(|e| io_error(&self.info, "null backend", e))?;
        let job = done.jobs.first();
        Ok(job
            .map_or(f64::NAN, |job| (job.end_ns - job.begin_ns) as f64 / job.issued.max(1) as f64))
    }

    /// Whether the user wants the run to end.
    fn stopped(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// A run that the user or the drive's heat has ended stays ended.
    fn alive(&self) -> Result<()> {
        match self.ended {
            Some(error) => Err(error()),
            None if self.stopped() => Err(RigError::Interrupted),
            None => Ok(()),
        }
    }

    /// Empties the scratch file. Files and devices of the user keep their size.
    fn make_empty(&mut self) -> Result<u64> {
        if self.info.target.kind != TargetKind::Directory {
            return Ok(0);
        }
        self.empty = true;
        self.with_file("empty", |file| file.set_len(0))?;
        Ok(0)
    }

    fn discard(&mut self, region: Region) -> Result<u64> {
        admit::admit_change("a discard destroys data", &self.info)?;
        self.check_again()?;
        if self.device.handles().is_none() {
            return Ok(0);
        }
        let mut at = region.start;
        while at < region.end() {
            self.alive()?;
            let bytes = DISCARD_STEP.min(region.end() - at);
            let piece = Region { start: at, bytes };
            self.device.discard(piece).map_err(|e| io_error(&self.info, "discard", e))?;
            at += bytes;
            let done = (at - region.start) as f64 / region.bytes as f64;
            self.observer.event(&Event::Progress { name: "discard".into(), done });
        }
        Ok(region.bytes)
    }

    /// Releases blocks as their user would, and reads their content afterwards.
    fn release(&mut self, region: Region) -> Result<Released> {
        admit::admit_change("giving blocks back destroys data", &self.info)?;
        let failed = |e| io_error(&self.info, "look at blocks", e);
        let Some(handles) = self.device.handles() else { return Ok(Released::default()) };
        let (file, _) = handles.pick(Caching::Bypass);
        if self.info.target.kind == TargetKind::Device {
            let places = release::places(region);
            let before = release::look(file, &places).map_err(failed)?;
            self.discard(region)?;
            let Some(handles) = self.device.handles() else { return Ok(Released::default()) };
            let after = release::look(handles.pick(Caching::Bypass).0, &places);
            return Ok(before.until(&after.map_err(|e| io_error(&self.info, "look at blocks", e))?));
        }
        let filesystem = self.info.target.filesystem.as_ref();
        let source = filesystem.and_then(|fs| fs.source.as_deref()).unwrap_or_default();
        let found = Found::find(file, region, Path::new(source)).map_err(RigError::Unsupported)?;
        let trimmed = release::free(file, region).map_err(failed)?;
        let released = found.look_again().map_err(failed)?;
        Ok(Released { trimmed_bytes: trimmed, ..released })
    }

    fn fill(&mut self, region: Region, content: Content, seed: u64) -> Result<u64> {
        let workload = prepare::fill_workload(region, content, seed);
        self.admit_workload(&workload)?;
        let measurement = self.run(vec![Job::of(&workload)], Stage::default())?.whole;
        if let Some(error) = measurement.errors.first() {
            let source = io::Error::other(format!("{} {} errors", error.count, error.kind));
            return Err(io_error(&self.info, "fill", source));
        }
        self.info.state = State::Filled;
        self.alive()?;
        Ok(region.bytes)
    }

    fn borrow(&mut self, region: Region) -> Result<u64> {
        admit::admit_borrowing(&self.info)?;
        self.check_again()?;
        let Some(handles) = self.device.handles() else { return Ok(0) };
        let (info, file) = (&self.info, handles.buffered());
        let key = self.guard.as_ref().and_then(Guard::key);
        let target = borrowed::Target { info, file, key };
        self.borrowed.borrow(region, &target, self.options.journal.as_ref())?;
        Ok(region.bytes)
    }

    fn restore(&mut self) -> Result<u64> {
        let Some(handles) = self.device.handles() else { return Ok(0) };
        self.borrowed.restore(&borrowed::Target {
            info: &self.info,
            file: handles.buffered(),
            key: None,
        })
    }

    fn with_file<T: Default>(
        &self,
        what: &str,
        act: impl Fn(&std::fs::File) -> io::Result<T>,
    ) -> Result<T> {
        let Some(handles) = self.device.handles() else { return Ok(T::default()) };
        act(handles.buffered()).map_err(|e| io_error(&self.info, what, e))
    }
}

impl Rig for Machine {
    fn target(&self) -> &TargetInfo {
        &self.info
    }

    fn perform(&mut self, jobs: Vec<Job>, stage: Stage<'_>) -> Result<Performance> {
        jobs.iter().try_for_each(|job| self.admit(job))?;
        let changes = jobs.iter().any(|job| job.workload.mix.changes_data());
        let performance = self.run(jobs, stage)?;
        if changes && self.info.target.kind == TargetKind::Device {
            self.info.state = State::Used;
        }
        Ok(performance)
    }

    fn prepare(&mut self, preparation: Preparation) -> Result<Prepared> {
        // Borrowed blocks are restored however the run ended.
        if preparation != Preparation::Restore {
            self.alive()?;
        }
        let start = self.clock.now();
        let (mut cached_bytes, mut released) = (None, None);
        let bytes = match preparation {
            Preparation::Fill { region, content, seed } => self.fill(region, content, seed)?,
            Preparation::Borrow { region } => self.borrow(region)?,
            Preparation::Restore => self.restore()?,
            Preparation::Discard { region } => self.discard(region)?,
            Preparation::Flush => {
                let flushed = self.device.flush();
                flushed.map(|()| 0).map_err(|e| io_error(&self.info, "flush", e))?
            }
            Preparation::DropCaches => {
                self.with_file("drop caches", prepare::drop_caches)?;
                cached_bytes = self.with_file("look at the cache", prepare::cached_bytes)?;
                0
            }
            Preparation::Empty => self.make_empty()?,
            Preparation::Release { region } => {
                released = Some(self.release(region)?);
                region.bytes
            }
            Preparation::Erase { region, how } => {
                released = Some(self.erase(region, how)?);
                region.bytes
            }
            Preparation::TrimFree => self.trim_free()?,
            Preparation::Format { block_bytes } => self.format(block_bytes).map(|()| 0)?,
        };
        Ok(Prepared { elapsed_ns: self.clock.now() - start, bytes, cached_bytes, released })
    }

    fn idle(&mut self, time: Duration) -> Result<()> {
        let step = Duration::from_millis(50);
        let mut left = time;
        while !left.is_zero() {
            self.alive()?;
            thread::sleep(left.min(step));
            left = left.saturating_sub(step);
            let done = 1.0 - left.as_secs_f64() / time.as_secs_f64();
            self.observer.event(&Event::Progress { name: "idle".into(), done });
        }
        Ok(())
    }

    fn command(&mut self, words: &[String]) -> Result<CommandRun> {
        self.alive()?;
        let Some(handles) = self.device.handles() else {
            return Err(RigError::Unsupported("running a program: this is no drive at all".into()));
        };
        let stage = command::Stage {
            directory: match self.info.target.kind {
                TargetKind::Directory => self.info.target.path.as_deref(),
                _ => None,
            },
            file: handles.buffered(),
            clock: self.clock,
            interrupt: &self.interrupt,
        };
        let run = stage.run(words, self.watch.as_mut());
        run.map_err(|e| io_error(&self.info, &format!("run '{}'", words.join(" ")), e))
    }

    fn blocks(&mut self) -> Result<&mut dyn Blocks> {
        self.alive()?;
        Ok(self)
    }

    fn files(&mut self) -> Result<&mut dyn rig::Files> {
        match self.files {
            Some(_) => Ok(self),
            None => Err(RigError::Unsupported("files by name: this is one target".into())),
        }
    }

    fn reference(&mut self) -> Option<&mut dyn Rig> {
        self.reference.as_deref_mut().map(|reference| reference as &mut dyn Rig)
    }

    fn note(&mut self, event: Event) {
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

fn io_error(info: &TargetInfo, what: &str, source: io::Error) -> RigError {
    RigError::Io { context: format!("{what} on {}", info.target.spec), source }
}
