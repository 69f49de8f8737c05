//! Quantities in the record of an experiment: their names in the documents, and their values. Pure.

use record::{Column, Run, Series};
use serde::Deserialize;

/// Number of equal parts of a workload's bytes, from which worst, mean and spread are computed.
const PARTS: usize = 100;

/// Number of parts for locating the end of a phase: 0.25% each.
const FINE_PARTS: usize = 400;

/// How to read a figure from the record of an experiment.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Reading {
    Metric(String),
    /// From the time series of a workload, by fraction of its bytes.
    TimeSeries {
        /// The workload.
        #[serde(alias = "course")]
        series: String,
        /// The quantity.
        #[serde(default)]
        take: Take,
        /// The number of the phase, for quantities of a phase; phase 0 ends at the first fall.
        #[serde(default)]
        phase: usize,
        /// Start, as a fraction of the bytes.
        #[serde(default)]
        from: f64,
        /// End, as a fraction of the bytes.
        #[serde(default = "whole")]
        to: f64,
    },
    /// Total time of these workloads.
    Elapsed {
        /// The workloads.
        elapsed: Vec<String>,
    },
    /// The quantity of one workload over that of another.
    Ratio {
        /// The two workloads.
        ratio: [String; 2],
        /// The quantity.
        #[serde(default)]
        take: Take,
        /// Start, as a fraction of the bytes.
        #[serde(default)]
        from: f64,
        /// End, as a fraction of the bytes.
        #[serde(default = "whole")]
        to: f64,
    },
}

fn whole() -> f64 {
    1.0
}

/// A quantity of a workload's time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    /// Bytes divided by time.
    #[default]
    Rate,
    /// Mean of the rates of equal parts, as printed by surface tests of drives.
    MeanOfParts,
    /// The slowest hundredth.
    Worst,
    Bytes,
    /// Bytes of a phase, which is a period of constant rate.
    PhaseBytes,
    PhaseRate,
    /// The fastest hundredth divided by the slowest.
    Spread,
}

/// The quantity read from a record, in the record's unit.
pub(super) fn read(reading: &Reading, run: &Run) -> Option<f64> {
    match reading {
        Reading::Metric(name) => run.metric(name)?.value,
        Reading::Elapsed { elapsed } => elapsed
            .iter()
            .map(|name| Some(ByteSeries::from_run(run, name)?.time_at(1.0) * 1e9))
            .sum(),
        Reading::TimeSeries { series, take, phase, from, to } => {
            let series = ByteSeries::from_run(run, series)?;
            match take {
                Take::PhaseBytes => series.phase(*phase).map(|(a, b)| (b - a) * series.bytes()),
                Take::PhaseRate => series.phase(*phase).map(|(a, b)| series.rate(a, b)),
                _ => take_from(&series, *take, *from, *to),
            }
        }
        Reading::Ratio { ratio: [above, below], take, from, to } => {
            let [dividend, divisor] = [above, below]
                .map(|name| take_from(&ByteSeries::from_run(run, name)?, *take, *from, *to));
            Some(dividend? / divisor?)
        }
    }
}

/// `None` for phases, whose ends are detected rather than given.
fn take_from(series: &ByteSeries, take: Take, from: f64, to: f64) -> Option<f64> {
    let parts = series.parts(PARTS, from, to);
    let (slowest, fastest) =
        parts.iter().fold((f64::MAX, 0f64), |(low, high), rate| (low.min(*rate), high.max(*rate)));
    Some(match take {
        Take::Rate => series.rate(from, to),
        Take::MeanOfParts => parts.iter().sum::<f64>() / parts.len() as f64,
        Take::Worst => slowest,
        Take::Spread => fastest / slowest,
        Take::Bytes => series.bytes(),
        Take::PhaseBytes | Take::PhaseRate => return None,
    })
}

/// Bytes over time, from one execution of a workload.
pub struct ByteSeries {
    /// Bytes done and seconds elapsed at the end of each interval, beginning at (0, 0).
    points: Vec<(f64, f64)>,
}

impl ByteSeries {
    /// The first execution of a workload in a record.
    pub fn from_run(run: &Run, workload: &str) -> Option<ByteSeries> {
        let series = run.series.iter().find(|series| series.name == workload)?;
        ByteSeries::from_series(series)
    }

