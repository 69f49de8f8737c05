//! Runs as replicates: the spread between runs, and the claims that two groups of runs support.
//!
//! The rounds of one run share its state, so their scatter says little about the next run. The
//! spread between runs is therefore estimated from whole runs: those compared, other runs of the
//! same drives, and a prior worth a few more runs. With one run on each side, the prior dominates,
//! and only a large difference supports a claim about the drives.
//!
//! Several quantities form a family. Holm's procedure keeps the probability of any false claim in
//! the family at 5%. Each interval has the confidence level of its quantity's test, so a claimed
//! difference always has an interval that excludes 1. The converse fails only for a difference so
//! small that the runs are judged equivalent.

use crate::compare::{ClaimKind, EQUIVALENT_WITHIN};
use crate::student::{Spread, t_quantile, two_sided};

/// Family-wise error rate: probability of at least one false claim in a family.
const ERROR: f64 = 0.05;

/// Degrees of freedom of the prior: it weighs as much as this many runs beyond the first.
const PRIOR_FREEDOM: f64 = 3.0;

/// With this many runs, on each side of a comparison, the prior is dropped.
const ENOUGH_RUNS: usize = 5;

/// The least half-width of an interval for the next run, as a fraction: a few runs can agree by
/// chance.
const HALF_MIN: f64 = 0.002;

/// A quantity in one run, on a logarithmic scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogQuantity {
    log: f64,
    /// Variance of the mean of its rounds.
    within: f64,
    /// Half-width of the range in which the value is known to lie.
    half_range: f64,
}

impl LogQuantity {
    /// Creates a session from a value and its rounds (empty if unknown). Returns `None` unless the
    /// value is positive.
    pub fn new(value: f64, rounds: &[f64]) -> Option<LogQuantity> {
        let rounds = Spread::new(rounds).filter(|r| r.mean > 0.0 && r.deviation.is_finite());
        let variance = rounds.map_or(0.0, |r| (r.deviation / r.mean).powi(2) / r.n as f64);
        let is_valid = value.is_finite() && value > 0.0;
        is_valid.then(|| LogQuantity { log: libm::log(value), within: variance, half_range: 0.0 })
    }

    /// The value; for a range, its geometric mean.
    pub fn value(&self) -> f64 {
        libm::exp(self.log)
    }

    /// The same quantity, so many times as large.
    #[must_use]
    pub fn scaled(self, factor: f64) -> LogQuantity {
        LogQuantity { log: self.log + libm::log(factor), ..self }
    }

    /// Creates a session from a value printed as a range. Returns `None` unless both ends are
    /// positive and `low <= high`.
    pub fn in_range(low: f64, high: f64) -> Option<LogQuantity> {
        let (low, high) = (LogQuantity::new(low, &[])?.log, LogQuantity::new(high, &[])?.log);
        let half_range = (high - low) / 2.0;
        (half_range >= 0.0).then_some(LogQuantity {
            log: (low + high) / 2.0,
            within: 0.0,
            half_range,
        })
    }
}

/// Summary of a group of runs.
struct Group {
    mean: f64,
    half_range: f64,
    within: f64,
    squares: f64,
    n: usize,
}

impl Group {
    fn new(sessions: &[LogQuantity]) -> Option<Group> {
        let logs: Vec<f64> = sessions.iter().map(|s| s.log).collect();
        let spread = Spread::new(&logs)?;
        let n = spread.n;
        Some(Group {
            mean: spread.mean,
            half_range: sessions.iter().map(|s| s.half_range).sum::<f64>() / n as f64,
            within: sessions.iter().map(|s| s.within).sum::<f64>() / n as f64,
            squares: spread.deviation.powi(2) * (n - 1) as f64,
            n,
        })
    }
}

/// One quantity of a family: its values in the runs of both sides.
#[derive(Clone, Debug, Default)]
pub struct Sides {
    /// The runs of A.
    pub a: Vec<LogQuantity>,
    /// The runs of B.
    pub b: Vec<LogQuantity>,
    /// Other groups of comparable runs, one per drive, used only to estimate the spread.
    pub repeats: Vec<Vec<LogQuantity>>,
    /// Assumed standard deviation between runs before any data: 0.03 is 3%.
    pub prior: f64,
}

