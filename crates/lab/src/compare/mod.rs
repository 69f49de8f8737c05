//! Compares groups of records: the quantities they have in common, the claims that the differences
//! permit, and the conditions that differ. Pure.
//!
//! Claims are limited to the primary metrics of a method, at most eight, which form one family (see
//! [`analysis::claims`]). Everything else is shown without a claim.

mod brief;
mod conditions;
pub mod live;
mod quantity;
mod remarks;
mod sentence;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use analysis::{Claim, Look, Outcome, Session, Sides, claims};
use record::{FindingKind, HistoryKey, MetricKey, Naming, Order, Run, Unit};
use serde::Serialize;
use store::Store;
use workload::OpKind;

pub use brief::Brief;

pub(crate) use self::conditions::differences;
pub use self::conditions::{Difference, group_by};
pub(crate) use self::quantity::{Quantity, quantities};
pub use self::remarks::Remarks;
use self::remarks::{doubts, is_laid_out, odd};
pub use self::sentence::{interval, percent};
use crate::error::{LabError, Result};
use crate::spread;

/// Maximum number of metrics in a family.
const FAMILY_MAX: usize = 8;

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
    /// The value in B.
    pub b: Option<f64>,
    /// The ranges printed instead of values, in A and in B.
    pub ranges: [Option<[f64; 2]>; 2],
    /// Number of runs on each side that have it.
    pub n: [u32; 2],
    /// Whether a claim about it is possible.
    pub primary: bool,
    /// The ratio of B to A.
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
    outcome: Option<Outcome>,
}

/// A finding that reduces confidence in one side or both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Doubt {
    /// `A`, `B` or `both`.
    pub side: &'static str,
    /// Its kind.
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
pub struct Comparison {
    /// The conclusion.
    pub sentence: String,
    /// The quantities that both sides have, primary ones first.
    pub pairs: Vec<Pair>,
    /// Conditions that differ or are known for only one side.
    pub conditions_differ: Vec<Difference>,
    /// Findings of the records.
    pub doubts: Vec<Doubt>,
    /// Runs in a different state.
    pub odd: Vec<Odd>,
    /// The same comparison without those runs, if each side has a run left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub like_for_like: Option<Box<Comparison>>,
}

/// The other runs of the same drive and method in the store, under the same conditions.
pub fn repeats(store: &Store, runs: &[Run]) -> Result<Vec<Run>> {
    let Some(first) = runs.first() else { return Ok(Vec::new()) };
    let key = HistoryKey::new(&first.target, first.environment.machine_id.as_deref());
    let Some(key) = key else { return Ok(Vec::new()) };
    let repeats = |run: &Run| {
        let known = runs.iter().any(|known| known.id == run.id);
        !known && spread::comparable(first, run)
    };
    Ok(store.earlier(&key, &first.method, i64::MAX, REPEATS_MAX, repeats)?)
}

/// Compares every other side with the first. With `metric`, only that metric is tested: a single
/// metric chosen in advance needs a smaller difference.
pub fn compare(sides: &[Side], metric: Option<&str>) -> Result<Vec<Comparison>> {
    let Some((a, others)) = sides.split_first() else { return Ok(Vec::new()) };
    let mut found: Vec<Found> = others.iter().map(|b| Found::of(a, b, metric)).collect();
    if let Some(metric) = metric
        && !found.iter().flat_map(|f| &f.pairs).any(|pair| pair.is_named(metric))
    {
        let known: Vec<_> = found.iter().flat_map(|f| &f.pairs).map(|p| p.name.as_str()).collect();
        let known = match known.is_empty() {
            true => "they have no value in common".to_string(),
            false => format!("known: {}", known.join(", ")),
        };
        return Err(LabError::usage(format!("the sides share no metric '{metric}'; {known}")));
    }
    // All tests of one comparison form one family, however many sides there are.
    let family: Vec<Sides> =
        found.iter_mut().flat_map(|f| f.tests.iter_mut().map(|(_, s)| std::mem::take(s))).collect();
    let mut judged = claims(&family).into_iter();
    let all = found.into_iter().zip(others).map(|(mut f, b)| {
        for ((place, _), claim) in f.tests.iter().zip(judged.by_ref()) {
            f.pairs[*place].judge(claim);
        }
        Comparison::of(a, b, f.pairs, metric)
    });
    all.collect()
}