    fn from_series(series: &Series) -> Option<ByteSeries> {
        let sides: Vec<&Column> =
            ["read", "write"].into_iter().filter_map(|side| series.column(side)).collect();
        let mut points = vec![(0.0, 0.0)];
        let (mut bytes, mut last) = (0.0, 0.0);
        for (i, t_ns) in series.t_ns.iter().enumerate() {
            let t_s = *t_ns as f64 / 1e9;
            let rate: f64 = sides.iter().filter_map(|side| side.values[i]).sum();
            bytes += rate * (t_s - last);
            last = t_s;
            points.push((bytes, t_s));
        }
        (bytes > 0.0).then_some(ByteSeries { points })
    }

    /// The total of its bytes.
    pub fn bytes(&self) -> f64 {
        self.points.last().map_or(0.0, |(bytes, _)| *bytes)
    }

    /// The time at which a fraction of its bytes was done, seconds.
    fn time_at(&self, share: f64) -> f64 {
        let bytes = share * self.bytes();
        let end = self.points.partition_point(|(done, _)| *done < bytes);
        let end = end.clamp(1, self.points.len() - 1);
        let ((b0, t0), (b1, t1)) = (self.points[end - 1], self.points[end]);
        if b1 > b0 { t0 + (t1 - t0) * ((bytes - b0) / (b1 - b0)).min(1.0) } else { t1 }
    }

    /// The rate between two fractions of its bytes.
    pub fn rate(&self, from: f64, to: f64) -> f64 {
        (to - from) * self.bytes() / (self.time_at(to) - self.time_at(from)).max(1e-9)
    }

    /// The rates of `n` equal parts of the bytes between two fractions.
    pub fn parts(&self, n: usize, from: f64, to: f64) -> Vec<f64> {
        let share = |i: usize| from + (to - from) * i as f64 / n as f64;
        (0..n).map(|i| self.rate(share(i), share(i + 1))).collect()
    }

    /// The ends of a phase of constant rate, as fractions of the bytes. The first phase ends at the
    /// first fall of the rate.
    fn phase(&self, number: usize) -> Option<(f64, f64)> {
        let steps = analysis::steps(&self.parts(FINE_PARTS, 0.0, 1.0));
        let first_fall = steps.first_fall().unwrap_or(steps.changes.len());
        let changes = steps.changes[first_fall..].iter().map(|c| c.at as f64 / FINE_PARTS as f64);
        let ends: Vec<f64> = [0.0].into_iter().chain(changes).chain([1.0]).collect();
        Some((*ends.get(number)?, *ends.get(number + 1)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A time series with one second at each of these rates.
    fn time_series(rates: &[f64]) -> ByteSeries {
        let mut series = Series::new("w", 0, 0);
        for (i, rate) in rates.iter().enumerate() {
            let t_ns = (i as u64 + 1) * 1_000_000_000;
            series.push(t_ns, &[("write", record::Unit::BytesPerSecond, Some(*rate))]);
        }
        ByteSeries::from_series(&series).expect("it has bytes")
    }

    #[test]
    fn rates_are_taken_over_fractions_of_the_bytes() {
        let series = time_series(&[400.0, 400.0, 100.0, 100.0]);
        assert_eq!(series.bytes(), 1000.0);
        assert!((series.rate(0.0, 1.0) - 250.0).abs() < 1e-6);
        assert!((series.rate(0.8, 1.0) - 100.0).abs() < 1e-6);
        let worst = take_from(&series, Take::Worst, 0.0, 1.0).expect("no phase");
        assert!((worst - 100.0).abs() < 1e-6, "{worst}");
        let mean = take_from(&series, Take::MeanOfParts, 0.0, 1.0).expect("no phase");
        assert!((mean - 340.0).abs() < 1e-6, "{mean}");
        let spread = take_from(&series, Take::Spread, 0.0, 1.0).expect("no phase");
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
        let series = time_series(&(0..1000).map(rate).collect::<Vec<f64>>());
        let phases = [(50_000.0, 500.0), (75_000.0, 150.0), (200_000.0, 500.0)];
        for (i, (bytes, rate)) in phases.into_iter().enumerate() {
            let (from, to) = series.phase(i).expect("three phases");
            let found = (to - from) * series.bytes();
            assert!((found / bytes - 1.0).abs() < 0.02, "{i}: {found} bytes");
            let found = series.rate(from, to);
            assert!((found / rate - 1.0).abs() < 0.02, "{i}: {found}");
        }
        assert_eq!(series.phase(3), None);
    }
}
