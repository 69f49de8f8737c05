//! Comparison of two conditions: A, B, B, A, A, B, B, A ...
//!
//! Pairs are compared by a t test on their log ratios. The order matters more than the test: if a
//! drive drifts by 1% per run (it warms up, its cache fills), six runs of A followed by six of B
//! nearly always "find" a difference that does not exist, while ABBA keeps its nominal error rate.
//! The tests verify these claims. The caller must alternate the order; this module cannot check it.

use crate::student::Spread;

/// Relative differences below this do not matter in practice: 5%.
pub const EQUIVALENT_WITHIN: f64 = 0.05;

/// Probability of claiming a difference that does not exist.
const ERROR: f64 = 0.05;

/// The claim about B relative to A that the data permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimKind {
    /// B's rate is higher.
    Faster,
    /// B's rate is lower.
    Slower,
    /// They differ by less than [`EQUIVALENT_WITHIN`] (two one-sided tests at 5% each).
    Equivalent,
    /// The data are inconclusive, which is not "the same".
    Inconclusive,
}

/// Result of comparing B with A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Rate of B over rate of A; above 1: B is faster.
    pub ratio: f64,
    /// Lower end of the ratio's 95% interval; `None` with one pair.
    pub low: Option<f64>,
    /// Upper end of the ratio's 95% interval.
    pub high: Option<f64>,
    pub n: u32,
    /// The permitted claim.
    pub outcome: ClaimKind,
}

/// Compares rates measured in pairs: `a[i]` and `b[i]` ran next to each other, in alternating
/// order. For times instead of rates, pass B first. Returns `None` if there are no pairs, the
/// lengths differ, or a rate is not positive.
pub fn compare(a: &[f64], b: &[f64]) -> Option<Comparison> {
    compare_among(1, a, b)
}

/// [`compare`] for one of `comparisons`, with a Bonferroni correction: all their intervals together
/// contain the truth with 95% confidence, and any false difference is claimed in at most 5 of 100
/// cases.
pub fn compare_among(comparisons: usize, a: &[f64], b: &[f64]) -> Option<Comparison> {
    if a.len() != b.len() || a.iter().chain(b).any(|r| !(r.is_finite() && *r > 0.0)) {
        return None;
    }
    let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| libm::log(b / a)).collect();
    let spread = Spread::new(&logs)?;
    let error = ERROR / comparisons.max(1) as f64;
    let half = spread.half_width(1.0 - error);
    Some(Comparison {
        ratio: libm::exp(spread.mean),
        low: half.map(|h| libm::exp(spread.mean - h)),
        high: half.map(|h| libm::exp(spread.mean + h)),
        n: spread.n as u32,
        outcome: outcome(&spread, error),
    })
}

/// Tests equivalence first: even a significant difference of 1% does not matter in practice, and
/// the report prints the ratio and its interval next to the verdict. A 90% interval inside the
/// margin is equivalent to two one-sided tests at 5%.
fn outcome(logs: &Spread, error: f64) -> ClaimKind {
    let widths = logs.half_width(1.0 - 2.0 * error).zip(logs.half_width(1.0 - error));
    let Some((narrow, wide)) = widths else {
        return ClaimKind::Inconclusive;
    };
    judge(logs.mean, narrow, wide)
}

