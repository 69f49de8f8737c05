//! The figures of a run beside those that are expected, and the band in which they count as the same.
//!
//! A band has three parts, added as variances of logarithms: the spread between runs of such a drive
//! (learnt from repeats, or assumed for its class), the spread of the rounds within the runs, and the
//! accuracy of the twin. An earlier run of the same drive is exact in this sense; a preset is as accurate
//! as its predictions of published figures of that kind.

use record::{CellKey, Covers, Metric, MetricKey, Naming, Order, Run, Statistic, TargetKind, Unit};
use serde::Serialize;
use workload::OpKind;

use super::Twin;
use crate::bands;
use crate::spread;
use crate::work;

/// Width of a band in standard deviations: with twenty figures, one is outside by chance in 1 of 20
/// checks.
const DEVIATIONS: f64 = 3.0;

/// Narrowest band: smaller differences are of no interest.
const NARROWEST: f64 = 0.03;

/// Spread of percentiles, sizes of caches and slowest stretches over that of rates; arbitrary.
const TAIL_FACTOR: f64 = 2.0;

/// Accuracy of a fitted twin in works that it was not fitted to: the goal of the fit.
const FITTED: f64 = 0.15;

/// How far a twin may be from the drive that it describes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Accuracy {
    /// The run is of a virtual drive with a description.
    Exact,
    /// It was fitted to the drive.
    Fitted,
    /// It describes the drive's model.
    OfModel,
}

impl Accuracy {
    pub fn of_twin(twin: &Twin, run: &Run) -> Accuracy {
        if !twin.runs.is_empty() {
            Accuracy::Fitted
        } else if run.target.kind == TargetKind::Virtual {
            Accuracy::Exact
        } else {
            Accuracy::OfModel
        }
    }

    /// Half-width in logarithms for a metric; `None` if the accuracy of its kind is unknown.
    fn of_metric(self, key: &MetricKey) -> Option<f64> {
        match self {
            Accuracy::Exact => Some(0.0),
            Accuracy::Fitted => Some(FITTED),
            Accuracy::OfModel => {
                let kind = kind(key.as_cell()?)?;
                let bands = bands::error_bands();
                let band = bands.iter().find(|band| band.kind == kind)?;
                Some(libm::log(band.most_within))
            }
        }
    }
}

/// The kind of a cell in the table of error bands.
fn kind(cell: &CellKey) -> Option<&'static str> {
    let op = cell.op?;
    Some(match (cell.order, op, cell.depth) {
        (Order::Random, OpKind::Read, 1) => "random reads at depth 1",
        (Order::Random, OpKind::Read, 32..) => "random reads at depth 32 or more",
        (Order::Random, OpKind::Read, _) => "random reads by depth",
        (Order::Random, OpKind::Write, 1) => "random writes at depth 1",
        (Order::Random, OpKind::Write, 32..) => "random writes at depth 32 or more",
        (Order::Sequential, OpKind::Read, 1) => "sequential reads at depth 1",
        (Order::Sequential, OpKind::Read, 8..) => "sequential reads at depth 8 or more",
        (Order::Sequential, OpKind::Write, _) => "sequential writes in the cache",
        _ => return None,
    })
}

/// What a run is held against.
pub(super) struct Reference<'a> {
    /// A run of the same work on the drive, when the twin was fitted to it.
    pub earlier: Option<&'a Run>,
    /// The same work on the twin.
    pub simulated: &'a [Metric],
    pub accuracy: Accuracy,
}

/// A figure of a run and what is expected of it.
#[derive(Clone, Debug, Serialize)]
pub struct HeldFigure {
    /// Its key.
    pub metric: String,
    /// In words.
    pub label: String,
    pub unit: Unit,
    pub measured: f64,
    pub expected: f64,
    /// `run`: an earlier run that the twin was fitted to; `twin`: the simulation.
    pub expected_from: &'static str,
    /// The twin's value.
    pub twin: f64,
    /// Factor up to which a difference is chance or inaccuracy of the twin.
    pub band_factor: f64,
    pub differs: bool,
}

impl HeldFigure {
    /// The logarithm of measured over expected.
    pub(super) fn log_ratio(&self) -> f64 {
        libm::log(self.measured / self.expected)
    }

    pub fn ratio(&self) -> f64 {
        self.measured / self.expected
    }

    /// Logarithm of the factor of its band.
    pub(super) fn band(&self) -> f64 {
        libm::log(self.band_factor)
    }
}

/// The figures that both sides have.
pub(super) fn held(run: &Run, reference: &Reference<'_>) -> Vec<HeldFigure> {
    let metrics = run.metrics.iter().filter(|metric| is_held(run, metric));
    metrics.filter_map(|metric| figure(run, metric, reference)).collect()
}

/// Whether a metric tells about the drive: what the method declares as primary, rates of cells, and
/// the slowest random reads at depth 1, where retries show first.
fn is_held(run: &Run, metric: &Metric) -> bool {
    let key = metric.key();
    let is_rate = matches!(metric.unit, Unit::BytesPerSecond | Unit::Iops);
    let cell = key.as_cell();
    // The two sides of a mix are one measurement.
    if cell.is_some_and(|cell| cell.order == Order::Mixed && cell.op == Some(OpKind::Write)) {
        return false;
    }
    let is_slow_read = key.statistic == Some(Statistic::P99)
        && cell.is_some_and(|cell| {
            cell.order == Order::Random && cell.op == Some(OpKind::Read) && cell.depth == 1
        });
    let is_primary = work::method(&run.method).is_ok_and(|method| method.is_primary(&key));
    is_slow_read || is_primary || (is_rate && key.is_main() && cell.is_some())
}

