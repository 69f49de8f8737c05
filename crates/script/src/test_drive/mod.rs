//! The test drive: a virtual drive with constant service times on its own clock, and with the
//! defects that the verdicts detect. It also enforces rules: it panics if a method writes without
//! permission, reads unwritten blocks, or issues block sizes that the drive does not support.

mod blocks;
mod flash;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use record::{Finding, FindingKind, IoErrors, Level, Safety, Series, TargetKind, Unit};
use rig::{
    Blocks, CommandRun, DeviceTraffic, Erase, Event, Exit, Job, KindStats, Measurement,
    Performance, Preparation, Prepared, ProgramTraffic, Result, Rig, RigError, Stage, StopReason,
    TargetInfo, Temperature,
};
use workload::{Caching, Content, OpKind, OpStream, Open, Pace, Pattern, Region, Workload};

use crate::{MethodError, MethodInfo, Options, Outcome, Session};
use rules::testing::target;

use flash::Flash;
pub use flash::FlashTraits;

/// Interval length of the series, nanoseconds.
const INTERVAL_NS: u64 = 100_000_000;

/// Properties of the drive.
#[derive(Clone, Debug)]
pub struct Traits {
    /// Overhead of each command, nanoseconds.
    pub command_ns: u64,
    /// Media rate of one channel, bytes per second.
    pub rate: f64,
    /// Commands executed in parallel.
    pub channels: usize,
    /// Duration of a flush, nanoseconds.
    pub flush_ns: u64,
    /// A region of at most this size that was read sequentially is cached: reads within it then
    /// take a tenth of the overhead.
    pub cache_bytes: u64,
    /// Speedup of writing zeros.
    pub zeros_gain: f64,
    /// Everything is served from memory; the device sees no traffic.
    pub lies: bool,
    /// O_DIRECT is refused.
    pub no_direct: bool,
    /// Time after which every read and write fails, nanoseconds.
    pub vanishes_at_ns: Option<u64>,
    /// Temperature rise per second, degrees.
    pub heats_c_per_s: f64,
    /// The drive falls asleep in a rest of this length; the next block read then takes this much
    /// longer, nanoseconds.
    pub sleep: Option<(Duration, u64)>,
    /// A block read across a multiple of this many bytes takes this much longer, nanoseconds.
    pub boundary: Option<(u64, u64)>,
    /// Blocks of this many bytes, how many of them stay open, and the time of a block write
    /// outside of these, nanoseconds.
    pub open: Option<(u64, usize, u64)>,
    /// Random variation of the speed between measurements, as a share.
    pub noise: f64,
    /// Flash effects.
    pub flash: FlashTraits,
}

impl Default for Traits {
    fn default() -> Self {
        Traits {
            command_ns: 80_000,
            rate: 500e6,
            channels: 8,
            flush_ns: 600_000,
            cache_bytes: 0,
            zeros_gain: 1.0,
            lies: false,
            no_direct: false,
            vanishes_at_ns: None,
            heats_c_per_s: 0.0,
            sleep: None,
            boundary: None,
            open: None,
            noise: 0.02,
            flash: FlashTraits::default(),
        }
    }
}

/// The drive and the operations performed on it.
pub struct Fake {
    pub info: TargetInfo,
    pub traits: Traits,
    pub now_ns: u64,
    /// Calls of the rig so far.
    pub calls: u32,
    /// The number of the call that is interrupted; a measurement is interrupted halfway.
    pub interrupt_at: Option<u32>,
    pub interrupted: bool,
    /// Size of the region in the drive's cache, bytes; 0 if none.
    cached: u64,
    asleep: bool,
    fill_seeds: Vec<u64>,
    /// Borrowed regions not yet restored.
    pub borrowed: Vec<Region>,
    /// All bytes below this offset have been written.
    pub filled: u64,
    pub written: u64,
    /// Every workload issued.
    pub issued: Vec<Workload>,
    /// Number of times each step was begun.
    pub steps: BTreeMap<String, u32>,
    /// The steps, in order.
    pub sequence: Vec<String>,
    /// Shares of steps reported as done.
    pub progress: Vec<(String, f64)>,
    /// Block sizes of the formats, in order.
    pub formatted: Vec<u32>,
    /// Bytes of the file that stay in the page cache when the cache is dropped.
    pub stays_cached: Option<u64>,
    /// A RAM disc for comparison.
    pub reference: Option<Box<Fake>>,
    /// The health that the drive reports.
    pub health: Option<record::Health>,
    /// Every discard fails.
    pub refuses_discard: bool,
    /// Exit codes of the commands, in order; later commands exit with 0.
    pub exits: Vec<i32>,
    dice: u64,
    flash: Flash,
    pub door: blocks::Door,
}

