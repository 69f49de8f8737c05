//! Compares groups of records: the quantities they have in common, the claims that the differences
//! permit, and the conditions that differ. Pure.
//!
//! Claims are limited to the primary metrics of a method, at most eight, which form one family (see
//! [`analysis::claims`]). Everything else is shown without a claim.

mod brief;
mod conditions;
#[cfg(test)]
mod drawn_tests;
mod factor;
mod gate;
pub mod live;
mod matching;
mod quantity;
mod remarks;
mod sentence;
#[cfg(test)]
mod tests;
mod view;
mod work;

use std::collections::BTreeSet;

use analysis::{Claim, ClaimKind, LogQuantity, Look, Sides, claims};
use record::{FindingKind, HistoryKey, MetricKey, Run, Unit};
use serde::Serialize;
use store::Store;

pub use brief::Brief;

pub(crate) use self::conditions::differences;
pub use self::conditions::{Difference, group_by};
pub use self::factor::Factor;
pub use self::gate::{Gate, GateResult};
use self::matching::{Match, match_quantities, primary_names};
pub(crate) use self::quantity::{Quantity, quantities};
pub use self::remarks::Remarks;
use self::remarks::{doubts, is_laid_out, odd};
pub use self::view::{CONFOUNDED, view};
use self::work::WorkComparison;
pub use self::work::check_alike;
pub(crate) use self::work::is_alike;
use crate::error::{LabError, Result};
use crate::spread;

/// Maximum number of runs of one drive read from the store to estimate its spread. With 16 runs,
/// the standard error of a standard deviation is 18%.
const REPEATS_MAX: u32 = 16;

/// The runs on one side of a comparison, and others of the same drive.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// The runs, at least one.
    pub runs: Vec<Run>,
    /// Comparable runs of the same drive, for the spread between runs.
    pub repeats: Vec<Run>,
}

impl Side {
    fn without_laid_out(&self) -> Side {
        let runs = self.runs.iter().filter(|run| !is_laid_out(run)).cloned().collect();
        Side { runs, repeats: self.repeats.clone() }
    }

    /// The largest standard deviation of a metric to assume between its runs, as a fraction.
    fn assumed_spread(&self, metric: &str) -> f64 {
        let metric = MetricKey::parse(metric);
        self.runs.iter().map(|run| spread::prior_of_metric(run, &metric)).fold(0.0, f64::max)
    }
}

/// A quantity on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// Its name in A.
    pub name: String,
    /// Its name in words.
    pub label: String,
    /// Its name in B, if different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_b: Option<String>,
    /// The unit of both values.
    pub unit: Unit,
    /// The value in A: the geometric mean of its runs, or the middle of a printed range.
    pub a: Option<f64>,
    pub b: Option<f64>,
    /// The ranges printed instead of values, in A and in B.
    pub ranges: [Option<[f64; 2]>; 2],
    /// Number of runs on each side that have it.
    pub n: [u32; 2],
    /// Whether a claim about it is possible.
    pub primary: bool,
    /// The ratio of B to A; text states the larger over the smaller: [`Pair::factor`].
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval, at the confidence level of the test.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// The relative difference above which a claim is made.
    pub threshold: Option<f64>,
    /// Standard deviation between runs on which the claim rests, as a fraction.
    pub spread: Option<f64>,
    /// The conclusion in brief.
    pub claim: Brief,
    #[serde(skip)]
    outcome: Option<ClaimKind>,
}

/// A finding that reduces confidence in one side or both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Doubt {
    /// `A`, `B` or `both`.
    pub side: &'static str,
    pub kind: FindingKind,
    /// One line of text.
    pub text: String,
}

/// A run in a different state from the others of its side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Odd {
    /// The run, as in "run 3".
    pub run: String,
    /// The reason.
    pub why: String,
}

