//! The rig of virtual drives: the same worker, recorder and doctor as on real ones, in virtual time.
//!
//! One thread keeps the time and carries all jobs of a workload as lanes; the calling thread merges
//! what it reports, as on a real drive. Time passes only in workloads, preparations and `idle`.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use model::{Drive, DriveSpec, Health, LinkSpec, Status};
use record::{Safety, State, Target, TargetKind};
use rig::{
    Bus, DeviceTraffic, Erase, Event, Limits, Measurement, Observer, Preparation, Prepared,
    Released, Result, Rig, RigError, StopReason, TargetInfo,
};
use workload::{Closed, Op, OpKind, OpStream, Open, Pacing, Region, Source, Workload};

use crate::admit::admit;
use crate::backend::Sim;
use crate::clock::Clock;
use crate::doctor::{self, Case};
use crate::halt::Halt;
use crate::patience::Pulse;
use crate::prepare;
use crate::recorder::Recorder;
use crate::release;
use crate::sampler::{Sampler, Seen, Subject};
use crate::summary::summarise;
use crate::worker::{Job, Ready, Terms};

/// The largest discard in one command, bytes: the length of an operation has 32 bits.
const DISCARD_STEP: u64 = 1 << 30;

/// Intervals of a workload that has an end in time, about; shorter ones say nothing more.
const INTERVALS: u64 = 600;

/// Length of an interval, at least and where nothing bounds the time, nanoseconds.
const INTERVAL_NS: u64 = 100_000_000;

/// A virtual drive on the dynamometer.
pub struct Simulator {
    spec: DriveSpec,
    drive: Drive,
    info: TargetInfo,
    now: u64,
    interrupt: Arc<AtomicBool>,
    observer: Box<dyn Observer>,
    replicates: HashMap<String, u32>,
    borrowed: Vec<Region>,
    interrupted: bool,
}

