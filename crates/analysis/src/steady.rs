//! Steady state: where the warm-up of a series ends, and whether a window of rounds is steady.
//!
//! The rule of the SNIA Solid State Storage Performance Test Specification (five rounds: range
//! within 20% of the mean, fitted slope within 10%) also accepts a slow decay. A second, stricter
//! term is therefore reported beside it: a plateau is a window whose slope is not distinguishable
//! from zero.

use crate::student::quantile;

/// Rounds in a window of the specification.
pub const WINDOW: usize = 5;

/// Maximum range over the mean.
const RANGE_MOST: f64 = 0.2;

/// Maximum change of the fitted line over the window, relative to the mean.
const EXCURSION_MOST: f64 = 0.1;

/// A line that changes by less than this share is level, however certain the change: a virtual
/// drive has no noise to hide it.
const LEVEL_BELOW: f64 = 0.01;

/// Values in a batch of MSER-5.
const BATCH: usize = 5;

/// Minimum batches left, and maximum correlation of neighbours (statistics: R6).
const BATCHES_LEAST: usize = 10;
const CORRELATION_MOST: f64 = 0.2;

/// A line fitted to equidistant values, with its change from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Mean of the values, in their unit.
    pub mean: f64,
    /// Range of the values.
    pub range: f64,
    /// Change of the line over the window, in the values' unit; negative if it falls.
    pub excursion: f64,
    /// Half width of the excursion's 95% interval.
    pub half_width: f64,
}

impl Slope {
    /// Fits the line; `None` with fewer than three values.
    pub fn of(values: &[f64]) -> Option<Slope> {
        let n = values.len();
        if n < 3 {
            return None;
        }
        let (mean, middle) = (values.iter().sum::<f64>() / n as f64, (n - 1) as f64 / 2.0);
        let place = |i: usize| i as f64 - middle;
        let spread: f64 = (0..n).map(|i| place(i).powi(2)).sum();
        let slope =
            values.iter().enumerate().map(|(i, v)| place(i) * (v - mean)).sum::<f64>() / spread;
        let off = |(i, v): (usize, &f64)| (v - mean - slope * place(i)).powi(2);
        let residual: f64 = values.iter().enumerate().map(off).sum();
        let error = (residual / (n - 2) as f64 / spread).sqrt();
        let (least, most) =
            values.iter().fold((f64::MAX, f64::MIN), |m, v| (m.0.min(*v), m.1.max(*v)));
        Some(Slope {
            mean,
            range: most - least,
            excursion: slope * (n - 1) as f64,
            half_width: quantile(0.975, (n - 2) as f64) * error * (n - 1) as f64,
        })
    }

    /// Steady by the specification.
    pub fn is_pts_steady(&self) -> bool {
        self.range <= RANGE_MOST * self.mean.abs()
            && self.excursion.abs() <= EXCURSION_MOST * self.mean.abs()
    }

    /// Steady by the specification, with a slope not distinguishable from zero.
    pub fn is_level(&self) -> bool {
        let level = self.excursion.abs() <= self.half_width
            || self.excursion.abs() + self.half_width <= LEVEL_BELOW * self.mean.abs();
        self.is_pts_steady() && level
    }
}

/// Number of values that belong to the warm-up (MSER-5: the rest has the smallest error of its
/// mean). `None` if it is more than half: the series never settled.
pub fn warm_up(values: &[f64]) -> Option<usize> {
    let batches: Vec<f64> =
        values.chunks_exact(BATCH).map(|b| b.iter().sum::<f64>() / BATCH as f64).collect();
    // The last few batches are similar by chance.
    let last = batches.len().checked_sub(BATCH)?;
    let error = |cut: usize| {
        let left = &batches[cut..];
        let mean = left.iter().sum::<f64>() / left.len() as f64;
        left.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / (left.len() as f64).powi(2)
    };
    let cut = (0..=last).min_by(|a, b| error(*a).total_cmp(&error(*b)))?;
    (cut * 2 <= batches.len()).then_some(cut * BATCH)
}

/// Means of batches long enough for neighbours to be uncorrelated, from which an interval may be
/// made. `None` if there are none: the series is not stationary.
pub fn independent(values: &[f64]) -> Option<Vec<f64>> {
    let mut size = 1;
    while values.len() / size >= BATCHES_LEAST {
        let means: Vec<f64> =
            values.chunks_exact(size).map(|b| b.iter().sum::<f64>() / size as f64).collect();
        if correlation(&means).abs() < CORRELATION_MOST {
            return Some(means);
        }
        size *= 2;
    }
    None
}