/// Result of comparing B with A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Ratio of B to A.
    pub ratio: f64,
    /// Lower end of the ratio's interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The smallest relative difference (0.32 = 32%) that would have been claimed.
    pub threshold: f64,
    /// Relative standard deviation between runs on which the claim is based.
    pub spread: f64,
    /// The claim the data supports.
    pub outcome: ClaimKind,
}

/// The spread between runs, with its degrees of freedom.
struct Between {
    deviation: f64,
    freedom: f64,
}

/// The test of one quantity, before correction for the family.
struct Test {
    gap: f64,
    half_range: f64,
    error: f64,
    freedom: f64,
    spread: f64,
}

impl Test {
    fn new(sides: &Sides) -> Option<Test> {
        let (a, b) = (Group::new(&sides.a)?, Group::new(&sides.b)?);
        let Between { deviation, freedom } = between(&[&a, &b], &sides.repeats, sides.prior);
        Some(Test {
            gap: b.mean - a.mean,
            half_range: a.half_range + b.half_range,
            error: deviation * (1.0 / a.n as f64 + 1.0 / b.n as f64).sqrt(),
            freedom,
            spread: deviation,
        })
    }

    /// The p-value: probability of a difference at least this large between equal drives.
    fn p(&self) -> f64 {
        let gap = (self.gap.abs() - self.half_range).max(0.0);
        match (gap > 0.0, self.error > 0.0) {
            (false, _) => 1.0,
            (true, false) => 0.0,
            (true, true) => two_sided(gap / self.error, self.freedom),
        }
    }

    /// Returns the claim supported at a significance level; `same` is the level for equivalence.
    fn claim(&self, level: f64, same: f64) -> Claim {
        let half = |level: f64| t_quantile(1.0 - level / 2.0, self.freedom) * self.error;
        let reach = half(level) + self.half_range;
        let outcome = if self.gap.abs() + half(2.0 * same) + self.half_range
            < libm::log1p(EQUIVALENT_WITHIN)
        {
            ClaimKind::Equivalent
        } else if self.gap > reach {
            ClaimKind::Faster
        } else if -self.gap > reach {
            ClaimKind::Slower
        } else {
            ClaimKind::Inconclusive
        };
        Claim {
            ratio: libm::exp(self.gap),
            low: libm::exp(self.gap - reach),
            high: libm::exp(self.gap + reach),
            threshold: libm::expm1(reach),
            spread: self.spread,
            outcome,
        }
    }
}

/// Pools the scatter of all groups around their means. Includes the prior unless both sides have
/// enough runs.
fn between(sides: &[&Group; 2], repeats: &[Vec<LogQuantity>], prior: f64) -> Between {
    let has_enough_runs = sides.iter().all(|group| group.n >= ENOUGH_RUNS);
    let prior_freedom = if has_enough_runs { 0.0 } else { PRIOR_FREEDOM };
    let mean_within = (sides[0].within + sides[1].within) / 2.0;
    let repeat_groups: Vec<Group> = repeats.iter().filter_map(|group| Group::new(group)).collect();
    let groups = sides.iter().copied().chain(&repeat_groups);
    let squares: f64 = groups.clone().map(|group| group.squares).sum();
    let freedom = groups.map(|group| (group.n - 1) as f64).sum::<f64>() + prior_freedom;
    let variance = (prior_freedom * (prior.powi(2) + mean_within) + squares) / freedom;
    Between { deviation: variance.sqrt(), freedom }
}

/// Tests a family of quantities. The result is `None` for a quantity without values on both sides.
pub fn claims(family: &[Sides]) -> Vec<Option<Claim>> {
    let tests: Vec<Option<Test>> = family.iter().map(Test::new).collect();
    let count = tests.iter().flatten().count();
    let mut ranked: Vec<(usize, f64)> =
        tests.iter().enumerate().filter_map(|(i, test)| Some((i, test.as_ref()?.p()))).collect();
    ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut levels = vec![ERROR; family.len()];
    let mut level = 0.0;
    let mut open = true;
    for (rank, (i, p)) in ranked.into_iter().enumerate() {
        // After the first quantity without a claim, no other can have one: the level stays.
        if open {
            level = ERROR / (count - rank) as f64;
            open = p < level;
        }
        levels[i] = level;
    }
    let equivalence_level = ERROR / count.max(1) as f64;
    let levelled = tests.iter().zip(levels);
    levelled.map(|(test, level)| Some(test.as_ref()?.claim(level, equivalence_level))).collect()
}

