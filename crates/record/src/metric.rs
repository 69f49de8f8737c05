//! A named value with its unit, its replicates and, if known, its interval.

use serde::{Deserialize, Serialize};

use crate::MetricKey;
use crate::kind::kinds;

kinds! { word
    /// Units of metrics, as written in storage tools.
    Unit {
        /// Bytes per second.
        BytesPerSecond = "B/s",
        /// Operations per second.
        Iops = "IOPS",
        /// Nanoseconds.
        Nanoseconds = "ns",
        /// Bytes.
        Bytes = "B",
        /// A pure number: a ratio, a depth, a count.
        Number = "1",
        /// A fraction of a whole: 1 is all of it.
        Share = "share",
        /// Degrees Celsius.
        Celsius = "C",
    }
}

kinds! { word
    /// The meaning of a metric's `low` and `high`.
    Covers {
        /// The range of the replicates within this run. It says nothing about another run.
        Rounds = "rounds",
        /// The value of the next run of the same test on the same drive, in 95 of 100 cases.
        NextRun = "next-run",
        /// The quantity itself in 95 of 100 cases: the mean that more replicates would approach, or
        /// a position in a series.
        Mean = "mean",
        /// The resolution of the reading: one unit of a coarse clock or counter more or less, or
        /// the last two steps of a search.
        Resolution = "resolution",
    }
}

/// An interval whose ends differ by a larger factor is too noisy for a single number.
const NOISY_FROM: f64 = 2.0;

/// One measured quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Its key as text, such as `rand-read-4KiB-q32` or `rand-read-4KiB-q32.p99`.
    pub name: String,
    /// Unit of `value`, `low`, `high` and `samples`.
    pub unit: Unit,
    /// The estimate; `null` when it could not be measured.
    pub value: Option<f64>,
    /// Lower end of the interval described by `covers`; `null` if there is none.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// Number of replicates (runs of the workload), not of operations.
    pub n: u32,
    /// The replicates, in execution order.
    #[serde(default, deserialize_with = "crate::null::numbers")]
    pub samples: Vec<f64>,
    /// Meaning of `low` and `high`; absent without an interval, and in records of earlier versions,
    /// whose intervals are [`Covers::Mean`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers: Option<Covers>,
    /// Number of runs of this drive, including this one, on which an interval for the next run is
    /// based. With 1, its width is assumed from the class of the drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u32>,
}

impl Metric {
    /// A value measured once, without an interval.
    pub fn single(name: impl Into<String>, unit: Unit, value: f64) -> Metric {
        let samples = vec![value];
        let (value, name) = (Some(value), name.into());
        let (low, high, covers, runs) = (None, None, None, None);
        Metric { name, unit, value, low, high, n: 1, samples, covers, runs }
    }

    /// Sets the interval and its meaning.
    #[must_use]
    pub fn between(self, low: f64, high: f64, covers: Covers) -> Metric {
        Metric { low: Some(low), high: Some(high), covers: Some(covers), ..self }
    }

    /// The smallest and the largest replicate; `None` with fewer than two.
    pub fn range(&self) -> Option<(f64, f64)> {
        let samples = self.samples.iter().copied();
        let (least, most) = (samples.clone().reduce(f64::min)?, samples.reduce(f64::max)?);
        (self.samples.len() > 1).then_some((least, most))
    }

    /// Whether its interval is too wide for a single number to mean anything: the ends differ by
    /// more than a factor of two.
    pub fn is_too_noisy(&self) -> bool {
        self.low.zip(self.high).is_some_and(|(low, high)| high > NOISY_FROM * low)
    }

    /// Its key.
    pub fn key(&self) -> MetricKey {
        MetricKey::parse(&self.name)
    }
}

impl From<&Metric> for MetricKey {
    fn from(metric: &Metric) -> MetricKey {
        metric.key()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_kind_of_a_later_version_is_readable() {
        let metric = Metric {
            covers: Some(Covers::NextRun),
            runs: Some(3),
            ..Metric::single("x", Unit::Iops, 1.0)
        };
        let json = serde_json::to_string(&metric).expect("plain data");
        assert!(json.contains(r#""covers":"next-run","runs":3"#), "{json}");
        assert_eq!(serde_json::from_str::<Metric>(&json).ok().as_ref(), Some(&metric));
        let later = json.replace("next-run", "next-week");
        let read: Metric = serde_json::from_str(&later).expect("still a metric");
        assert_eq!((read.covers, read.runs), (Some(Covers::named("next-week")), Some(3)));
        let bare =
            serde_json::to_string(&Metric::single("x", Unit::Iops, 1.0)).expect("plain data");
        assert!(!bare.contains("covers") && !bare.contains("runs"), "{bare}");
    }

    #[test]
    fn the_range_of_one_replicate_is_none() {
        let mut metric = Metric::single("x", Unit::Iops, 2.0);
        assert_eq!(metric.range(), None);
        metric.samples = vec![3.0, 1.0, 2.0];
        assert_eq!(metric.range(), Some((1.0, 3.0)));
    }
}