/// The pairs of two sides, and the tests to run.
struct Found {
    pairs: Vec<Pair>,
    /// Index of each tested pair, and its values.
    tests: Vec<(usize, Sides)>,
}

impl Found {
    fn of(a: &Side, b: &Side, metric: Option<&str>) -> Found {
        let mut matched = matched(a, b);
        let tested = tested(a, b, &matched, metric);
        // Primary metrics come first, otherwise the order of A.
        matched.sort_by_key(|m| !tested.contains(&m.a));
        let prior = a.runs.iter().chain(&b.runs).map(spread::prior).fold(0.0, f64::max);
        let (mut pairs, mut tests) = (Vec::new(), Vec::new());
        for m in matched {
            let primary = tested.contains(&m.a);
            let both = [m.quantities(&a.runs, Which::A), m.quantities(&b.runs, Which::B)];
            if primary {
                let own = |side: &Side, which| sessions(&m.quantities(&side.repeats, which));
                let repeats = vec![own(a, Which::A), own(b, Which::B)];
                let [a, b] = [sessions(&both[0]), sessions(&both[1])];
                tests.push((pairs.len(), Sides { a, b, repeats, prior }));
            }
            pairs.push(Pair::of(&m, &both, primary));
        }
        Found { pairs, tests }
    }
}

/// The names of one quantity on both sides.
struct Matched {
    a: String,
    label: String,
    b: String,
    unit: Unit,
    /// Whether it was read from memory on one side, which permits no claim about a drive.
    memory: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    A,
    B,
}

impl Matched {
    fn quantities(&self, runs: &[Run], which: Which) -> Vec<Quantity> {
        let name = if which == Which::A { &self.a } else { &self.b };
        let of = |run: &Run| quantities(run).into_iter().find(|q| q.name == *name);
        runs.iter().filter_map(of).collect()
    }
}

fn matched(side_a: &Side, side_b: &Side) -> Vec<Matched> {
    let all = |side: &Side| {
        let each = |run: &Run| {
            let memory = |q: &Quantity| quantity::is_from_memory(run, &q.name);
            let named = |q: Quantity| (quantity::names(run, &q.name), memory(&q), q);
            quantities(run).into_iter().map(named).collect::<Vec<_>>()
        };
        side.runs.iter().flat_map(each).collect::<Vec<_>>()
    };
    let apart = is_published(side_a) != is_published(side_b);
    let (ours, theirs) = (all(side_a), all(side_b));
    let (mut seen, mut taken, mut found) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for (names, memory, q) in ours.iter().filter(|(_, _, q)| seen.insert(q.name.clone())) {
        let same = |(other, _, o): &&(quantity::Names, bool, Quantity)| {
            o.unit == q.unit && !taken.contains(&o.name) && names.meets(other, apart)
        };
        if let Some((_, memory_b, other)) = theirs.iter().find(same) {
            taken.insert(other.name.clone());
            let memory = *memory || *memory_b;
            let (a, b) = (q.name.clone(), other.name.clone());
            found.push(Matched { label: label(side_a, &a), a, b, unit: q.unit, memory });
        }
    }
    found
}

/// A quantity in words: the label of its tile, except for a figure of a cell.
fn label(side: &Side, name: &str) -> String {
    let key = MetricKey::parse(name);
    let answers = side.runs.iter().filter_map(|run| run.answer.as_ref());
    let mut tiles = answers.flat_map(|answer| &answer.tiles);
    let tile = tiles.find(|tile| tile.metric == name).filter(|_| key.as_cell().is_none());
    let naming = side.runs.first().map_or(Naming::Ours, Run::naming);
    tile.map_or_else(|| naming.metric(&key), |tile| tile.label.clone())
}

fn is_published(side: &Side) -> bool {
    side.runs.iter().any(crate::published::is_published)
}

