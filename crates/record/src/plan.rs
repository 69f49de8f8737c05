//! What a run is going to do, told before the first byte.

use serde::{Deserialize, Serialize};

/// What a method may do to what is on a drive; later ones include the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Safety {
    /// Touches nothing.
    Reads,
    /// Writes its own new file in a directory, and removes it.
    Scratch,
    /// Overwrites blocks and puts the same content back, with a journal.
    Borrows,
    /// Content or the whole drive is lost.
    Destroys,
}

impl Safety {
    /// The word used in records and on screens.
    pub fn name(self) -> &'static str {
        match self {
            Safety::Reads => "reads",
            Safety::Scratch => "scratch",
            Safety::Borrows => "borrows",
            Safety::Destroys => "destroys",
        }
    }
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The workload or preparation, such as `rand-read-4KiB-q32`.
    pub name: String,
    /// Expected duration of all its repetitions, in seconds.
    #[serde(deserialize_with = "crate::null::number")]
    pub seconds: f64,
    /// How often it is repeated.
    pub repeats: u32,
    /// Bytes it writes at most, over all repetitions.
    pub write_bytes_max: u64,
}

/// The cost of a run, and what it consists of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What it may do to what is on the drive.
    pub safety: Safety,
    /// Expected duration in seconds.
    #[serde(deserialize_with = "crate::null::number")]
    pub seconds: f64,
    /// Bytes written at most.
    pub write_bytes_max: u64,
    /// Size of the scratch file or region worked on, in bytes.
    pub region_bytes: u64,
    /// What would be lost, in words; `null` when nothing is.
    pub destroys: Option<String>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The workloads in full, as they were issued.
    #[serde(default)]
    pub workloads: Vec<serde_json::Value>,
    /// The command line that led here.
    #[serde(default)]
    pub command: Vec<String>,
}