/// The comparison of B with A.
#[derive(Clone, Debug, Serialize)]
pub struct RunComparison {
    /// The conclusion.
    pub sentence: String,
    /// The quantities that both sides have, primary ones first.
    pub pairs: Vec<Pair>,
    /// What the sides did differently; empty if they did the same work, as far as both tell.
    pub work_differs: Vec<Difference>,
    /// Facts of the work that only one side tells.
    pub work_unknown: Vec<Difference>,
    /// Conditions that differ or are known for only one side.
    pub conditions_differ: Vec<Difference>,
    /// Findings of the records.
    pub doubts: Vec<Doubt>,
    /// Runs in a different state.
    pub odd: Vec<Odd>,
    /// The same comparison without those runs, if each side has a run left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub like_for_like: Option<Box<RunComparison>>,
}

/// The other runs of the same drive and method in the store, under the same conditions.
pub fn repeats(store: &Store, runs: &[Run]) -> Result<Vec<Run>> {
    let Some(first) = runs.first() else { return Ok(Vec::new()) };
    let key = HistoryKey::new(&first.target, first.environment.machine_id.as_deref());
    let Some(key) = key else { return Ok(Vec::new()) };
    Ok(store.earlier(&key, &first.method, i64::MAX, REPEATS_MAX, |run| {
        runs.iter().all(|other| other.id != run.id) && spread::comparable(first, run)
    })?)
}

/// Compares every other side with the first. With `metric`, only that metric is tested: a single
/// metric chosen in advance needs a smaller difference.
pub fn compare(sides: &[Side], metric: Option<&str>) -> Result<Vec<RunComparison>> {
    let Some((a, other_sides)) = sides.split_first() else { return Ok(Vec::new()) };
    let mut pairings: Vec<Pairing> =
        other_sides.iter().map(|b| Pairing::new(a, b, metric)).collect();
    if let Some(metric) = metric {
        check_shared(metric, &pairings)?;
    }
    // All tests of one comparison form one family, however many sides there are.
    let tests = pairings.iter_mut().flat_map(|pairing| &mut pairing.tests);
    let family: Vec<Sides> = tests.map(|(_, sides)| std::mem::take(sides)).collect();
    let mut claims = claims(&family).into_iter();
    let comparisons = pairings.into_iter().zip(other_sides).map(|(mut pairing, b)| {
        for ((place, _), claim) in pairing.tests.iter().zip(claims.by_ref()) {
            pairing.pairs[*place].judge(claim);
        }
        RunComparison::new(a, b, pairing.pairs, metric)
    });
    comparisons.collect()
}

/// Refuses a metric that is in no pair.
fn check_shared(metric: &str, pairings: &[Pairing]) -> Result<()> {
    let pairs: Vec<&Pair> = pairings.iter().flat_map(|pairing| &pairing.pairs).collect();
    if pairs.iter().any(|pair| pair.is_named(metric)) {
        return Ok(());
    }
    let names: Vec<&str> = pairs.iter().map(|pair| pair.name.as_str()).collect();
    let reason = if names.is_empty() {
        "they have no value in common".to_string()
    } else {
        format!("known: {}", names.join(", "))
    };
    Err(LabError::usage(format!("the sides share no metric '{metric}'; {reason}")))
}

/// The pairs of two sides, and the tests to run.
struct Pairing {
    pairs: Vec<Pair>,
    /// Index of each tested pair, and its values.
    tests: Vec<(usize, Sides)>,
}

impl Pairing {
    fn new(a: &Side, b: &Side, metric: Option<&str>) -> Pairing {
        let mut matches = match_quantities(a, b);
        let primary = primary_names(a, b, &matches, metric);
        // Primary metrics come first, otherwise the order of A.
        matches.sort_by_key(|m| !primary.contains(&m.a));
        let (mut pairs, mut tests) = (Vec::new(), Vec::new());
        for m in matches {
            let primary = primary.contains(&m.a);
            let values = [quantities_named(&a.runs, &m.a), quantities_named(&b.runs, &m.b)];
            if primary {
                let repeats = [(a, &m.a), (b, &m.b)]
                    .map(|(side, name)| sessions(&quantities_named(&side.repeats, name)));
                let prior = [(a, &m.a), (b, &m.b)].map(|(side, name)| side.assumed_spread(name));
                let prior = prior[0].max(prior[1]);
                let [a, b] = values.each_ref().map(|side| sessions(side));
                tests.push((pairs.len(), Sides { a, b, repeats: repeats.into(), prior }));
            }
            pairs.push(Pair::new(&m, &values, primary));
        }
        Pairing { pairs, tests }
    }
}

