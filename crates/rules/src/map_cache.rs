//! MAP CACHE: does a read take longer because its part of the mapping table is not cached?
//!
//! The test reads pairs of nearby blocks. The first is random within a span; the second uses the
//! part of the map that the first loaded. A drive that holds the whole map takes the same time for
//! both, whatever the span. A drive that holds the map of C bytes misses 1 - C/S of random reads
//! within S bytes, so C follows from the share of slow first reads. Other activity delays both
//! reads of a pair equally often, so the rule counts the excess of slow first reads over slow
//! second reads. Effects of the location, such as flash of another density, are the same for both.

use analysis::quantile;
use record::{Unit, VerdictKind};
use workload::units::{binary, latency};

use super::rule::{Role, Rule};
use super::{Ruling, percent};

/// A slow read exceeds the other by at least this share of a usual read and by this many
/// nanoseconds; a fetch from flash takes no less.
const SHARE_MIN: f64 = 0.1;
const NS_MIN: f64 = 8_000.0;

/// A slow read also exceeds the other by more than this multiple of the interquartile range of
/// second reads within the smallest span, which do not wait for the map.
const SCATTER: f64 = 3.0;

/// Minimum excess of slow first reads over slow second ones, in standard deviations under equal
/// likelihood. With about ten spans, one in ten thousand drives has a false positive.
const DEVIATIONS: f64 = 4.5;

/// Minimum share of misses for a span to count as beyond the cache.
const MISSES_MIN: f64 = 0.05;

/// Minimum share of misses in the largest span, which no larger span confirms.
const ALONE_MIN: f64 = 0.2;

/// Standard deviations to either side of the share, for the range of the cache's size.
const RANGE: f64 = 3.3;

/// Minimum number of spans; fewer cannot distinguish a size from a slope.
const SPANS_MIN: usize = 3;

/// Pairs of reads within one span.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MapSpan {
    pub bytes: u64,
    /// Times of both reads of each pair, nanoseconds.
    pub pairs: Vec<[f64; 2]>,
}

/// The part of the map that a drive holds, in mapped bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldMap {
    pub bytes: f64,
    pub low: f64,
    pub high: f64,
    /// Time that a miss adds to a read, nanoseconds.
    pub miss_ns: f64,
}

/// Reads from memory reveal nothing about the map of a drive.
pub static RULE: Rule = Rule {
    role: Role::Check,
    overridden_by: &[&super::ram::RULE],
    judge: |facts| {
        facts.checks.get::<Vec<MapSpan>>().map(|spans| map_cache(spans)).into_iter().collect()
    },
};

/// Numbers of pairs with a slow read within one span.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Count {
    bytes: f64,
    first: f64,
    second: f64,
    of: f64,
}

impl Count {
    /// Counts the reads that take at least `least_ns` longer than the other read of their pair.
    fn from_span(span: &MapSpan, least_ns: f64) -> Count {
        let [first, second] = [(0, 1), (1, 0)].map(|(slow, fast)| {
            span.pairs.iter().filter(|pair| pair[slow] - pair[fast] > least_ns).count() as f64
        });
        Count { bytes: span.bytes as f64, first, second, of: span.pairs.len() as f64 }
    }

    /// Share of pairs in which no other activity delays a read. If it delays a share n of reads,
    /// n(1 - n) of the pairs have a slow second read, and misses show in (1 - n)^2 of the pairs.
    fn clear(self) -> f64 {
        let slow = (self.second / self.of.max(1.0)).min(0.25);
        (0.5 + (0.25 - slow).sqrt()).powi(2)
    }

    /// Share of first reads that miss.
    fn share(self) -> f64 {
        (self.first - self.second) / self.of.max(1.0) / self.clear()
    }

    /// Standard deviation of the share, computed with one more slow pair so that it is not zero.
    fn deviation(self) -> f64 {
        let difference = (self.first - self.second) / self.of;
        let square = (self.first + self.second + 1.0) / self.of - difference.powi(2);
        (square / self.of).max(0.0).sqrt() / self.clear()
    }

    fn is_beyond(self) -> bool {
        let deviations = (self.first - self.second) / (self.first + self.second).sqrt().max(1.0);
        deviations >= DEVIATIONS && self.share() >= MISSES_MIN
    }

