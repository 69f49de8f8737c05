//! The conclusion of a comparison in one or two sentences.

use analysis::ClaimKind;
use record::{MetricKey, capitalised};

use super::conditions::Difference;
use super::work::in_words;
use super::{Brief, Factor, Odd, Pair, RunComparison};

/// Number of claims in the sentence; the table has all of them.
const LISTED: usize = 3;

/// `names` are those of the two sides.
pub(super) fn compose(
    pairs: &[Pair],
    odd: &[Odd],
    like_for_like: Option<&RunComparison>,
    names: [&str; 2],
) -> String {
    let [a, b] = names;
    if pairs.is_empty() {
        return format!("{a} and {b} have no value in common.");
    }
    let mut sentences = vec![conclusion(pairs, names)];
    if pairs.iter().any(|p| p.claim == Brief::FromMemory) {
        sentences.push("Reads came from memory.".into());
    }
    if let Some(first) = odd.first() {
        let (runs, verb) = match odd {
            [run] => (run.run.clone(), "was"),
            runs => (runs.iter().map(|o| o.run.as_str()).collect::<Vec<_>>().join(", "), "were"),
        };
        sentences.push(format!("{} {verb} in another state: {}.", capitalised(&runs), first.why));
    }
    let widest = like_for_like.and_then(|like| widest(&like.pairs));
    if let Some((pair, factor)) = widest {
        sentences.push(match factor.larger {
            Some(side) => {
                let (name, times) = (names[side], factor.words());
                format!("Like for like {name} has {times} the {}.", pair.label)
            }
            None => format!("Like for like they have the same {}.", pair.label),
        });
    }
    sentences.join(" ")
}

/// A conclusion about sides that did unlike work begins with the difference.
pub(super) fn headed(conclusion: String, unlike: &[Difference]) -> String {
    if unlike.is_empty() {
        return conclusion;
    }
    format!("Unlike work ({}). {conclusion}", in_words(unlike))
}

fn conclusion(pairs: &[Pair], names: [&str; 2]) -> String {
    let (mut differing, mut equivalent, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for pair in pairs {
        match pair.outcome {
            Some(ClaimKind::Faster | ClaimKind::Slower) => differing.push(pair),
            Some(ClaimKind::Equivalent) => equivalent.push(pair),
            Some(ClaimKind::Inconclusive) => open.push(pair),
            None => {}
        }
    }
    let tested = differing.len() + equivalent.len() + open.len();
    if tested == 0 {
        return "No claim about a drive can be made.".into();
    }
    let mut parts: Vec<String> = Vec::new();
    parts.extend(effects(&differing, tested, names));
    if !equivalent.is_empty() {
        let figures = match equivalent.len() {
            1 if tested == 1 => equivalent[0].label.clone(),
            n if n == tested => format!("all {n} figures"),
            n if n > LISTED => format!("{n} figures"),
            _ => equivalent.iter().map(|p| p.label.clone()).collect::<Vec<_>>().join(", "),
        };
        parts.push(format!("The same within 5%: {figures}."));
    }
    if !open.is_empty() {
        parts.push(undecided(&open, open.len() == tested));
    }
    parts.join(" ")
}

/// The differences: rates grouped by the faster side, then other figures by the side with the
/// larger value.
fn effects(differing: &[&Pair], tested: usize, [a, b]: [&str; 2]) -> Vec<String> {
    let kinds = [(true, true), (true, false), (false, true), (false, false)];
    let effects = kinds.into_iter().filter_map(|(rates, in_b)| {
        let pairs = differing.iter().copied();
        let mut pairs: Vec<&Pair> = pairs
            .filter(|pair| pair.is_rate() == rates)
            .filter(|pair| pair.ratio.is_some_and(|ratio| ratio > 1.0) == in_b)
            .collect();
        // The largest difference comes first.
        pairs.sort_by(|one, next| size(next).total_cmp(&size(one)));
        let (side, other) = if in_b { (b, None) } else { (a, Some(b)) };
        match (&pairs[..], rates) {
            ([], _) => None,
            ([pair], true) => Some(faster(pair, side, other)),
            (_, true) => {
                let n = pairs.len();
                let list = list(&pairs, " at ");
                Some(format!("{side} is faster at {n} of {tested} figures: {list}."))
            }
            (_, false) => Some(format!("Larger in {side}: {}.", list(&pairs, ", "))),
        }
    });
    effects.collect()
}

/// `B is 1.31 times as fast at random 4 KiB reads at depth 32 (1.24 to 1.38).`
fn faster(pair: &Pair, side: &str, other: Option<&str>) -> String {
    let comparison = other.map(|other| format!(" as {other}")).unwrap_or_default();
    let (times, interval) = factor_words(pair);
    if MetricKey::parse(&pair.name).as_cell().is_some() {
        format!("{side} is {times} as fast{comparison} at {}{interval}.", pair.label)
    } else {
        format!("{}: {side} is {times} as fast{comparison}{interval}.", pair.label)
    }
}

/// `2.60 times (2.53 to 2.67) at sequential 1 MiB writes, 1.15 times at ... and 2 more`.
fn list(pairs: &[&Pair], separator: &str) -> String {
    let items = pairs.iter().take(LISTED).map(|pair| {
        let (times, interval) = factor_words(pair);
        format!("{times}{interval}{separator}{}", pair.label)
    });
    let mut items: Vec<String> = items.collect();
    if pairs.len() > LISTED {
        items.push(format!("{} more", pairs.len() - LISTED));
    }
    match items.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join("; ")),
        None => String::new(),
    }
}

/// The factor of a pair and its interval: `1.31 times`, ` (1.24 to 1.38)`.
fn factor_words(pair: &Pair) -> (String, String) {
    pair.factor().map_or_else(Default::default, |factor| (factor.words(), factor.in_brackets()))
}

/// The size of a difference, whichever side is larger.
fn size(pair: &Pair) -> f64 {
    pair.factor().map_or(0.0, |factor| factor.ratio)
}

fn undecided(open: &[&Pair], all: bool) -> String {
    let single = open.iter().all(|p| p.n == [1, 1]);
    let factors = open.iter().filter_map(|pair| Some((pair.factor()?.ratio, pair)));
    let Some((largest, pair)) = factors.max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return "Inconclusive.".into();
    };
    let change = format!("{}%", significant((largest - 1.0) * 100.0));
    let threshold = significant(pair.threshold.unwrap_or(0.0) * 100.0);
    let needs = format!("a claim about the drives needs more than {threshold}%");
    match (all, single) {
        (true, true) => format!("Inconclusive: these two runs differ by up to {change}; {needs}."),
        (true, false) => format!("Inconclusive: they differ by up to {change}; {needs}."),
        (false, _) => {
            format!("No claim on {} more: they differ by up to {change}; {needs}.", open.len())
        }
    }
}

fn widest(pairs: &[Pair]) -> Option<(&Pair, Factor)> {
    let primary = pairs.iter().filter(|p| p.primary);
    let factors = primary.filter_map(|p| Some((p, p.factor()?)));
    factors.max_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio))
}

/// A percentage, with one decimal below ten.
fn significant(percent: f64) -> String {
    match percent {
        p if p < 9.95 => format!("{p:.1}"),
        p if p < 9999.5 => format!("{p:.0}"),
        _ => "9999".into(),
    }
}
