//! The conclusion of a comparison in one or two sentences.

use analysis::Outcome;
use record::{MetricKey, Unit, capitalised};

use super::{Brief, Comparison, Odd, Pair};

/// Number of claims in the sentence; the table has all of them.
const LISTED: usize = 3;

/// `b` is the letter of the second side.
pub(super) fn of(
    pairs: &[Pair],
    odd: &[Odd],
    like_for_like: Option<&Comparison>,
    b: char,
) -> String {
    if pairs.is_empty() {
        return format!("A and {b} have no value in common.");
    }
    let mut sentences = vec![conclusion(pairs, b)];
    if pairs.iter().any(|p| p.claim == Brief::FromMemory) {
        sentences.push("Reads came from memory.".into());
    }
    if let Some(first) = odd.first() {
        let (names, were) = match odd {
            [one] => (one.run.clone(), "was"),
            some => (some.iter().map(|o| o.run.as_str()).collect::<Vec<_>>().join(", "), "were"),
        };
        sentences.push(format!("{} {were} in another state: {}.", capitalised(&names), first.why));
    }
    let widest = like_for_like.and_then(|like| widest(&like.pairs));
    if let Some((pair, _)) = widest {
        let change = percent(pair.ratio.unwrap_or(1.0));
        sentences.push(format!("Like for like {b} differs by {change} in {}.", pair.label));
    }
    sentences.join(" ")
}

fn conclusion(pairs: &[Pair], b: char) -> String {
    let with = |wanted: &[Outcome]| -> Vec<&Pair> {
        pairs.iter().filter(|p| p.outcome.is_some_and(|o| wanted.contains(&o))).collect()
    };
    let differing = with(&[Outcome::Faster, Outcome::Slower]);
    let same = with(&[Outcome::Equivalent]);
    let open = with(&[Outcome::Inconclusive]);
    let tested = differing.len() + same.len() + open.len();
    if tested == 0 {
        return "No claim about a drive can be made.".into();
    }
    let mut parts: Vec<String> = Vec::new();
    parts.extend(effects(&differing, tested, b));
    if !same.is_empty() {
        let what = match (same.len() == tested, same.len()) {
            (true, 1) => same[0].label.clone(),
            (true, n) => format!("all {n} figures"),
            (false, n) if n > LISTED => format!("{n} figures"),
            _ => same.iter().map(|p| p.label.clone()).collect::<Vec<_>>().join(", "),
        };
        parts.push(format!("The same within 5%: {what}."));
    }
    if !open.is_empty() {
        parts.push(undecided(&open, differing.is_empty() && same.is_empty()));
    }
    parts.join(" ")
}

/// The differences: rates grouped by the faster side, then other figures by the side with the
/// larger value.
fn effects(differing: &[&Pair], tested: usize, b: char) -> Vec<String> {
    let rate = |pair: &Pair| matches!(pair.unit, Unit::BytesPerSecond | Unit::Iops);
    let larger_in_b = |pair: &Pair| pair.ratio.is_some_and(|ratio| ratio > 1.0);
    let kinds = [(true, true), (true, false), (false, true), (false, false)];
    let said = kinds.into_iter().filter_map(|(rates, in_b)| {
        let mine = |pair: &&Pair| rate(pair) == rates && larger_in_b(pair) == in_b;
        let mut pairs: Vec<&Pair> = differing.iter().copied().filter(mine).collect();
        // The largest difference comes first.
        pairs.sort_by(|a, b| size(b).total_cmp(&size(a)));
        let [side, other] = if in_b { [b, 'A'] } else { ['A', b] };
        match (&pairs[..], rates) {
            ([], _) => None,
            ([one], true) => Some(faster(one, side, other)),
            (_, true) => {
                let of = format!("{} of {tested} figures", pairs.len());
                Some(format!("{side} is faster at {of}: {}.", listed(&pairs, " at ")))
            }
            (_, false) => Some(format!("Larger in {side}: {}.", listed(&pairs, ", "))),
        }
    });
    said.collect()
}

