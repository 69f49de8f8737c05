//! MISALIGNED: the ratio that counts, and distances that are alike.

use super::{repeat, short, table};
use crate::misaligned::misaligned;
use crate::{Ruling, Shift};

/// Four replicates for each distance, of a rate that is this share of 100 MB/s.
fn shifts(shares: &[f64]) -> Vec<Shift> {
    let each = shares.iter().zip(0..);
    each.map(|(share, i)| Shift { bytes: 512 * i, rates: repeat(share * 100e6, 4) }).collect()
}

/// Ratios within 5% are equal (`analysis::EQUIVALENT_WITHIN`).
#[test]
fn writes_slower_by_5_percent_are_misaligned() {
    let said = |share| short([misaligned(&shifts(&[1.0, share]))]);
    let rows = [
        (0.5, "MISALIGNED"),
        (0.951, "MISALIGNED"),
        (0.953, "no: ALIGNMENT IS FREE"),
        (1.0, "no: ALIGNMENT IS FREE"),
        (1.06, "unknown"),
    ];
    table(said, rows);
}

#[test]
fn of_distances_alike_within_a_tenth_the_nearest_is_named() {
    let said = |nearest| {
        let text = misaligned(&shifts(&[1.0, nearest, 0.5])).verdict.text;
        text.split_once(',').expect("a distance").0.to_string()
    };
    table(said, [(0.549, "Off by 512 B"), (0.551, "Off by 1 KiB"), (0.4, "Off by 512 B")]);
}

#[test]
fn replicates_that_one_distance_lacks_do_not_count() {
    let mut cut = shifts(&[1.0, 0.5]);
    cut[1].rates.truncate(2);
    assert_eq!(short([misaligned(&cut)]), "MISALIGNED");
    cut[1].rates.truncate(1);
    assert_eq!(short([misaligned(&cut)]), "unknown");
    cut[1].rates.clear();
    assert_eq!(short([misaligned(&cut)]), "unknown");
}

pub fn examples() -> Vec<Ruling> {
    let mut scattered = shifts(&[1.0, 0.5]);
    scattered[1].rates = vec![20e6, 90e6, 110e6];
    let mut seen: Vec<_> = [&[1.0, 0.25, 0.5][..], &[1.0, 0.98], &[1.0]].map(shifts).to_vec();
    seen.push(scattered);
    seen.push(vec![Shift { bytes: 0, rates: vec![] }, Shift { bytes: 512, rates: vec![] }]);
    seen.iter().map(|shifts| misaligned(shifts)).collect()
}
