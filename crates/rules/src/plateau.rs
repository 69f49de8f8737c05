//! The rate that a workload keeps after a burst at its start.
//!
//! A bucket that a limit empties at one rate leaves a straight line of bytes over time, and the
//! line meets the start at the size of the bucket.

use crate::time_series::TimeSeries;

/// Maximum distance of a point from the line, as a share of the bytes of that half, and in
/// operations: a limit keeps time far better, and a point falls between two completions.
const WITHIN: f64 = 0.02;
const OPS_WITHIN: f64 = 2.5;

/// Minimum ratio of the rate up to some time in the first half, in steps of so many, to the one kept:
/// the first operations may come late.
const STEPS: u32 = 40;
const BURST_RATIO_MIN: f64 = 1.25;

/// Minimum number of operations of a burst: fewer are those that a queue has in flight.
const BURST_OPS_MIN: f64 = 4.0;

/// A rate that a workload keeps, and what it moved beyond it at first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plateau {
    /// Bytes per second that it keeps.
    pub rate: f64,
    /// Bytes at first in addition to those at this rate.
    pub burst_bytes: f64,
}

/// The plateau of a workload in blocks of this size, if its second half is even and a burst
/// precedes it.
///
/// The line is fitted to completions: between those of large blocks, time passes without bytes.
pub fn plateau(series: &TimeSeries, block_bytes: u32) -> Option<Plateau> {
    let (block_bytes, seconds) = (f64::from(block_bytes), series.seconds());
    let points = series.progress_from(seconds / 2.0);
    let (rate, at_start) = line(&points)?;
    let within_bytes = (WITHIN * rate * seconds / 2.0).max(OPS_WITHIN * block_bytes);
    let is_even = points
        .iter()
        .all(|(seconds, bytes)| (bytes - at_start - rate * seconds).abs() <= within_bytes);
    // A full bucket loses what it would regain until the first operation. It lets a block pass while it
    // has room for some of it, or not until it has room for all.
    let burst_bytes = at_start + rate * series.begins() - block_bytes / 2.0;
    let is_burst = burst_bytes >= BURST_OPS_MIN * block_bytes;
    let mut early = (1..STEPS / 2).map(|step| seconds * f64::from(step) / f64::from(STEPS));
    let is_fast = early.any(|end| series.bytes_at(end) >= BURST_RATIO_MIN * rate * end);
    (is_even && is_burst && is_fast).then_some(Plateau { rate, burst_bytes })
}

/// Slope of the line of least squares, and its height at 0; `None` with fewer than three points.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let [x_mean, y_mean] =
        [points.iter().map(|p| p.0).sum::<f64>(), points.iter().map(|p| p.1).sum()]
            .map(|sum| sum / n);
    let spread: f64 = points.iter().map(|p| (p.0 - x_mean).powi(2)).sum();
    let together: f64 = points.iter().map(|p| (p.0 - x_mean) * (p.1 - y_mean)).sum();
    (points.len() >= 3).then(|| (together / spread, y_mean - together / spread * x_mean))
}

#[cfg(test)]
mod tests {
    use record::Unit;
    use rig::Measurement;

    use super::*;

    /// Reads of 4 KiB, in MB per interval of 100 ms.
    fn series(megabytes: &[f64]) -> TimeSeries {
        let mut m =
            Measurement { elapsed_ns: 100_000_000 * megabytes.len() as u64, ..Default::default() };
        for (end, megabytes) in (1u64..).zip(megabytes) {
            m.series.push(end * 100_000_000, &[("read", Unit::Bytes, Some(megabytes * 1e6))]);
        }
        TimeSeries::from_measurement(&m)
    }

    fn rounded(megabytes: &[f64]) -> Option<[f64; 2]> {
        let plateau = plateau(&series(megabytes), 4096)?;
        Some([plateau.rate, plateau.burst_bytes].map(|bytes| (bytes / 1e5).round() / 10.0))
    }

    #[test]
    fn a_bucket_leaves_a_line_that_meets_the_start_at_its_size() {
        assert_eq!(rounded(&[9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), Some([10.0, 8.0]));
        assert_eq!(rounded(&[3.0, 3.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), Some([10.0, 5.0]));
        assert_eq!(rounded(&[1.26, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), Some([10.0, 0.3]));
    }

    #[test]
    fn a_bucket_that_is_full_loses_what_comes_late() {
        let late = [0.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(rounded(&late), Some([10.0, 8.0]));
    }

    #[test]
    fn one_rate_a_small_burst_and_an_uneven_end_are_no_plateau() {
        assert_eq!(rounded(&[1.0; 10]), None);
        assert_eq!(rounded(&[1.2, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), None);
        assert_eq!(rounded(&[9.0, 1.0, 1.0, 1.0, 1.0, 1.4, 0.7, 1.3, 0.6, 1.5]), None);
        assert_eq!(rounded(&[]), None, "nothing was moved");
    }
}
