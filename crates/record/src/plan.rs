//! The plan of a run, shown before the first I/O.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use workload::Workload;

use crate::kind::kinds;

kinds! { word
    /// The worst effect of a method on the drive's data. Each class includes those before it.
    Safety {
        /// Changes nothing.
        Reads = "reads",
        /// Writes its own new file in a directory, and removes it.
        Scratch = "scratch",
        /// Overwrites blocks saved in a journal, and restores their content.
        Borrows = "borrows",
        /// Destroys part or all of the drive's content.
        Destroys = "destroys",
    }
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanStep {
    /// The workload or preparation, such as `rand-read-4KiB-q32`.
    pub name: String,
    /// Expected duration of all its repetitions, in seconds.
    #[serde(deserialize_with = "crate::null::number")]
    pub seconds: f64,
    /// Number of repetitions, at most.
    pub repeats: u32,
    /// Minimum number of repetitions, on a drive too slow for all of them; absent if all are done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats_least: Option<u32>,
    /// Expected bytes written, over all repetitions; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_bytes_expected: Option<u64>,
    /// Maximum bytes written, over all repetitions.
    pub write_bytes_max: u64,
}

impl PlanStep {
    /// The number of repetitions on screen: `4`, or `2-4`.
    pub fn times(&self) -> String {
        let least = self.repeats_least.map(|least| format!("{least}-")).unwrap_or_default();
        format!("{least}{}", self.repeats)
    }
}

/// The range of a plan's expectations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRange {
    /// Duration in seconds, least and most.
    pub seconds: [f64; 2],
    /// Bytes written, least and most.
    pub write_bytes: [u64; 2],
}

/// The cost and the steps of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The worst effect on the drive's data.
    pub safety: Safety,
    /// Expected duration in seconds.
    #[serde(deserialize_with = "crate::null::number")]
    pub seconds: f64,
    /// Expected bytes written; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_bytes_expected: Option<u64>,
    /// The expectations for the fastest and for the slowest usual drive, if nothing is known about
    /// the rates of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<PlanRange>,
    /// Maximum bytes written.
    pub write_bytes_max: u64,
    /// Size of the scratch file or region, in bytes.
    pub region_bytes: u64,
    /// The data that would be lost, for display; `null` if none.
    pub destroys: Option<String>,
    /// The steps, in order.
    pub steps: Vec<PlanStep>,
    /// The workloads in full, as issued. Shared, because a sweep has hundreds, and its record is
    /// copied again and again while it grows.
    #[serde(default)]
    pub workloads: Vec<Arc<Value>>,
    /// The command line.
    #[serde(default)]
    pub command: Vec<String>,
}

impl Plan {
    /// The workloads that this version can read.
    pub fn known_workloads(&self) -> impl Iterator<Item = Workload> + '_ {
        self.workloads.iter().filter_map(|json| Workload::deserialize(&**json).ok())
    }
}
