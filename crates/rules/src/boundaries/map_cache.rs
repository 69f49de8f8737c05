//! MAP CACHE: slow reads, their excess over chance, shares of misses.

use super::{short, table};
use crate::Ruling;
use crate::map_cache::{MapSpan, held, map_cache, misses};

/// A span with a thousand pairs: so many first and so many second reads are slow by 50 us. Others
/// take 10 us.
fn span(i: usize, first: usize, second: usize) -> MapSpan {
    let slow = |n: usize, pair: [f64; 2]| std::iter::repeat_n(pair, n);
    let pairs = slow(first, [60e3, 10e3]).chain(slow(second, [10e3, 60e3]));
    let pairs = pairs.chain(slow(1000 - first - second, [10e3; 2])).collect();
    MapSpan { bytes: 1 << (20 + i), pairs }
}

/// Spans with these numbers of slow first reads.
fn spans(first: &[usize]) -> Vec<MapSpan> {
    first.iter().enumerate().map(|(i, first)| span(i, *first, 0)).collect()
}

fn said(spans: &[MapSpan]) -> String {
    short([map_cache(spans)])
}

#[test]
fn three_spans_are_needed() {
    let said = |n: usize| said(&spans(&[0, 0, 500, 500][4 - n..]));
    let rows = [(0, "unknown"), (2, "unknown"), (3, "MAP CACHE"), (4, "MAP CACHE")];
    table(said, rows);
}

/// The next larger span confirms it.
#[test]
fn from_5_percent_of_misses_a_span_is_beyond_the_cache() {
    let said = |first| said(&spans(&[0, first, 500]));
    let rows = [(49, "MAP CACHE"), (50, "MAP CACHE"), (51, "MAP CACHE")];
    table(said, rows);
    // Below, the last span is the first beyond the cache, and alone.
    let bytes = |first| held(&spans(&[0, first, 500])).expect("a size").bytes as u64;
    assert_eq!([49, 50, 51].map(bytes), [2 << 20, 1_992_294, 1_990_197]);
}

#[test]
fn the_largest_span_alone_must_miss_a_fifth() {
    let said = |first| said(&spans(&[0, 0, first]));
    let rows = [(49, "no: NO MAP CACHE"), (50, "unknown"), (199, "unknown"), (200, "MAP CACHE")];
    table(said, rows);
}

/// In (first - second) / sqrt(first + second), the excess must be 4.5.
#[test]
fn the_excess_of_slow_first_reads_is_beyond_chance() {
    // 90 / sqrt(398) is 4.51, and 90 / sqrt(402) is 4.49. Without it, the next span is the first
    // beyond the cache.
    let first = |first, second| {
        let spans = [span(0, 0, 0), span(1, first, second), span(2, 900, 0), span(3, 900, 0)];
        held(&spans).expect("a size").bytes > 1e6
    };
    assert_eq!([first(244, 154), first(246, 156)], [true, false]);
}

#[test]
fn slow_reads_of_the_smallest_span_or_of_some_are_unclear() {
    let said = |first: [usize; 4]| said(&spans(&first));
    let rows = [
        ([0, 0, 0, 0], "no: NO MAP CACHE"),
        ([0, 500, 700, 800], "MAP CACHE"),
        ([500, 500, 700, 800], "unknown"),
        ([0, 500, 0, 800], "unknown"),
        ([0, 500, 700, 0], "unknown"),
    ];
    table(said, rows);
}

/// Of reads that take 10 us, 8 us more are slow; of 100 us, a tenth.
#[test]
fn a_slow_read_takes_8_us_and_a_tenth_longer_than_the_other() {
    let said = |(usual_ns, extra_ns)| {
        let slow = |i: usize, n: usize| {
            let mut pairs = vec![[usual_ns; 2]; 1000];
            pairs[..n].fill([usual_ns + extra_ns, usual_ns]);
            MapSpan { bytes: 1 << (20 + i), pairs }
        };
        said(&[slow(0, 0), slow(1, 500), slow(2, 700)])
    };
    let rows = [
        ((10e3, 8000.0), "no: NO MAP CACHE"),
        ((10e3, 8001.0), "MAP CACHE"),
        ((100e3, 10_000.0), "no: NO MAP CACHE"),
        ((100e3, 10_001.0), "MAP CACHE"),
    ];
    table(said, rows);
}

/// The second reads of the smallest span scatter over 20 us between their quartiles.
#[test]
fn a_slow_read_takes_three_times_the_scatter_longer() {
    let said = |extra_ns| {
        let slow = |i: usize, n: usize| {
            let mut pairs: Vec<_> = (0..1000).map(|k| [50e3, 30e3 + 40.0 * f64::from(k)]).collect();
            pairs.iter_mut().for_each(|pair| pair[0] = pair[1]);
            pairs[..n].iter_mut().for_each(|pair| pair[0] += extra_ns);
            MapSpan { bytes: 1 << (20 + i), pairs }
        };
        said(&[slow(0, 0), slow(1, 500), slow(2, 700)])
    };
    table(said, [(59_900.0, "no: NO MAP CACHE"), (60_100.0, "MAP CACHE")]);
}

#[test]
fn delays_by_other_activity_are_taken_off() {
    // A tenth of all reads is late: 9% of the pairs have a late second read.
    let late = span(1, 90, 90);
    let share = misses(&[span(0, 0, 0), late])[1].1;
    assert_eq!(share, 0.0);
    let both = misses(&[span(0, 0, 0), span(1, 590, 90)])[1].1;
    assert!((both - 0.5 / 0.81).abs() < 1e-9, "{both}");
    // At most a quarter can be late.
    let crowded = misses(&[span(0, 0, 0), span(1, 500, 300)])[1].1;
    assert!((crowded - 0.2 / 0.25).abs() < 1e-9, "{crowded}");
}

pub fn examples() -> Vec<Ruling> {
    let seen = [spans(&[0, 0, 500, 750]), spans(&[0; 3]), spans(&[500; 3]), spans(&[0])];
    seen.iter().map(|spans| map_cache(spans)).collect()
}