impl Fake {
    /// Creates a scratch file of 64 MiB on a plain drive.
    pub fn new(traits: Traits) -> Fake {
        let info = TargetInfo { bytes: 64 << 20, ..target() };
        Fake {
            flash: Flash::new(traits.flash.clone(), info.bytes),
            info,
            traits,
            now_ns: 0,
            calls: 0,
            interrupt_at: None,
            interrupted: false,
            cached: 0,
            asleep: false,
            fill_seeds: Vec::new(),
            borrowed: Vec::new(),
            filled: 0,
            written: 0,
            issued: Vec::new(),
            steps: BTreeMap::new(),
            sequence: Vec::new(),
            progress: Vec::new(),
            formatted: Vec::new(),
            stays_cached: None,
            reference: None,
            health: None,
            refuses_discard: false,
            exits: Vec::new(),
            dice: 1,
            door: blocks::Door::default(),
        }
    }

    /// Creates a read-only drive. All its blocks have been written.
    pub fn read_only(traits: Traits) -> Fake {
        let mut fake = Fake::new(traits);
        fake.info.target.kind = TargetKind::Device;
        fake.info.allowed = Safety::Reads;
        fake.filled = fake.info.bytes;
        fake
    }

    /// Creates a drive of this many bytes, opened with `--destroy`.
    pub fn confirmed(traits: Traits, bytes: u64) -> Fake {
        let mut fake = Fake::new(traits);
        fake.info.target.kind = TargetKind::Device;
        fake.info.target.spec = "/dev/x".into();
        (fake.info.allowed, fake.info.discard) = (Safety::Destroys, true);
        fake.info.bytes = bytes;
        fake.flash = Flash::new(fake.traits.flash.clone(), bytes);
        fake
    }

    /// Simulates writing the first range sequentially, then the second at random.
    pub fn wear(&mut self, filled: Range<u64>, used: Range<u64>) {
        self.flash.wear(filled, used);
    }

    /// Lets the drive be formatted to another block size.
    pub fn that_formats(mut self) -> Fake {
        self.info.formats = vec![512, 4096];
        self
    }

