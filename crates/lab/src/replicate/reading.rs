//! A figure read from a record, and its comparison with the published one. Pure.

use record::{Column, Run, Series};
use serde::Serialize;

use super::basis::Basis;
use super::document::{Bound, Figure, Reading, Take};
use super::unit::Unit;

/// Equal parts of a workload's bytes, over which worst, mean and spread are taken.
const PARTS: usize = 100;

/// Parts for locating the end of a phase: a quarter of a percent each.
const FINE_PARTS: usize = 400;

/// A published figure and its replication.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// A description for people.
    pub what: String,
    /// The experiment it was read from.
    pub experiment: String,
    /// Number of the run it was read from.
    pub run: Option<i64>,
    /// As published; the lower end of a range.
    pub published: f64,
    /// The upper end of a published range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_to: Option<f64>,
    /// As replicated; `null` if it could not be read.
    pub here: Option<f64>,
    /// The unit of all three.
    pub unit: Unit,
    /// Share by which it differs from the published figure, or from the nearer end of a range.
    pub difference: Option<f64>,
    /// Share by which it may differ.
    pub tolerance: f64,
    /// For figures published as a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// Whether it is within its tolerance.
    pub met: bool,
    /// Whether the drive was fitted to it, is stated to have it, or predicts it.
    pub basis: Basis,
    /// Its place in the document, or another source.
    pub source: String,
    /// Why the model cannot meet it, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Compares a figure with the record of its experiment.
pub fn compare(figure: &Figure, run: &Run) -> Compared {
    let here = read(&figure.read, run).map(|value| value / figure.unit.name_and_scale().1);
    let difference = here.map(|here| difference(here, figure.published, figure.to));
    let met = difference.is_some_and(|difference| match figure.bound {
        Some(Bound::AtLeast) => difference >= -figure.tolerance,
        Some(Bound::AtMost) => difference <= figure.tolerance,
        None => difference.abs() <= figure.tolerance,
    });
    Compared {
        what: figure.what.clone(),
        experiment: figure.experiment.clone(),
        run: run.number,
        published: figure.published,
        published_to: figure.to,
        here,
        unit: figure.unit,
        difference,
        tolerance: figure.tolerance,
        bound: figure.bound,
        met,
        basis: Basis::of(figure, &run.target.spec),
        source: figure.source.clone(),
        reason: figure.reason.clone(),
    }
}

/// Share by which a figure differs from a published one, or from the nearer end of a range.
pub fn difference(here: f64, published: f64, to: Option<f64>) -> f64 {
    let nearest = here.clamp(published, to.unwrap_or(published).max(published));
    here / nearest - 1.0
}

/// The quantity in a record, in the record's unit.
pub(super) fn read(reading: &Reading, run: &Run) -> Option<f64> {
    match reading {
        Reading::Metric(name) => run.metric(name)?.value,
        Reading::Elapsed { elapsed } => {
            elapsed.iter().map(|name| Some(Course::of(run, name)?.time_at(1.0) * 1e9)).sum()
        }
        Reading::Course { course, take, phase, from, to } => {
            let course = Course::of(run, course)?;
            match take {
                Take::PhaseBytes => course.phase(*phase).map(|(a, b)| (b - a) * course.bytes()),
                Take::PhaseRate => course.phase(*phase).map(|(a, b)| course.rate(a, b)),
                _ => take_from(&course, *take, *from, *to),
            }
        }
        Reading::Ratio { ratio: [above, below], take, from, to } => {
            let value = |name| take_from(&Course::of(run, name)?, *take, *from, *to);
            Some(value(above)? / value(below)?)
        }
    }
}

/// `None` for a phase, whose ends are found and not given.
fn take_from(course: &Course, take: Take, from: f64, to: f64) -> Option<f64> {
    let parts = course.parts(PARTS, from, to);
    let (slowest, fastest) =
        parts.iter().fold((f64::MAX, 0f64), |(low, high), rate| (low.min(*rate), high.max(*rate)));
    Some(match take {
        Take::Rate => course.rate(from, to),
        Take::MeanOfParts => parts.iter().sum::<f64>() / parts.len() as f64,
        Take::Worst => slowest,
        Take::Spread => fastest / slowest,
        Take::Bytes => course.bytes(),
        Take::PhaseBytes | Take::PhaseRate => return None,
    })
}

/// Bytes over time of one execution of a workload.
pub struct Course {
    /// Bytes done and seconds elapsed at the end of each interval, beginning at (0, 0).
    points: Vec<(f64, f64)>,
}

impl Course {
    /// The first execution of a workload in a record.
    pub fn of(run: &Run, workload: &str) -> Option<Course> {
        let series = run.series.iter().find(|series| series.name == workload)?;
        Course::of_series(series)
    }

    fn of_series(series: &Series) -> Option<Course> {
        let sides: Vec<&Column> =
            ["read", "write"].into_iter().filter_map(|side| series.column(side)).collect();
        let mut points = vec![(0.0, 0.0)];
        let (mut bytes, mut last) = (0.0, 0.0);
        for (i, t_ns) in series.t_ns.iter().enumerate() {
            let now = *t_ns as f64 / 1e9;
            let rate: f64 = sides.iter().filter_map(|side| side.values[i]).sum();
            bytes += rate * (now - last);
            last = now;
            points.push((bytes, now));
        }
        (bytes > 0.0).then_some(Course { points })
    }