fn figure(run: &Run, metric: &Metric, reference: &Reference<'_>) -> Option<HeldFigure> {
    let key = metric.key();
    let measured = metric.value.filter(|value| *value > 0.0)?;
    let twin_metric = reference.simulated.iter().find(|twin| twin.name == metric.name)?;
    let twin = twin_metric.value.filter(|value| *value > 0.0)?;
    let earlier = reference.earlier.and_then(|run| run.metric(&metric.name));
    let earlier_value = earlier.and_then(|metric| metric.value).filter(|value| *value > 0.0);
    let (expected, expected_from, accuracy) = match earlier_value {
        Some(value) => (value, "run", 0.0),
        None => (twin, "twin", reference.accuracy.of_metric(&key)?),
    };
    let rounds = [Some(metric), earlier.or(Some(twin_metric))].into_iter().flatten();
    let round_variance: f64 = rounds.map(|metric| variance_of_mean(&metric.samples)).sum();
    let run_spread = between_runs(run, metric);
    let tail = if key.is_main() { 1.0 } else { TAIL_FACTOR };
    let chance = DEVIATIONS * tail * (2.0 * run_spread.powi(2) + round_variance).sqrt();
    let band = libm::hypot(chance, accuracy * tail).max(NARROWEST);
    let differs = libm::log(measured / expected).abs() > band;
    Some(HeldFigure {
        label: Naming::Ours.metric(&key),
        metric: metric.name.clone(),
        unit: metric.unit,
        measured,
        expected,
        expected_from,
        twin,
        band_factor: libm::exp(band),
        differs,
    })
}

/// Standard deviation between runs of the drive: learnt, if its runs gave an interval for the next,
/// which has two deviations on each side.
fn between_runs(run: &Run, metric: &Metric) -> f64 {
    let prior = spread::prior_of_metric(run, &metric.key());
    let interval = metric.low.zip(metric.high).filter(|(low, _)| *low > 0.0);
    match interval {
        Some((low, high))
            if metric.covers == Some(Covers::NextRun) && metric.runs.is_some_and(|n| n > 2) =>
        {
            libm::log(high / low) / 4.0
        }
        _ => prior,
    }
}

/// Variance of the mean of the logarithms of these rounds.
fn variance_of_mean(rounds: &[f64]) -> f64 {
    let logs: Vec<f64> =
        rounds.iter().filter(|value| **value > 0.0).map(|value| libm::log(*value)).collect();
    let n = logs.len() as f64;
    if logs.len() < 2 {
        return 0.0;
    }
    let mean = logs.iter().sum::<f64>() / n;
    logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0) / n
}

#[cfg(test)]
mod tests {
    use record::Target;

    use super::*;

    fn run(metrics: Vec<Metric>) -> Run {
        let target =
            Target { kind: TargetKind::Virtual, spec: "sim:x".into(), ..Target::default() };
        Run { metrics, ..Run::new("quick", target) }
    }

    fn metric(value: f64) -> Metric {
        Metric::single("rand-read-4KiB-q1", Unit::Iops, value)
    }

    #[test]
    fn a_difference_beyond_chance_is_seen_and_one_within_is_not() {
        let simulated = [metric(1000.0)];
        let reference =
            Reference { earlier: None, simulated: &simulated, accuracy: Accuracy::Exact };
        let differs = |value: f64| held(&run(vec![metric(value)]), &reference)[0].differs;
        assert_eq!([980.0, 1020.0, 900.0, 1100.0].map(differs), [false, false, true, true]);
    }

    #[test]
    fn an_earlier_run_is_the_reference_and_the_twin_is_not() {
        let simulated = [metric(1200.0)];
        let earlier = run(vec![metric(1000.0)]);
        let reference = Reference {
            earlier: Some(&earlier),
            simulated: &simulated,
            accuracy: Accuracy::Fitted,
        };
        let figure = &held(&run(vec![metric(1010.0)]), &reference)[0];
        assert_eq!((figure.expected, figure.expected_from), (1000.0, "run"));
        assert!(!figure.differs);
        let figure = &held(&run(vec![metric(850.0)]), &Reference { earlier: None, ..reference })[0];
        assert!(figure.differs && figure.expected_from == "twin", "{figure:?}");
    }

    #[test]
    fn every_kind_is_one_of_the_error_bands_table() {
        let table = include_str!("../bands.tsv");
        for order in [Order::Random, Order::Sequential] {
            for op in [OpKind::Read, OpKind::Write] {
                for depth in [1, 4, 8, 32] {
                    let cell = CellKey::new(order, Some(op), 4096, depth);
                    if let Some(kind) = kind(&cell) {
                        assert!(table.contains(&format!("\n{kind}\t")), "{kind}");
                    }
                }
            }
        }
    }
}
