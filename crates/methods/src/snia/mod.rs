//! The SNIA Solid State Storage Performance Test Specification (Enterprise and Client 2.0), on any
//! drive opened with `--destroy`.
//!
//! Each test is a list of parts (purge, precondition, rounds until steady, ...), and its file
//! contains only that list. Rounds and their two definitions of steady are in `rounds.rs`. There is
//! no idle time between parts, because the specification forbids gaps.

mod answers;
mod cell;
mod dirth;
mod hir;
mod iops;
mod latency;
mod metrics;
mod rounds;
#[cfg(test)]
mod tests;
mod throughput;
mod wsat;
mod xsr;

use analysis::LatencyReplicates;
use record::{LatencyProfile, MetricKey, Statistic, Unit};
use workload::OpKind::Write;
use workload::{BlockSizes, Stop, Workload};

use cell::Cell;
use rounds::Rounds;
use script::whole::Whole;
use script::{Common, MethodInfo, Options, Result, Round, Session};

pub(crate) use dirth::DIRTH;
pub(crate) use hir::HIR;
pub(crate) use iops::IOPS;
pub(crate) use latency::LATENCY;
pub(crate) use throughput::THROUGHPUT;
pub(crate) use wsat::WSAT;
pub(crate) use xsr::XSR;

/// Seconds per round of one cell.
const MINUTE: f64 = 60.0;

/// Passes of the precondition, in blocks of this size.
const PRECONDITION_PASSES: u64 = 2;
const PRECONDITION_BLOCK: u32 = 128 << 10;

/// Queue depth of the precondition, and of tests for which the specification leaves it open.
const DEPTH: u32 = 32;

/// A rate counts as recovered once it reaches this share of the earlier rate.
const RECOVERED_FROM: f64 = 0.95;

/// The specification sets the number of rounds.
const IGNORES: &[Common] = &[Common::Replicates];

/// Declares the metrics that tracked cells, and the rounds of the test, have in addition to their
/// rate or latency.
macro_rules! tracked {
    ($cell:literal, $test:literal, $unit:expr) => {
        [
            MetricInfo::new(
                concat!($cell, ".first-round"),
                $unit,
                "the first round of a tracked cell",
            ),
            MetricInfo::new(
                concat!($cell, ".{pts,plateau}"),
                $unit,
                "its mean over the window that is steady by this rule",
            ),
            MetricInfo::number(
                concat!($test, ".{pts-round,plateau-round}"),
                "the round in which all tracked cells were steady by this rule",
            ),
        ]
    };
}
use tracked;

/// A part of a test.
enum Part {
    /// Discards everything.
    Purge,
    /// Two sequential passes over the drive.
    Precondition,
    /// Runs all cells, round after round, until steady.
    Rounds(Rounds),
    /// Runs each cell once.
    Once(Vec<Cell>),
    /// Runs one workload for its latencies.
    Latencies(Workload),
    /// Alternates a workload with a rest.
    Rests { cell: Cell, seconds: f64, cycles: u32 },
    /// Runs a long workload. With `against`, also reports the time until it reaches
    /// [`RECOVERED_FROM`] of the rate that workload had at its end.
    OverTime { workload: Workload, against: Option<&'static str> },
}

/// Runs the parts of a test of the family.
fn run(
    session: &mut Session<'_>,
    options: &Options,
    info: &'static MethodInfo,
    parts: fn(&Whole) -> Vec<Part>,
) -> Result<()> {
    let whole = Whole::new(info, session.target(), options)?;
    let mut ends = Vec::new();
    parts(&whole).into_iter().try_for_each(|part| part.run(session, &whole, &mut ends))
}

/// Rates at the end of the long workloads so far, by name.
type Ends = Vec<(String, f64)>;

impl Part {
    fn run(self, session: &mut Session<'_>, whole: &Whole, ends: &mut Ends) -> Result<()> {
        match self {
            Part::Purge => session.discard(whole, "purge", whole.everything).map(drop),
            Part::Precondition => {
                let w = precondition(whole);
                let before = session.outcome().series.iter().filter(|s| s.name == w.name).count();
                session.measure_over_time(&w, before as u32).map(drop)
            }
            Part::Rounds(mut rounds) => rounds.run(session, whole),
            Part::Once(cells) => once(session, cells),
            Part::Latencies(w) => latencies(session, &w),
            Part::Rests { cell, seconds, cycles } => rests(session, cell, seconds, cycles),
            Part::OverTime { workload, against } => over_time(session, &workload, against, ends),
        }
    }
}

fn precondition(whole: &Whole) -> Workload {
    let mut w = whole.pass("precondition", Write, 90);
    let bytes = PRECONDITION_PASSES * whole.bytes();
    w.blocks = BlockSizes::Fixed(PRECONDITION_BLOCK);
    w.depth = DEPTH;
    w.stop = Stop { bytes: Some(bytes), coverage: Some(PRECONDITION_PASSES as f64), ..w.stop };
    w
}

fn once(session: &mut Session<'_>, cells: Vec<Cell>) -> Result<()> {
    for mut cell in cells {
        cell.run(session, 0)?;
        cell.put(session, &cell.samples);
        cell.put_response(session);
        session.checkpoint();
    }
    Ok(())
}

fn latencies(session: &mut Session<'_>, w: &Workload) -> Result<()> {
    let m = session.moment(w, 0)?;
    for (kind, stats) in m.transfers() {
        let mut replicates = LatencyReplicates::default();
        replicates.add(&stats.service);
        session.put_metrics(&w.name, replicates.metrics(&MetricKey::from_workload(w)));
        let service = stats.service.clone();
        session.put_latency(LatencyProfile::new(w.name.as_str(), kind.name(), service));
    }
    session.checkpoint();
    Ok(())
}

fn rests(session: &mut Session<'_>, mut cell: Cell, seconds: f64, cycles: u32) -> Result<()> {
    session.rounds(cycles, None, |session, cycle| {
        cell.run(session, cycle)?;
        // All cycles of one wait form one value, because each depends on the previous one.
        cell.put(session, &cell.samples);
        if seconds > 0.0 {
            session.rest("wait", seconds)?;
        }
        Ok(Round::Again)
    })?;
    session.checkpoint();
    Ok(())
}

fn over_time(
    session: &mut Session<'_>,
    w: &Workload,
    against: Option<&str>,
    ends: &mut Ends,
) -> Result<()> {
    let series = session.measure_over_time(w, 0)?;
    let rate = series.average().unwrap_or(0.0);
    session.put_value(MetricKey::from_workload(w), Unit::BytesPerSecond, Some(rate));
    let end = series.rate_between(0.9 * series.bytes(), series.bytes()).unwrap_or(rate);
    let key = MetricKey::from_workload(w).with(Statistic::End);
    session.put_value(key, Unit::BytesPerSecond, Some(end));
    let before = ends.iter().find(|e| Some(e.0.as_str()) == against).map(|e| e.1);
    let recovery_s = before.and_then(|rate| series.reaches(RECOVERED_FROM * rate));
    let key = MetricKey::from_workload(w).with(Statistic::Recovery);
    session.put_value(key, Unit::Nanoseconds, recovery_s.map(|seconds| seconds * 1e9));
    ends.push((w.name.clone(), end));
    session.checkpoint();
    Ok(())
}
