//! A rate that changes within a workload: two levels, of which the mean is neither.
//!
//! A drive that fills its cache writes at one rate, then at another. The mean depends on when the
//! workload ends, and says nothing about either. Where other programs come and go, the rate varies as
//! much within each level as between them: then there are no levels.

use record::{Evidence, Finding, FindingKind, Level, Unit};
use workload::units::{decimal, span, throughput};

use crate::time_series::{Fall, TimeSeries};

/// A rate fell if it is then below this share of the rate before.
pub(crate) const FELL_BELOW: f64 = 0.7;

/// The mean is of neither level if it differs from both by this factor.
const APART: f64 = 1.1;

/// Minimum share of the time after the fall; a shorter one may be a disturbance.
const TIME_AFTER_MIN: f64 = 0.2;

/// Equal parts of a workload's time whose rates show how much it varies anyway.
const PARTS: usize = 40;

/// A fall is no noise if it is this many times as large as the deviation of the parts of each level.
const DEVIATIONS_MIN: f64 = 3.0;

/// The median distance from the median, as the standard deviation of a normal distribution.
const DEVIATION_OF_MEDIAN: f64 = 1.4826;

/// The fall of a workload's rate, if it lasts and is so large that the mean is of neither level.
pub fn rate_change(series: &TimeSeries) -> Option<Fall> {
    let fall = series.first_fall()??;
    let mean = series.average()?;
    if series.seconds() - series.time_at(fall.bytes) < TIME_AFTER_MIN * series.seconds() {
        return None;
    }
    let is_neither = mean > APART * fall.after && mean * APART < fall.before;
    let is_fall = fall.after < FELL_BELOW * fall.before && is_neither;
    (is_fall && exceeds_noise(series, &fall)).then_some(fall)
}

/// Whether the rates of both levels vary less than the fall between them.
fn exceeds_noise(series: &TimeSeries, fall: &Fall) -> bool {
    let rates = series.rates_over_time(PARTS);
    let share = series.time_at(fall.bytes) / series.seconds().max(1e-9);
    // The part with the fall has both rates.
    let fall_index = ((share * rates.len() as f64) as usize).min(rates.len().saturating_sub(1));
    let levels = [&rates[..fall_index], &rates[(fall_index + 1).min(rates.len())..]];
    let deviation = levels.map(|level| DEVIATION_OF_MEDIAN * median_distance(level));
    fall.before - fall.after >= DEVIATIONS_MIN * deviation[0].max(deviation[1])
}

/// The median distance of values from their median.
fn median_distance(values: &[f64]) -> f64 {
    let middle = median(values);
    median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<f64>>())
}

fn median(values: &[f64]) -> f64 {
    analysis::medians(values, 1).pop().unwrap_or(0.0)
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

    /// The share of runs in whose rate a fall to this share of it is seen, while other programs that
    /// halve the rate come and go with this probability each second.
    fn share_with_fall(fall: f64, comes: f64) -> f64 {
        let mut changed = 0;
        for seed in 0..200 {
            let mut state: u64 = seed;
            let mut unit = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(2_891_336_453);
                (state >> 40) as f64 / f64::from(1 << 24)
            };
            let mut is_busy = false;
            let mut parts = Vec::new();
            for second in 0..60 {
                is_busy ^= unit() < comes;
                let level = if second < 30 { 500.0 } else { 500.0 * fall };
                let noise = 0.9 + 0.2 * unit();
                parts.push((1, level * noise * if is_busy { 0.5 } else { 1.0 }));
            }
            changed += i32::from(rate_change(&series(&parts)).is_some());
        }
        f64::from(changed) / 200.0
    }

    #[test]
    fn other_programs_that_come_and_go_are_no_levels() {
        let come_and_go = share_with_fall(1.0, 0.4);
        assert!(come_and_go <= 0.02, "{come_and_go}");
        let levels = [0.05, 0.5, 0.65].map(|fall| share_with_fall(fall, 0.0));
        assert!(levels.iter().all(|share| *share >= 0.98), "{levels:?}");
    }
}