/// `B is 1.31 times as fast at random 4 KiB reads at depth 32 (1.24 to 1.38).`
fn faster(pair: &Pair, side: char, other: char) -> String {
    let whose = if side == 'A' { format!(" as {other}") } else { String::new() };
    let (times, interval) = factor(pair);
    match MetricKey::parse(&pair.name).as_cell().is_some() {
        true => format!("{side} is {times} times as fast{whose} at {}{interval}.", pair.label),
        false => format!("{}: {side} is {times} times as fast{whose}{interval}.", pair.label),
    }
}

/// `2.60 times (2.53 to 2.67) at sequential 1 MiB writes, 1.15 times at ... and 2 more`.
fn listed(pairs: &[&Pair], between: &str) -> String {
    let one = |pair: &&Pair| {
        let (times, interval) = factor(pair);
        format!("{times} times{interval}{between}{}", pair.label)
    };
    let mut all: Vec<String> = pairs.iter().take(LISTED).map(one).collect();
    if pairs.len() > LISTED {
        all.push(format!("{} more", pairs.len() - LISTED));
    }
    match all.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join("; ")),
        None => String::new(),
    }
}

/// The ratio of the larger figure to the smaller one, and its interval: ` (1.24 to 1.38)`.
fn factor(pair: &Pair) -> (String, String) {
    let known = |value: Option<f64>| value.filter(|v| *v > 0.0).unwrap_or(1.0);
    let mut figures = [known(pair.ratio), known(pair.low), known(pair.high)];
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
    let Some((far, pair)) = widest.max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return "Inconclusive.".into();
    };
    let change = format!("{}%", significant(far * 100.0));
    let least = pair.threshold.unwrap_or(0.0);
    let below = pair.ratio.is_some_and(|ratio| ratio < 1.0);
    let least = if below { least / (1.0 + least) } else { least } * 100.0;
    let needs = format!("a claim about the drives needs more than {}%", significant(least));
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
    let tested = pairs.iter().filter(|p| p.primary);
    let far = tested.filter_map(|p| Some((p, distance(p)?)));
    far.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// `+3.1%`, `-11.7%`; beyond a factor of two, `2.4 times` or `1/2.4`.
pub fn percent(ratio: f64) -> String {
    let change = (ratio - 1.0) * 100.0;
    match change {
        c if c.abs() < 0.05 => "0.0%".into(),
        c if c > 100.0 => format!("{} times", times(ratio)),
        c if c < -50.0 && ratio > 0.0 => part(ratio),
        c => format!("{}{}%", if c < 0.0 { "-" } else { "+" }, significant(c.abs())),
    }
}

/// `-12% to +3.1%`; beyond a factor of two, `1.81 to 3.81 times`. Empty for an interval of no
/// width.
pub fn interval([low, high]: [f64; 2]) -> String {
    match () {
        () if high / low < 1.0005 => String::new(),
        () if low > 0.5 && high > 2.0 && times(low) == times(high) => {
            format!("{} times", times(high))
        }
        () if low > 0.5 && high > 2.0 => format!("{} to {} times", times(low), times(high)),
        () if low > 0.5 => format!("{} to {}", percent(low), percent(high)),
        () if high >= 1.0 => format!("{} to {} times", part(low), times(high)),
        () if part(low) == part(high) => part(low),
        () => format!("{} to {}", part(low), part(high)),
    }
}

/// A factor below 1 as a part: `1/2.4`.
fn part(ratio: f64) -> String {
    match 1.0 / ratio {
        r if r < 9999.5 => format!("1/{}", times(r)),
        _ => "under 1/9999".into(),
    }
}

/// A factor with at most three digits.
fn times(ratio: f64) -> String {
    match ratio {
        r if r < 0.01 => "less than 0.01".into(),
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
