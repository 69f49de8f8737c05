//! Health data of a drive: traffic, wear, spares and temperature.

use serde::{Deserialize, Serialize};

/// Lifetime counters of a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Bytes the host read.
    pub read_bytes: u64,
    /// Bytes the host wrote.
    pub written_bytes: u64,
    /// Bytes the host discarded.
    pub discarded_bytes: u64,
    /// Commands of each kind, by `OpKind as usize`.
    pub commands: [u64; 4],
    /// Power cuts.
    pub power_cuts: u64,
    /// Logical blocks that reverted to older content in power cuts.
    pub lost_blocks: u64,
}

/// Health data reported by a drive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Host traffic and events.
    pub counters: Counters,
    /// Percentage of rated life used; can exceed 100.
    pub wear_percent: f64,
    /// Mean erase count of a superblock.
    pub mean_erases: f64,
    /// Percentage of spare superblocks left.
    pub spare_percent: f64,
    /// Bytes programmed into flash for any reason.
    pub programmed_bytes: u64,
    /// Bytes sensed from flash for any reason.
    pub sensed_bytes: u64,
    /// Whether the drive refuses writes.
    pub read_only: bool,
    /// Temperature at the last command, degrees Celsius.
    pub temperature_c: f64,
    /// Total delay of commands due to throttling, in nanoseconds.
    pub throttled_ns: u64,
}
