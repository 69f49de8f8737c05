//! The rig of real targets: checks what a method asks for, runs it, and makes a measurement of it.

mod erase;

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
    CommandRun, Event, Measurement, Observer, Preparation, Prepared, Released, Result, Rig,
    RigError, StopReason, TargetInfo,
};
use workload::{Caching, Content, OpStream, Region, Workload};

use crate::admit;
use crate::backend::discard;
use crate::clock::Clock;
use crate::command;
use crate::doctor::{self, Case};
use crate::files::Files;
use crate::halt::Halt;
use crate::handles::Handles;
use crate::jobs::{Crew, EndsAll, Part, Place};
use crate::loans::{self, Loans};
use crate::patience::{PATIENCE, Pulse};
use crate::prepare;
use crate::probe::{self, BackendKind};
use crate::release::{self, Found};
use crate::sampler::{Sampler, Subject};
use crate::summary::summarise;
use crate::worker::Terms;

/// Distance from the drive's own warning temperature at which a run ends (safety: 6), kelvin.
const HEAT_MARGIN_K: f64 = 5.0;

/// A discard is issued in pieces of this size, so that it can be interrupted and shown, bytes.
const DISCARD_STEP: u64 = 1 << 30;

/// How the engine goes about its work.
#[derive(Clone, Debug)]
pub struct Options {
    /// The backend; `None`: the best that works.
    pub backend: Option<BackendKind>,
    /// Bind every job to a processor.
    pub pin: bool,
    /// Length of the intervals of series, nanoseconds.
    pub interval_ns: u64,
    /// Where borrowed blocks are kept; `None`: nothing of the user's is borrowed.
    pub journal: Option<journal::Place>,
    /// How long the drive may leave everything unanswered before it is given up: see
    /// [`Event::NoAnswer`].
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        let interval_ns = 100_000_000;
        Options { backend: None, pin: false, interval_ns, journal: None, patience: PATIENCE }
    }
}

/// A real target on the dynamometer.
pub struct Machine {
    info: TargetInfo,
    /// `None` for the target that is nothing at all.
    handles: Option<Handles>,
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
    loans: Loans,
    ended: Option<fn() -> RigError>,
    /// The scratch file was made empty: the next workload makes it grow.
    empty: bool,
    reference: Option<Box<Machine>>,
    /// What it was opened with, to open it again after a format.
    request: Option<OpenRequest>,
}

impl Machine {
    /// Puts an opened target on the dynamometer. Setting `interrupt` ends a run cleanly.
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
        machine.handles = Some(handles);
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