/// Intervals for the next run and for the mean of many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// 95% interval for the value of the next comparable run.
    pub next: [f64; 2],
    /// 95% interval for the mean of many such runs.
    pub mean: [f64; 2],
    /// Number of runs used; with 1, the spread is assumed.
    pub runs: u32,
}

/// Returns the outlook after comparable runs of one drive. `prior` is the assumed standard
/// deviation between runs, `ceiling` a rate that cannot be exceeded. Returns `None` without runs.
pub fn outlook(runs: &[LogQuantity], prior: f64, ceiling: Option<f64>) -> Option<Outlook> {
    let group = Group::new(runs)?;
    let prior_freedom = if group.n >= ENOUGH_RUNS { 0.0 } else { PRIOR_FREEDOM };
    let freedom = prior_freedom + (group.n - 1) as f64;
    let variance = (prior_freedom * (prior.powi(2) + group.within) + group.squares) / freedom;
    let t = (t_quantile(0.975, freedom) * variance.sqrt()).max(HALF_MIN);
    let share = 1.0 / group.n as f64;
    let [next, mean] = [t * (1.0 + share).sqrt(), t * share.sqrt()].map(|half| {
        [group.mean - half, group.mean + half]
            .map(|end| libm::exp(end).min(ceiling.unwrap_or(f64::MAX)))
    });
    Some(Outlook { next, mean, runs: group.n as u32 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Dice;

    const TRIALS: u32 = 4000;

    /// The spread between runs assumed in these tests.
    const PRIOR: f64 = 0.03;

    fn sessions(values: &[f64]) -> Vec<LogQuantity> {
        values.iter().filter_map(|v| LogQuantity::new(*v, &[])).collect()
    }

    /// Seven quantities, measured in `n` runs on each side; B is `ratio` times as fast.
    fn family(dice: &mut Dice, ratio: f64, cv: f64, n: usize) -> Vec<Sides> {
        let side = |dice: &mut Dice, median| sessions(&dice.log_normal(median, cv, n));
        let quantity = |_| {
            let (a, b) = (side(dice, 100.0), side(dice, 100.0 * ratio));
            Sides { a, b, repeats: Vec::new(), prior: PRIOR }
        };
        (0..7).map(quantity).collect()
    }

    #[test]
    fn a_session_has_its_value_and_a_range_its_geometric_mean() {
        let value = |session: Option<LogQuantity>| session.expect("positive").value();
        assert!((value(LogQuantity::new(5.0, &[])) - 5.0).abs() < 1e-9);
        assert!((value(LogQuantity::in_range(4.0, 9.0)) - 6.0).abs() < 1e-9);
    }

    fn differs(claim: &Option<Claim>) -> bool {
        claim.is_some_and(|c| matches!(c.outcome, ClaimKind::Faster | ClaimKind::Slower))
    }

    /// Fraction of families in which any difference is claimed.
    fn claimed(cv: f64, n: usize) -> f64 {
        let mut dice = Dice::new(n as u64);
        let any = |dice: &mut Dice| claims(&family(dice, 1.0, cv, n)).iter().any(differs);
        let count = (0..TRIALS).filter(|_| any(&mut dice)).count();
        count as f64 / f64::from(TRIALS)
    }

    #[test]
    fn equal_drives_are_called_different_in_at_most_5_of_100_families() {
        for cv in [0.01, 0.03, 0.06] {
            let one = claimed(cv, 1);
            assert!(one < 0.01, "1 + 1 at {cv}: {one}");
            // Three standard deviations of the simulation are 1%.
            assert!(claimed(cv, 5) < 0.06, "5 + 5 at {cv}");
        }
        assert!(claimed(0.06, 5) > 0.03, "the level is used");
    }

    #[test]
    fn five_runs_a_side_find_a_tenth_at_a_spread_of_3_percent() {
        let mut dice = Dice::new(3);
        let found = |dice: &mut Dice| {
            claims(&family(dice, 1.10, 0.03, 5)).iter().filter(|claim| differs(claim)).count()
        };
        let share = (0..400).map(|_| found(&mut dice)).sum::<usize>() as f64 / f64::from(400 * 7);
        assert!(share > 0.7, "{share}");
    }

    fn threshold(quantities: usize, repeats: &[Vec<LogQuantity>]) -> f64 {
        let (a, b) = (sessions(&[100.0]), sessions(&[112.0]));
        let sides = Sides { a, b, repeats: repeats.to_vec(), prior: PRIOR };
        let found = claims(&vec![sides; quantities]);
        assert!(!found.iter().any(differs), "12% does not support a claim");
        found[0].expect("a value on each side").threshold
    }

    /// Thirteen runs of one drive with the prior's spread.
    fn repeats() -> Vec<Vec<LogQuantity>> {
        let steps: Vec<f64> = (-6..=6).map(f64::from).collect();
        let unit = (steps.iter().map(|s| s * s).sum::<f64>() / 12.0).sqrt();
        let values: Vec<f64> = steps.iter().map(|s| 100.0 * libm::exp(PRIOR * s / unit)).collect();
        vec![sessions(&values)]
    }

    #[test]
    fn one_run_against_one_needs_a_third_less_with_a_history_or_one_quantity() {
        let bare = threshold(7, &[]);
        assert!((bare - 0.32).abs() < 0.01, "{bare}");
        let known = threshold(7, &repeats());
        assert!((known - 0.14).abs() < 0.01, "{known}");
        let declared = threshold(1, &[]);
        assert!((declared - 0.15).abs() < 0.01, "{declared}");
    }

    #[test]
    fn holm_claims_a_second_quantity_that_bonferroni_would_not() {
        let quantity = |b: f64| Sides {
            a: sessions(&[100.0; 5]).into_iter().enumerate().map(near).collect(),
            b: sessions(&[b; 5]).into_iter().enumerate().map(near).collect(),
            repeats: Vec::new(),
            prior: PRIOR,
        };
        fn near((i, session): (usize, LogQuantity)) -> LogQuantity {
            LogQuantity { log: session.log + (i as f64 - 2.0) * 0.01, ..session }
        }
        // t = 2.6 with 8 degrees of freedom: p = 0.032, between 5% / 2 and 5%.
        let b = 100.0 * libm::exp(2.6 * 0.01);
        let found = claims(&[quantity(b), quantity(200.0)]);
        assert!(found.iter().all(differs), "{found:?}");
        assert!(!differs(&claims(&[quantity(b), quantity(100.0)])[0]));
    }

    #[test]
    fn a_claim_is_an_interval_without_1() {
        let mut dice = Dice::new(9);
        for claim in (0..300).flat_map(|_| claims(&family(&mut dice, 1.05, 0.03, 3))).flatten() {
            let apart = claim.low > 1.0 || claim.high < 1.0;
            let said = differs(&Some(claim));
            assert!(said == apart || claim.outcome == ClaimKind::Equivalent, "{claim:?}");
        }
    }

    #[test]
    fn a_printed_range_counts_with_its_nearest_end() {
        let side = |session: Option<LogQuantity>| vec![session.expect("positive")];
        let against = |low, high| {
            let (a, b) =
                (side(LogQuantity::in_range(low, high)), side(LogQuantity::new(17.0, &[])));
            claims(&[Sides { a, b, repeats: Vec::new(), prior: 0.05 }])[0].expect("values")
        };
        assert_eq!(against(6.0, 7.0).outcome, ClaimKind::Faster);
        assert_eq!(against(12.0, 17.0).outcome, ClaimKind::Inconclusive);
        assert!(against(6.0, 7.0).low < 17.0 / 7.0 && against(6.0, 7.0).high > 17.0 / 6.0);
        assert_eq!(LogQuantity::in_range(7.0, 6.0), None);
    }

    #[test]
    fn values_that_are_not_positive_are_not_compared() {
        assert_eq!(LogQuantity::new(0.0, &[1.0]), None);
        assert_eq!(LogQuantity::new(f64::NAN, &[]), None);
        let empty = Sides { b: sessions(&[1.0]), ..Sides::default() };
        assert_eq!(claims(&[empty]), [None]);
        assert_eq!(claims(&[]), []);
    }

    #[test]
    fn runs_without_any_scatter_are_judged_by_their_ratio() {
        let sides = |b: f64| Sides {
            a: sessions(&[100.0; 5]),
            b: sessions(&[b; 5]),
            repeats: Vec::new(),
            prior: PRIOR,
        };
        let found = claims(&[sides(100.0), sides(106.0)]);
        let outcomes: Vec<_> = found.iter().flatten().map(|c| c.outcome).collect();
        assert_eq!(outcomes, [ClaimKind::Equivalent, ClaimKind::Faster]);
    }

    /// Fraction of outlooks after `k` runs that contain the next run, if runs scatter by `cv`.
    fn coverage(k: usize, cv: f64, prior: f64) -> f64 {
        let mut dice = Dice::new(k as u64 + 70);
        let held = |dice: &mut Dice| {
            let values = dice.log_normal(500.0, cv, k + 1);
            let found = outlook(&sessions(&values[..k]), prior, None).expect("runs");
            (found.next[0]..=found.next[1]).contains(&values[k])
        };
        let count = (0..TRIALS).filter(|_| held(&mut dice)).count();
        count as f64 / f64::from(TRIALS)
    }

    /// A correct prior makes the outlook conservative. If the true spread is twice the prior,
    /// coverage drops by up to 10 percentage points after one run, and by less after more runs.
    #[test]
    fn the_outlook_contains_the_next_run() {
        for k in [1, 3] {
            assert!(coverage(k, 0.15, 0.15) > 0.95, "k = {k}");
        }
        // Without the prior, the interval is not wider than it has to be.
        assert!((0.94..0.96).contains(&coverage(5, 0.15, 0.15)));
        let doubled = coverage(1, 0.30, 0.15);
        assert!((0.85..0.93).contains(&doubled), "{doubled}");
        assert!(coverage(5, 0.30, 0.15) > 0.90);
    }

    #[test]
    fn an_outlook_has_a_width_and_ends_at_the_ceiling() {
        let one = outlook(&sessions(&[100.0]), 0.005, Some(100.2)).expect("a run");
        assert!(one.next[0] < 100.0 && one.next[1] == 100.2 && one.runs == 1, "{one:?}");
        let four = outlook(&sessions(&[100.0; 4]), 0.005, None).expect("runs");
        assert!(four.next[1] > 100.0 && four.next[1] < one.next[1] + 1.0);
        assert!(four.mean[1] < four.next[1]);
        assert_eq!(outlook(&[], 0.03, None), None);
    }

    /// After five runs, an interval follows the drive's own spread and not the prior.
    #[test]
    fn after_five_runs_the_interval_is_as_narrow_as_the_drive_is_steady() {
        let mut dice = Dice::new(5);
        let (cv, trials) = (0.003, 2000);
        let (mut covered, mut widths) = (0, 0.0);
        for _ in 0..trials {
            let values = dice.log_normal(100.0, cv, 6);
            let [low, high] = outlook(&sessions(&values[..5]), PRIOR, None).expect("runs").next;
            covered += u32::from((low..=high).contains(&values[5]));
            widths += libm::log(high / low) / 2.0;
        }
        let share = f64::from(covered) / f64::from(trials);
        let half_width = widths / f64::from(trials);
        assert!((0.93..0.97).contains(&share), "{share}");
        assert!(half_width < 4.0 * cv, "{half_width}");
    }

    #[test]
    fn rounds_that_scatter_widen_the_outlook() {
        let with = |rounds: &[f64]| {
            let run = LogQuantity::new(100.0, rounds).expect("positive");
            outlook(&[run], 0.03, None).expect("a run").next[1]
        };
        assert!(with(&[50.0, 150.0]) > with(&[99.0, 101.0]));
    }
}
