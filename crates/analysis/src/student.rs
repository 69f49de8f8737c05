//! Mean and Student-t interval of a few numbers.

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
    pub fn of(values: &[f64]) -> Option<Spread> {
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let deviation = (squares / n.saturating_sub(1).max(1) as f64).sqrt();
        (n > 0).then_some(Spread { mean, deviation, n })
    }

    /// Half the width of the interval that contains the true mean with the given confidence (0 to
    /// 1). `None` for a single value, because its error is unknown.
    pub fn half_width(&self, confidence: f64) -> Option<f64> {
        let freedom = self.n.checked_sub(1).filter(|&f| f > 0)?;
        let t = quantile(0.5 + confidence / 2.0, freedom as f64);
        Some(t * self.deviation / (self.n as f64).sqrt())
    }
}

/// Quantile `p` of Student's t with `freedom` (at least 1) degrees of freedom.
pub(crate) fn quantile(p: f64, freedom: f64) -> f64 {
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
                (quantile(0.975, f64::from(freedom)) - t).abs() < 5e-4,
                "{freedom} degrees of freedom"
            );
            assert!((two_sided(t, f64::from(freedom)) - 0.05).abs() < 5e-5, "{freedom}");
        }
    }

    #[test]
    fn one_value_has_no_width_and_none_has_no_mean() {
        assert!(Spread::of(&[]).is_none());
        let one = Spread::of(&[3.0]).expect("one value");
        assert_eq!((one.mean, one.half_width(0.95)), (3.0, None));
    }
}