    /// A random factor between 1 - noise and 1 + noise.
    fn jitter(&mut self) -> f64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        1.0 + self.traits.noise * ((self.dice >> 32) as f64 / f64::from(1u32 << 31) - 1.0)
    }

    /// Interrupts this call if it is the chosen one. Later calls return the reason as an error.
    fn interrupt(&mut self) -> Result<bool> {
        self.alive()?;
        self.interrupted = self.interrupt_at == Some(self.calls);
        self.calls += 1;
        Ok(self.interrupted)
    }

    fn alive(&self) -> Result<()> {
        match self.interrupted {
            true if self.traits.heats_c_per_s > 0.0 => Err(RigError::Refused("too hot".into())),
            true => Err(RigError::Interrupted),
            false => Ok(()),
        }
    }

    fn guard(&self, w: &Workload) {
        let blocks = u64::from(self.info.logical_block_bytes);
        assert!(w.region.end() <= self.info.bytes, "{} leaves the target", w.name);
        assert!(u64::from(w.blocks.min()).is_multiple_of(blocks), "{} has odd blocks", w.name);
        let stop = &w.stop;
        let ends = stop.time_ns.is_some() || stop.ops.is_some();
        let ends = ends || stop.bytes_bound(w.region.bytes).is_some();
        assert!(ends, "{} is endless", w.name);
        assert!(!w.mix.changes_data() || self.info.allowed >= Safety::Scratch, "{}", w.name);
        assert!(w.shift_bytes.is_multiple_of(blocks), "{} is shifted by half a block", w.name);
        let borrowed =
            self.borrowed.iter().any(|r| r.start <= w.region.start && w.region.end() <= r.end());
        let original = w.content == Content::Original;
        assert!(!original || borrowed, "{} writes what was not borrowed", w.name);
        let lent = self.info.allowed == Safety::Borrows && w.mix.changes_data();
        assert!(!lent || original, "{} writes to a lent drive", w.name);
        let written = self.whole() || w.region.end() <= self.filled;
        assert!(w.mix.read == 0 || written, "{} reads holes", w.name);
        assert!(!w.mix.changes_data() || w.stop.bytes.is_some(), "{} has no byte bound", w.name);
        // Buffered writes use the cache on purpose and need not be durable.
        let durable = w.flush_at_end || w.flush_every.is_some() || w.sync_writes;
        let cached = w.caching == Caching::Buffered;
        assert!(!w.mix.changes_data() || durable || cached, "{}", w.name);
    }

    /// Returns whether the target is a whole drive, not a scratch file. Its unwritten blocks can be
    /// read.
    fn whole(&self) -> bool {
        self.info.target.kind == TargetKind::Device
    }

    /// Duration of one operation on a free channel.
    fn service_ns(&self, w: &Workload, kind: OpKind, bytes: u32, jitter: f64) -> u64 {
        let t = &self.traits;
        let memory = t.lies || w.caching == Caching::Buffered;
        let near = kind == OpKind::Read && w.region.bytes <= self.cached;
        let (command, rate) = match (kind, memory) {
            (OpKind::Flush, _) => return (t.flush_ns as f64 * jitter) as u64,
            (_, true) => (1_000.0, 10e9),
            _ if near => (t.command_ns as f64 / 10.0, t.rate),
            _ => (t.command_ns as f64, t.rate),
        };
        let gain = match (kind, &w.content) {
            (OpKind::Write, Content::Zeros) => t.zeros_gain,
            _ => 1.0,
        };
        ((command + f64::from(bytes) / rate * 1e9) / gain * jitter) as u64
    }

    fn fill(&mut self, region: Region, seed: u64) -> u64 {
        assert!(self.info.allowed >= Safety::Scratch);
        assert!(self.whole() || region.start <= self.filled);
        assert!(!self.fill_seeds.contains(&seed), "two pieces with the same content");
        self.fill_seeds.push(seed);
        self.filled = self.filled.max(region.end());
        self.written += region.bytes;
        self.flash.fill(region);
        (region.bytes as f64 / self.traits.rate * 1e9) as u64
    }

    /// Simulates the workload: each operation takes the first free slot and channel, in an open
    /// loop not before it is due.
    fn play(&mut self, w: &Workload, until_ns: u64, out: &mut Measurement) {
        let jitter = self.jitter();
        let mut ops = OpStream::new(w, 0);
        let mut schedule = w.pacing.is_open().then(|| Open::new(&w.pacing, 0, 1, w.seed));
        let mut slots = vec![0u64; w.depth as usize];
        let mut channels = vec![0u64; self.traits.channels.min(w.depth as usize)];
        let bound = w.stop.bytes_bound(w.region.bytes).unwrap_or(u64::MAX);
        let mut left = w.stop.ops.unwrap_or(u64::MAX);
        let (mut issued, begun) = (0, self.now_ns);
        let (mut moved, mut warmth, mut passed) = (Vec::new(), Vec::new(), 0);
        let free = |all: &[u64]| (0..all.len()).min_by_key(|&i| all[i]).expect("at least one");
        while issued < bound && left > 0 {
            let (slot, channel) = (free(&slots), free(&channels));
            let due = schedule.as_mut().and_then(|schedule| schedule.next_due(u64::MAX));
            let at = slots[slot].max(due.unwrap_or(0));
            if at >= until_ns {
                break;
            }
            let op = ops.next_op().expect("no trace");
            let gone = self.traits.vanishes_at_ns.is_some_and(|end| begun + at >= end);
            if gone {
                out.errors.push(eio(op.kind, op.offset, w));
                out.stop = StopReason::Errors;
                break;
            }
            let service = self.service_ns(w, op.kind, op.bytes, jitter);
            let service =
                (service as f64 * self.flash.cost(w, &op, self.info.logical_block_bytes)) as u64;
            let done = at.max(channels[channel]) + service;
            (slots[slot], channels[channel]) = (done, done);
            issued += u64::from(op.bytes);
            left -= 1;
            count(out, op.kind, op.bytes, done - at);
            if let Some(stats) = due.and(out.kinds[op.kind as usize].as_mut()) {
                let response = stats.response.get_or_insert_default();
                response.record(done - due.unwrap_or(at));
            }
            self.flash.pass(done.saturating_sub(passed), true);
            passed = passed.max(done);
            let interval = (done / INTERVAL_NS) as usize;
            moved.resize(moved.len().max(interval + 1), [0u64; 2]);
            warmth.resize(moved.len(), self.flash.celsius());
            moved[interval][(op.kind != OpKind::Read) as usize] += u64::from(op.bytes);
        }
        out.series = series(&w.name, begun, &moved, &warmth, passed);
        out.elapsed_ns = slots.into_iter().max().unwrap_or(0);
        if w.flush_at_end {
            let flush = self.service_ns(w, OpKind::Flush, 0, jitter);
            out.elapsed_ns += flush;
            count(out, OpKind::Flush, 0, flush);
        }
    }
}