    /// Bytes whose map is held, with the share raised by this many standard deviations.
    fn held(self, deviations: f64) -> f64 {
        self.bytes * (1.0 - self.share() - deviations * self.deviation()).clamp(0.0, 1.0)
    }
}

/// The share of first reads that miss within each span, ascending.
pub fn misses(spans: &[MapSpan]) -> Vec<(u64, f64)> {
    let least = least_ns(spans);
    spans.iter().map(|span| (span.bytes, Count::from_span(span, least).share())).collect()
}

/// The part of the map that the drive holds; `None` if the reads do not show it.
pub fn held(spans: &[MapSpan]) -> Option<HeldMap> {
    match Finding::from_spans(spans) {
        Finding::Held(held) => Some(held),
        _ => None,
    }
}

enum Finding {
    Held(HeldMap),
    /// No span is beyond the cache.
    All,
    /// Reads miss within the smallest span already, or not within all larger spans.
    Unclear,
}

impl Finding {
    fn from_spans(spans: &[MapSpan]) -> Finding {
        let least = least_ns(spans);
        let counts: Vec<Count> = spans.iter().map(|span| Count::from_span(span, least)).collect();
        let first_beyond = counts.iter().position(|count| count.is_beyond());
        let Some(index) = first_beyond else { return Finding::All };
        let (count, larger) = (counts[index], &counts[index + 1..]);
        let confirmed = match larger {
            [] => count.share() >= ALONE_MIN,
            _ => larger.iter().all(|count| count.is_beyond()),
        };
        if index == 0 || !confirmed {
            return Finding::Unclear;
        }
        let last = &spans[spans.len() - 1].pairs;
        let mut extra: Vec<f64> = last.iter().map(|pair| pair[0] - pair[1]).collect();
        extra.retain(|ns| *ns > least);
        Finding::Held(HeldMap {
            bytes: count.held(0.0),
            low: count.held(RANGE),
            high: count.held(-RANGE),
            miss_ns: quantile(&extra, 0.5),
        })
    }
}

/// The difference above which a read is slow, nanoseconds.
fn least_ns(spans: &[MapSpan]) -> f64 {
    let Some(smallest) = spans.first() else { return NS_MIN };
    let second: Vec<f64> = smallest.pairs.iter().map(|pair| pair[1]).collect();
    let [low, usual, high] = [0.25, 0.5, 0.75].map(|share| quantile(&second, share));
    let scatter = high - low;
    NS_MIN.max(SHARE_MIN * usual).max(SCATTER * scatter)
}

/// Judges the spans, in ascending order.
pub fn map_cache(spans: &[MapSpan]) -> Ruling {
    let (true, Some(largest)) = (spans.len() >= SPANS_MIN, spans.last()) else {
        let text =
            "Whether the drive holds its whole map is unknown: there is no room for the test.";
        return Ruling::unknown(text);
    };
    let ruling = match Finding::from_spans(spans) {
        Finding::Held(held) => {
            let text = format!(
                "The drive holds the map of {} [{}, {}]: beyond that, random reads that miss it \
                 take {} longer.",
                binary(held.bytes as u64),
                binary(held.low as u64),
                binary(held.high as u64),
                latency(held.miss_ns)
            );
            Ruling::yes(VerdictKind::MapCache, text)
        }
        Finding::All => {
            let text = format!(
                "No read waits for a part of the map: within {}, {} more random reads than nearby \
                 reads are slow, by {} or more.",
                binary(largest.bytes),
                percent(Count::from_span(largest, least_ns(spans)).share().max(0.0)),
                latency(least_ns(spans))
            );
            Ruling::no(VerdictKind::NoMapCache, text).with(
                "longer by this is slow",
                least_ns(spans),
                Unit::Nanoseconds,
            )
        }
        Finding::Unclear => {
            let text = "Whether the drive holds its whole map is unknown: random reads are slow \
                        within some spans, and these are not only the largest.";
            Ruling::unknown(text)
        }
    };
    misses(spans).into_iter().fold(ruling, |ruling, (bytes, share)| {
        ruling.with(format!("misses within {}", binary(bytes)), share, Unit::Share)
    })
}

