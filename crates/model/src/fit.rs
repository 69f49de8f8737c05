//! A description fitted to measurements: closed forms first, then the model itself.
//!
//! What whole-drive passes tell (size and speed of the cache, speed behind it, speed of overwriting)
//! gives flash times in closed form, and the model's own passes correct them. What cells of a grid
//! tell is solved by bisection: each probe has the parameters it may decide, and decides one only if
//! the model's answer depends on it. The number of dies is the one with which the cells fit best.
//! A parameter that no measurement decides keeps the value of the base and counts as guessed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use toml::{Table, Value};
use workload::{Op, OpKind, OpStream, Pattern, Region, Workload};

use crate::drive::Drive;
use crate::figure::{Figure, Origin, Size};
use crate::spec::{DriveSpec, LinkSpec};

/// Operations of a cell that are simulated, at most; the bytes bound large blocks.
const CELL_OPS: u64 = 20_000;
const CELL_BYTES: u64 = 2 << 30;

/// Operations of random writes on a filled drive, at most.
const STEADY_OPS: u64 = 4_000_000;

/// A parameter is decided by a probe whose answer moves by this share over the parameter's range.
const SENSITIVE: f64 = 0.05;

/// Halvings of a range: a fifty-thousandth of it is left, in logarithms.
const HALVINGS: u32 = 16;

/// Numbers of dies that are tried.
const DIES: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// What the drive was before a cell was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// All blocks discarded.
    Fresh,
    /// The cell's region written once in order, the rest discarded.
    LaidOut,
}

/// A workload that was measured.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The workload, with its region and depth.
    pub workload: Workload,
    /// State before.
    pub before: Before,
    /// Bytes per second.
    pub rate: f64,
}

/// A sequential write over the whole fresh drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// Size of its blocks, bytes.
    pub block: u32,
    /// In flight.
    pub depth: u32,
    /// Bytes per second over all of it.
    pub average: f64,
    /// Bytes until it fell, and the rates before and behind; `None` where it did not.
    pub cache: Option<(f64, f64, f64)>,
    /// Bytes per second of writing it once more; `None` where that was not measured.
    pub again: Option<f64>,
}

/// All that was measured of a drive.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Name for the description.
    pub name: String,
    /// Maker's model name.
    pub model: String,
    /// Bytes that the host sees; 0 where that is not known.
    pub capacity: u64,
    /// Payload ceiling of the link as the system tells it, bytes per second.
    pub link: Option<f64>,
    /// Whole-drive writes.
    pub pass: Option<Pass>,
    /// Cells of grids.
    pub cells: Vec<Cell>,
}

/// A measurement and what the fitted drive does.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The workload.
    pub name: String,
    /// Bytes per second, or bytes.
    pub measured: f64,
    /// The same of the fitted drive.
    pub predicted: f64,
}

/// A description, and how it stands to the measurements.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The description; what was decided is marked as fitted, the rest as guessed.
    pub spec: DriveSpec,
    /// Measurements beside the drive's own.
    pub predictions: Vec<Prediction>,
}

/// A parameter that a probe may decide.
struct Knob {
    place: fn(&mut DriveSpec) -> &mut Figure<f64>,
    range: (f64, f64),
}

impl Knob {
    fn set(&self, spec: &mut DriveSpec, value: f64, source: &str) {
        put((self.place)(spec), value, source);
    }
}

const LATENCY: Knob = Knob { place: |s| &mut s.command.latency_us, range: (0.1, 5000.0) };
const SLC_READ: Knob = Knob { place: |s| &mut s.nand.slc_read_us, range: (1.0, 2000.0) };
const READ: Knob = Knob { place: |s| &mut s.nand.read_us, range: (1.0, 2000.0) };
const READ_CORE: Knob = Knob { place: |s| &mut s.command.read_us, range: (0.2, 2000.0) };
const WRITE_CORE: Knob = Knob { place: |s| &mut s.command.write_us, range: (0.2, 2000.0) };
const BUS: Knob = Knob { place: |s| &mut s.nand.bus_mb_s, range: (10.0, 5000.0) };
const SPARE: Knob = Knob { place: |s| &mut s.op, range: (0.02, 1.0) };

/// Which cell, and what it may decide, in this order.
const PROBES: [(fn(&[Cell]) -> Option<&Cell>, &[Knob]); 5] = [
    (|cells| sequential(cells), &[BUS]),
    (|cells| random(cells, OpKind::Write, true), &[LATENCY]),
    (|cells| random(cells, OpKind::Read, true), &[SLC_READ, READ]),
    (|cells| random(cells, OpKind::Read, false), &[READ_CORE]),
    (|cells| random(cells, OpKind::Write, false), &[WRITE_CORE]),
];

