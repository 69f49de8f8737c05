//! Two targets measured alternately (AB, BA, AB, BA ...), with interim looks at the result.
//!
//! Pairs in alternating order cancel slow drift. Stopping at the first significant look finds
//! differences too often, so the significance level starts far below the usual one and grows with
//! the number of pairs. The tests verify the error rates.

use crate::compare::{ClaimKind, EQUIVALENT_WITHIN};
use crate::student::{Spread, one_sided, t_quantile, two_sided};

/// Numbers of pairs after which the result is evaluated.
pub const LOOKS: [usize; 6] = [4, 6, 8, 12, 16, 24];

/// A difference is claimed if its p-value is below this factor times the number of pairs.
const DIFFERENT: f64 = 0.001;

/// The corresponding factor for "the same within 5%", which requires both one-sided tests to pass.
/// [`SAME_NOISY`] applies if runs vary by [`NOISY`] or more.
const SAME: f64 = 0.0018;
const SAME_NOISY: f64 = 0.0012;

/// Relative standard deviation between runs at or above which the stricter level applies.
const NOISY: f64 = 0.04;

/// B compared with A after some pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// B over A.
    pub ratio: f64,
    /// Lower end of the ratio's interval, at the level of this look.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Number of pairs so far.
    pub pairs: u32,
    /// The claim permitted at this look.
    pub outcome: ClaimKind,
}

/// Evaluates a family of quantities, each given as pairs of values for A and B. The result is
/// `None` for a quantity with fewer than two pairs or a value that is not positive and finite.
///
/// The claims are valid only at the numbers of pairs in [`LOOKS`]. The level is divided by the
/// number of quantities.
pub fn look(family: &[Vec<(f64, f64)>]) -> Vec<Option<Look>> {
    let share = 1.0 / family.len().max(1) as f64;
    family.iter().map(|pairs| judge(pairs, share)).collect()
}

fn judge(pairs: &[(f64, f64)], share: f64) -> Option<Look> {
    let positive = pairs.iter().all(|(a, b)| *a > 0.0 && *b > 0.0 && (a * b).is_finite());
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| libm::log(b / a)).collect();
    let spread = Spread::new(&logs).filter(|s| positive && s.n > 1)?;
    let (n, freedom) = (spread.n as f64, (spread.n - 1) as f64);
    let error = spread.deviation / n.sqrt();
    let level = (n * DIFFERENT * share).min(0.05);
    let noisy = spread.deviation >= NOISY * std::f64::consts::SQRT_2;
    let equivalence_level = n * share * if noisy { SAME_NOISY } else { SAME };
    // Without scatter, the ratio alone decides.
    let p = |distance: f64, test: fn(f64, f64) -> f64| {
        if error > 0.0 {
            test(distance / error, freedom)
        } else if distance > 0.0 {
            0.0
        } else {
            1.0
        }
    };
    let margin = libm::log1p(EQUIVALENT_WITHIN);
    let half = t_quantile(1.0 - level / 2.0, freedom) * error;
    let outcome = if p(margin - spread.mean.abs(), one_sided) < equivalence_level {
        ClaimKind::Equivalent
    } else if p(spread.mean.abs(), two_sided) < level {
        if spread.mean > 0.0 { ClaimKind::Faster } else { ClaimKind::Slower }
    } else {
        ClaimKind::Inconclusive
    };
    Some(Look {
        ratio: libm::exp(spread.mean),
        low: libm::exp(spread.mean - half),
        high: libm::exp(spread.mean + half),
        pairs: spread.n as u32,
        outcome,
    })
}