/// The claim permitted by a mean log ratio with the half widths of its 90% and 95% intervals.
fn judge(mean: f64, narrow: f64, wide: f64) -> ClaimKind {
    if mean.abs() + narrow < libm::log1p(EQUIVALENT_WITHIN) {
        ClaimKind::Equivalent
    } else if mean - wide > 0.0 {
        ClaimKind::Faster
    } else if mean + wide < 0.0 {
        ClaimKind::Slower
    } else {
        ClaimKind::Inconclusive
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Dice;
    use crate::student::t_quantile;

    const TRIALS: u32 = 10_000;

    fn share(mut trial: impl FnMut() -> bool) -> f64 {
        (0..TRIALS).filter(|_| trial()).count() as f64 / f64::from(TRIALS)
    }

    fn pairs(dice: &mut Dice, ratio: f64, cv: f64, n: usize) -> Comparison {
        let a = dice.log_normal(100.0, cv, n);
        let b = dice.log_normal(100.0 * ratio, cv, n);
        compare(&a, &b).expect("rates are positive")
    }

    #[test]
    fn equal_drives_are_called_different_in_5_of_100_cases_at_most() {
        for (n, cv) in [(3, 0.1), (4, 0.1), (10, 0.1), (5, 0.01)] {
            let mut dice = Dice::new(n as u64);
            let wrong = share(|| {
                let c = pairs(&mut dice, 1.0, cv, n);
                matches!(c.outcome, ClaimKind::Faster | ClaimKind::Slower)
            });
            assert!(wrong < 0.057, "{wrong} at n = {n}, cv {cv}");
        }
    }

    #[test]
    fn the_most_striking_of_three_is_no_more_often_wrong_than_one() {
        let wrong = |among| {
            let mut dice = Dice::new(13);
            share(|| {
                let a = dice.log_normal(100.0, 0.3, 4);
                let different = |dice: &mut Dice| {
                    let c = compare_among(among, &a, &dice.log_normal(100.0, 0.3, 4));
                    matches!(c.expect("positive").outcome, ClaimKind::Faster | ClaimKind::Slower)
                };
                (0..3).filter(|_| different(&mut dice)).count() > 0
            })
        };
        let (plain, widened) = (wrong(1), wrong(3));
        assert!(plain > 0.09 && widened < 0.055, "{plain}, {widened}");
    }

    #[test]
    fn a_difference_of_the_margin_is_called_equivalent_in_5_of_100_cases_at_most() {
        for (ratio, cv) in [(1.05, 0.01), (1.0 / 1.05, 0.01), (1.05, 0.03)] {
            let mut dice = Dice::new(77);
            let wrong = share(|| pairs(&mut dice, ratio, cv, 6).outcome == ClaimKind::Equivalent);
            assert!(wrong < 0.057, "{wrong} at ratio {ratio}, cv {cv}");
        }
    }

    #[test]
    fn equal_quiet_drives_are_found_equivalent_and_different_ones_different() {
        let mut dice = Dice::new(5);
        let same = share(|| pairs(&mut dice, 1.0, 0.01, 6).outcome == ClaimKind::Equivalent);
        let slower = share(|| pairs(&mut dice, 0.8, 0.02, 6).outcome == ClaimKind::Slower);
        assert!(same > 0.99 && slower > 0.99, "{same}, {slower}");
    }

    /// Runs two equal drives in the given order. Each run is 1% slower than the previous one.
    fn drifting(dice: &mut Dice, order: &[u8]) -> (Vec<f64>, Vec<f64>) {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for (run, drive) in order.iter().enumerate() {
            let value = 100.0 * libm::exp(-0.01 * run as f64 + 0.019 * dice.normal());
            if *drive == b'A' { a.push(value) } else { b.push(value) }
        }
        (a, b)
    }

    fn different(a: &[f64], b: &[f64]) -> bool {
        let c = compare(a, b).expect("rates are positive");
        c.low.expect("n > 1") > 1.0 || c.high.expect("n > 1") < 1.0
    }

    /// Welch's test, which suits a design that measures one drive after the other.
    fn welch(a: &[f64], b: &[f64]) -> bool {
        let [a, b] = [a, b].map(|side| {
            let logs: Vec<f64> = side.iter().map(|v| libm::log(*v)).collect();
            Spread::new(&logs).expect("not empty")
        });
        let [va, vb] = [a, b].map(|s| s.deviation.powi(2) / s.n as f64);
        let freedom =
            (va + vb).powi(2) / (va.powi(2) / (a.n - 1) as f64 + vb.powi(2) / (b.n - 1) as f64);
        (a.mean - b.mean).abs() / (va + vb).sqrt() > t_quantile(0.975, freedom)
    }

    #[test]
    fn abba_withstands_drift_where_blocks_and_abab_do_not() {
        let mut dice = Dice::new(3);
        let mut wrong = |order: &[u8], test: fn(&[f64], &[f64]) -> bool| {
            share(|| {
                let (a, b) = drifting(&mut dice, order);
                test(&a, &b)
            })
        };
        let blocks = wrong(b"AAAAAABBBBBB", welch);
        let abab = wrong(b"ABABABABABAB", different);
        let abba = wrong(b"ABBAABBAABBA", different);
        assert!(blocks > 0.9, "blocks: {blocks}");
        assert!((0.08..0.15).contains(&abab), "ABAB: {abab}");
        assert!(abba < 0.055, "ABBA: {abba}");
    }

    #[test]
    fn invalid_inputs_are_not_compared() {
        assert_eq!(compare(&[], &[]), None);
        assert_eq!(compare(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(compare(&[1.0, 0.0], &[1.0, 2.0]), None);
        assert_eq!(compare(&[1.0, f64::NAN], &[1.0, 2.0]), None);
        let one = compare(&[100.0], &[300.0]).expect("a pair");
        assert_eq!((one.low, one.outcome), (None, ClaimKind::Inconclusive));
    }

    #[test]
    fn a_virtual_drive_without_noise_is_judged_by_its_ratio() {
        let outcome = |b| compare(&[100.0; 4], &[b; 4]).expect("pairs").outcome;
        assert_eq!(outcome(100.0), ClaimKind::Equivalent);
        assert_eq!(outcome(104.0), ClaimKind::Equivalent);
        assert_eq!(outcome(110.0), ClaimKind::Faster);
        assert_eq!(outcome(90.0), ClaimKind::Slower);
    }
}