fn small(cell: &Cell, kind: OpKind) -> bool {
    let w = &cell.workload;
    w.pattern.is_random() && w.mix.only() == Some(kind) && w.blocks.max() <= 16_384
}

/// Small random operations one at a time, or with the most in flight.
fn random(cells: &[Cell], kind: OpKind, alone: bool) -> Option<&Cell> {
    let fits = |c: &&Cell| small(c, kind) && (c.workload.depth == 1) == alone && !is_worn(c);
    cells.iter().filter(fits).max_by_key(|c| c.workload.depth)
}

/// The fastest read in order.
fn sequential(cells: &[Cell]) -> Option<&Cell> {
    let reads = |c: &&Cell| {
        c.workload.pattern == Pattern::Sequential && c.workload.mix.only() == Some(OpKind::Read)
    };
    cells.iter().filter(reads).max_by(|a, b| a.rate.total_cmp(&b.rate))
}

/// Random writes over a drive that is full.
fn worn(cells: &[Cell]) -> Option<&Cell> {
    cells.iter().find(|c| small(c, OpKind::Write) && is_worn(c))
}

/// A region beyond which nothing was measured counts as the drive: methods name whole drives.
fn is_worn(cell: &Cell) -> bool {
    cell.before == Before::LaidOut && cell.workload.region.bytes > 16 << 30
}

/// Fits a description to what was measured, beginning with `base`.
pub fn fit(observed: &Observed, base: &DriveSpec) -> Fitted {
    let mut spec = guessed(base);
    spec.name.clone_from(&observed.name);
    spec.model.clone_from(&observed.model);
    if observed.capacity > 0 {
        let source = "as the drive tells".to_string();
        let value = Size(observed.capacity);
        spec.capacity = Figure { value, from: Origin::Given, source };
    }
    fit_link(&mut spec, observed);
    let counts = if observed.cells.is_empty() { &DIES[..0] } else { &DIES[..] };
    let tried = counts.iter().map(|dies| {
        let mut tried = spec.clone();
        put(&mut tried.nand.dies, *dies, "the number with which the cells fit best");
        fit_pass(&mut tried, observed);
        fit_cells(&mut tried, &observed.cells);
        (misfit(&tried, &observed.cells), tried)
    });
    // Of equals the one nearest to the base: more dies than needed change nothing.
    let distance = |spec: &DriveSpec| (*spec.nand.dies).abs_diff(*base.nand.dies);
    let best = tried.reduce(|best, next| {
        let close = (best.0 - next.0).abs() < 0.01;
        let nearer = distance(&next.1) < distance(&best.1);
        if (close && nearer) || (!close && next.0 < best.0) { next } else { best }
    });
    let mut spec = best.map_or(spec, |(_, spec)| spec);
    fit_pass(&mut spec, observed);
    correct_pass(&mut spec, observed);
    if let Some(cell) = worn(&observed.cells)
        && let Some(spare) = solve(&spec, cell, &SPARE)
    {
        SPARE.set(&mut spec, rounded(spare), &cell.workload.name);
    }
    Fitted { predictions: predictions(&spec, observed), spec }
}

/// The link is what the system says it is; where it says nothing, as fast as the fastest read.
fn fit_link(spec: &mut DriveSpec, observed: &Observed) {
    let fastest = sequential(&observed.cells).map(|cell| cell.rate);
    let (rate, source) = match (observed.link, fastest) {
        (Some(rate), _) => (rate, "link as the system tells it"),
        (None, Some(rate)) => (rate, "fastest sequential read"),
        (None, None) => return,
    };
    let mut link = spec.link.first().cloned().unwrap_or_default();
    if link.bus.is_empty() {
        link.bus = Figure::guess("none".into());
    }
    put(&mut link.ceiling_mb_s, rounded(rate / 1e6), source);
    spec.link = vec![LinkSpec { packet_bytes: Figure::default(), ..link }];
}

/// Flash times from the rates of the passes: rate = dies x planes x page x bits / program time.
fn fit_pass(spec: &mut DriveSpec, observed: &Observed) {
    let Some(pass) = &observed.pass else { return };
    let nand = &spec.nand;
    let row = f64::from(*nand.dies * *nand.planes * *nand.page_bytes);
    let full = row * f64::from(*nand.bits);
    let native = pass.again.unwrap_or(pass.cache.map_or(pass.average, |(_, _, after)| after));
    put(&mut spec.nand.program_us, rounded(full / native * 1e6), "speed of overwriting");
    let (bytes, inside, after) = pass.cache.unwrap_or((0.0, 0.0, native));
    put(&mut spec.slc.dynamic, Size(bytes as u64), "bytes until the first fall");
    put(&mut spec.slc.fixed, Size(0), "bytes until the first fall: fixed and dynamic are one");
    if inside > 0.0 {
        put(&mut spec.nand.slc_program_us, rounded(row / inside * 1e6), "speed in the cache");
        let drain = rounded((1.0 - after / native).clamp(0.0, 0.9));
        put(&mut spec.slc.drain, drain, "speed behind the cache over that of overwriting");
    }
}

