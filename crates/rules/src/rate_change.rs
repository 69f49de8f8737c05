//! A rate that changes within a workload: two levels, of which the mean is neither.
//!
//! A drive that fills its cache writes at one rate, then at another. The mean depends on when the
//! workload ends, and says nothing about either.

use record::{Evidence, Finding, FindingKind, Level, Unit};
use workload::units::{decimal, span, throughput};

use crate::time_series::{Fall, TimeSeries};

/// A rate fell if it is then below this share of the rate before.
pub(crate) const FELL_BELOW: f64 = 0.7;

/// The mean is of neither level if it differs from both by this factor.
const APART: f64 = 1.1;

/// Minimum share of the time after the fall; a shorter one may be a disturbance.
const TIME_AFTER_MIN: f64 = 0.2;

/// The fall of a workload's rate, if it lasts and is so large that the mean is of neither level.
pub fn rate_change(series: &TimeSeries) -> Option<Fall> {
    let fall = series.first_fall()??;
    let mean = series.average()?;
    if series.seconds() - series.time_at(fall.bytes) < TIME_AFTER_MIN * series.seconds() {
        return None;
    }
    let is_neither = mean > APART * fall.after && mean * APART < fall.before;
    (fall.after < FELL_BELOW * fall.before && is_neither).then_some(fall)
}

/// The doubt about the mean of a workload whose rate changed.
pub fn of_neither(series: &TimeSeries) -> Option<Finding> {
    let fall = rate_change(series)?;
    let text = format!(
        "the rate fell from {} to {} after {} ({}): the mean, {}, is of neither",
        throughput(fall.before),
        throughput(fall.after),
        span(series.time_at(fall.bytes)),
        decimal(fall.bytes as u64),
        throughput(series.average()?)
    );
    let finding = Finding::new(FindingKind::RateChanged, Level::Warn, text);
    let finding = finding
        .with(Evidence::new("rate before", fall.before, Unit::BytesPerSecond))
        .with(Evidence::new("rate after", fall.after, Unit::BytesPerSecond))
        .with(Evidence::new("bytes until the rate fell", fall.bytes, Unit::Bytes));
    Some(finding)
}

#[cfg(test)]
mod tests {
    use rig::{KindStats, Measurement};
    use workload::OpKind;

    use super::*;

    /// A series of seconds with these rates in MB/s.
    fn series(parts: &[(usize, f64)]) -> TimeSeries {
        let rates = parts.iter().flat_map(|(seconds, rate)| vec![rate * 1e6; *seconds]);
        let rates: Vec<f64> = rates.collect();
        let mut m = Measurement::default();
        for (second, rate) in (1..).zip(&rates) {
            let row = [("write", Unit::BytesPerSecond, Some(*rate))];
            m.series.push(second * 1_000_000_000, &row);
        }
        m.elapsed_ns = rates.len() as u64 * 1_000_000_000;
        let bytes = rates.iter().sum::<f64>() as u64;
        m.kinds[OpKind::Write as usize] = Some(KindStats { bytes, ops: 1, ..Default::default() });
        TimeSeries::from_measurement(&m)
    }

    #[test]
    fn the_mean_of_two_levels_is_doubted() {
        let text = of_neither(&series(&[(30, 971.0), (90, 41.0)])).expect("it fell").text;
        let start = "the rate fell from 971 MB/s to 41.0 MB/s after 30 s (29.1 GB): the mean, ";
        assert!(text.starts_with(start), "{text}");
    }

    #[test]
    fn one_level_a_small_fall_and_a_short_part_are_not() {
        for parts in [
            &[(60, 500.0)][..],
            &[(30, 500.0), (30, 351.0)],
            &[(3, 500.0), (997, 300.0)],
            &[(10, 900.0), (5, 41.0)],
        ] {
            assert_eq!(of_neither(&series(parts)).map(|finding| finding.text), None, "{parts:?}");
        }
        assert!(rate_change(&series(&[(30, 500.0), (30, 349.0)])).is_some());
    }
}