impl Simulator {
    /// A new drive of that description, fresh and idle. `spec_text` is what the user typed.
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
            interrupted: false,
        };
        let health = simulator.health();
        if let Some(drive) = &mut simulator.info.target.drive {
            drive.health = health;
        }
        simulator
    }

    /// What a method may know of a drive of that description.
    pub fn info(spec: &DriveSpec, spec_text: &str) -> TargetInfo {
        let block = u64::from(*spec.block_bytes);
        let bytes = spec.capacity.0 / block * block;
        let target = Target {
            spec: spec_text.to_string(),
            kind: TargetKind::Virtual,
            path: None,
            bytes: Some(bytes),
            drive: Some(identity(spec, bytes)),
            layers: Vec::new(),
            filesystem: None,
            direct: Some(true),
        };
        TargetInfo {
            target,
            bytes,
            logical_block_bytes: *spec.block_bytes,
            allowed: Safety::Destroys,
            ram: false,
            discard: true,
            state: State::Fresh,
            formats: spec.formats.clone(),
            bus: spec.link.first().map_or(Bus::Other, |link| Bus::of(&link.bus)),
            limits: limits(spec),
        }
    }

    /// Wear, traffic and temperature by the virtual drive's own counters.
    pub fn health(&self) -> record::Health {
        let told = self.drive.health();
        record::Health {
            temperature_c: Some(told.temperature_c),
            wear_percent: Some(told.wear_percent),
            written_bytes: Some(told.counters.written_bytes),
            read_bytes: Some(told.counters.read_bytes),
            flash_written_bytes: Some(told.programmed_bytes),
            spare_percent: Some(told.spare_percent),
            ..record::Health::default()
        }
    }

    fn alive(&mut self) -> Result<()> {
        let ended = self.interrupted || self.interrupt.load(Ordering::Relaxed);
        if ended { Err(RigError::Interrupted) } else { Ok(()) }
    }

    fn run(&mut self, workload: &Workload) -> Result<Measurement> {
        let replicate = self.replicates.entry(workload.name.clone()).or_default();
        let (number, halt) = (*replicate, Halt::new(1));
        *replicate += 1;
        let before = self.drive.health();
        let interval_ns = interval(workload);
        let subject = Subject {
            name: &workload.name,
            replicate: number,
            start_ns: self.now,
            jobs: 1,
            interval_ns,
            clock: Clock::new(),
            interrupt: &self.interrupt,
            halt: &halt,
            hot_c: None,
            pulse: Pulse::default(),
            cached: false,
            patience_ns: u64::MAX,
            by_job: false,
        };
        let sampler = Sampler::new(subject, self.observer.as_mut(), None);
        let (drive, start) = (&mut self.drive, self.now);
        let mut seen = simulate(drive, start, workload, interval_ns, &halt, sampler)
            .map_err(|source| RigError::Io { context: workload.name.clone(), source })?;
        self.now += seen.ends.iter().map(|e| e.end_ns).max().unwrap_or(0);
        // The processor time is the simulation's own, which says nothing about the drive.
        seen.ends.iter_mut().for_each(|end| end.usage = Default::default());
        seen.device = Some(moved(&before, &self.drive.health()));
        let mut measurement = summarise(workload, &seen, "sim", true);
        let depth = measurement.effective_depth;
        measurement.device = measurement.device.map(|seen| DeviceTraffic { depth, ..seen });
        measurement.findings = doctor::examine(&Case {
            workload,
            info: &self.info,
            measurement: &measurement,
            seen: &seen,
            written_share: None,
        });
        measurement.series = seen.series;
        self.interrupted |= measurement.stop == StopReason::Interrupted;
        Ok(measurement)
    }

    fn fill(&mut self, region: Region, content: workload::Content, seed: u64) -> Result<u64> {
        let workload = prepare::fill_workload(region, content, seed);
        admit(&workload, &self.info)?;
        let measurement = self.run(&workload)?;
        self.alive()?;
        if let Some(error) = measurement.errors.first() {
            let source = io::Error::other(format!("{} {} errors", error.count, error.kind));
            return Err(RigError::Io {
                context: format!("fill {}", self.info.target.spec),
                source,
            });
        }
        self.info.state = State::Filled;
        Ok(region.bytes)
    }

    /// No data move: what borrowing and giving back cost is the reading of all of it.
    fn borrow(&mut self, region: Region) -> Result<u64> {
        self.run(&prepare::read_workload("borrow", region))?;
        self.borrowed.push(region);
        self.alive().map(|()| region.bytes)
    }

    fn restore(&mut self) -> Result<u64> {
        for region in std::mem::take(&mut self.borrowed) {
            self.run(&prepare::read_workload("compare", region))?;
        }
        Ok(0)
    }

    fn discard(&mut self, region: Region) -> Result<u64> {
        let mut at = region.start;
        while at < region.end() {
            self.alive()?;
            let bytes = DISCARD_STEP.min(region.end() - at);
            self.command(Op { kind: OpKind::Discard, offset: at, bytes: bytes as u32 })?;
            at += bytes;
        }
        if region.bytes == self.info.bytes {
            self.info.state = State::Fresh;
        }
        Ok(region.bytes)
    }

    /// A discard, and what its blocks hold then.
    fn release(&mut self, region: Region) -> Result<Released> {
        let places = release::places(region);
        let held: Vec<bool> = places.iter().map(|p| self.drive.is_mapped(p.at)).collect();
        self.discard(region)?;
        let mut released = Released::default();
        for (place, held) in places.iter().zip(held) {
            let bytes = u64::from(place.bytes);
            released.looked_bytes += bytes;
            let kept = !held || self.drive.is_mapped(place.at);
            let zeros = !kept && self.drive.reads_zeros(place.at);
            released.kept_bytes += if kept { bytes } else { 0 };
            released.zero_bytes += if zeros { bytes } else { 0 };
        }
        Ok(released)
    }

    /// A drive that is not real keeps no copies: all ways but a format and zeroes are a discard.
    fn erase(&mut self, region: Region, how: Erase) -> Result<Released> {
        for place in release::places(region) {
            self.command(Op { kind: OpKind::Write, offset: place.at, bytes: place.bytes })?;
        }
        match how {
            Erase::Discard | Erase::SecureDiscard | Erase::Sanitize => self.release(region),
            Erase::Zero => {
                self.fill(region, workload::Content::Zeros, 1)?;
                Ok(Released::default())
            }
            Erase::Format { block_bytes } => {
                self.format(block_bytes)?;
                Ok(Released::default())
            }
        }
    }

    /// One command outside of a workload.
    fn command(&mut self, op: Op) -> Result<()> {
        let completion = self.drive.submit(self.now, &op);
        self.now = self.now.max(completion.done_ns);
        if completion.status == Status::Ok {
            return Ok(());
        }
        let context = format!("{} on {}", op.kind.name(), self.info.target.spec);
        Err(RigError::Io { context, source: io::Error::from_raw_os_error(libc::EIO) })
    }

    /// Another logical block size: a new drive in the same virtual time, as far as a host can tell.
    fn format(&mut self, block_bytes: u32) -> Result<()> {
        if !self.spec.formats.contains(&block_bytes) {
            let text = format!("formatting to blocks of {block_bytes} bytes");
            return Err(RigError::Unsupported(text));
        }
        self.spec.block_bytes.value = block_bytes;
        self.drive = Drive::new(&self.spec, *self.spec.seed);
        self.drive.idle(self.now);
        self.info = Simulator::info(&self.spec, &self.info.target.spec);
        Ok(())
    }
}

