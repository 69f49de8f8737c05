//! MIX-DETERMINED: deviation from the mix, number of writes.

use workload::Mix;

use super::{short, table};
use crate::mix::mix;
use crate::testing::{digest, named};
use crate::{Digest, Ruling};

fn run(read_percent: u32, ops: [u64; 2]) -> Digest {
    named("mixed-4KiB-q32", Digest { mix: Mix::read_percent(read_percent), ops, ..digest("x") })
}

#[test]
fn writes_within_30_percent_of_the_mix_are_determined_by_it() {
    let said = |ops| short([mix(&[run(50, ops)])]);
    let rows = [
        ([1000, 699], "unknown"),
        ([1000, 701], "MIX-DETERMINED"),
        ([1000, 1000], "MIX-DETERMINED"),
        ([1000, 1299], "MIX-DETERMINED"),
        ([1000, 1301], "unknown"),
    ];
    table(said, rows);
}

#[test]
fn a_hundred_writes_and_a_read_are_needed() {
    let said = |ops| short([mix(&[run(50, ops)])]);
    let rows = [
        ([100, 99], "unknown"),
        ([100, 100], "MIX-DETERMINED"),
        ([100, 101], "MIX-DETERMINED"),
        ([0, 100], "unknown"),
    ];
    table(said, rows);
}

#[test]
fn only_a_mix_of_both_is_one() {
    let said = |read_percent| short([mix(&[run(read_percent, [900, 300])])]);
    let rows = [
        (0, "no: NO MIX"),
        (1, "unknown"),
        (75, "MIX-DETERMINED"),
        (99, "unknown"),
        (100, "no: NO MIX"),
    ];
    table(said, rows);
}

pub fn examples() -> Vec<Ruling> {
    let seen = [[700, 310], [700, 700], [10, 3]];
    seen.iter().map(|ops| mix(&[run(70, *ops)])).chain([mix(&[])]).collect()
}
