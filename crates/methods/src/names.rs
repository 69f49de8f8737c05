//! Names of workloads used outside their method, by answers and by readers of records such as a
//! fit. All other names are in the file of their method.

/// The pass of `sustain` over the discarded drive.
pub const SUSTAIN_FRESH: &str = "sustain-fresh";
/// Its pass over the full drive.
pub const SUSTAIN_FULL: &str = "sustain-full";

/// The reads of `states` after the first pass of writes.
pub const STATES_READ_FRESH: &str = "states-read-fresh";
/// Its reads after the last discard and one more pass of writes.
pub const STATES_READ_RESTORED: &str = "states-read-restored";

/// Share of zones without data above which `zones` counts the drive as unwritten.
pub const NOTHING_WRITTEN: f64 = 0.99;

/// The metric of all reads of `zones`.
pub const ZONES_READ: &str = "zones-read";
/// Its first reads, of the drive in its initial state.
pub const ZONES_ASCENDING: &str = "zones-read-ascending";