impl Rig for Simulator {
    fn target(&self) -> &TargetInfo {
        &self.info
    }

    fn measure(&mut self, workload: &Workload) -> Result<Measurement> {
        self.alive()?;
        admit(workload, &self.info)?;
        if workload.verify {
            return Err(RigError::Unsupported("verify: no data are moved".into()));
        }
        // Nothing lies between host and drive: a write that has to be durable is a write and a flush.
        let flushed = || Workload { flush_every: Some(1), ..workload.clone() };
        let measurement = match workload.sync_writes {
            true => self.run(&flushed())?,
            false => self.run(workload)?,
        };
        if workload.mix.changes_data() {
            self.info.state = State::Used;
        }
        Ok(measurement)
    }

    fn prepare(&mut self, preparation: Preparation) -> Result<Prepared> {
        // What was borrowed goes back however the run ended.
        if preparation != Preparation::Restore {
            self.alive()?;
        }
        let start = self.now;
        let mut released = None;
        let bytes = match preparation {
            Preparation::Fill { region, content, seed } => self.fill(region, content, seed)?,
            Preparation::Borrow { region } => self.borrow(region)?,
            Preparation::Restore => self.restore()?,
            Preparation::Discard { region } => self.discard(region)?,
            Preparation::Flush => self.command(Op::FLUSH).map(|()| 0)?,
            Preparation::DropCaches | Preparation::Empty => 0,
            Preparation::Release { region } => {
                released = Some(self.release(region)?);
                region.bytes
            }
            Preparation::Erase { region, how } => {
                released = Some(self.erase(region, how)?);
                region.bytes
            }
            Preparation::TrimFree => {
                let text = "trimming free space: a virtual drive holds no file system";
                return Err(RigError::Unsupported(text.into()));
            }
            Preparation::Format { block_bytes } => self.format(block_bytes).map(|()| 0)?,
        };
        Ok(Prepared { elapsed_ns: self.now - start, bytes, released, ..Prepared::default() })
    }

    fn idle(&mut self, time: Duration) -> Result<()> {
        self.alive()?;
        self.now += time.as_nanos() as u64;
        self.drive.idle(self.now);
        Ok(())
    }

    fn note(&mut self, event: Event) {
        self.observer.event(&event);
    }

    fn elapsed_ns(&mut self) -> u64 {
        self.now
    }
}