/// What the closed forms leave out (collection, the link, the buffer) is taken from the model.
fn correct_pass(spec: &mut DriveSpec, observed: &Observed) {
    let Some(pass) = &observed.pass else { return };
    for _ in 0..2 {
        let seen = run_pass(spec, pass);
        let near = |predicted: f64, measured: f64| (predicted / measured).clamp(0.5, 2.0);
        if let Some(again) = pass.again {
            let value = *spec.nand.program_us * near(seen.again.unwrap_or(again), again);
            put(&mut spec.nand.program_us, rounded(value), "speed of overwriting");
        }
        if let (Some((_, inside, _)), Some((_, found, _))) = (pass.cache, seen.cache) {
            let value = *spec.nand.slc_program_us * near(found, inside);
            put(&mut spec.nand.slc_program_us, rounded(value), "speed in the cache");
        }
    }
}

/// Every probe in turn, twice, because they lean on each other.
fn fit_cells(spec: &mut DriveSpec, cells: &[Cell]) {
    for _ in 0..2 {
        for (find, knobs) in &PROBES {
            let Some(cell) = find(cells) else { continue };
            let decided = knobs.iter().find_map(|knob| Some((knob, solve(spec, cell, knob)?)));
            if let Some((knob, value)) = decided {
                knob.set(spec, rounded(value), &cell.workload.name);
            }
        }
    }
}

/// The value at which the model does what was measured; `None` where the value does not matter
/// there. Out of reach is the nearer end.
fn solve(spec: &DriveSpec, cell: &Cell, knob: &Knob) -> Option<f64> {
    let at = |value: f64| {
        let mut tried = spec.clone();
        knob.set(&mut tried, value, "");
        rate(&tried, cell)
    };
    let (mut low, mut high) = knob.range;
    let (first, last) = (at(low), at(high));
    if (first / last).ln().abs() < SENSITIVE {
        return None;
    }
    let falling = first > last;
    // On a plateau near the measured rate something else is the limit, and every value there as good.
    let own = (knob.place)(&mut spec.clone()).value;
    let near = (at(own) / cell.rate).ln().abs() < SENSITIVE;
    if near && (at(own * 1.25) / at(own / 1.25)).ln().abs() < SENSITIVE / 2.0 {
        return None;
    }
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        if (at(middle) > cell.rate) == falling { low = middle } else { high = middle }
    }
    Some((low * high).sqrt())
}

/// Sum of squares of the logarithms of measured over predicted.
fn misfit(spec: &DriveSpec, cells: &[Cell]) -> f64 {
    let cells = cells.iter().filter(|cell| !is_worn(cell));
    cells.map(|cell| (rate(spec, cell) / cell.rate).ln().powi(2)).sum()
}

fn predictions(spec: &DriveSpec, observed: &Observed) -> Vec<Prediction> {
    let line =
        |name: &str, measured, predicted| Prediction { name: name.into(), measured, predicted };
    let mut lines = Vec::new();
    if let Some(pass) = &observed.pass {
        let seen = run_pass(spec, pass);
        lines.push(line("whole drive, fresh", pass.average, seen.average));
        if let (Some(cache), Some(found)) = (pass.cache, seen.cache) {
            lines.push(line("in the cache", cache.1, found.1));
            lines.push(line("behind the cache", cache.2, found.2));
        }
        lines.extend(pass.again.zip(seen.again).map(|(m, p)| line("whole drive, again", m, p)));
    }
    let cell = |cell: &Cell| line(&cell.workload.name, cell.rate, rate(spec, cell));
    lines.extend(observed.cells.iter().map(cell));
    lines
}