/// The names in A of the tested quantities.
fn tested(a: &Side, b: &Side, all: &[Matched], metric: Option<&str>) -> Vec<String> {
    // The two sides of a fixed mix are one measurement.
    let second = |m: &Matched| {
        let key = MetricKey::parse(&m.a);
        let mixed = key.as_cell().is_some_and(|cell| cell.order == Order::Mixed);
        metric.is_none() && mixed && key.direction() == Some(OpKind::Write)
    };
    let named = |m: &&Matched| {
        !m.memory && !second(m) && metric.is_none_or(|name| m.a == name || m.b == name)
    };
    let open: Vec<&Matched> = all.iter().filter(named).collect();
    let primary = |m: &&Matched| {
        is_primary(a, &MetricKey::parse(&m.a)) || is_primary(b, &MetricKey::parse(&m.b))
    };
    let rate = |m: &&Matched| matches!(m.unit, Unit::BytesPerSecond | Unit::Iops);
    let main = |m: &&Matched| rate(m) && MetricKey::parse(&m.a).is_main();
    let names = |chosen: Vec<&Matched>| -> Vec<String> {
        chosen.into_iter().take(FAMILY_MAX).map(|m| m.a.clone()).collect()
    };
    if metric.is_some() {
        return names(open);
    }
    let choices: [&dyn Fn(&&Matched) -> bool; 4] = [&primary, &main, &rate, &|_| true];
    let chosen = choices.into_iter().map(|choice| open.iter().copied().filter(choice).collect());
    chosen.map(names).find(|names| !names.is_empty()).unwrap_or_default()
}

fn is_primary(side: &Side, key: &MetricKey) -> bool {
    let info = |run: &Run| crate::work::method(&run.method).ok();
    side.runs.first().and_then(info).is_some_and(|info| info.is_primary(key))
}

fn sessions(quantities: &[Quantity]) -> Vec<Session> {
    quantities.iter().filter_map(Quantity::session).collect()
}

/// The value of a side: the geometric mean of its runs, or the arithmetic mean if a value is not
/// positive.
fn mean(quantities: &[Quantity]) -> Option<f64> {
    let values: Vec<f64> = quantities.iter().filter_map(|q| q.value).collect();
    let n = values.len() as f64;
    let positive = values.iter().all(|v| *v > 0.0);
    let sum = |of: fn(f64) -> f64| values.iter().map(|v| of(*v)).sum::<f64>() / n;
    let value = if positive { libm::exp(sum(libm::log)) } else { sum(|v| v) };
    (!values.is_empty()).then_some(value)
}

impl Pair {
    /// Whether this is its name on one of the sides.
    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.name_b.as_deref() == Some(name)
    }

    fn of(m: &Matched, [a, b]: &[Vec<Quantity>; 2], primary: bool) -> Pair {
        let range = |side: &[Quantity]| side.first().and_then(|q| q.range);
        let (ranges, n) = ([range(a), range(b)], [a.len() as u32, b.len() as u32]);
        let (a, b) = (mean(a), mean(b));
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
            claim: if m.memory { Brief::FromMemory } else { Brief::NoClaim },
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
        self.conclude(if open { Outcome::Inconclusive } else { look.outcome });
    }

    fn conclude(&mut self, outcome: Outcome) {
        self.outcome = Some(outcome);
        let rate = matches!(self.unit, Unit::BytesPerSecond | Unit::Iops);
        self.claim = match outcome {
            Outcome::Faster if rate => Brief::Faster,
            Outcome::Slower if rate => Brief::Slower,
            Outcome::Faster => Brief::Higher,
            Outcome::Slower => Brief::Lower,
            Outcome::Equivalent => Brief::Same,
            Outcome::Inconclusive => Brief::Inconclusive,
        };
    }
}

impl Comparison {
    fn of(a: &Side, b: &Side, pairs: Vec<Pair>, metric: Option<&str>) -> Result<Comparison> {
        let odd = odd(a, b);
        let rest = |side: &Side| Side {
            runs: side.runs.iter().filter(|run| !is_laid_out(run)).cloned().collect(),
            repeats: side.repeats.clone(),
        };
        let (rest_a, rest_b) = (rest(a), rest(b));
        let left = !odd.is_empty() && !rest_a.runs.is_empty() && !rest_b.runs.is_empty();
        let like_for_like = match left {
            true => compare(&[rest_a, rest_b], metric)?.pop().map(Box::new),
            false => None,
        };
        let sentence = sentence::of(&pairs, &odd, like_for_like.as_deref(), 'B');
        Ok(Comparison {
            sentence,
            pairs,
            conditions_differ: conditions::differences(&a.runs, &b.runs),
            doubts: doubts(a, b),
            odd,
            like_for_like,
        })
    }
}

/// A run's name in text.
pub fn name(run: &Run) -> String {
    run.number.map_or_else(|| run.id.clone(), |n| format!("run {n}"))
}