/// Correlation of neighbours; 0 for values that are all equal.
fn correlation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let together: f64 = values.windows(2).map(|p| (p[0] - mean) * (p[1] - mean)).sum();
    let alone: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    if alone > 0.0 { together / alone } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Dice;

    #[test]
    fn the_rule_of_the_specification_by_its_two_bounds() {
        let pts = |v: &[f64]| Slope::of(v).expect("five").is_pts_steady();
        assert!(pts(&[100.0, 110.0, 90.0, 110.0, 100.0]));
        assert!(!pts(&[100.0, 111.0, 90.0, 110.0, 100.0]), "range 21%");
        assert!(pts(&[104.9, 102.5, 100.0, 97.5, 95.1]));
        assert!(!pts(&[105.5, 102.5, 100.0, 97.5, 94.5]), "slope 10.5%");
        assert_eq!(Slope::of(&[1.0, 2.0]), None);
    }

    /// By hand: 1, 2, 3, 4, 5.6 have the slope 11.2 / 10 and the residual squares 0.144; Student's t
    /// for 3 degrees of freedom is 3.182.
    #[test]
    fn the_line_and_its_interval_agree_with_a_fit_by_hand() {
        let line = Slope::of(&[1.0, 2.0, 3.0, 4.0, 5.6]).expect("five");
        let near = |value: f64, by_hand: f64| (value / by_hand - 1.0).abs() < 1e-3;
        assert!(near(line.mean, 3.12) && near(line.range, 4.6), "{line:?}");
        assert!(near(line.excursion, 4.48), "{line:?}");
        let half_width = 3.182 * (0.144f64 / 3.0 / 10.0).sqrt() * 4.0;
        assert!(near(line.half_width, half_width), "{line:?}");
    }

    /// The 1% is compared with the far end of the interval, not the near one.
    #[test]
    fn a_rise_that_may_exceed_one_percent_is_not_level() {
        let rising = |error: f64| {
            // The error is orthogonal to the line, so it only widens the interval.
            let off = [0.0, error, -2.0 * error, error, 0.0];
            let value = |(i, off): (usize, &f64)| 100.0 + 0.2 * i as f64 + off;
            Slope::of(&off.iter().enumerate().map(value).collect::<Vec<_>>()).expect("five")
        };
        let (sure, unsure) = (rising(0.02), rising(0.05));
        assert!((sure.excursion - 0.8).abs() < 1e-9 && sure.half_width < 0.2, "{sure:?}");
        assert!((unsure.excursion - 0.8).abs() < 1e-9, "{unsure:?}");
        assert!((0.25..0.8).contains(&unsure.half_width), "{unsure:?}");
        assert!(sure.is_level() && !unsure.is_level());
    }

    /// The reason for a second term: a decay from 3 to 1 with a time constant of ten rounds.
    #[test]
    fn a_slow_decay_passes_the_specification_and_is_no_plateau() {
        let mut dice = Dice::new(4);
        let decay = |i: usize| 1.0 + 2.0 * libm::exp(-(i as f64) / 10.0);
        let rates: Vec<f64> =
            (0..60).map(|i| decay(i) * dice.log_normal(1.0, 0.005, 1)[0]).collect();
        let first = |ok: fn(&Slope) -> bool| {
            rates
                .windows(WINDOW)
                .position(|w| ok(&Slope::of(w).expect("five")))
                .expect("in the end")
        };
        let (pts, level) = (first(Slope::is_pts_steady), first(Slope::is_level));
        let mean = |at: usize| rates[at..at + WINDOW].iter().sum::<f64>() / WINDOW as f64;
        assert!(mean(pts) > 1.2, "{pts}: {}", mean(pts));
        assert!(level > pts && mean(level) < 1.15, "{level}: {}", mean(level));
    }

    #[test]
    fn a_plateau_with_or_without_noise_is_level_and_a_slope_without_is_not() {
        let level = |v: &[f64]| Slope::of(v).expect("five").is_level();
        assert!(level(&[100.0; 5]));
        assert!(level(&[100.0, 103.0, 98.0, 101.0, 99.0]));
        assert!(level(&[100.0, 100.1, 100.2, 100.3, 100.4]), "0.4% is of no consequence");
        assert!(!level(&[100.0, 101.0, 102.0, 103.0, 104.0]));
    }

    #[test]
    fn warm_up_is_cut_and_an_unsettled_series_is_reported() {
        let mut dice = Dice::new(8);
        let mut values = dice.log_normal(300.0, 0.05, 40);
        values.extend(dice.log_normal(100.0, 0.05, 160));
        assert_eq!(warm_up(&values), Some(40));
        assert_eq!(warm_up(&dice.log_normal(100.0, 0.0, 100)), Some(0));
        let falling: Vec<f64> = (0..200).map(|i| 1000.0 - f64::from(i)).collect();
        assert_eq!(warm_up(&falling), None);
        assert_eq!(warm_up(&[1.0; 4]), None);
    }

    #[test]
    fn the_correlation_of_neighbours_agrees_with_a_calculation_by_hand() {
        assert_eq!(correlation(&[1.0, 2.0, 3.0, 4.0, 5.0]), 0.4);
        assert_eq!(correlation(&[1.0, -1.0, 1.0, -1.0]), -0.75);
        assert_eq!(correlation(&[7.0; 5]), 0.0);
    }

    #[test]
    fn correlated_noise_is_batched_until_it_is_not() {
        let mut dice = Dice::new(15);
        let mut value = 0.0;
        let mut drift = |keep: f64| {
            value = keep * value + dice.normal();
            100.0 + value
        };
        let noisy: Vec<f64> = (0..2000).map(|_| drift(0.7)).collect();
        let means = independent(&noisy).expect("settles");
        assert!(means.len() >= 10 && means.len() <= 500, "{}", means.len());
        let walk: Vec<f64> = (0..400).map(|_| drift(1.0)).collect();
        assert_eq!(independent(&walk), None);
        assert!(independent(&[5.0; 20]).is_some());
    }
}