/// The primary quantities that two sides have in common: name, label and unit.
pub(crate) fn primary_quantities(a: &Side, b: &Side) -> Vec<(String, String, Unit)> {
    let Pairing { pairs, .. } = Pairing::new(a, b, None);
    let primary = pairs.into_iter().filter(|pair| pair.primary);
    primary.map(|pair| (pair.name, pair.label, pair.unit)).collect()
}

/// The geometric mean of a quantity in runs.
pub(crate) fn value_of(runs: &[Run], name: &str) -> Option<f64> {
    mean(&quantities_named(runs, name))
}

fn is_rate(unit: Unit) -> bool {
    matches!(unit, Unit::BytesPerSecond | Unit::Iops)
}

fn quantities_named(runs: &[Run], name: &str) -> Vec<Quantity> {
    runs.iter().filter_map(|run| quantity_named(run, name)).collect()
}

fn quantity_named(run: &Run, name: &str) -> Option<Quantity> {
    quantities(run).into_iter().find(|quantity| quantity.name == name)
}

fn sessions(quantities: &[Quantity]) -> Vec<LogQuantity> {
    quantities.iter().filter_map(Quantity::session).collect()
}

/// The value of a side: the geometric mean of its runs, or the arithmetic mean if a value is not
/// positive.
fn mean(quantities: &[Quantity]) -> Option<f64> {
    let values: Vec<f64> = quantities.iter().filter_map(|q| q.value).collect();
    let n = values.len() as f64;
    let mean = if values.iter().all(|v| *v > 0.0) {
        libm::exp(values.iter().map(|v| libm::log(*v)).sum::<f64>() / n)
    } else {
        values.iter().sum::<f64>() / n
    };
    (!values.is_empty()).then_some(mean)
}

impl Pair {
    /// Whether this is its name on one of the sides.
    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.name_b.as_deref() == Some(name)
    }

    /// A pair of which nothing is known but its name.
    #[cfg(test)]
    fn named(name: &str, unit: Unit) -> Pair {
        let m =
            Match { a: name.into(), b: name.into(), label: name.into(), unit, from_memory: false };
        Pair::new(&m, &[Vec::new(), Vec::new()], false)
    }

    fn new(m: &Match, sides: &[Vec<Quantity>; 2], primary: bool) -> Pair {
        let ranges = sides.each_ref().map(|side| side.first().and_then(|q| q.range));
        let n = sides.each_ref().map(|side| side.len() as u32);
        let [a, b] = sides.each_ref().map(|side| mean(side));
        let ratio = a.zip(b).filter(|(a, b)| *a > 0.0 && *b >= 0.0).map(|(a, b)| b / a);
        Pair {
            name: m.a.clone(),
            label: m.label.clone(),
            name_b: (m.a != m.b).then(|| m.b.clone()),
            unit: m.unit,
            a,
            b,
            ranges,
            n,
            primary,
            ratio,
            low: None,
            high: None,
            threshold: None,
            spread: None,
            claim: if m.from_memory { Brief::FromMemory } else { Brief::NoClaim },
            outcome: None,
        }
    }

    fn judge(&mut self, claim: Option<Claim>) {
        let Some(claim) = claim else {
            self.claim = Brief::Unknown;
            return;
        };
        self.ratio = Some(claim.ratio);
        (self.low, self.high) = (Some(claim.low), Some(claim.high));
        (self.threshold, self.spread) = (Some(claim.threshold), Some(claim.spread));
        self.conclude(claim.outcome);
    }

    /// Whether more is faster.
    pub fn is_rate(&self) -> bool {
        is_rate(self.unit)
    }

    /// Whether a test concluded something about it.
    pub fn is_certain(&self) -> bool {
        self.low.is_some() && self.claim != Brief::Inconclusive
    }

    /// Sets the look at pairs that were measured in turns. An open look permits no claim yet.
    fn see(&mut self, look: Option<Look>, open: bool) {
        let Some(look) = look else { return };
        self.ratio = Some(look.ratio);
        (self.low, self.high) = (Some(look.low), Some(look.high));
        self.threshold = Some(look.high / look.ratio - 1.0);
        self.conclude(if open { ClaimKind::Inconclusive } else { look.outcome });
    }

    fn conclude(&mut self, outcome: ClaimKind) {
        self.outcome = Some(outcome);
        let rate = self.is_rate();
        self.claim = match outcome {
            ClaimKind::Faster if rate => Brief::SecondFaster,
            ClaimKind::Slower if rate => Brief::FirstFaster,
            ClaimKind::Faster => Brief::SecondHigher,
            ClaimKind::Slower => Brief::FirstHigher,
            ClaimKind::Equivalent => Brief::Same,
            ClaimKind::Inconclusive => Brief::Inconclusive,
        };
    }
}