    /// All of its bytes.
    pub fn bytes(&self) -> f64 {
        self.points.last().map_or(0.0, |(bytes, _)| *bytes)
    }

    /// When a share of its bytes was done, seconds.
    fn time_at(&self, share: f64) -> f64 {
        let wanted = share * self.bytes();
        let after = self.points.partition_point(|(bytes, _)| *bytes < wanted);
        let after = after.clamp(1, self.points.len() - 1);
        let ((b0, t0), (b1, t1)) = (self.points[after - 1], self.points[after]);
        if b1 > b0 { t0 + (t1 - t0) * ((wanted - b0) / (b1 - b0)).min(1.0) } else { t1 }
    }

    /// Bytes over time between two shares of its bytes.
    pub fn rate(&self, from: f64, to: f64) -> f64 {
        (to - from) * self.bytes() / (self.time_at(to) - self.time_at(from)).max(1e-9)
    }

    /// Rates of `n` equal parts of the bytes between two shares.
    pub fn parts(&self, n: usize, from: f64, to: f64) -> Vec<f64> {
        let at = |i: usize| from + (to - from) * i as f64 / n as f64;
        (0..n).map(|i| self.rate(at(i), at(i + 1))).collect()
    }

    /// The ends of a phase of constant rate, as shares of the bytes. The first phase ends where the
    /// rate falls for the first time.
    fn phase(&self, number: usize) -> Option<(f64, f64)> {
        let steps = analysis::steps(&self.parts(FINE_PARTS, 0.0, 1.0));
        let first = steps.first_fall().unwrap_or(steps.changes.len());
        let changes = steps.changes[first..].iter().map(|c| c.at as f64 / FINE_PARTS as f64);
        let ends: Vec<f64> = [0.0].into_iter().chain(changes).chain([1.0]).collect();
        Some((*ends.get(number)?, *ends.get(number + 1)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second at each of these rates.
    fn course(rates: &[f64]) -> Course {
        let mut series = Series::new("w", 0, 0);
        for (i, rate) in rates.iter().enumerate() {
            let t_ns = (i as u64 + 1) * 1_000_000_000;
            series.push(t_ns, &[("write", record::Unit::BytesPerSecond, Some(*rate))]);
        }
        Course::of_series(&series).expect("it has bytes")
    }

    #[test]
    fn rates_are_those_of_shares_of_the_bytes() {
        let course = course(&[400.0, 400.0, 100.0, 100.0]);
        assert_eq!(course.bytes(), 1000.0);
        assert!((course.rate(0.0, 1.0) - 250.0).abs() < 1e-6);
        assert!((course.rate(0.8, 1.0) - 100.0).abs() < 1e-6);
        let worst = take_from(&course, Take::Worst, 0.0, 1.0).expect("no phase");
        assert!((worst - 100.0).abs() < 1e-6, "{worst}");
        let mean = take_from(&course, Take::MeanOfParts, 0.0, 1.0).expect("no phase");
        assert!((mean - 340.0).abs() < 1e-6, "{mean}");
        let spread = take_from(&course, Take::Spread, 0.0, 1.0).expect("no phase");
        assert!((spread - 4.0).abs() < 1e-6, "{spread}");
    }

    #[test]
    fn elapsed_times_of_workloads_add_up() {
        let mut run = crate::published::find("002/mini-base-fio-1").expect("a record");
        for name in ["lay-out", "mix"] {
            let mut series = Series::new(name, 0, 0);
            series.push(3_000_000_000, &[("write", record::Unit::BytesPerSecond, Some(1e6))]);
            run.series.push(series);
        }
        let elapsed = |names: &[&str]| Reading::Elapsed {
            elapsed: names.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(read(&elapsed(&["lay-out", "mix"]), &run), Some(6e9));
        assert_eq!(read(&elapsed(&["lay-out", "none"]), &run), None);
    }

    #[test]
    fn a_phase_ends_where_the_rate_changes() {
        let rate = |i| if (100..600).contains(&i) { 150.0 } else { 500.0 };
        let course = course(&(0..1000).map(rate).collect::<Vec<f64>>());
        let phases = [(50_000.0, 500.0), (75_000.0, 150.0), (200_000.0, 500.0)];
        for (i, (bytes, rate)) in phases.into_iter().enumerate() {
            let (from, to) = course.phase(i).expect("three phases");
            let found = (to - from) * course.bytes();
            assert!((found / bytes - 1.0).abs() < 0.02, "{i}: {found} bytes");
            let found = course.rate(from, to);
            assert!((found / rate - 1.0).abs() < 0.02, "{i}: {found}");
        }
        assert_eq!(course.phase(3), None);
    }

    #[test]
    fn ranges_and_limits_are_compared_with_their_nearer_end() {
        assert_eq!(difference(90.0, 80.0, Some(100.0)), 0.0);
        assert!((difference(110.0, 80.0, Some(100.0)) - 0.1).abs() < 1e-9);
        assert!((difference(72.0, 80.0, Some(100.0)) + 0.1).abs() < 1e-9);
        assert!((difference(1.1, 1.0, None) - 0.1).abs() < 1e-9);
    }
}