/// Runs all lanes of a workload on a thread of its own, which only computes, while this one merges.
fn simulate(
    drive: &mut Drive,
    start: u64,
    workload: &Workload,
    interval_ns: u64,
    halt: &Halt,
    sampler: Sampler<'_>,
) -> io::Result<Seen> {
    let (sender, reports) = channel();
    let open = workload.pacing.is_open();
    let recorder =
        Recorder::new(0, open, interval_ns, &workload.name, 0, (sender, Pulse::default()));
    let lanes = workload.jobs;
    let job = Job {
        workload,
        number: 0,
        lanes,
        stop: halt.flag(0),
        files: None,
        loans: None,
        terms: Terms::default(),
    };
    let stream = |lane| Box::new(OpStream::new(workload, lane)) as Box<dyn Source>;
    let streams = (0..lanes).map(stream).collect();
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let ready = Ready::new(Sim::new(drive, start, workload.calls), &job, recorder, None);
            match workload.pacing {
                Pacing::Closed => ready.run(Closed, streams, start),
                pacing => ready.run(Open::new(&pacing, 0, 1, workload.seed), streams, start),
            }
        });
        let seen = sampler.watch_virtual(&reports);
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(seen)
    })
}

/// Intervals as long as a series of a few hundred of them needs.
fn interval(workload: &Workload) -> u64 {
    let by_time = workload.stop.time_ns.map_or(0, |ns| ns / INTERVALS);
    by_time.max(INTERVAL_NS)
}

/// What reached the drive, whose queue is that of the host: nothing lies between.
fn moved(before: &Health, after: &Health) -> DeviceTraffic {
    let (a, b) = (&before.counters, &after.counters);
    DeviceTraffic {
        read_bytes: b.read_bytes - a.read_bytes,
        written_bytes: b.written_bytes - a.written_bytes,
        discarded_bytes: b.discarded_bytes - a.discarded_bytes,
        ..DeviceTraffic::default()
    }
}

/// Ceilings that follow from a description. A burst fills buffer and SLC cache; beyond it the media
/// take what all planes program together, at the speed of the SLC cache where there is one, because
/// what is overwritten in it is never folded.
fn limits(spec: &DriveSpec) -> Limits {
    let (command, nand, slc) = (&spec.command, &spec.nand, &spec.slc);
    let turnarounds: f64 = spec.link.iter().map(|link| *link.turnaround_us).sum();
    let least_us = command.read_us.min(*command.write_us) + *command.latency_us + turnarounds;
    let cached = slc.fixed.0 > 0 || slc.dynamic.0 > 0;
    let program_us = if cached { *nand.slc_program_us } else { *nand.program_us };
    let stripe = *nand.dies * *nand.planes * *nand.page_bytes;
    Limits {
        link_bytes_per_s: spec.link_ceiling(),
        least_command_ns: Some((least_us * 1e3) as u64),
        burst_bytes: Some(spec.buffer.size.0 + slc.fixed.0 + slc.dynamic.0),
        native_bytes_per_s: (program_us > 0.0).then(|| f64::from(stripe) * 1e6 / program_us),
    }
}

fn identity(spec: &DriveSpec, bytes: u64) -> record::DriveIdentity {
    let buses: Vec<String> = spec.link.iter().map(|link| link.bus.value.clone()).collect();
    let ceilings = spec.link.iter().filter_map(LinkSpec::ceiling);
    let transfers = spec.link.iter().map(|link| link.transfer_bytes.0).filter(|most| *most > 0);
    let link = record::Link {
        kind: "virtual".into(),
        now: (!buses.is_empty()).then(|| buses.join(" + ")),
        best: None,
        ceiling_bytes_per_s: ceilings.reduce(f64::min),
        downgraded: None,
    };
    record::DriveIdentity {
        name: spec.name.clone(),
        bus: "virtual".into(),
        model: (!spec.model.is_empty()).then(|| spec.model.clone()),
        bytes: Some(bytes),
        logical_block_bytes: Some(*spec.block_bytes),
        physical_block_bytes: Some(*spec.map.unit_bytes),
        rotational: Some(false),
        read_only: Some(false),
        write_cache: Some(!*spec.buffer.protected),
        discard_max_bytes: Some(if *spec.discard.honoured { u64::from(u32::MAX) } else { 0 }),
        transfer_max_bytes: transfers.min(),
        link: Some(link),
        ..record::DriveIdentity::default()
    }
}
