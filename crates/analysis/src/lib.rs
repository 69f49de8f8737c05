//! Statistics for quantities measured a few times.
//!
//! A replicate is one execution of a workload, never a one-second sample of it: samples of one
//! execution are correlated, and an interval computed from them is far too narrow. Rates and
//! latencies are multiplicative (noise is a percentage), so means, intervals and differences use
//! logarithms. Pure: no I/O, no clock, and no randomness outside the tests, which verify the claims
//! made here (coverage, error rates) on simulated drives.

#![forbid(unsafe_code)]

mod changepoint;
mod compare;
mod cost;
mod counts;
mod estimate;
mod latency;
mod live;
mod outlier;
mod period;
mod sessions;
#[cfg(test)]
mod simulate;
mod steady;
mod student;

pub use changepoint::{Change, Piece, Steps, medians, steps};
pub use compare::{ClaimKind, Comparison, EQUIVALENT_WITHIN, compare, compare_among};
pub use cost::Cost;
pub use counts::binomial_tail;
pub use estimate::{Amount, Estimate, drift, estimate, metric, pooled};
pub use latency::LatencyReplicates;
pub use live::{LOOKS, Look, look, pairs_for};
pub use outlier::{DRIVES_MIN, FALSE_ALARMS, Outlier, Outliers, outliers};
pub use period::{CYCLES_MIN, PERIOD_MIN, Period, Stream, period};
pub use sessions::{Claim, LogQuantity, Outlook, Sides, claims, outlook};
pub use steady::{Slope, WINDOW};
pub use student::{mean, quantile};
