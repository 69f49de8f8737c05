//! The figures of a run beside those that are expected, and the band in which they count as the same.
//!
//! A band has three parts, added as variances of logarithms: the spread between runs of such a drive
//! (learnt from repeats, or assumed for its class), the spread of the rounds within the runs, and the
//! accuracy of the twin. An earlier run of the same drive is exact in this sense; a preset is as accurate
//! as its predictions of published figures of that kind; a fitted twin as its fit was, figure by figure.

use record::{CellKey, Covers, Metric, MetricKey, Naming, Order, Run, TargetKind, Unit};
use serde::Serialize;
use workload::OpKind;

use super::Twin;
use crate::bands;
use crate::fit::Residual;
use crate::repeat;
use crate::spread;

/// Width of a band in standard deviations: with twenty figures, one is outside by chance in 1 of 20
/// checks.
const DEVIATIONS: f64 = 3.0;

/// Narrowest band: smaller differences are of no interest.
const NARROWEST: f64 = 0.03;

/// Spread of percentiles, sizes of caches and slowest stretches over that of rates; arbitrary.
const TAIL_FACTOR: f64 = 2.0;

/// Accuracy of a fitted twin in works that it was not fitted to, where its fit was no worse: the goal
/// of the fit.
const FITTED: f64 = 0.15;

/// How far a twin may be from the drive that it describes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Accuracy<'a> {
    /// The run is of a virtual drive with a description.
    Exact,
    /// It was fitted to the drive, and is as far from these figures.
    Fitted(&'a [Residual]),
    /// The same, but the run worked on another amount of data.
    FittedElsewhere(&'a [Residual]),
    /// It describes the drive's model.
    OfModel,
}

/// How far a figure of the twin may be from the drive's, in logarithms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Inaccuracy {
    /// A distance that the fit itself left.
    fixed: f64,
    /// One by chance.
    drawn: f64,
}

impl<'a> Accuracy<'a> {
    pub fn of_twin(twin: &'a Twin, run: &Run) -> Accuracy<'a> {
        match &twin.fit {
            Some(notes) if super::is_of_fitted_size(twin, run) => {
                Accuracy::Fitted(&notes.residuals)
            }
            Some(notes) => Accuracy::FittedElsewhere(&notes.residuals),
            None if run.target.kind == TargetKind::Virtual => Accuracy::Exact,
            None => Accuracy::OfModel,
        }
    }

    /// The inaccuracy of a metric; `None` if that of its kind is unknown.
    fn of_metric(self, key: &MetricKey) -> Option<Inaccuracy> {
        let by_chance = |drawn: f64| Inaccuracy { fixed: 0.0, drawn };
        match self {
            Accuracy::Exact => Some(Inaccuracy::default()),
            // The file is of a version that kept no residuals.
            Accuracy::Fitted([]) | Accuracy::FittedElsewhere([]) => Some(by_chance(FITTED)),
            Accuracy::FittedElsewhere(residuals) => {
                let fixed = of_similar(residuals, key)?;
                Some(Inaccuracy { fixed, drawn: FITTED })
            }
            Accuracy::Fitted(residuals) => {
                let name = key.to_string();
                let residual = residuals.iter().find(|residual| residual.metric == name);
                residual
                    .map(|residual| Inaccuracy { fixed: residual.distance(), drawn: FITTED })
                    .or_else(|| Some(by_chance(of_similar(residuals, key)?.max(FITTED))))
            }
            Accuracy::OfModel => {
                let kind = kind(key.as_cell()?)?;
                let bands = bands::error_bands();
                let band = bands.iter().find(|band| band.kind == kind)?;
                Some(by_chance(libm::log(band.most_within)))
            }
        }
    }
}

/// The largest residual of figures like this one, which the fit did not see: cells of the same order
/// and direction, else of the same direction; or other figures of the same workload. `None` if the fit
/// saw nothing like it, so that it rests on guesses.
fn of_similar(residuals: &[Residual], key: &MetricKey) -> Option<f64> {
    let Some(cell) = key.as_cell() else {
        return largest(residuals, |seen| seen.owner() == key.owner());
    };
    let has_direction = |seen: &MetricKey| {
        seen.as_cell().is_some_and(|seen| cell.order == Order::Mixed || seen.op == cell.op)
    };
    let has_order = |seen: &MetricKey| seen.as_cell().is_some_and(|seen| seen.order == cell.order);
    largest(residuals, |seen| has_direction(seen) && has_order(seen))
        .or_else(|| largest(residuals, has_direction))
}

/// The largest residual of the figures that count.
fn largest(residuals: &[Residual], counts: impl Fn(&MetricKey) -> bool) -> Option<f64> {
    let counted = residuals.iter().filter(|seen| counts(&MetricKey::parse(&seen.metric)));
    counted.map(Residual::distance).reduce(f64::max)
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
    pub accuracy: Accuracy<'a>,
    /// What more may move the figures, if there is no earlier run.
    pub doubts: &'a [Doubt],
}

/// How far a figure moves with a parameter that nothing determined, a logarithm.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Doubt {
    metric: String,
    distance: f64,
}

