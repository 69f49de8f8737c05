//! The conclusion of a comparison in one or two sentences.

use analysis::ClaimKind;
use record::{MetricKey, capitalised};

use super::conditions::Difference;
use super::work::in_words;
use super::{Brief, Odd, Pair, RunComparison, is_rate};

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
        let (names, verb) = match odd {
            [run] => (run.run.clone(), "was"),
            runs => (runs.iter().map(|o| o.run.as_str()).collect::<Vec<_>>().join(", "), "were"),
        };
        sentences.push(format!("{} {verb} in another state: {}.", capitalised(&names), first.why));
    }
    let widest = like_for_like.and_then(|like| widest(&like.pairs));
    if let Some((pair, _)) = widest {
        let times = in_times(pair.ratio.unwrap_or(1.0));
        sentences.push(format!("Like for like {b} has {times} the {}.", pair.label));
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
            .filter(|pair| is_rate(pair.unit) == rates)
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
    let (times, interval) = factor(pair);
    if MetricKey::parse(&pair.name).as_cell().is_some() {
        format!("{side} is {times} times as fast{comparison} at {}{interval}.", pair.label)
    } else {
        format!("{}: {side} is {times} times as fast{comparison}{interval}.", pair.label)
    }
}

/// `2.60 times (2.53 to 2.67) at sequential 1 MiB writes, 1.15 times at ... and 2 more`.
fn list(pairs: &[&Pair], separator: &str) -> String {
    let items = pairs.iter().take(LISTED).map(|pair| {
        let (times, interval) = factor(pair);
        format!("{times} times{interval}{separator}{}", pair.label)
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

/// The ratio of the larger figure to the smaller one, and its interval: ` (1.24 to 1.38)`.
fn factor(pair: &Pair) -> (String, String) {
    let mut figures =
        [pair.ratio, pair.low, pair.high].map(|value| value.filter(|v| *v > 0.0).unwrap_or(1.0));
    if figures[0] < 1.0 {
        figures = [1.0 / figures[0], 1.0 / figures[2], 1.0 / figures[1]];
    }
    let [ratio, low, high] = figures.map(times);
    // Virtual drives without variation have no interval.
    let interval = if low == high { String::new() } else { format!(" ({low} to {high})") };
    (ratio, interval)
}

/// The size of a difference, whichever side is larger.
fn size(pair: &Pair) -> f64 {
    pair.ratio.filter(|ratio| *ratio > 0.0).map_or(0.0, |ratio| libm::log(ratio).abs())
}

fn undecided(open: &[&Pair], all: bool) -> String {
    let single = open.iter().all(|p| p.n == [1, 1]);
    let widest = open.iter().filter_map(|p| Some((distance(p)?, p)));
    let Some((largest, pair)) = widest.max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return "Inconclusive.".into();
    };
    let change = format!("{}%", significant(largest * 100.0));
    let mut threshold = pair.threshold.unwrap_or(0.0);
    if pair.ratio.is_some_and(|ratio| ratio < 1.0) {
        threshold /= 1.0 + threshold;
    }
    let threshold = significant(threshold * 100.0);
    let needs = format!("a claim about the drives needs more than {threshold}%");
    match (all, single) {
        (true, true) => format!("Inconclusive: these two runs differ by up to {change}; {needs}."),
        (true, false) => format!("Inconclusive: they differ by up to {change}; {needs}."),
        (false, _) => {
            format!("No claim on {} more: they differ by up to {change}; {needs}.", open.len())
        }
    }
}

/// The distance of a ratio from 1.
fn distance(pair: &Pair) -> Option<f64> {
    Some((pair.ratio? - 1.0).abs())
}

fn widest(pairs: &[Pair]) -> Option<(&Pair, f64)> {
    let primary = pairs.iter().filter(|p| p.primary);
    let distances = primary.filter_map(|p| Some((p, distance(p)?)));
    distances.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// A ratio: `1.31 times`, `0.418 times`.
pub fn in_times(ratio: f64) -> String {
    format!("{} times", times(ratio))
}

/// `0.880 to 1.03 times`; empty for an interval of no width.
pub fn interval([low, high]: [f64; 2]) -> String {
    if high / low < 1.0005 {
        return String::new();
    }
    let (low, high) = (times(low), times(high));
    if low == high { format!("{high} times") } else { format!("{low} to {high} times") }
}

/// A factor with at most three digits.
fn times(ratio: f64) -> String {
    match ratio {
        r if r < 0.001 => "under 0.001".into(),
        r if r < 0.9995 => format!("{r:.3}"),
        r if r < 9.995 => format!("{r:.2}"),
        r if r < 99.95 => format!("{r:.1}"),
        r if r < 9999.5 => format!("{r:.0}"),
        _ => "over 9999".into(),
    }
}

/// A percentage, with one decimal below ten.
fn significant(percent: f64) -> String {
    match percent {
        p if p < 9.95 => format!("{p:.1}"),
        p if p < 9999.5 => format!("{p:.0}"),
        _ => "9999".into(),
    }
}