fn count(out: &mut Measurement, kind: OpKind, bytes: u32, ns: u64) {
    let stats = out.kinds[kind as usize].get_or_insert_with(KindStats::default);
    stats.ops += 1;
    stats.bytes += u64::from(bytes);
    stats.service.record(ns);
}

fn series(name: &str, begun: u64, moved: &[[u64; 2]], warmth: &[Option<f64>], end: u64) -> Series {
    let mut series = Series::new(name, 0, begun);
    for (i, (bytes, celsius)) in moved.iter().zip(warmth).enumerate() {
        let start_ns = i as u64 * INTERVAL_NS;
        let end_ns = (start_ns + INTERVAL_NS).min(end);
        // As in a real rig, a short remainder is dropped, unless it is the only interval.
        if i > 0 && end_ns - start_ns < INTERVAL_NS {
            break;
        }
        let [read, write] = bytes.map(|b| Some(b as f64 * 1e9 / (end_ns - start_ns) as f64));
        let mut row =
            vec![("read", Unit::BytesPerSecond, read), ("write", Unit::BytesPerSecond, write)];
        row.extend(celsius.map(|c| ("temperature", Unit::Celsius, Some(c))));
        series.push(end_ns, &row);
    }
    series
}

fn eio(kind: OpKind, offset: u64, w: &Workload) -> IoErrors {
    IoErrors {
        first_offsets: vec![offset],
        ..IoErrors::new(kind.name(), "EIO", w.name.as_str(), 1)
    }
}

impl Rig for Fake {
    fn target(&self) -> &TargetInfo {
        &self.info
    }

    fn health(&mut self) -> Option<record::Health> {
        self.health.clone()
    }

    fn measure(&mut self, w: &Workload) -> Result<Measurement> {
        let cut = self.interrupt()?;
        w.check()?;
        self.guard(w);
        self.issued.push(w.clone());
        let mut out = Measurement { name: w.name.clone(), ..Measurement::default() };
        if self.whole() && w.mix.read > 0 && !self.flash.holds(w.region) {
            out.findings.push(Finding::new(FindingKind::UnwrittenBlocksRead, Level::Warn, "zeros"));
        }
        let time = w.stop.time_ns.unwrap_or(u64::MAX);
        self.play(w, if cut { time.min(20_000_000) / 2 } else { time }, &mut out);
        if cut {
            out.stop = StopReason::Interrupted;
        }
        let bytes = |k| out.kind(k).map_or(0, |k: &KindStats| k.bytes);
        let (read, written) = (bytes(OpKind::Read), bytes(OpKind::Write));
        if w.pattern == Pattern::Sequential && read >= w.region.bytes {
            let fits = w.region.bytes <= self.traits.cache_bytes;
            self.cached = if fits { w.region.bytes } else { 0 };
        }
        self.written += written;
        if w.pattern == Pattern::Sequential && w.region.start <= self.filled {
            self.filled = self.filled.max(w.region.start + written.min(w.region.bytes));
        }
        let (out_of_memory, t) =
            (!(self.traits.lies || w.caching == Caching::Buffered), &self.traits);
        out.device = Some(DeviceTraffic {
            read_bytes: if out_of_memory { read } else { 0 },
            written_bytes: if out_of_memory { written } else { 0 },
            depth: f64::from(w.depth),
            ..DeviceTraffic::default()
        });
        out.direct = w.caching == Caching::Bypass && !t.no_direct;
        let warmth = |ns: u64| 30.0 + t.heats_c_per_s * ns as f64 / 1e9;
        let (start_c, end_c) = (warmth(self.now_ns), warmth(self.now_ns + out.elapsed_ns));
        out.temperature =
            (t.heats_c_per_s > 0.0).then_some(Temperature { start_c, end_c, max_c: end_c });
        if let Some(now) = self.flash.celsius() {
            out.temperature = Some(Temperature { start_c: now, end_c: now, max_c: now });
        }
        out.cpu_ns = out.elapsed_ns / 10;
        self.now_ns += out.elapsed_ns;
        Ok(out)
    }

    fn perform(&mut self, jobs: Vec<Job>, _stage: Stage<'_>) -> Result<Performance> {
        assert_eq!(jobs.len(), 1, "methods run one job at a time");
        let whole = self.measure(&jobs[0].workload)?;
        Ok(Performance { jobs: Vec::new(), whole })
    }