/// The rate of a cell on a drive of this description, bytes per second.
pub fn rate(spec: &DriveSpec, cell: &Cell) -> f64 {
    let w = &cell.workload;
    let mut stand = Stand { drive: Drive::new(spec, 1), now: 0 };
    if cell.before == Before::LaidOut {
        let fill = sequence(OpKind::Write, w.region, 1 << 20);
        stand.run(fill, 8, u64::MAX);
    }
    let ops = if is_worn(cell) { STEADY_OPS } else { CELL_OPS };
    let blocks = CELL_BYTES / u64::from(w.blocks.max().max(1));
    let stop = w.stop.bytes_bound(w.region.bytes).unwrap_or(u64::MAX);
    let limit = if is_worn(cell) { ops } else { ops.min(blocks.max(1000)) };
    let mut stream = OpStream::new(w, 0);
    let mut left = stop;
    let ops = std::iter::from_fn(|| {
        let op = stream.next_op().filter(|_| left > 0)?;
        left = left.saturating_sub(u64::from(op.bytes));
        Some(op)
    });
    let time = w.stop.time_ns.unwrap_or(u64::MAX);
    let (bytes, ns) = stand.run(ops.take(limit as usize), w.depth.max(1) as usize, time);
    bytes as f64 / (ns.max(1) as f64 / 1e9)
}

/// The passes on a drive of this description, read in the same stretches as those measured.
fn run_pass(spec: &DriveSpec, pass: &Pass) -> Pass {
    let mut stand = Stand { drive: Drive::new(spec, 1), now: 0 };
    let block = pass.block.max(4096);
    let bytes = stand.drive.bytes() / u64::from(block) * u64::from(block);
    let mut stretch = |from: f64, to: f64| {
        let grid = |at: f64| (at as u64).min(bytes) / u64::from(block) * u64::from(block);
        let region = Region { start: grid(from), bytes: grid(to) - grid(from) };
        let (done, ns) =
            stand.run(sequence(OpKind::Write, region, block), pass.depth.max(1) as usize, u64::MAX);
        (done as f64, ns as f64 / 1e9)
    };
    let end = bytes as f64;
    let size = pass.cache.map_or(0.0, |(size, _, _)| size);
    // Stretches: in the cache, its end, behind it, the rest.
    let marks = [0.0, 0.9 * size, 1.1 * size, 1.5 * size, end];
    let seen: Vec<(f64, f64)> = marks.windows(2).map(|m| stretch(m[0], m[1])).collect();
    let rate = |(bytes, seconds): (f64, f64)| bytes / seconds.max(1e-9);
    let all = seen.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    let again = pass.again.map(|_| rate(stretch(0.0, end)));
    let cache = pass.cache.map(|_| (size, rate(seen[0]), rate(seen[2])));
    Pass { average: rate(all), cache, again, ..*pass }
}

fn sequence(kind: OpKind, region: Region, block: u32) -> impl Iterator<Item = Op> {
    let bytes = move |at: u64| (region.end() - at).min(u64::from(block)) as u32;
    let starts = (region.start..region.end()).step_by(block as usize);
    starts.map(move |offset| Op { kind, offset, bytes: bytes(offset) })
}

/// A drive and its clock.
struct Stand {
    drive: Drive,
    now: u64,
}

impl Stand {
    /// A closed loop: bytes done, and the time it took in nanoseconds.
    fn run(&mut self, ops: impl Iterator<Item = Op>, depth: usize, time: u64) -> (u64, u64) {
        let (start, mut bytes) = (self.now, 0);
        let mut flight = BinaryHeap::with_capacity(depth + 1);
        for op in ops {
            if flight.len() == depth {
                let Reverse(done) = flight.pop().unwrap_or(Reverse(self.now));
                self.now = self.now.max(done);
            }
            if self.now - start >= time {
                break;
            }
            flight.push(Reverse(self.drive.submit(self.now, &op).done_ns));
            bytes += u64::from(op.bytes);
        }
        self.now = flight.into_iter().map(|Reverse(done)| done).fold(self.now, u64::max);
        (bytes, self.now - start)
    }
}

/// The base as another drive: nothing that is known of it is known of this one.
fn guessed(base: &DriveSpec) -> DriveSpec {
    let source = format!("not determined: as in {}", base.name);
    let changed = Table::try_from(base).ok().and_then(|mut table| {
        mark(&mut table, &source);
        table.try_into().ok()
    });
    changed.unwrap_or_else(|| base.clone())
}

fn mark(table: &mut Table, source: &str) {
    if table.contains_key("value") && table.contains_key("from") {
        table.insert("from".into(), Value::String("guessed".into()));
        table.insert("source".into(), Value::String(source.into()));
        return;
    }
    for (_, value) in table.iter_mut() {
        match value {
            Value::Table(inner) => mark(inner, source),
            Value::Array(list) => {
                list.iter_mut().filter_map(Value::as_table_mut).for_each(|t| mark(t, source));
            }
            _ => {}
        }
    }
}

fn put<T>(figure: &mut Figure<T>, value: T, source: &str) {
    *figure = Figure { value, from: Origin::Fitted, source: source.to_string() };
}

/// Four significant digits: more is not known.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = 10f64.powi(3 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}
