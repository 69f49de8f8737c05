//! Health data of a drive: traffic, wear, spares and temperature.

/// Lifetime counters of a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LifetimeCounters {
    /// Bytes the host read.
    pub read_bytes: u64,
    /// Bytes the host wrote.
    pub written_bytes: u64,
    /// Bytes the host discarded.
    pub discarded_bytes: u64,
}

/// Health data reported by a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReportedHealth {
    /// Host traffic.
    pub counters: LifetimeCounters,
    /// Percentage of rated life used; can exceed 100.
    pub wear_percent: f64,
    /// Percentage of spare superblocks left; 100 if the drive never had any.
    pub spare_percent: f64,
    /// Bytes programmed into flash for any reason.
    pub programmed_bytes: u64,
    /// Whether the drive refuses writes.
    pub read_only: bool,
    /// Temperature at its last update, degrees Celsius.
    pub temperature_c: f64,
}
