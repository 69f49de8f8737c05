//! Steady-state detection over a window of rounds.
//!
//! The rule of the SNIA Solid State Storage Performance Test Specification (five rounds: range
//! within 20% of the mean, fitted slope within 10%) also accepts a slow decay. A second, stricter
//! criterion is therefore reported with it: on a plateau, the slope is indistinguishable from zero.

use crate::student::t_quantile;

/// Number of rounds in the specification's window.
pub const WINDOW: usize = 5;

/// Maximum range, relative to the mean.
const RANGE_MAX: f64 = 0.2;

/// Maximum change of the fitted line over the window, relative to the mean.
const EXCURSION_MAX: f64 = 0.1;

/// A line that changes by less than this fraction is level, even if the change is significant:
/// virtual drives have no noise.
const LEVEL_BELOW: f64 = 0.01;

/// A line fitted to equidistant values, and its change over the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Mean of the values, in their unit.
    pub mean: f64,
    /// Range of the values.
    pub range: f64,
    /// Change of the line over the window, in the values' unit; negative if it falls.
    pub excursion: f64,
    /// Half width of the 95% interval of that change.
    pub half_width: f64,
}

impl Slope {
    /// Fits the line; `None` with fewer than three values.
    pub fn fit(values: &[f64]) -> Option<Slope> {
        let n = values.len();
        if n < 3 {
            return None;
        }
        let (mean, middle) = (values.iter().sum::<f64>() / n as f64, (n - 1) as f64 / 2.0);
        let place = |i: usize| i as f64 - middle;
        let spread: f64 = (0..n).map(|i| place(i).powi(2)).sum();
        let slope =
            values.iter().enumerate().map(|(i, v)| place(i) * (v - mean)).sum::<f64>() / spread;
        let residual: f64 =
            values.iter().enumerate().map(|(i, v)| (v - mean - slope * place(i)).powi(2)).sum();
        let error = (residual / (n - 2) as f64 / spread).sqrt();
        let (least, most) =
            values.iter().fold((f64::MAX, f64::MIN), |m, v| (m.0.min(*v), m.1.max(*v)));
        Some(Slope {
            mean,
            range: most - least,
            excursion: slope * (n - 1) as f64,
            half_width: t_quantile(0.975, (n - 2) as f64) * error * (n - 1) as f64,
        })
    }

    /// Whether the window is steady by the specification's rule.
    pub fn is_pts_steady(&self) -> bool {
        self.range <= RANGE_MAX * self.mean.abs()
            && self.excursion.abs() <= EXCURSION_MAX * self.mean.abs()
    }

    /// Whether the window is steady and its slope is indistinguishable from zero.
    pub fn is_level(&self) -> bool {
        let level = self.excursion.abs() <= self.half_width
            || self.excursion.abs() + self.half_width <= LEVEL_BELOW * self.mean.abs();
        self.is_pts_steady() && level
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Dice;

    #[test]
    fn the_rule_of_the_specification_by_its_two_bounds() {
        let pts = |v: &[f64]| Slope::fit(v).expect("five").is_pts_steady();
        assert!(pts(&[100.0, 110.0, 90.0, 110.0, 100.0]));
        assert!(!pts(&[100.0, 111.0, 90.0, 110.0, 100.0]), "range 21%");
        assert!(pts(&[104.9, 102.5, 100.0, 97.5, 95.1]));
        assert!(!pts(&[105.5, 102.5, 100.0, 97.5, 94.5]), "slope 10.5%");
        assert_eq!(Slope::fit(&[1.0, 2.0]), None);
    }

    /// By hand: 1, 2, 3, 4, 5.6 have a slope of 11.2 / 10 and a residual sum of squares of 0.144.
    /// Student's t for 3 degrees of freedom is 3.182.
    #[test]
    fn the_line_and_its_interval_agree_with_a_fit_by_hand() {
        let line = Slope::fit(&[1.0, 2.0, 3.0, 4.0, 5.6]).expect("five");
        let near = |value: f64, by_hand: f64| (value / by_hand - 1.0).abs() < 1e-3;
        assert!(near(line.mean, 3.12) && near(line.range, 4.6), "{line:?}");
        assert!(near(line.excursion, 4.48), "{line:?}");
        let half_width = 3.182 * (0.144f64 / 3.0 / 10.0).sqrt() * 4.0;
        assert!(near(line.half_width, half_width), "{line:?}");
    }

    /// The 1% limit applies to the far end of the interval, not the near one.
    #[test]
    fn a_rise_that_may_exceed_one_percent_is_not_level() {
        let rising = |error: f64| {
            // The error is orthogonal to the line, so it only widens the interval.
            let off = [0.0, error, -2.0 * error, error, 0.0];
            let value = |(i, off): (usize, &f64)| 100.0 + 0.2 * i as f64 + off;
            Slope::fit(&off.iter().enumerate().map(value).collect::<Vec<_>>()).expect("five")
        };
        let (sure, unsure) = (rising(0.02), rising(0.05));
        assert!((sure.excursion - 0.8).abs() < 1e-9 && sure.half_width < 0.2, "{sure:?}");
        assert!((unsure.excursion - 0.8).abs() < 1e-9, "{unsure:?}");
        assert!((0.25..0.8).contains(&unsure.half_width), "{unsure:?}");
        assert!(sure.is_level() && !unsure.is_level());
    }

    /// The reason for the second criterion: a decay from 3 to 1 with a time constant of ten rounds.
    #[test]
    fn a_slow_decay_passes_the_specification_and_is_no_plateau() {
        let mut dice = Dice::new(4);
        let decay = |i: usize| 1.0 + 2.0 * libm::exp(-(i as f64) / 10.0);
        let rates: Vec<f64> =
            (0..60).map(|i| decay(i) * dice.log_normal(1.0, 0.005, 1)[0]).collect();
        let first = |ok: fn(&Slope) -> bool| {
            rates
                .windows(WINDOW)
                .position(|w| ok(&Slope::fit(w).expect("five")))
                .expect("in the end")
        };
        let (pts, level) = (first(Slope::is_pts_steady), first(Slope::is_level));
        let mean = |at: usize| rates[at..at + WINDOW].iter().sum::<f64>() / WINDOW as f64;
        assert!(mean(pts) > 1.2, "{pts}: {}", mean(pts));
        assert!(level > pts && mean(level) < 1.15, "{level}: {}", mean(level));
    }

    #[test]
    fn a_plateau_with_or_without_noise_is_level_and_a_slope_without_is_not() {
        let level = |v: &[f64]| Slope::fit(v).expect("five").is_level();
        assert!(level(&[100.0; 5]));
        assert!(level(&[100.0, 103.0, 98.0, 101.0, 99.0]));
        assert!(level(&[100.0, 100.1, 100.2, 100.3, 100.4]), "0.4% is negligible");
        assert!(!level(&[100.0, 101.0, 102.0, 103.0, 104.0]));
    }
}
