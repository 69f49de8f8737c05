//! Finds the period of a series, such as that of a card's erase blocks in its sequential write
//! times.
//!
//! Autocorrelation proposes a period. It is accepted if the high values of all streams share the
//! same position within it, if most of its cycles have a high value there, and if chance is an
//! unlikely explanation. Streams measured at different times and addresses distinguish a period in
//! the address from one in time, which has no fixed position.

use crate::counts::binomial_tail;
use crate::student::quantile;

/// A stream must contain at least this many periods.
pub const CYCLES_MIN: usize = 5;

/// The shortest period: with a period of 2, neither value is the normal one.
pub const PERIOD_MIN: usize = 3;

/// Each value is taken relative to the median of this many values around it, so a longer slow
/// stretch is a change of level, not a high value.
const LEVEL: usize = 9;

/// Values are clipped to this many median distances from their level, so that one stall does not
/// outweigh all the others.
const CLIPPED: f64 = 20.0;

/// Probability of finding a period in a series without one, over all lags and positions.
const CHANCE: f64 = 1e-4;

/// A correlation must exceed the median one by this many standard errors of white noise.
const ERRORS: f64 = 5.0;

/// Multiples of a period correlate as well as the period itself, so the chosen lag is the shortest
/// that reaches this fraction of the highest correlation.
const FUNDAMENTAL: f64 = 0.8;

/// Minimum fraction of a period's cycles that have a high value. For half the true period the
/// fraction is one half, or slightly more by chance; from [`CYCLES_OPEN`] up to this value, a
/// period and its half cannot be told apart.
const CYCLES_HIGH: f64 = 0.75;
const CYCLES_OPEN: f64 = 0.62;

/// Consecutive values, starting at a position.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Position of the first value.
    pub first: usize,
    /// The values, in order of position.
    pub values: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// Distance between high values, at least [`PERIOD_MIN`].
    pub lag: usize,
    /// Three in four of the high values exceed their surroundings by at least this much.
    pub height: f64,
}

/// Returns the period of the streams, if it is significant and its high values stand out by at
/// least `least`.
pub fn period(streams: &[Stream], least: f64) -> Option<Period> {
    let levelled =
        streams.iter().map(|s| Stream { first: s.first, values: above_level(&s.values) });
    let streams: Vec<Stream> = levelled.collect();
    let longest = streams.iter().map(|s| s.values.len()).min()? / CYCLES_MIN;
    let values: Vec<f64> = streams.iter().flat_map(|s| s.values.iter().copied()).collect();
    let distances: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    let clip = (CLIPPED * quantile(&distances, 0.5)).max(least);
    let clipped =
        streams.iter().map(|s| s.values.iter().map(|value| value.clamp(-clip, clip)).collect());
    let lag = lag(&clipped.collect::<Vec<_>>(), longest)?;
    let divisors = (PERIOD_MIN..=lag).filter(|shorter| lag.is_multiple_of(*shorter));
    for lag in divisors {
        let Some(high) = high_values(&streams, lag, clip) else { continue };
        // A tenth of all values exceeds the bound; for short periods, slightly more than the share
        // of high values, one in `lag`.
        let share_above = (1.2 / lag as f64).max(0.1);
        let bound = quantile(&values, 1.0 - share_above).max(least / 2.0);
        let hits = high.iter().filter(|value| **value > bound).count();
        let share = hits as f64 / high.len() as f64;
        if share < CYCLES_OPEN {
            continue;
        }
        let height = quantile(&high, 1.0 - CYCLES_HIGH);
        let chance = binomial_tail(hits, high.len(), share_above) * (longest * lag) as f64;
        let significant = chance < CHANCE && share >= CYCLES_HIGH && height >= least;
        return significant.then_some(Period { lag, height });
    }
    None
}

/// Distance of each value from the median of those around it.
fn above_level(values: &[f64]) -> Vec<f64> {
    let distances = values.iter().enumerate().map(|(i, value)| {
        let first = i.saturating_sub(LEVEL / 2).min(values.len().saturating_sub(LEVEL));
        value - quantile(&values[first..values.len().min(first + LEVEL)], 0.5)
    });
    distances.collect()
}

/// The values at the position within a period where their sum is highest; `None` if that position
/// differs between streams.
fn high_values(streams: &[Stream], lag: usize, clip: f64) -> Option<Vec<f64>> {
    let mut highest = streams.iter().map(|s| {
        let mut sums = vec![0.0; lag];
        s.values.iter().zip(s.first..).for_each(|(v, at)| sums[at % lag] += v.min(clip));
        (0..lag).max_by(|a, b| sums[*a].total_cmp(&sums[*b]))
    });
    let place = highest.next()??;
    if highest.any(|other| other != Some(place)) {
        return None;
    }
    let values = streams.iter().flat_map(|s| s.values.iter().zip(s.first..));
    Some(values.filter(|(_, index)| index % lag == place).map(|(value, _)| *value).collect())
}