impl RunComparison {
    fn new(a: &Side, b: &Side, pairs: Vec<Pair>, metric: Option<&str>) -> Result<RunComparison> {
        let odd = odd(a, b);
        let rest = [a, b].map(Side::without_laid_out);
        let like_for_like = if odd.is_empty() || rest.iter().any(|side| side.runs.is_empty()) {
            None
        } else {
            compare(&rest, metric)?.pop().map(Box::new)
        };
        let work = WorkComparison::new(&a.runs, &b.runs);
        let conclusion = sentence::compose(&pairs, &odd, like_for_like.as_deref(), LETTERS);
        Ok(RunComparison {
            sentence: sentence::headed(conclusion, &work.unlike),
            pairs,
            work_differs: work.unlike,
            work_unknown: work.unknown,
            conditions_differ: conditions::differences(&a.runs, &b.runs),
            doubts: doubts(a, b),
            odd,
            like_for_like,
        })
    }
}

/// Names of the sides in the record of a comparison.
const LETTERS: [&str; 2] = ["A", "B"];

/// Maximum length of a side's name, in characters.
const NAME_MAX: usize = 32;

/// The names of the sides in text: the models of their drives if those tell them apart, else their
/// runs, else letters.
pub fn names_of(sides: &[Side]) -> Vec<String> {
    let firsts: Option<Vec<&Run>> = sides.iter().map(|side| side.runs.first()).collect();
    let firsts = firsts.unwrap_or_default();
    let models: Option<Vec<String>> =
        firsts.iter().map(|run| run.target.drive.as_ref()?.model.clone()).collect();
    let is_single = sides.iter().all(|side| side.runs.len() == 1);
    let runs: Option<Vec<String>> =
        firsts.iter().map(|run| run.number.filter(|_| is_single).map(|_| name(run))).collect();
    let letters = (0..sides.len()).map(|i| letter(i).to_string()).collect();
    let mut names = [models, runs].into_iter().flatten();
    names.find(|names| tell_apart(names)).unwrap_or(letters)
}

/// Whether all names differ and are short.
fn tell_apart(names: &[String]) -> bool {
    let different: BTreeSet<&String> = names.iter().collect();
    different.len() == names.len()
        && names.iter().all(|name| (1..=NAME_MAX).contains(&name.chars().count()))
}

/// A side's letter: A, B, C ...
pub fn letter(i: usize) -> char {
    (b'A' + u8::try_from(i.min(25)).unwrap_or(25)) as char
}

/// A run's name in text.
pub fn name(run: &Run) -> String {
    run.number.map_or_else(|| run.id.clone(), |n| format!("run {n}"))
}
