//! Mean and quantiles of a few numbers, and the Student-t interval of their mean.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Mean, standard deviation and number of one or more values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub mean: f64,
    /// With n - 1 in the denominator; 0 for one value.
    pub deviation: f64,
    pub n: usize,
}

impl Spread {
    /// Computes the spread; `None` without values.
    pub fn new(values: &[f64]) -> Option<Spread> {
        let n = values.len();
        let mean = mean(values);
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let deviation = (squares / n.saturating_sub(1).max(1) as f64).sqrt();
        (n > 0).then_some(Spread { mean, deviation, n })
    }

    /// Half the width of the interval that contains the true mean with the given confidence (0 to
    /// 1). `None` for a single value, because its error is unknown.
    pub fn half_width(&self, confidence: f64) -> Option<f64> {
        let freedom = self.n.checked_sub(1).filter(|&f| f > 0)?;
        let t = t_quantile(0.5 + confidence / 2.0, freedom as f64);
        Some(t * self.deviation / (self.n as f64).sqrt())
    }
}

/// Arithmetic mean of the values; 0 if there are none.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The value below which the fraction `share` of the values lies, without interpolation; 0 if there
/// are none.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let index = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or(0.0)
}

/// Quantile `p` of Student's t with `freedom` (at least 1) degrees of freedom.
pub(crate) fn t_quantile(p: f64, freedom: f64) -> f64 {
    students(freedom).inverse_cdf(p)
}

/// Probability that Student's t lies further from 0 than `t`, which is positive.
pub(crate) fn two_sided(t: f64, freedom: f64) -> f64 {
    2.0 * one_sided(t, freedom)
}

/// Probability that Student's t lies above `t`.
pub(crate) fn one_sided(t: f64, freedom: f64) -> f64 {
    students(freedom).sf(t)
}

fn students(freedom: f64) -> StudentsT {
    let t = StudentsT::new(0.0, 1.0, freedom.max(1.0));
    t.expect("a scale of 1 and a freedom of 1 or more are in range")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_the_printed_tables() {
        let table = [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (30, 2.042)];
        for (freedom, t) in table {
            assert!(
                (t_quantile(0.975, f64::from(freedom)) - t).abs() < 5e-4,
                "{freedom} degrees of freedom"
            );
            assert!((two_sided(t, f64::from(freedom)) - 0.05).abs() < 5e-5, "{freedom}");
        }
    }

    #[test]
    fn quantiles_are_values_of_the_sample() {
        let values = [4.0, 1.0, 3.0, 2.0];
        let found = [0.0, 0.25, 0.5, 0.9, 1.0].map(|share| quantile(&values, share));
        assert_eq!(found, [1.0, 2.0, 3.0, 4.0, 4.0]);
        assert_eq!((mean(&values), mean(&[]), quantile(&[], 0.5)), (2.5, 0.0, 0.0));
    }

    #[test]
    fn one_value_has_no_width_and_none_has_no_mean() {
        assert!(Spread::new(&[]).is_none());
        let one = Spread::new(&[3.0]).expect("one value");
        assert_eq!((one.mean, one.half_width(0.95)), (3.0, None));
    }
}
