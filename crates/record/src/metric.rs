//! A named value with its unit, its replicates, and an interval where there are enough replicates.

use serde::{Deserialize, Serialize};

use crate::MetricKey;

/// Units of metrics, written as users of storage tools write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Operations per second.
    #[serde(rename = "IOPS")]
    Iops,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// A pure number: a ratio, a depth, a count.
    #[serde(rename = "1")]
    Number,
    /// Degrees Celsius.
    #[serde(rename = "C")]
    Celsius,
}

impl Unit {
    /// The unit as records write it.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::BytesPerSecond => "B/s",
            Unit::Iops => "IOPS",
            Unit::Nanoseconds => "ns",
            Unit::Bytes => "B",
            Unit::Number => "1",
            Unit::Celsius => "C",
        }
    }
}

/// One measured quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Its key as text, such as `rand-read-4KiB-q32` or `rand-read-4KiB-q32.p99`.
    pub name: String,
    /// Unit of `value`, `low`, `high` and `samples`.
    pub unit: Unit,
    /// The estimate; `null` when it could not be measured.
    pub value: Option<f64>,
    /// Lower end of the 95% interval; `null` with fewer than two replicates.
    pub low: Option<f64>,
    /// Upper end of the 95% interval.
    pub high: Option<f64>,
    /// Number of replicates (runs of the workload), not of operations.
    pub n: u32,
    /// The replicates, in the order they were run.
    #[serde(default, deserialize_with = "crate::null::numbers")]
    pub samples: Vec<f64>,
}

impl Metric {
    /// A value that was measured once: no interval.
    pub fn single(name: impl Into<String>, unit: Unit, value: f64) -> Metric {
        let samples = vec![value];
        Metric { name: name.into(), unit, value: Some(value), low: None, high: None, n: 1, samples }
    }

    /// Its key.
    pub fn key(&self) -> MetricKey {
        MetricKey::parse(&self.name)
    }
}
