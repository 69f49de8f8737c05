//! The rates of a drive that are known before a run, from an earlier one or from its model. The
//! expected time of a plan depends on them, its bounds do not.

/// Rates of reads and writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Of reads.
    pub read: DirectionRates,
    /// Of writes, within caches.
    pub write: DirectionRates,
    /// Of writes that are durable when they return, if they were measured.
    pub durable: Option<DurableRates>,
}

/// Rates of durable writes of 4 KiB, one at a time, bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DurableRates {
    /// In order, over earlier data.
    pub sequential: f64,
    /// At random within a file.
    pub random: f64,
}

/// Rates in one direction, bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DirectionRates {
    /// Sequential blocks of 1 MiB, one at a time.
    pub large_single: f64,
    /// Sequential blocks of 1 MiB, several at a time.
    pub large_deep: f64,
    /// Random blocks of 4 KiB, one at a time.
    pub small_single: f64,
    /// Random blocks of 4 KiB, 32 at a time.
    pub small_deep: f64,
}
