//! CACHE END in short writes: the fall, and the number of intervals.

use workload::Mix;

use super::{checks, short, table};
use crate::fallen::{RULE, fallen};
use crate::testing::{digest, named, target};
use crate::{Checks, Digest, Ruling, Sustained};

/// Sequential writes whose intervals have these rates, in MB/s.
fn writes(rates: &[f64]) -> Digest {
    let rates = rates.iter().map(|rate| rate * 1e6).collect();
    named("w", Digest { mix: Mix::WRITE, random: false, rates, ..digest("x") })
}

/// Three intervals at each rate.
fn thirds(rates: [f64; 3]) -> Digest {
    writes(&rates.map(|rate| [rate; 3]).concat())
}

#[test]
fn below_70_percent_of_its_beginning_the_rate_fell() {
    let said = |end| short(fallen(&[thirds([100.0, 80.0, end])]));
    let rows = [(69.9, "CACHE END: w"), (70.0, "nothing"), (70.1, "nothing"), (100.0, "nothing")];
    table(said, rows);
}

#[test]
fn nine_intervals_are_needed() {
    let said = |n: usize| {
        short(fallen(&[writes(&[vec![100.0; n / 2], vec![10.0; n.div_ceil(2)]].concat())]))
    };
    table(said, [(8, "nothing"), (9, "CACHE END: w"), (10, "CACHE END: w")]);
}

#[test]
fn every_late_interval_is_below_every_early_one() {
    let said = |late| short(fallen(&[writes(&[60.0, 100., 100., 9., 9., 9., late, 9., 9.])]));
    let rows = [(59.0, "CACHE END: w"), (60.0, "nothing"), (61.0, "nothing")];
    table(said, rows);
}

#[test]
fn only_sequential_writes_have_a_cache_to_fill() {
    let said = |(random, read)| {
        let mix = Mix { read, write: 100 - read, ..Mix::WRITE };
        short(fallen(&[Digest { random, mix, ..thirds([100.0, 50.0, 10.0]) }]))
    };
    let rows = [
        ((false, 0), "CACHE END: w"),
        ((true, 0), "nothing"),
        ((false, 1), "nothing"),
        ((false, 100), "nothing"),
    ];
    table(said, rows);
}

#[test]
fn a_pass_over_the_drive_is_the_better_evidence() {
    let said = |sustained: Option<Sustained>| {
        let checks = sustained.map_or_else(Checks::default, checks);
        let (target, seen) = (target(), [thirds([100.0, 50.0, 10.0])]);
        short((RULE.judge)(&crate::rule::Facts { target: &target, seen: &seen, checks: &checks }))
    };
    table(said, [(None, "CACHE END: w"), (Some(Sustained::default()), "nothing")]);
}

pub fn examples() -> Vec<Ruling> {
    fallen(&[named("seq-write-1MiB-q8", thirds([100.0, 50.0, 10.0]))])
}