    fn blocks(&mut self) -> Result<&mut dyn Blocks> {
        if self.interrupt()? { Err(RigError::Interrupted) } else { Ok(self) }
    }

    fn prepare(&mut self, preparation: Preparation) -> Result<Prepared> {
        // Borrowed blocks are restored even if the run was interrupted.
        if preparation != Preparation::Restore && self.interrupt()? {
            return Err(RigError::Interrupted);
        }
        let cached = preparation == Preparation::DropCaches;
        let cached_bytes = self.stays_cached.filter(|_| cached);
        let mut released = None;
        let elapsed_ns = match preparation {
            Preparation::Fill { region, seed, .. } => self.fill(region, seed),
            Preparation::Discard { .. } if self.refuses_discard => {
                return Err(RigError::Io { context: "discard".into(), source: blocks::eio() });
            }
            Preparation::Discard { region } if self.info.discard || !self.whole() => {
                self.flash.discard(region);
                1_000_000
            }
            Preparation::Release { region } if self.info.discard => {
                released = Some(self.flash.release(region));
                1_000_000
            }
            Preparation::Borrow { region } => {
                self.borrowed.push(region);
                1_000_000
            }
            Preparation::Restore => {
                self.borrowed.clear();
                1_000_000
            }
            Preparation::Format { block_bytes } if self.info.formats.contains(&block_bytes) => {
                self.info.logical_block_bytes = block_bytes;
                self.formatted.push(block_bytes);
                self.flash = Flash::new(self.traits.flash.clone(), self.info.bytes);
                1_000_000_000
            }
            Preparation::Erase { region, how: Erase::Discard } if self.info.discard => {
                released = Some(self.flash.release(region));
                1_000_000
            }
            Preparation::DropCaches => 0,
            Preparation::Empty => {
                self.filled = 0;
                0
            }
            other => return Err(RigError::Unsupported(format!("{other:?}"))),
        };
        self.now_ns += elapsed_ns;
        Ok(Prepared { elapsed_ns, released, cached_bytes, ..Prepared::default() })
    }

    fn idle(&mut self, time: Duration) -> Result<()> {
        self.flash.pass(time.as_nanos() as u64, false);
        self.asleep |= self.traits.sleep.is_some_and(|(after, _)| time >= after);
        self.now_ns += time.as_nanos() as u64;
        self.alive()
    }

    fn command(&mut self, words: &[String]) -> Result<CommandRun> {
        if self.interrupt()? || words.is_empty() {
            return Err(RigError::Interrupted);
        }
        let code = if self.exits.is_empty() { 0 } else { self.exits.remove(0) };
        let moved = |written_bytes| DeviceTraffic { written_bytes, ..DeviceTraffic::default() };
        self.now_ns += 1_000_000_000;
        Ok(CommandRun {
            elapsed_ns: (1e9 * self.jitter()) as u64,
            sync_ns: 50_000_000,
            user_ns: 250_000_000,
            system_ns: 250_000_000,
            memory_bytes_max: 1 << 20,
            exit: Exit::Code(code),
            own: Some(ProgramTraffic { read_bytes: 0, written_bytes: 4096 }),
            device: Some(moved(4096)),
            device_synced: Some(moved(65_536)),
        })
    }

    fn reference(&mut self) -> Option<&mut dyn Rig> {
        self.reference.as_deref_mut().map(|fake| fake as &mut dyn Rig)
    }

    fn note(&mut self, event: Event) {
        match event {
            Event::Step { name, .. } => {
                *self.steps.entry(name.clone()).or_default() += 1;
                self.sequence.push(name);
            }
            Event::Progress { name, done } => self.progress.push((name, done)),
            _ => {}
        }
    }

    fn elapsed_ns(&mut self) -> u64 {
        self.now_ns
    }
}

/// Runs a method on a rig. Stores its results in `out`, even after an error. Panics if the method
/// publishes a metric that it does not declare with the same unit.
pub fn perform(
    method: &MethodInfo,
    rig: &mut dyn Rig,
    options: &Options,
    out: &mut Outcome,
) -> std::result::Result<(), MethodError> {
    let mut session = Session::new(rig);
    let result = session.run(method, options);
    *out = session.finish();
    for metric in &out.metrics {
        let declared = method.declaration(&metric.key()).map(|declared| declared.unit);
        assert_eq!(declared, Some(metric.unit), "{} is declared", metric.name);
    }
    result
}

/// The steps of a plan, with their number of repetitions.
pub fn steps(plan: &record::Plan) -> BTreeMap<String, u32> {
    plan.steps.iter().map(|step| (step.name.clone(), step.repeats)).collect()
}
