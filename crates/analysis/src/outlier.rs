//! Which of several drives of a kind differ from the others.
//!
//! The generalised test of extreme Studentized deviates (Rosner, Technometrics 25, 1983) on
//! logarithms: the drive furthest from the mean is removed, up to a sixth of them, and the drives
//! removed so far are outliers if the last of them lies further out than chance explains. It finds two
//! slow drives that hide each other from a test for one. The scatter is that of the drives themselves,
//! so drives of a model that differ among each other hide a deviation of that size. A deviation below
//! [`EQUIVALENT_WITHIN`] is no outlier, however quiet the others are.
//!
//! [`EQUIVALENT_WITHIN`]: crate::EQUIVALENT_WITHIN

use crate::compare::EQUIVALENT_WITHIN;
use crate::student::{Spread, mean, t_quantile};

/// Probability of calling any of equal drives an outlier, over all quantities.
pub const FALSE_ALARMS: f64 = 0.05;

/// With fewer drives, nothing tells which of them is the odd one.
pub const DRIVES_MIN: usize = 4;

/// A drive that differs from the others in one quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// Index of the quantity.
    pub quantity: usize,
    /// Index of the drive.
    pub drive: usize,
    /// Its value over the geometric mean of the drives that are no outliers.
    pub ratio: f64,
}

/// The outliers of several quantities, and how small a deviation could have been.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outliers {
    /// In the order of the quantities, the furthest first.
    pub outliers: Vec<Outlier>,
    /// The relative deviation of one drive above which it would be an outlier, by quantity; `None`
    /// with too few drives or without scatter to compare with.
    pub thresholds: Vec<Option<f64>>,
}

/// Finds the outliers of quantities that have a value for each drive. A quantity with a value that is
/// missing, or not positive, or with fewer than [`DRIVES_MIN`] drives, has none. Any false alarm among
/// equal drives has at most the probability [`FALSE_ALARMS`].
pub fn outliers(family: &[Vec<Option<f64>>]) -> Outliers {
    let level = FALSE_ALARMS / family.len().max(1) as f64;
    let mut result = Outliers::default();
    for (quantity, values) in family.iter().enumerate() {
        let logs: Option<Vec<f64>> = values.iter().map(|value| log(*value)).collect();
        let Some(logs) = logs.filter(|logs| logs.len() >= DRIVES_MIN) else {
            result.thresholds.push(None);
            continue;
        };
        let test = Test::new(&logs, level);
        result.thresholds.push(Some(test.threshold));
        result.outliers.extend(test.outliers.into_iter().map(|(drive, ratio)| Outlier {
            quantity,
            drive,
            ratio,
        }));
    }
    result
}

fn log(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite() && *value > 0.0).map(libm::log)
}

/// The test of one quantity.
struct Test {
    /// Drives and their ratios to the rest.
    outliers: Vec<(usize, f64)>,
    threshold: f64,
}

impl Test {
    fn new(logs: &[f64], level: f64) -> Test {
        let mut rest: Vec<usize> = (0..logs.len()).collect();
        let mut candidates = Vec::new();
        let mut count = 0;
        let level = level / removable(logs.len()) as f64;
        for _ in 0..removable(logs.len()) {
            let step = Removal::new(logs, &rest, level);
            rest.retain(|drive| *drive != step.drive);
            candidates.push(step.drive);
            if step.is_extreme {
                count = candidates.len();
            }
        }
        rest.extend(candidates.drain(count..));
        let values: Vec<f64> = rest.iter().map(|drive| logs[*drive]).collect();
        let center = mean(&values);
        let margin = libm::log1p(EQUIVALENT_WITHIN);
        let deviating = candidates.into_iter().map(|drive| (drive, logs[drive] - center));
        let outliers = deviating.filter(|(_, deviation)| deviation.abs() > margin);
        Test {
            outliers: outliers.map(|(drive, deviation)| (drive, libm::exp(deviation))).collect(),
            threshold: libm::expm1(reach(&values, level).max(margin)),
        }
    }
}

/// Number of drives that may be outliers, one in six. Rosner's levels are those of large sets; here
/// each further drive has its share of the level, so more of them would cost power.
fn removable(drives: usize) -> usize {
    (drives / 6).max(1)
}

/// The most deviant of the remaining drives.
struct Removal {
    drive: usize,
    is_extreme: bool,
}

