//! The parts of an operation's time in words: `of 107 us: drive 69, this host 34, not explained 4`.

use workload::units::latency;

use crate::statistic::Statistic;

/// The parts with their names, in the order of the screen, after [`Statistic::TimeTotal`] of all
/// operations.
pub const SPLIT_PARTS: [(Statistic, &str); 9] = [
    (Statistic::TimeDrive, "drive"),
    (Statistic::TimeLink, "link"),
    (Statistic::TimeLayer, "layer above it"),
    (Statistic::TimeHeld, "before the block layer"),
    (Statistic::TimeQueue, "block layer"),
    (Statistic::TimeCompletion, "completion"),
    (Statistic::TimeWaiting, "waiting for a processor"),
    (Statistic::TimeHost, "this host"),
    (Statistic::TimeUnexplained, "not explained"),
];

/// The same after [`Statistic::SlowTotal`] of the slowest operations.
pub const SLOW_PARTS: [(Statistic, &str); 6] = [
    (Statistic::SlowDrive, "drive"),
    (Statistic::SlowLink, "link"),
    (Statistic::SlowHeld, "before the block layer"),
    (Statistic::SlowQueue, "block layer"),
    (Statistic::SlowHost, "this host"),
    (Statistic::SlowUnexplained, "not explained"),
];

/// Smallest share of a part that is shown.
const SHARE_MIN: f64 = 0.005;

/// Name and nanoseconds of each of these parts that is large enough to be shown, from the mean of
/// each.
pub fn split_parts(
    parts: &[(Statistic, &'static str)],
    total_ns: f64,
    mean_ns: impl Fn(Statistic) -> Option<f64>,
) -> Vec<(&'static str, f64)> {
    let parts = parts.iter().filter_map(|(statistic, name)| {
        Some((*name, mean_ns(*statistic).filter(|ns| *ns >= SHARE_MIN * total_ns)?))
    });
    parts.collect()
}

/// A whole and its parts, all in the unit of the whole.
pub fn split_in_words(total_ns: f64, parts: &[(&str, f64)]) -> String {
    let unit_ns = unit_ns(total_ns);
    let decimals = decimals(total_ns / unit_ns);
    let parts = parts.iter().map(|(name, ns)| format!("{name} {:.decimals$}", ns / unit_ns));
    format!("of {}: {}", latency(total_ns), parts.collect::<Vec<_>>().join(", "))
}

/// The nanoseconds of the unit in which [`latency`] shows a time.
fn unit_ns(ns: f64) -> f64 {
    [1.0, 1e3, 1e6].into_iter().find(|unit_ns| ns / unit_ns < 999.5).unwrap_or(1e9)
}

/// The number of decimals with which [`latency`] shows a time in its unit.
fn decimals(value: f64) -> usize {
    match value {
        value if value >= 99.5 => 0,
        value if value >= 9.95 => 1,
        _ => 2,
    }
}