    /// A target that completes everything at once: what runs on it measures the instrument.
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
            handles: None,
            watch: None,
            guard: None,
            options,
            backend,
            clock,
            began: clock.now(),
            interrupt,
            observer,
            replicates: HashMap::new(),
            loans: Loans::default(),
            ended: None,
            empty: false,
            reference: None,
            request: None,
        }
    }

    /// What the drive is known to have been through, from an earlier run.
    pub fn assume(&mut self, state: State) {
        self.info.state = state;
    }

    /// The same with a disc in memory beside it, for methods that compare with one.
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
        let halt = Halt::new(1);
        let crew = Crew {
            clock: self.clock,
            interval_ns: u64::MAX / 2,
            halt: &halt,
            pulse: Pulse::default(),
            loans: None,
        };
        let parts = parts(&workload, BackendKind::Null, None, false);
        let parts = parts.map_err(|e| io_error(&self.info, "null backend", e))?;
        let end = crew.run(parts, |_, reports| {
            reports.iter().find_map(|report| match report {
                crate::recorder::Report::Done { end, .. } => Some(end),
                _ => None,
            })
        });
        let end = end.map_err(|e| io_error(&self.info, "null backend", e))?;
        Ok(end
            .map_or(f64::NAN, |end| (end.end_ns - end.begin_ns) as f64 / end.issued.max(1) as f64))
    }

    /// What the user or the drive's heat has ended stays ended.
    fn alive(&self) -> Result<()> {
        match self.ended {
            Some(error) => Err(error()),
            None if self.interrupt.load(Ordering::Relaxed) => Err(RigError::Interrupted),
            None => Ok(()),
        }
    }

    /// Whether the workload may and can run on this target.
    fn admit(&self, workload: &Workload) -> Result<()> {
        self.alive()?;
        admit::admit(workload, &self.info)?;
        if writes_original(workload) && self.handles.is_some() && !self.loans.cover(workload) {
            let text = format!("workload {} writes what was not borrowed", workload.name);
            return Err(RigError::Refused(text));
        }
        if workload.mix.changes_data() { self.check_again() } else { Ok(()) }
    }

    /// Whether the target still is the one that may be changed; asked before each phase.
    fn check_again(&self) -> Result<()> {
        let Some(guard) = &self.guard else { return Ok(()) };
        guard.check_again().map_err(|e| match e.kind() {
            drive::ErrorKind::Io => io_error(&self.info, "look at the drive", io::Error::other(e)),
            _ => RigError::Refused(e.to_string()),
        })
    }

    fn run(&mut self, workload: &Workload) -> Result<Measurement> {
        let (mut file, mut direct, synchronous) = (None, false, self.synchronous(workload)?);
        if let Some(handles) = &self.handles {
            let picked = handles.pick(workload.caching);
            (file, direct) = (Some(synchronous.as_ref().unwrap_or(picked.0)), picked.1);
        }
        if let (Some(file), true) = (file, workload.mix.changes_data() && !self.empty) {
            let reserved = prepare::reserve(file, workload.region.end());
            reserved.map_err(|e| io_error(&self.info, "reserve space", e))?;
        }
        let written_share = file
            .filter(|_| workload.mix.read > 0)
            .and_then(|file| prepare::written_share(file, workload.region));
        let replicate = self.replicates.entry(workload.name.clone()).or_default();
        let (halt, pulse) = (Halt::new(workload.jobs), Pulse::default());
        let parts = parts(workload, self.backend, file.map(Files::one), self.options.pin);
        let parts = parts.map_err(|e| io_error(&self.info, "pin jobs", e))?;
        let interval_ns = self.options.interval_ns;
        let loans = file.filter(|_| writes_original(workload)).map(|_| &self.loans);
        let crew =
            Crew { clock: self.clock, interval_ns, halt: &halt, pulse: pulse.clone(), loans };
        let subject = Subject {
            name: &workload.name,
            replicate: *replicate,
            start_ns: self.clock.now() - self.began,
            jobs: workload.jobs,
            interval_ns,
            clock: self.clock,
            interrupt: &self.interrupt,
            halt: &halt,
            hot_c: hot_limit(&self.info),
            pulse,
            cached: !direct,
            patience_ns: self.options.patience.as_nanos() as u64,
            by_job: false,
        };
        let (observer, watch) = (self.observer.as_mut(), self.watch.as_mut());
        let sampler = Sampler::new(subject, observer, watch);
        let seen = crew.run(parts, |origin, reports| sampler.watch(origin, reports));
        let seen = seen.map_err(|e| io_error(&self.info, &workload.name, e))?;
        *replicate += 1;
        self.empty = false;
        let backend = self.backend.making(workload.calls);
        let mut measurement = summarise(workload, &seen, backend.name(), direct);
        let case = Case {
            workload,
            info: &self.info,
            measurement: &measurement,
            seen: &seen,
            written_share,
        };
        let findings = doctor::examine(&case);
        measurement.findings = findings;
        measurement.series = seen.series;
        if seen.too_hot {
            self.ended = Some(|| RigError::Refused("the drive is at its temperature limit".into()));
        } else if measurement.stop == StopReason::Interrupted {
            self.ended = Some(|| RigError::Interrupted);
        }
        Ok(measurement)
    }

    /// A descriptor of its own, for a workload whose writes have to be durable when they return.
    fn synchronous(&self, workload: &Workload) -> Result<Option<std::fs::File>> {
        let wanted = self.handles.as_ref().filter(|_| workload.sync_writes);
        let open = wanted.map(|handles| handles.synchronous(workload.caching)).transpose();
        open.map_err(|e| io_error(&self.info, "open with O_SYNC", e))
    }

    /// Makes the scratch file empty. What belongs to the user keeps its size.
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
        let Some(handles) = &self.handles else { return Ok(0) };
        let mut at = region.start;
        while at < region.end() {
            self.alive()?;
            let bytes = DISCARD_STEP.min(region.end() - at);
            discard(handles.buffered(), at, bytes)
                .map_err(|e| io_error(&self.info, "discard", e))?;
            at += bytes;
            let done = (at - region.start) as f64 / region.bytes as f64;
            self.observer.event(&Event::Progress { name: "discard".into(), done });
        }
        Ok(region.bytes)
    }

    /// Gives blocks back as their user would, and looks at what they hold then.
    fn release(&mut self, region: Region) -> Result<Released> {
        admit::admit_change("giving blocks back destroys data", &self.info)?;
        let failed = |e| io_error(&self.info, "look at blocks", e);
        let Some(handles) = &self.handles else { return Ok(Released::default()) };
        let (file, _) = handles.pick(Caching::Bypass);
        if self.info.target.kind == TargetKind::Device {
            let places = release::places(region);
            let before = release::look(file, &places).map_err(failed)?;
            self.discard(region)?;
            let Some(handles) = &self.handles else { return Ok(Released::default()) };
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
        self.admit(&workload)?;
        let measurement = self.run(&workload)?;
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
        let Some(handles) = &self.handles else { return Ok(0) };
        let (info, file) = (&self.info, handles.buffered());
        let key = self.guard.as_ref().and_then(Guard::key);
        let target = loans::Target { info, file, key };
        self.loans.borrow(region, &target, self.options.journal.as_ref())?;
        Ok(region.bytes)
    }

    fn restore(&mut self) -> Result<u64> {
        let Some(handles) = &self.handles else { return Ok(0) };
        self.loans.restore(&loans::Target { info: &self.info, file: handles.buffered(), key: None })
    }

    fn with_file<T: Default>(
        &self,
        what: &str,
        act: impl Fn(&std::fs::File) -> io::Result<T>,
    ) -> Result<T> {
        let Some(handles) = &self.handles else { return Ok(T::default()) };
        act(handles.buffered()).map_err(|e| io_error(&self.info, what, e))
    }
}