/// The shortest lag, from [`PERIOD_MIN`] to `longest`, whose correlation is close to the highest
/// one.
fn lag(streams: &[Vec<f64>], longest: usize) -> Option<usize> {
    let count = streams.iter().map(Vec::len).sum::<usize>() as f64;
    let mean = streams.iter().flatten().sum::<f64>() / count;
    let variance = streams.iter().flatten().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
    let correlations = (PERIOD_MIN..=longest).map(|lag| {
        let pairs = streams.iter().flat_map(|s| s.iter().zip(&s[lag..]));
        let (mut sum, mut n) = (0.0, 0.0);
        for (a, b) in pairs {
            sum += (a - mean) * (b - mean);
            n += 1.0;
        }
        sum / n / variance
    });
    let correlations: Vec<f64> = correlations.collect();
    let common = quantile(&correlations, 0.5);
    let highest = correlations.iter().copied().max_by(f64::total_cmp)? - common;
    let bound = (ERRORS / count.sqrt()).max(FUNDAMENTAL * highest);
    correlations.iter().position(|r| r - common >= bound).map(|index| index + PERIOD_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Dice;

    /// Two streams of times of about 10 ms with 5% scatter, with a pause between them. `more`
    /// returns the extra time for a position and a start time.
    fn streams(seed: u64, more: impl Fn(usize, f64) -> f64) -> Vec<Stream> {
        let mut dice = Dice::new(seed);
        let mut now = 0.0;
        let mut stream = |first: usize| {
            now += 1.37e9;
            let mut time = |place: usize| {
                let ns = 10e6 * (1.0 + 0.05 * dice.normal().abs()) + more(place, now);
                now += ns;
                ns
            };
            Stream { first, values: (first..first + 1024).map(&mut time).collect() }
        };
        vec![stream(0), stream(4136)]
    }

    fn found(seed: u64, more: impl Fn(usize, f64) -> f64) -> Option<Period> {
        period(&streams(seed, more), 0.5e6)
    }

    #[test]
    fn a_period_is_found_in_scatter() {
        for lag in [3, 8, 24, 64, 96, 192] {
            for seed in 1..=5 {
                let slow = |place: usize, _| if place % lag == 1 { 2e6 } else { 0.0 };
                let found = found(seed, slow).expect("a period");
                assert_eq!(found.lag, lag);
                assert!((found.height / 2e6 - 1.0).abs() < 0.3, "{}", found.height);
            }
        }
    }

    #[test]
    fn scatter_stalls_drift_and_a_clock_have_no_period() {
        for seed in 1..=40 {
            assert_eq!(found(seed, |_, _| 0.0), None);
            assert_eq!(found(seed, |place, _| if place % 509 == 77 { 1e9 } else { 0.0 }), None);
            assert_eq!(found(seed, |place, _| 2e3 * place as f64), None);
            // A delay every 0.7 s, independent of the position being written.
            assert_eq!(found(seed, |_, now| if now % 0.7e9 < 10.5e6 { 4e6 } else { 0.0 }), None);
            // As many high values as with a period of 64, at random positions.
            let anywhere = |place: usize, _| {
                let hash = (place as u64 ^ seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                if hash >> 58 == 0 { 5e6 } else { 0.0 }
            };
            assert_eq!(found(seed, anywhere), None);
        }
    }

    /// Blocks that were never written are not erased, and each flash block has its own speed.
    #[test]
    fn missing_high_values_and_blocks_of_different_speeds_do_not_double_a_period() {
        for seed in 1..=40 {
            let hash = |block: usize, times: u64| {
                ((block as u64 + 1) ^ seed << 32).wrapping_mul(times) >> 40 & 0xff
            };
            let striped = |missing: u64| {
                move |place: usize, _: f64| {
                    let block = place / 64;
                    let speed = hash(block, 0x9e37_79b9_7f4a_7c15) as f64 * 4e3;
                    let erased = hash(block, 0xd6e8_feb8_6659_fd93) >= missing;
                    speed + if place.is_multiple_of(64) && erased { 3e6 } else { 0.0 }
                }
            };
            assert_eq!(found(seed, striped(0)).map(|found| found.lag), Some(64));
            // One in ten is missing, then one in three, which may hide the period but not suggest
            // another.
            assert_eq!(found(seed, striped(25)).map(|found| found.lag), Some(64));
            assert!(found(seed, striped(85)).is_none_or(|found| found.lag == 64));
        }
    }

    /// The values are high and significant, but 7 in 10 cycles with a high value are too few for a
    /// period and too many for half of one.
    #[test]
    fn between_a_period_and_its_half_neither_is_named() {
        for seed in 1..=40 {
            let most = |place: usize, _| {
                // Three of every ten cycles lack a high value.
                let (cycle, group) = (place / 16 % 10, (place / 160) as u64);
                let hash = (group ^ seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                let first = hash as usize % 10;
                let second = first + 1 + (hash >> 8) as usize % 4;
                let third = second + 1 + (hash >> 12) as usize % 4;
                let none = [first, second, third].iter().any(|lacking| lacking % 10 == cycle);
                if place.is_multiple_of(16) && !none { 3e6 } else { 0.0 }
            };
            assert_eq!(found(seed, most), None);
        }
    }

    #[test]
    fn equal_values_and_no_values_have_no_period() {
        let stream = |values: Vec<f64>| Stream { first: 0, values };
        assert_eq!(period(&[stream(vec![1e6; 500]), stream(vec![1e6; 500])], 1e3), None);
        assert_eq!(period(&[stream(Vec::new())], 1e3), None);
        assert_eq!(period(&[], 1e3), None);
        assert_eq!(period(&[stream(vec![1.0; 9])], 1e3), None);
    }
}
