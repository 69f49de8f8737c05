//! Repeats a measurement on a new model drive: a cell or a pass.
//!
//! Only a closed loop around [`Drive`]: the engine, with its pacing, jobs and histograms, is in a
//! higher layer. The simulated part of a cell is limited, because a fit runs thousands of cells.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use workload::{Mix, Op, OpKind, OpStream, Pattern, Region, Stop, Workload};

use super::{Before, FillPass, MeasuredCell};
use crate::drive::Drive;
use crate::spec::DriveSpec;

/// Maximum operations simulated per cell; the byte limit applies to large blocks.
const CELL_OPS: u64 = 20_000;
const CELL_BYTES: u64 = 2 << 30;

/// Maximum random writes on a filled drive.
const STEADY_OPS: u64 = 4_000_000;

/// Time that a drive gets to empty its cache, ns: that of `quick`.
const REST_NS: u64 = 10_000_000_000;

/// Capacity of the smaller drive on which a steady state is simulated: write amplification depends on
/// the spare flash as a share of the capacity.
const STEADY_BYTES: u64 = 2 << 30;
/// Block size and depth of the random writes that lead to a steady state, and passes of them.
const WEAR_IN: (u32, u32, u64) = (4096, 32, 2);

/// Returns the rate of a cell on a drive with this description, in bytes per second.
pub fn rate(spec: &DriveSpec, cell: &MeasuredCell) -> f64 {
    if cell.before == Before::Steady {
        let (spec, cell) = scaled_down(spec, cell);
        return rate_from(&spec, &cell);
    }
    rate_from(spec, cell)
}

fn rate_from(spec: &DriveSpec, cell: &MeasuredCell) -> f64 {
    let w = &cell.workload;
    let mut stand = Replay { drive: Drive::new(spec, 1), now: 0 };
    let everything = Region::first(stand.drive.bytes());
    let region = match cell.before {
        Before::Fresh => Region::first(0),
        Before::LaidOut | Before::Rested => w.region,
        Before::Full | Before::Steady => everything,
    };
    stand.run(sequence(OpKind::Write, region, 1 << 20), 8, u64::MAX);
    match cell.before {
        Before::Rested => stand.rest(REST_NS),
        Before::Steady => stand.wear_in(everything),
        Before::Fresh | Before::LaidOut | Before::Full => {}
    }
    let limit = match cell.before {
        Before::Full | Before::Steady => STEADY_OPS,
        _ => CELL_OPS.min((CELL_BYTES / u64::from(w.blocks.max().max(1))).max(1000)),
    };
    let stop = w.stop.bytes_bound(w.region.bytes).unwrap_or(u64::MAX);
    let mut stream = OpStream::new(w, 0);
    let mut budget = stop;
    let ops = std::iter::from_fn(|| {
        let op = stream.next_op().filter(|_| budget > 0)?;
        budget = budget.saturating_sub(u64::from(op.bytes));
        Some(op)
    });
    let time = w.stop.time_ns.unwrap_or(u64::MAX);
    let (bytes, ns) = stand.run(ops.take(limit as usize), w.depth.max(1) as usize, time);
    bytes as f64 / (ns.max(1) as f64 / 1e9)
}

/// A smaller drive with the same share of spare flash, and the cell on all of it.
fn scaled_down(spec: &DriveSpec, cell: &MeasuredCell) -> (DriveSpec, MeasuredCell) {
    let (mut spec, mut cell) = (spec.clone(), cell.clone());
    let share = (STEADY_BYTES as f64 / spec.capacity.0 as f64).min(1.0);
    for size in [&mut spec.capacity, &mut spec.slc.fixed, &mut spec.slc.dynamic] {
        size.value.0 = ((size.value.0 as f64 * share) as u64) >> 20 << 20;
    }
    cell.workload.region = Region::first(spec.capacity.0);
    cell.workload.stop = Stop { bytes: Some(spec.capacity.0 / 2), ..Stop::default() };
    (spec, cell)
}

/// Runs the passes on a drive with this description, evaluated over the same stretches as the
/// measurement.
pub fn run_pass(spec: &DriveSpec, pass: &FillPass) -> FillPass {
    let mut stand = Replay { drive: Drive::new(spec, 1), now: 0 };
    let block = pass.block.max(4096);
    let bytes = stand.drive.bytes() / u64::from(block) * u64::from(block);
    let mut stretch = |from: f64, to: f64| {
        let [start, end] =
            [from, to].map(|at| (at as u64).min(bytes) / u64::from(block) * u64::from(block));
        let region = Region { start, bytes: end - start };
        let (bytes, ns) =
            stand.run(sequence(OpKind::Write, region, block), pass.depth.max(1) as usize, u64::MAX);
        (bytes as f64, ns as f64 / 1e9)
    };
    let end = bytes as f64;
    let size = pass.cache.map_or(0.0, |(size, _, _)| size);
    // Stretches: within the cache, around its end, after it, and the rest.
    let marks = [0.0, 0.9 * size, 1.1 * size, 1.5 * size, end];
    let stretches: Vec<(f64, f64)> = marks.windows(2).map(|m| stretch(m[0], m[1])).collect();
    let rate = |(bytes, seconds): (f64, f64)| bytes / seconds.max(1e-9);
    let total = stretches.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    let overwrite_rate = pass.again.map(|_| rate(stretch(0.0, end)));
    let cache = pass.cache.map(|_| (size, rate(stretches[0]), rate(stretches[2])));
    FillPass { average: rate(total), cache, again: overwrite_rate, ..*pass }
}

fn sequence(kind: OpKind, region: Region, block: u32) -> impl Iterator<Item = Op> {
    let starts = (region.start..region.end()).step_by(block as usize);
    starts.map(move |offset| {
        let bytes = (region.end() - offset).min(u64::from(block)) as u32;
        Op { kind, offset, bytes }
    })
}

/// A drive and its clock.
struct Replay {
    drive: Drive,
    now: u64,
}

impl Replay {
    fn rest(&mut self, ns: u64) {
        self.now += ns;
        self.drive.idle(self.now);
    }

    /// Writes the whole drive at random until it is steady.
    fn wear_in(&mut self, region: Region) {
        let (block, depth, passes) = WEAR_IN;
        let random = Workload::new("wear-in", Pattern::Uniform, Mix::WRITE, block, region);
        let mut stream = OpStream::new(&random, 0);
        let ops = passes * region.bytes / u64::from(block);
        let ops = std::iter::from_fn(|| stream.next_op()).take(ops as usize);
        self.run(ops, depth as usize, u64::MAX);
    }

    /// Runs a closed loop. Returns the bytes transferred and the elapsed time in nanoseconds.
    fn run(&mut self, ops: impl Iterator<Item = Op>, depth: usize, time: u64) -> (u64, u64) {
        let (start, mut bytes) = (self.now, 0);
        let mut flight = BinaryHeap::with_capacity(depth + 1);
        for op in ops {
            if flight.len() == depth {
                let Reverse(done_ns) = flight.pop().unwrap_or(Reverse(self.now));
                self.now = self.now.max(done_ns);
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
