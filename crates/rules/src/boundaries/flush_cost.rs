//! FLUSH as a cost: share of the time.

use super::{short, table};
use crate::changes::EMPTY_FLUSH;
use crate::flush_cost::{self, flush_cost};
use crate::rule::Facts;
use crate::testing::{digest, named, target};
use crate::{Checks, Digest, Ruling};

fn run(name: &str, flushes: u64, seconds: f64) -> Digest {
    named(name, Digest { flushes, seconds, ..digest("x") })
}

/// Three flushes of 10 ms each, with nothing to flush.
fn empty() -> Digest {
    named(EMPTY_FLUSH, Digest { flushes: 3, flush_s: 0.03, probe: true, ..digest("x") })
}

#[test]
fn a_tenth_of_the_time_is_a_cost() {
    let said = |count| short(flush_cost(&[empty(), run("w", count, 10.0)]));
    let rows = [
        (0, "nothing"),
        (99, "nothing"),
        (100, "FLUSH: w 10%"),
        (500, "FLUSH: w 50%"),
        // The share is at most all of the time.
        (5000, "FLUSH: w 100%"),
    ];
    table(said, rows);
}

#[test]
fn shares_are_of_all_replicates_of_a_workload() {
    let cells = [run("a", 40, 1.0), run("a", 0, 1.0), run("b", 5, 1.0), run("c", 50, 1.0)];
    let seen = [&[empty()], &cells[..]].concat();
    assert_eq!(short(flush_cost(&seen)), "FLUSH: a 20%, c 50%");
    assert_eq!(short(flush_cost(&cells)), "nothing", "flushes may have had data");
    let none = Digest { flushes: 0, ..empty() };
    assert_eq!(short(flush_cost(&[&[none], &cells[..]].concat())), "nothing");
}

#[test]
fn flushes_between_writes_are_counted_with_their_data() {
    let said = |flushes, depth, flush_s| {
        let run = Digest { flush_s, depth: f64::from(depth), ..run("w", flushes, 10.0) };
        let metrics = vec!["throughput".to_string()];
        let run = Digest { metrics, depth_nominal: Some(depth), ..run };
        let rulings = (flush_cost::RULE.judge)(&Facts {
            target: &target(),
            seen: &[run],
            checks: &Checks::default(),
        });
        short(rulings.into_iter().next())
    };
    assert_eq!(said(2, 1, 1.0), "FLUSH: throughput 10%");
    assert_eq!(said(2, 1, 0.99), "nothing");
    assert_eq!(said(1, 1, 5.0), "nothing", "only the last");
    assert_eq!(said(9, 8, 5.0), "FLUSH: throughput 11%", "5 of 45 seconds in flight");
}

pub fn examples() -> Vec<Ruling> {
    let cells = [run("rand-write-4KiB-q1", 40, 1.0), run("seq-write-1MiB-q1", 20, 1.0)];
    flush_cost(&[&[empty()], &cells[..]].concat()).into_iter().collect()
}