#[cfg(test)]
mod tests {
    use workload::{Content, Filler};

    use super::super::Answer;
    use super::*;

    /// Spans from 8 MiB on a drive that holds the map of `held` MiB; a miss adds 60 us. `noise` is
    /// the share of reads delayed by other activity.
    fn spans(held: f64, largest: u64, noise: f64, seed: u64) -> Vec<MapSpan> {
        let sizes = std::iter::successors(Some(8u64), |mib| Some(2 * mib));
        let of = |mib: u64| {
            let mut random = vec![0; 256 * 6 * 4];
            Filler::new(Content::Random, seed).fill(&mut random, mib);
            let shares: Vec<f64> = random
                .as_chunks::<4>()
                .0
                .iter()
                .map(|four| f64::from(u32::from_le_bytes(*four)) / f64::from(u32::MAX))
                .collect();
            let read = |late: f64, jitter: f64| {
                80e3 + 3e3 * jitter + if late < noise { 90e3 } else { 0.0 }
            };
            let pair = |s: &[f64; 6]| {
                let miss = if s[0] < 1.0 - held / mib as f64 { 60e3 } else { 0.0 };
                [read(s[1], s[2]) + miss, read(s[3], s[4])]
            };
            MapSpan {
                bytes: mib << 20,
                pairs: shares.as_chunks::<6>().0.iter().map(pair).collect(),
            }
        };
        sizes.take_while(|mib| *mib <= largest).map(of).collect()
    }

    #[test]
    fn the_held_part_is_found_within_its_range_over_many_seeds_and_with_disturbances() {
        const MIB: f64 = 1048576.0;
        for truth in [24.0, 60.0, 64.0, 100.0, 500.0] {
            for (noise, seed) in
                (0..50).map(|seed| (0.1 * f64::from(seed % 2), u64::from(seed as u32)))
            {
                let spans = spans(truth, 1024, noise, seed);
                let found = held(&spans).unwrap_or_else(|| panic!("{truth} {seed}"));
                let within = found.low <= truth * MIB && truth * MIB <= found.high;
                assert!(within, "{truth} MiB, seed {seed}: {found:?}");
                assert!((found.bytes / MIB / truth - 1.0).abs() < 0.25, "{truth}: {found:?}");
                assert!((found.miss_ns - 60e3).abs() < 5e3, "{found:?}");
            }
        }
    }

    #[test]
    fn a_drive_with_the_whole_map_has_no_cache_of_it_over_many_seeds() {
        for seed in 0..200 {
            let all = spans(f64::INFINITY, 1024, 0.2 * (seed % 4) as f64 / 3.0, seed);
            assert_eq!(map_cache(&all).answer, Answer::No, "seed {seed}");
        }
    }

    #[test]
    fn a_cache_smaller_than_all_spans_and_slow_reads_within_one_alone_are_unclear() {
        assert_eq!(map_cache(&spans(1.0, 1024, 0.0, 1)).answer, Answer::Unknown);
        let mut one = spans(f64::INFINITY, 1024, 0.0, 1);
        one[3].pairs = spans(1.0, 64, 0.0, 2)[3].pairs.clone();
        assert_eq!(map_cache(&one).answer, Answer::Unknown);
        assert_eq!(held(&one), None);
        assert_eq!(map_cache(&spans(8.0, 16, 0.0, 1)).answer, Answer::Unknown, "two spans");
    }

    #[test]
    fn the_largest_span_alone_must_show_more() {
        let last = |held: f64| map_cache(&spans(held, 1024, 0.0, 3)).answer;
        assert_eq!([last(600.0), last(930.0)], [Answer::Yes, Answer::Unknown]);
    }

    #[test]
    fn what_lasts_less_than_a_fetch_is_no_miss() {
        let mut all = spans(64.0, 1024, 0.0, 1);
        for pair in all.iter_mut().flat_map(|span| &mut span.pairs) {
            pair[0] = pair[1] + (pair[0] - pair[1]) / 10.0;
        }
        assert_eq!(map_cache(&all).answer, Answer::No);
    }
}
