//! STALL: share of the time.

use super::{short, table};
use crate::stall::stall;
use crate::testing::{digest, named};
use crate::{Digest, Ruling};

fn run(name: &str, stalled_s: f64) -> Digest {
    named(name, Digest { seconds: 10.0, stalled_s, ..digest("x") })
}

#[test]
fn a_tenth_of_the_time_is_a_stall() {
    let said = |stalled_s| short(stall(&[run("a", stalled_s)]));
    let rows = [(0.0, "nothing"), (0.99, "nothing"), (1.0, "STALL: a 10%"), (1.01, "STALL: a 10%")];
    table(said, rows);
}

#[test]
fn the_share_is_of_all_replicates() {
    let seen = [run("a", 2.2), run("a", 0.0), run("b", 0.9), run("c", 9.0)];
    assert_eq!(short(stall(&seen)), "STALL: a 11%, c 90%");
    assert_eq!(short(stall(&[])), "nothing");
}

pub fn examples() -> Vec<Ruling> {
    let seen = [run("rand-read-4KiB-q1", 2.5), run("rand-write-4KiB-q1", 10.0)];
    seen.iter().flat_map(|run| stall(std::slice::from_ref(run))).collect()
}
