//! Latency percentiles over replicates.
//!
//! The value comes from the merged histogram, because a tail needs all available samples, and
//! requires at least ten samples beyond it. The range covers the percentiles of the individual
//! replicates; it is omitted if any replicate has too few samples. Replicates are merged and
//! discarded, so only one histogram stays in memory.

use record::{Histogram, Metric, MetricKey, Statistic, Unit};

use crate::estimate::metric;

const PERCENTILES: [(f64, Statistic); 3] =
    [(0.5, Statistic::P50), (0.99, Statistic::P99), (0.999, Statistic::P999)];

/// Latencies of one operation kind of a workload, over its replicates.
#[derive(Clone, Debug, Default)]
pub struct LatencyReplicates {
    merged: Histogram,
    percentiles: [Vec<Option<f64>>; PERCENTILES.len()],
    max: Vec<f64>,
}

impl LatencyReplicates {
    /// Adds one replicate's latencies, in nanoseconds. Ignores an empty histogram.
    pub fn add(&mut self, latencies_ns: &Histogram) {
        let Some(max) = latencies_ns.max() else {
            return;
        };
        self.merged.merge(latencies_ns);
        self.max.push(max as f64);
        for (values, (q, _)) in self.percentiles.iter_mut().zip(PERCENTILES) {
            values.push(latencies_ns.percentile(q).map(|ns| ns as f64));
        }
    }

    /// Returns the latencies of all replicates combined.
    pub fn merged(&self) -> &Histogram {
        &self.merged
    }

    /// The p50, p99, p99.9 and maximum of a subject in nanoseconds, where the samples suffice.
    pub fn metrics(&self, subject: &MetricKey) -> Vec<Metric> {
        let name = |statistic| subject.clone().with(statistic).to_string();
        let percentiles =
            self.percentiles.iter().zip(PERCENTILES).filter_map(|(values, (q, statistic))| {
                let value = self.merged.percentile(q)? as f64;
                Some(percentile_metric(name(statistic), value, values))
            });
        // A maximum has no interval: it can only grow with more samples.
        let max = self.merged.max().map(|max| Metric {
            n: self.max.len() as u32,
            samples: self.max.clone(),
            ..Metric::single(name(Statistic::Max), Unit::Nanoseconds, max as f64)
        });
        percentiles.chain(max).collect()
    }
}

/// A percentile of all samples, with the range of the replicates' percentiles.
fn percentile_metric(name: String, value: f64, replicates: &[Option<f64>]) -> Metric {
    let samples: Vec<f64> = replicates.iter().copied().flatten().collect();
    let is_complete = samples.len() == replicates.len();
    let samples = if is_complete { samples } else { Vec::new() };
    let n = replicates.len() as u32;
    Metric { value: Some(value), n, ..metric(name, Unit::Nanoseconds, samples) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(count: u64, ns: impl Fn(u64) -> u64) -> Histogram {
        let mut h = Histogram::default();
        (0..count).for_each(|i| h.record(ns(i)));
        h
    }

    fn find<'a>(metrics: &'a [Metric], end: &str) -> Option<&'a Metric> {
        metrics.iter().find(|m| m.name == format!("x.{end}"))
    }

    #[test]
    fn a_tail_that_only_the_merged_samples_reach_has_a_value_and_no_interval() {
        let mut all = LatencyReplicates::default();
        (0..3).for_each(|r| all.add(&histogram(4000, |i| 1000 + i + 100 * r)));
        let metrics = all.metrics(&MetricKey::parse("x"));
        let p50 = find(&metrics, "p50").expect("enough samples");
        assert!(p50.low.is_some() && p50.samples.len() == 3 && p50.n == 3);
        let tail = find(&metrics, "p99.9").expect("12,000 samples");
        assert_eq!((tail.low, tail.high, tail.n), (None, None, 3));
        let max = find(&metrics, "max").expect("always");
        assert_eq!((max.value, max.low), (Some(5199.0), None));
    }

    #[test]
    fn a_percentile_that_nothing_reaches_is_not_printed() {
        let mut all = LatencyReplicates::default();
        all.add(&histogram(500, |_| 100));
        let metrics = all.metrics(&MetricKey::parse("x"));
        assert!(find(&metrics, "p50").is_some());
        assert!(find(&metrics, "p99").is_none() && find(&metrics, "p99.9").is_none());
        assert_eq!(find(&metrics, "p50").and_then(|m| m.low), None);
        assert!(LatencyReplicates::default().metrics(&MetricKey::parse("x")).is_empty());
    }

    #[test]
    fn the_value_lies_in_its_interval_even_when_two_replicates_of_twenty_were_bad() {
        let mut all = LatencyReplicates::default();
        (0..18).for_each(|_| all.add(&histogram(2000, |_| 100)));
        (0..2)
            .for_each(|_| all.add(&histogram(2000, |i| if i % 5 == 0 { 1_000_000 } else { 100 })));
        let metrics = all.metrics(&MetricKey::parse("x"));
        let p99 = find(&metrics, "p99").expect("enough samples");
        assert_eq!((p99.value, p99.high), (Some(1e6), Some(1e6)), "{p99:?}");
        assert!(p99.low < Some(200.0), "{p99:?}");
    }

    #[test]
    fn the_value_lies_in_its_interval_even_when_one_replicate_had_most_of_the_samples() {
        let mut all = LatencyReplicates::default();
        (0..19).for_each(|_| all.add(&histogram(100, |_| 1_000_000)));
        all.add(&histogram(10_000, |_| 100));
        let metrics = all.metrics(&MetricKey::parse("x"));
        let p50 = find(&metrics, "p50").expect("enough samples");
        assert_eq!((p50.value, p50.low), (Some(100.0), Some(100.0)), "{p50:?}");
        assert!(p50.high > Some(500_000.0), "{p50:?}");
    }
}