/// Number of pairs needed to detect a relative difference in one quantity four times out of five,
/// if runs vary by `cv`; `None` if the last look has too few.
pub fn pairs_for(difference: f64, cv: f64) -> Option<u32> {
    let detecting = LOOKS.iter().find(|n| {
        let (n, freedom) = (**n as f64, (**n - 1) as f64);
        let error = cv * (2.0 / n).sqrt();
        let t = t_quantile(1.0 - n * DIFFERENT / 2.0, freedom) + t_quantile(0.8, freedom);
        t * error <= libm::log1p(difference)
    });
    detecting.map(|n| *n as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Dice;

    const TRIALS: u32 = 4000;

    /// Returns the final claim and number of pairs of a comparison. Each run is slower than the
    /// previous one by `drift`.
    fn compared(dice: &mut Dice, ratio: f64, cv: f64, drift: f64) -> (ClaimKind, usize) {
        let mut pairs: Vec<(f64, f64)> = Vec::new();
        let mut runs = 0;
        let mut run = |dice: &mut Dice, median: f64| {
            runs += 1;
            median * libm::exp(cv * dice.normal() - drift * f64::from(runs))
        };
        for n in LOOKS {
            while pairs.len() < n {
                let forward = pairs.len().is_multiple_of(2);
                let first = run(dice, if forward { 100.0 } else { 100.0 * ratio });
                let second = run(dice, if forward { 100.0 * ratio } else { 100.0 });
                pairs.push(if forward { (first, second) } else { (second, first) });
            }
            let found = look(std::slice::from_ref(&pairs))[0].expect("positive").outcome;
            if found != ClaimKind::Inconclusive {
                return (found, n);
            }
        }
        (ClaimKind::Inconclusive, LOOKS[LOOKS.len() - 1])
    }

    fn share(ratio: f64, cv: f64, drift: f64, wanted: &[ClaimKind]) -> (f64, f64) {
        let mut dice = Dice::new((cv * 1e4) as u64 + 17);
        let mut pairs = 0;
        let mut count = 0;
        for _ in 0..TRIALS {
            let (found, n) = compared(&mut dice, ratio, cv, drift);
            count += u32::from(wanted.contains(&found));
            pairs += n;
        }
        (f64::from(count) / f64::from(TRIALS), pairs as f64 / f64::from(TRIALS))
    }

    #[test]
    fn equal_targets_are_called_different_in_at_most_5_of_100_cases_despite_a_drift() {
        for cv in [0.005, 0.01, 0.02, 0.05] {
            let (wrong, _) = share(1.0, cv, 0.01, &[ClaimKind::Faster, ClaimKind::Slower]);
            assert!(wrong <= 0.05, "{wrong} at {cv}");
        }
    }

    #[test]
    fn a_difference_as_large_as_the_margin_is_rarely_called_the_same() {
        for cv in [0.01, 0.02, 0.05] {
            let (wrong, _) = share(1.05, cv, 0.0, &[ClaimKind::Equivalent]);
            assert!(wrong <= 0.055, "{wrong} at {cv}");
        }
    }

    #[test]
    fn a_5_percent_difference_is_found_in_8_pairs_on_average_at_2_percent_scatter() {
        let (found, pairs) = share(1.05, 0.02, 0.0, &[ClaimKind::Faster]);
        assert!(found >= 0.97 && pairs <= 8.0, "{found} in {pairs} pairs");
        let (found, _) = share(1.10, 0.02, 0.01, &[ClaimKind::Faster]);
        assert!(found >= 0.99, "{found}");
    }

    #[test]
    fn targets_without_scatter_are_judged_by_their_ratio() {
        let after = |b: f64| look(&[vec![(100.0, b); 4]])[0].expect("positive").outcome;
        assert_eq!(after(100.0), ClaimKind::Equivalent);
        assert_eq!(after(120.0), ClaimKind::Faster);
        assert_eq!(after(80.0), ClaimKind::Slower);
        assert_eq!(look(&[vec![(1.0, 0.0); 4], vec![(1.0, 1.0)]]), [None, None]);
    }

    #[test]
    fn a_family_has_wider_intervals_than_one_quantity() {
        let near = vec![(100.0, 104.0), (100.0, 107.5), (100.0, 104.5), (100.0, 108.0)];
        let alone = look(std::slice::from_ref(&near))[0].expect("positive");
        let among = look(&vec![near; 8])[0].expect("positive");
        assert!(among.low < alone.low && among.high > alone.high);
    }

    #[test]
    fn smaller_differences_and_more_scatter_need_more_pairs() {
        assert_eq!(pairs_for(0.20, 0.02), Some(4));
        assert!(pairs_for(0.05, 0.02) <= Some(12));
        assert_eq!(pairs_for(0.01, 0.15), None);
    }
}