/// How far the figures of a twin are from those with another value of a parameter.
pub(super) fn doubts<'m>(
    changed: &'m [Metric],
    simulated: &'m [Metric],
) -> impl Iterator<Item = Doubt> + 'm {
    simulated.iter().filter_map(|metric| {
        let other = changed.iter().find(|other| other.name == metric.name)?;
        let distance = libm::log(other.value? / metric.value?).abs();
        distance.is_finite().then(|| Doubt { metric: metric.name.clone(), distance })
    })
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
    /// Logarithm up to which a difference from the twin is, even if an earlier run is expected.
    #[serde(skip)]
    pub(super) twin_band: f64,
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
}

/// The figures that both sides have.
pub(super) fn held(run: &Run, reference: &Reference<'_>) -> Vec<HeldFigure> {
    repeat::telling(run).filter_map(|metric| figure(run, metric, reference)).collect()
}

fn figure(run: &Run, metric: &Metric, reference: &Reference<'_>) -> Option<HeldFigure> {
    let key = metric.key();
    let measured = metric.value.filter(|value| *value > 0.0)?;
    let twin_metric = reference.simulated.iter().find(|twin| twin.name == metric.name)?;
    let twin = twin_metric.value.filter(|value| *value > 0.0)?;
    let earlier = reference.earlier.and_then(|run| run.metric(&metric.name));
    let earlier_value = earlier.and_then(|metric| metric.value).filter(|value| *value > 0.0);
    let of_twin = reference.accuracy.of_metric(&key);
    let (expected, expected_from, inaccuracy) = match earlier_value {
        Some(value) => (value, "run", Inaccuracy::default()),
        None => (twin, "twin", of_twin?),
    };
    let rounds = [Some(metric), earlier.or(Some(twin_metric))].into_iter().flatten();
    let round_variance: f64 = rounds.map(|metric| variance_of_mean(&metric.samples)).sum();
    let run_spread = between_runs(run, metric);
    let tail = if key.is_main() { 1.0 } else { TAIL_FACTOR };
    let chance = DEVIATIONS * tail * (2.0 * run_spread.powi(2) + round_variance).sqrt();
    let doubts = reference.doubts.iter().filter(|doubt| doubt.metric == metric.name);
    let doubt = doubts.map(|doubt| doubt.distance).fold(0.0, f64::max);
    let [band, twin_band] = [inaccuracy, of_twin.unwrap_or_default()].map(|inaccuracy| {
        let band = libm::hypot(chance, inaccuracy.drawn * tail);
        band.max(inaccuracy.fixed + chance).max(NARROWEST) + doubt
    });
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
        twin_band,
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
        let accuracy = Accuracy::Exact;
        let reference = Reference { earlier: None, simulated: &simulated, accuracy, doubts: &[] };
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
            accuracy: Accuracy::Fitted(&[]),
            doubts: &[],
        };
        let figure = &held(&run(vec![metric(1010.0)]), &reference)[0];
        assert_eq!((figure.expected, figure.expected_from), (1000.0, "run"));
        assert!(!figure.differs);
        let figure = &held(&run(vec![metric(850.0)]), &Reference { earlier: None, ..reference })[0];
        assert!(figure.differs && figure.expected_from == "twin", "{figure:?}");
    }

    #[test]
    fn a_fitted_figure_is_as_accurate_as_its_fit() {
        let residual = |metric: &str, times| Residual { metric: metric.into(), times };
        let residuals = [
            residual("rand-read-4KiB-q1", 0.7),
            residual("rand-read-4KiB-q32", 1.02),
            residual("seq-write-1MiB-q8", 1.3),
            residual("sustain-fresh.average", 0.5),
        ];
        let accuracy = Accuracy::Fitted(&residuals);
        let of = |metric: &str| accuracy.of_metric(&MetricKey::parse(metric));
        let (worst, fixed) = (libm::log(0.7).abs(), |m| of(m).map(|i| i.fixed));
        assert_eq!(fixed("rand-read-4KiB-q1"), Some(worst));
        assert!(fixed("rand-read-4KiB-q32").is_some_and(|fixed| fixed < 0.03));
        let drawn = |metric: &str| of(metric).map(|inaccuracy| inaccuracy.drawn);
        // A figure that the fit did not see is as accurate as the worst like it.
        assert_eq!(drawn("rand-read-16KiB-q4"), Some(worst));
        assert_eq!(drawn("seq-read-1MiB-q1"), Some(worst));
        assert_eq!(drawn("rand-write-4KiB-q1"), Some(libm::log(1.3)));
        assert_eq!(drawn("sustain-fresh.worst-1%"), Some(libm::log(0.5).abs()));
        // Nothing like it was seen: it rests on guesses.
        assert_eq!(of("states-filled"), None);
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
