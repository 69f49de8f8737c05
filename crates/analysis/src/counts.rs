//! Tail probabilities of counts.

use statrs::distribution::{Binomial, DiscreteCDF};

/// Probability of at least `count` hits in `of` trials, each a hit with probability `share`.
pub fn binomial_tail(count: usize, of: usize, share: f64) -> f64 {
    match (Binomial::new(share.clamp(0.0, 1.0), of as u64), count.checked_sub(1)) {
        (Ok(hits), Some(below)) => hits.sf(below as u64),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_tables() {
        let near = |count, of, share, right: f64| {
            let found = binomial_tail(count, of, share);
            assert!((found / right - 1.0).abs() < 1e-9, "{found} for {right}");
        };
        near(1, 3, 0.5, 0.875);
        near(2, 9, 0.1, 1.0 - 0.9f64.powi(9) - 0.9 * 0.9f64.powi(8));
        near(9, 9, 0.1, 1e-9);
        assert_eq!((binomial_tail(0, 9, 0.1), binomial_tail(0, 0, 0.1)), (1.0, 1.0));
        assert!(binomial_tail(60, 60, 0.1) > 0.0 && binomial_tail(60, 60, 0.1) < 1e-50);
    }
}
