//! CPU SHARED: share of the time that a thread waited for a processor.

use super::{short, table};
use crate::cpu_shared::cpu_shared;
use crate::testing::{digest, named};
use crate::{Digest, Ruling};

fn run(name: &str, waiting_s: f64) -> Digest {
    named(name, Digest { seconds: 10.0, waiting_s, ..digest("x") })
}

#[test]
fn a_tenth_of_the_time_is_shared() {
    let said = |waiting_s| short(cpu_shared(&[run("a", waiting_s)]));
    let rows = [
        (0.0, "nothing"),
        (0.99, "nothing"),
        (1.0, "CPU SHARED: a 10%"),
        (1.01, "CPU SHARED: a 10%"),
        (10.0, "CPU SHARED: a 100%"),
    ];
    table(said, rows);
}

#[test]
fn the_share_is_of_all_replicates() {
    let seen = [run("a", 2.2), run("a", 0.0), run("b", 0.9), run("c", 9.0)];
    assert_eq!(short(cpu_shared(&seen)), "CPU SHARED: a 11%, c 90%");
    assert_eq!(short(cpu_shared(&[])), "nothing");
}

pub fn examples() -> Vec<Ruling> {
    let seen = [run("rand-read-4KiB-q1", 2.8), run("rand-write-4KiB-q1", 5.0)];
    cpu_shared(&seen).into_iter().collect()
}
