//! Probes: model parameters, and the cells that determine them.
//!
//! A cell determines a parameter only if the model's result for that cell depends on it.

use workload::{OpKind, Pattern};

use super::replay::rate;
use super::{Before, MeasuredCell, put, rounded};
use crate::figure::Figure;
use crate::spec::DriveSpec;

/// A probe determines a parameter if its result changes by this fraction over the parameter's
/// range.
const SENSITIVE: f64 = 0.05;

/// Relative rate that counts as reached.
const REACHED: f64 = 0.998;

/// Number of bisection steps; narrows the widest range to a quarter of a percent.
const HALVINGS: u32 = 12;

/// A parameter that a probe can determine.
pub struct Parameter {
    pub place: fn(&mut DriveSpec) -> &mut Figure<f64>,
    pub range: (f64, f64),
}

impl Parameter {
    pub fn set(&self, spec: &mut DriveSpec, value: f64, source: &str) {
        put((self.place)(spec), value, source);
    }
}

pub const LATENCY: Parameter =
    Parameter { place: |s| &mut s.command.latency_us, range: (0.1, 5000.0) };
pub const SLC_READ: Parameter =
    Parameter { place: |s| &mut s.nand.slc_read_us, range: (1.0, 2000.0) };
pub const READ: Parameter = Parameter { place: |s| &mut s.nand.read_us, range: (1.0, 2000.0) };
pub const READ_CORE: Parameter =
    Parameter { place: |s| &mut s.command.read_us, range: (0.2, 2000.0) };
pub const WRITE_CORE: Parameter =
    Parameter { place: |s| &mut s.command.write_us, range: (0.2, 2000.0) };
pub const BUS: Parameter = Parameter { place: |s| &mut s.nand.bus_mb_s, range: (10.0, 5000.0) };
pub const SPARE: Parameter = Parameter { place: |s| &mut s.op, range: (0.02, 1.0) };

fn small(cell: &MeasuredCell, kind: OpKind) -> bool {
    let w = &cell.workload;
    w.pattern.is_random() && w.mix.only() == Some(kind) && w.blocks.max() <= 16_384
}

/// The cell with small random operations at depth 1 (`alone`) or at the highest depth.
pub fn random(cells: &[MeasuredCell], kind: OpKind, alone: bool) -> Option<&MeasuredCell> {
    let fitting = cells
        .iter()
        .filter(|c| small(c, kind) && (c.workload.depth == 1) == alone && !c.before.is_costly());
    fitting.max_by_key(|c| c.workload.depth)
}

/// The fastest sequential read of part of the drive. Reads of a full drive are excluded, because
/// the model would have to fill it for every trial.
pub fn sequential(cells: &[MeasuredCell]) -> Option<&MeasuredCell> {
    let fitting = cells.iter().filter(|c| {
        let w = &c.workload;
        let reads = w.pattern == Pattern::Sequential && w.mix.only() == Some(OpKind::Read);
        reads && !c.before.is_costly()
    });
    fitting.max_by(|a, b| a.rate.total_cmp(&b.rate))
}

/// Rate of the fastest sequential write, bytes per second.
pub fn fastest_write(cells: &[MeasuredCell]) -> Option<f64> {
    let writes = cells.iter().filter(|c| {
        c.workload.pattern == Pattern::Sequential && c.workload.mix.only() == Some(OpKind::Write)
    });
    writes.map(|c| c.rate).reduce(f64::max)
}

/// The cells with random writes to a drive in a steady state and to a full one, in this order: the
/// first of them that depends on the spare flash determines it.
pub fn worn(cells: &[MeasuredCell]) -> impl Iterator<Item = &MeasuredCell> {
    [Before::Steady, Before::Full].into_iter().flat_map(move |before| {
        cells.iter().filter(move |c| small(c, OpKind::Write) && c.before == before)
    })
}

/// The random reads at depth 1 from this state.
fn single_reads(cells: &[MeasuredCell], before: Before) -> Option<&MeasuredCell> {
    let mut cells = cells.iter();
    cells.find(|c| small(c, OpKind::Read) && c.workload.depth == 1 && c.before == before)
}

/// Fits the cells at depth 1. There, the times of an operation add up, so the difference between
/// model and measurement is assigned to one of them.
pub fn fit_alone(spec: &mut DriveSpec, cells: &[MeasuredCell]) {
    // Data just written are in the cache, if there is one; data at rest are in the other flash, unless
    // the drive keeps them in the cache.
    let alone = [
        (random(cells, OpKind::Write, true), &[LATENCY][..]),
        (single_reads(cells, Before::LaidOut), &[SLC_READ, READ]),
        (single_reads(cells, Before::Rested), &[READ, SLC_READ]),
    ];
    for (cell, knobs) in alone {
        let Some(cell) = cell else { continue };
        let time = |rate: f64| f64::from(cell.workload.blocks.max()) / rate * 1e6;
        let predicted = time(rate(spec, cell));
        // Only parameters that lengthen the operation matter.
        let lengthening = knobs.iter().find(|parameter| {
            let mut longer_spec = spec.clone();
            let value = (parameter.place)(&mut longer_spec).value;
            parameter.set(&mut longer_spec, value + 10.0, "");
            time(rate(&longer_spec, cell)) > predicted + 5.0
        });
        if let Some(parameter) = lengthening {
            let start = (parameter.place)(spec).value;
            let solution = start + time(cell.rate) - predicted;
            let value = solution.clamp(parameter.range.0, parameter.range.1);
            let limit = if value == solution { "" } else { ", out of the model's range" };
            parameter.set(spec, rounded(value), &format!("{}{limit}", cell.workload.name));
        }
    }
}

/// Returns the value at which the model matches the measurement, or the nearer end of the range if
/// none does. Returns `None` if the cell does not depend on the parameter.
pub fn solve(spec: &DriveSpec, cell: &MeasuredCell, parameter: &Parameter) -> Option<f64> {
    let rate_with = |value: f64| {
        let mut trial_spec = spec.clone();
        parameter.set(&mut trial_spec, value, "");
        rate(&trial_spec, cell)
    };
    let (mut low, mut high) = parameter.range;
    let (first, last) = (rate_with(low), rate_with(high));
    if libm::log(first / last).abs() < SENSITIVE {
        return None;
    }
    let falling = first > last;
    // On a plateau near the measured rate, something else is the limit and every value fits
    // equally.
    let start = (parameter.place)(&mut spec.clone()).value;
    let is_near = libm::log(rate_with(start) / cell.rate).abs() < SENSITIVE;
    if is_near
        && libm::log(rate_with(start * 1.25) / rate_with(start / 1.25)).abs() < SENSITIVE / 2.0
    {
        return None;
    }
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        // On a plateau, take the slowest value that still reaches the rate.
        let is_enough = rate_with(middle) > REACHED * cell.rate;
        if is_enough == falling { low = middle } else { high = middle }
    }
    Some((low * high).sqrt())
}