impl Removal {
    fn new(logs: &[f64], rest: &[usize], level: f64) -> Removal {
        assert!(rest.len() >= 3, "one of two drives is never the odd one");
        let values: Vec<f64> = rest.iter().map(|drive| logs[*drive]).collect();
        let center = mean(&values);
        let deviation = |drive: &usize| (logs[*drive] - center).abs();
        let furthest = rest.iter().copied().max_by(|a, b| deviation(a).total_cmp(&deviation(b)));
        let drive = furthest.unwrap_or_default();
        let remaining: Vec<f64> =
            rest.iter().filter(|other| **other != drive).map(|other| logs[*other]).collect();
        let is_extreme = (logs[drive] - mean(&remaining)).abs() > reach(&remaining, level);
        Removal { drive, is_extreme }
    }
}

/// How far the most extreme of one more drive than these lies from their mean by chance, with this
/// probability: the test of the largest externally Studentized residual.
fn reach(others: &[f64], level: f64) -> f64 {
    let Some(spread) = Spread::new(others) else { return f64::INFINITY };
    let n = spread.n as f64;
    let t = t_quantile(1.0 - level / (2.0 * (n + 1.0)), n - 1.0);
    t * spread.deviation * ((n + 1.0) / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Dice;

    /// Sets of `n` equal drives, except that the first `slow` are slower by `by` in every quantity:
    /// the share of sets in which all of these are found, and the share with any other drive.
    fn shares(n: usize, quantities: usize, cv: f64, slow: usize, by: f64) -> (f64, f64) {
        let sets = 4000;
        let mut dice = Dice::new((n * 1000 + quantities * 10 + slow) as u64);
        let (mut hits, mut alarms) = (0, 0);
        for _ in 0..sets {
            let family: Vec<Vec<Option<f64>>> = (0..quantities)
                .map(|_| {
                    let mut values = dice.log_normal(100.0, cv, n);
                    values.iter_mut().take(slow).for_each(|value| *value *= 1.0 - by);
                    values.into_iter().map(Some).collect()
                })
                .collect();
            let outliers = outliers(&family).outliers;
            let is_named = |drive: usize| outliers.iter().any(|outlier| outlier.drive == drive);
            hits += u32::from((0..slow).all(is_named));
            alarms += u32::from(outliers.iter().any(|outlier| outlier.drive >= slow));
        }
        (f64::from(hits) / f64::from(sets), f64::from(alarms) / f64::from(sets))
    }

    #[test]
    fn equal_drives_have_an_outlier_in_at_most_5_of_100_sets() {
        for (n, quantities, cv) in [
            (4, 1, 0.1),
            (5, 7, 0.1),
            (6, 1, 0.2),
            (9, 3, 0.1),
            (12, 7, 0.1),
            (32, 8, 0.1),
            (12, 7, 0.01),
        ] {
            let (_, alarms) = shares(n, quantities, cv, 0, 0.0);
            assert!(alarms <= 0.055, "{alarms}: {n} drives, {quantities} quantities, cv {cv}");
        }
    }

    #[test]
    fn a_drive_slower_by_10_percent_is_found_among_12_that_differ_by_1_percent() {
        let (hits, alarms) = shares(12, 7, 0.01, 1, 0.10);
        assert!(hits >= 0.95 && alarms <= 0.05, "{hits}, {alarms}");
        let (hits, alarms) = shares(12, 7, 0.02, 1, 0.10);
        assert!(hits >= 0.8 && alarms <= 0.05, "{hits}, {alarms}");
    }

    #[test]
    fn two_slow_drives_do_not_hide_each_other() {
        let (hits, alarms) = shares(12, 7, 0.01, 2, 0.10);
        assert!(hits >= 0.95 && alarms <= 0.05, "{hits}, {alarms}");
    }

    #[test]
    fn drives_without_scatter_are_judged_by_the_margin() {
        let values = |last: f64| {
            let mut values = vec![Some(100.0); 11];
            values.push(Some(last));
            outliers(&[values])
        };
        assert_eq!(values(100.0).outliers, []);
        assert_eq!(values(96.0).outliers, []);
        let [slow] = values(90.0).outliers[..] else { panic!("one outlier") };
        assert_eq!((slow.quantity, slow.drive), (0, 11));
        assert!((slow.ratio - 0.9).abs() < 1e-9);
        assert!((values(90.0).thresholds[0].expect("known") - EQUIVALENT_WITHIN).abs() < 1e-9);
    }

    #[test]
    fn few_drives_and_missing_values_have_no_outlier() {
        let three = vec![Some(100.0), Some(100.0), Some(10.0)];
        assert_eq!(outliers(&[three]).thresholds, [None]);
        let missing = vec![Some(100.0), Some(100.0), Some(101.0), Some(99.0), None];
        let zero = vec![Some(100.0), Some(100.0), Some(101.0), Some(99.0), Some(0.0)];
        let result = outliers(&[missing, zero]);
        assert_eq!((result.outliers.len(), result.thresholds), (0, vec![None, None]));
        assert_eq!(outliers(&[]), Outliers::default());
    }
}
