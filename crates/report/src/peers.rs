//! Whether the result is normal: the main figures compared with those of an earlier run, of
//! publications, and of the model's virtual drive, in one sentence each.

use record::{Answer, Peer, Tile};

use crate::names::distinct;
use crate::quantity;

/// Figures that differ by more than this fraction are named; others count as equal.
const EQUAL: f64 = 0.03;

/// Maximum number of figures named in a sentence.
const NAMED_MAX: usize = 3;

/// The figures of one source, in one sentence.
pub(crate) struct Normal {
    /// The source.
    pub whose: String,
    /// The comparison: `reads 1.90 against 5.00 GB/s; the others equal within 3%`.
    pub text: String,
    /// Conditions that differ.
    pub differs: Vec<String>,
}

/// The peers of an answer, in order, each with its sentence.
pub(crate) fn normal(answer: &Answer) -> Vec<Normal> {
    let owners = distinct(answer.peers.iter().map(|peer| peer.whose.as_str()));
    owners.into_iter().filter_map(|owner| comparison(answer, owner)).collect()
}

fn comparison<'a>(answer: &'a Answer, owner: &str) -> Option<Normal> {
    let peers: Vec<&'a Peer> = answer.peers.iter().filter(|peer| peer.whose == owner).collect();
    if let Some(text) = among_many(answer, &peers) {
        let differs = peers.first().map(|peer| peer.differs.clone()).unwrap_or_default();
        return Some(Normal { whose: owner.to_string(), text, differs });
    }
    let pairs = peers.iter().copied().filter_map(|peer| {
        let tile = answer.tiles.iter().find(|tile| tile.metric == peer.metric)?;
        let ratio = ratio(tile.value?, peer);
        (ratio.is_finite() && ratio > 0.0).then_some((tile, peer, ratio))
    });
    let distance = |ratio: f64| libm::log(ratio).abs();
    type Pairs<'a> = Vec<(&'a Tile, &'a Peer, f64)>;
    let (mut differing, equal): (Pairs<'_>, Pairs<'_>) =
        pairs.partition(|(.., ratio)| distance(*ratio) > EQUAL);
    differing.sort_by(|a, b| distance(b.2).total_cmp(&distance(a.2)));
    let rest = differing.len().saturating_sub(NAMED_MAX);
    differing.truncate(NAMED_MAX);
    let mut parts: Vec<String> =
        differing.iter().map(|(tile, theirs, _)| of_theirs(tile, theirs)).collect();
    if rest > 0 {
        parts.push(format!("{rest} more {}", if rest == 1 { "differs" } else { "differ" }));
    }
    let tolerance = format!("within {:.0}%", 100.0 * EQUAL);
    match (equal.len(), parts.is_empty()) {
        (0, true) => return None,
        (0, false) => {}
        (1, true) => parts.push(format!("{} equal {tolerance}", equal[0].0.label)),
        (_, true) => parts.push(format!("all equal {tolerance}")),
        (_, false) => parts.push(format!("the others equal {tolerance}")),
    }
    let differs = peers.first().map(|peer| peer.differs.clone()).unwrap_or_default();
    Some(Normal { whose: owner.to_string(), text: parts.join("; "), differs })
}

/// The place of figures among many others; `None` if they are compared with single ones.
fn among_many(answer: &Answer, peers: &[&Peer]) -> Option<String> {
    let places = peers.iter().filter_map(|peer| {
        let tile = answer.tiles.iter().find(|tile| tile.metric == peer.metric)?;
        let percent = 100.0 * peer.percentile?;
        let figures = of_theirs(tile, peer);
        Some(format!("{figures}, faster than {percent:.0}% of them"))
    });
    let places: Vec<String> = places.collect();
    (!places.is_empty()).then(|| places.join("; "))
}

/// The ratio of our figure to theirs; 1 inside a range.
fn ratio(ours: f64, peer: &Peer) -> f64 {
    match peer.highest {
        Some(highest) if ours > highest => ours / highest,
        Some(_) if ours >= peer.value => 1.0,
        _ => ours / peer.value,
    }
}

/// `writes 1.90 against 5.00 GB/s`: a common unit appears once.
fn of_theirs(tile: &Tile, theirs: &Peer) -> String {
    let value = quantity::show_known(tile.unit, tile.value);
    let peer_value = match theirs.highest {
        None => quantity::show(tile.unit, theirs.value),
        Some(highest) => {
            let [low, high] = [theirs.value, highest].map(|end| quantity::show(tile.unit, end));
            format!("{} to {high}", without_unit_of(&high, &low))
        }
    };
    format!("{} {} against {peer_value}", tile.label, without_unit_of(&peer_value, &value))
}

/// The second figure, without its unit if the first ends with the same.
fn without_unit_of<'a>(first: &str, second: &'a str) -> &'a str {
    match (first.rsplit_once(' '), second.rsplit_once(' ')) {
        (Some((_, unit)), Some((number, same))) if unit == same => number,
        _ => second,
    }
}

#[cfg(test)]
mod tests {
    use record::{Better, Metric, Stamp, Unit};

    use super::*;

    fn answer(peers: &[(&str, &str, f64)]) -> Answer {
        let tile = |name: &str, value: f64| {
            let metric =
                Metric::single(record::MetricKey::parse(name), Unit::BytesPerSecond, value);
            Tile::from_metric(name, &metric, Better::Higher)
        };
        let peer = |(metric, whose, value): &(&str, &str, f64)| Peer {
            metric: metric.to_string(),
            whose: whose.to_string(),
            unit: Unit::BytesPerSecond,
            value: *value,
            highest: None,
            percentile: None,
            differs: vec!["link: slow here, fast there".into()],
        };
        Answer {
            tiles: vec![tile("reads", 3.0e9), tile("writes", 1.9e9), tile("rest", 1.0e9)],
            peers: peers.iter().map(peer).collect(),
            ..Answer::new("", "", Stamp::Believable)
        }
    }

    #[test]
    fn a_figure_inside_a_published_range_is_equal_to_it() {
        let text = |low, high| {
            let mut answer = answer(&[("reads", "a page", low)]);
            answer.peers[0].highest = Some(high);
            normal(&answer).remove(0).text
        };
        assert_eq!(text(2.9e9, 3.5e9), "reads equal within 3%");
        assert_eq!(text(3.6e9, 4.0e9), "reads 3000 against 3600 to 4000 MB/s");
        assert_eq!(text(0.9e9, 1.2e9), "reads 3000 against 900 to 1200 MB/s");
    }

    fn sentences(peers: &[(&str, &str, f64)]) -> Vec<(String, String)> {
        normal(&answer(peers)).into_iter().map(|n| (n.whose, n.text)).collect()
    }

    #[test]
    fn differing_figures_are_named_largest_difference_first() {
        let found = sentences(&[
            ("reads", "a", 3.3e9),
            ("writes", "a", 5.0e9),
            ("rest", "a", 1.01e9),
            ("reads", "b", 3.01e9),
            ("writes", "c", 1.9e9),
            ("rest", "c", 1.0e9),
            ("unknown", "d", 1.0),
        ]);
        let text = |whose: &str| found.iter().find(|f| f.0 == whose).map(|f| f.1.clone());
        let expected = "writes 1900 against 5000 MB/s; reads 3000 against 3300 MB/s; the others equal within 3%";
        assert_eq!(text("a").as_deref(), Some(expected));
        assert_eq!(text("b").as_deref(), Some("reads equal within 3%"));
        assert_eq!(text("c").as_deref(), Some("all equal within 3%"));
        // A figure without a tile is not compared.
        assert_eq!(text("d"), None);
    }
}