impl Rig for Machine {
    fn target(&self) -> &TargetInfo {
        &self.info
    }

    fn measure(&mut self, workload: &Workload) -> Result<Measurement> {
        self.admit(workload)?;
        let measurement = self.run(workload)?;
        if workload.mix.changes_data() && self.info.target.kind == TargetKind::Device {
            self.info.state = State::Used;
        }
        Ok(measurement)
    }

    fn prepare(&mut self, preparation: Preparation) -> Result<Prepared> {
        // What was borrowed goes back however the run ended.
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
            Preparation::Flush => self.with_file("flush", |file| file.sync_data()).map(|()| 0)?,
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
        let Some(handles) = &self.handles else {
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

/// The jobs of a workload, on one file.
fn parts<'a>(
    workload: &'a Workload,
    backend: BackendKind,
    files: Option<Files<'a>>,
    pin: bool,
) -> io::Result<Vec<Part<'a>>> {
    let part = |lane| {
        Ok(Part {
            workload,
            lane,
            source: Box::new(OpStream::new(workload, lane)),
            backend,
            files,
            start_ns: 0,
            terms: Terms::default(),
            referee: None,
            flow: None,
            priorities: None,
            place: if pin { Place::pinned(lane)? } else { Place::default() },
            after: 0..0,
            ends_all: EndsAll::Never,
        })
    };
    (0..workload.jobs).map(part).collect()
}

fn writes_original(workload: &Workload) -> bool {
    workload.content == Content::Original && workload.mix.write > 0
}

pub(crate) fn hot_limit(info: &TargetInfo) -> Option<f64> {
    let health = &info.target.drive.as_ref()?.health;
    health.temperature_warn_c.map(|warn| warn - HEAT_MARGIN_K)
}

fn io_error(info: &TargetInfo, what: &str, source: io::Error) -> RigError {
    RigError::Io { context: format!("{what} on {}", info.target.spec), source }
}
