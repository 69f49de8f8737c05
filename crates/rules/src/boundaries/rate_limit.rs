//! RATE LIMIT: how alike the rates of a limit are, how a burst is told, and when a test is worth its
//! time.

use rig::{Bus, TargetInfo};
use workload::OpKind::{Read, Write};

use super::{short, table};
use crate::changes::{DEPTH, limit_test_name, other_size_name};
use crate::limit_test::{LimitTest, next_limit_test};
use crate::rate_limit::{RULE, limit_beyond, rate_limit};
use crate::rule::Facts;
use crate::testing::{digest, in_order, named, random, target, with_link};
use crate::{Checks, Digest, Plateau, Ruling};

/// A second of deep reads for a rule only, in MB/s.
fn probe(name: &str, block_bytes: u32, rate: f64) -> Digest {
    let bytes = (rate * 1e6) as u64;
    let ops = [bytes / u64::from(block_bytes), 0];
    let depth_nominal = Some(DEPTH);
    let reads = Digest { bytes: [bytes, 0], ops, block_bytes, depth_nominal, ..digest("x") };
    named(name, Digest { probe: true, ..reads })
}

/// A test with 4 KiB blocks that keeps this rate in MB/s after a burst in MB, and lasts a second.
fn test(rate: f64, burst: f64) -> Digest {
    let plateau = Some(Plateau { rate: rate * 1e6, burst_bytes: burst * 1e6 });
    Digest { plateau, ..probe(&limit_test_name(4096), 4096, rate) }
}

/// Such a test that ends within a burst.
fn no_burst() -> Digest {
    Digest { plateau: None, ..test(16.0, 0.0) }
}

/// Blocks of 8 KiB right after it, in MB/s.
fn other_size(rate: f64) -> Digest {
    probe(&other_size_name(4096, 8192), 8192, rate)
}

/// 1,000 random reads per second beside these tests.
fn judge(tests: &[Digest]) -> Vec<Ruling> {
    let cells = [random(Read, 1, 1, 1000.0), random(Write, 1, DEPTH, 1000.0)];
    rate_limit(&[&cells[..], tests].concat())
}

#[test]
fn runs_agree_within_5_percent_and_blocks_of_another_size_tell_what_is_counted() {
    let said = |tests: Vec<Digest>| short(judge(&tests));
    let both = "RATE LIMIT: rand-read-4KiB-q1, rand-write-4KiB-q32";
    let rows = [
        (vec![test(4.096, 1.0), test(4.096, 1.0), other_size(8.192)], both),
        (vec![test(4.0, 1.0), test(4.19, 1.0), other_size(8.192)], both),
        (vec![test(3.8, 1.0), test(4.4, 1.0), other_size(8.192)], "nothing"),
        (vec![test(4.096, 1.0), other_size(8.6)], both),
        (vec![test(4.096, 1.0), other_size(8.7)], "nothing"),
        // As many bytes: a limit of bytes, which the cells have as well.
        (vec![test(4.096, 1.0), other_size(4.096)], both),
        // More bytes, and fewer operations: those are limited, and other blocks by another limit.
        (vec![test(4.096, 1.0), other_size(6.0)], both),
        // Fewer of both: another limit, and nothing tells which this one is.
        (vec![test(4.096, 1.0), other_size(3.8)], "nothing"),
        (vec![test(4.096, 1.0)], "nothing"),
        // A limit that no figure has.
        (vec![test(5.0, 1.0), other_size(10.0)], "nothing"),
    ];
    table(said, rows);
    assert_eq!(said(vec![test(4.096, 1.0), no_burst(), other_size(8.192)]), "nothing");
}

#[test]
fn a_test_whose_first_run_ends_within_a_burst_is_made_again() {
    let cells = [random(Read, 1, 1, 1000.0), random(Read, 1, DEPTH, 1000.0)];
    let next = |tests: &[Digest]| {
        next_limit_test(&with_link(1e9), &[&cells[..], tests].concat()).map(|test| test.other)
    };
    let late = [no_burst(), test(4.096, 1.0), other_size(8.192)];
    assert_eq!(next(&late), Some(None));
    assert_eq!(short(judge(&late)), "nothing", "one run shows it");
    let again = [&late[..], &[test(4.096, 1.0), test(4.096, 2.0)]].concat();
    assert!(short(judge(&again)).starts_with("RATE LIMIT"));
    let [burst, limit] = [no_burst(), test(4.096, 1.0)];
    assert_eq!(short(judge(&[&late[..], &[burst, limit]].concat())), "nothing");
}

#[test]
fn a_limit_that_no_figure_has_is_said_without_one_if_two_runs_show_it() {
    let said = |tests: Vec<Digest>| {
        let cells = [random(Read, 1, 1, 1000.0), random(Read, 1, DEPTH, 8000.0)];
        short(limit_beyond(&[&cells[..], &tests].concat()))
    };
    let waiting = |waiting_s| Digest { waiting_s, ..test(5.0, 1.0) };
    let rows = [
        (vec![test(5.0, 1.0), test(5.0, 1.0), other_size(10.0)], "RATE LIMIT"),
        (vec![test(5.0, 1.0), other_size(10.0)], "nothing"),
        (vec![waiting(0.09), waiting(0.09), other_size(10.0)], "RATE LIMIT"),
        (vec![waiting(0.11), waiting(0.11), other_size(10.0)], "nothing"),
        (vec![test(4.096, 1.0), test(4.096, 1.0), other_size(8.192)], "nothing"),
    ];
    table(said, rows);
}

#[test]
fn a_processor_shared_in_another_workload_says_nothing_against_a_limit() {
    let shared = |busy: &str, waiting_s| {
        let cells = [random(Read, 1, 1, 1000.0), random(Write, 1, DEPTH, 1000.0)];
        let tests = [test(4.096, 1.0), other_size(8.192), in_order(Read, 1, 100e6)];
        let seen = [&cells[..], &tests].concat().into_iter().map(|run| {
            let waiting_s = if run.name.contains(busy) { waiting_s } else { 0.0 };
            Digest { waiting_s, ..run }
        });
        let facts =
            Facts { target: &target(), seen: &Vec::from_iter(seen), checks: &Checks::default() };
        short((RULE.judge)(&facts))
    };
    assert_eq!(shared("seq-read", 5.0), "RATE LIMIT: rand-read-4KiB-q1, rand-write-4KiB-q32");
    assert_eq!(shared("rand-read", 5.0), "RATE LIMIT: rand-write-4KiB-q32");
    assert_eq!(shared("rand", 5.0), "nothing");
}

#[test]
fn a_workload_that_what_was_left_in_the_bucket_made_faster_is_held() {
    let said = |(rate, burst)| {
        let seen = [random(Read, 1, 1, rate), test(4.096, burst), other_size(8.192)];
        short(rate_limit(&seen))
    };
    let held = "RATE LIMIT: rand-read-4KiB-q1";
    let rows = [
        ((1040.0, 0.1), held),
        ((1060.0, 0.1), "nothing"),
        ((1140.0, 100.0), held),
        ((1160.0, 100.0), "nothing"),
        ((940.0, 100.0), "nothing"),
    ];
    table(said, rows);
}

#[test]
fn a_limit_that_two_tests_show_is_said_once() {
    let second = Digest { name: limit_test_name(1 << 20), block_bytes: 1 << 20, ..test(0.0, 0.0) };
    let plateau = Some(Plateau { rate: 1000.0 * f64::from(1 << 20), burst_bytes: 250e6 });
    let tests = [test(4.096, 1.0), other_size(8.192), Digest { plateau, ..second }];
    assert_eq!(short(judge(&tests)), "RATE LIMIT: rand-read-4KiB-q1, rand-write-4KiB-q32");
}

#[test]
fn bursts_that_differ_by_the_rest_are_parts() {
    let burst = |megabytes: &[f64]| {
        let tests = megabytes.iter().map(|burst| test(4.096, *burst));
        let rulings = judge(&Vec::from_iter(tests.chain([other_size(8.192)])));
        let evidence = &rulings[0].verdict.evidence[1];
        (evidence.name.clone(), evidence.value.floor())
    };
    let rows: [(&[f64], (&str, f64)); 8] = [
        (&[1.024, 1.12], ("burst after a rest", 273.0)),
        (&[1.024, 1.13], ("at least burst after a rest", 275.0)),
        (&[1.024, 2.048], ("at least burst after a rest", 500.0)),
        // All that comes back in two seconds, the longer rest, is 8.192 MB.
        (&[7.37, 7.37], ("burst after a rest", 1799.0)),
        (&[7.38, 7.38], ("at least burst after a rest", 1801.0)),
        // Three operations of few are chance.
        (&[0.0450, 0.057], ("burst after a rest", 13.0)),
        // One of fewer than ten is no tenth.
        (&[0.0405, 0.0405], ("at least burst after a rest", 8.0)),
        // Nobody knows how long the volume rested before a single run.
        (&[1.024], ("at least burst after a rest", 250.0)),
    ];
    for (megabytes, (name, value)) in rows {
        assert_eq!(burst(megabytes), (name.to_string(), value), "{megabytes:?}");
    }
}

#[test]
fn reads_that_neither_queue_nor_blocks_change_are_tested_but_not_on_cards() {
    let said = |(bus, single, deep, larger): (Bus, f64, f64, f64)| {
        let target = TargetInfo { bus, ..target() };
        let seen = [
            random(Read, 1, 1, single),
            random(Read, 1, DEPTH, deep),
            random(Read, 4, DEPTH, larger),
        ];
        next_limit_test(&target, &seen).is_some()
    };
    let rows = [
        ((Bus::Virtio, 1000.0, 3000.0, 100.0), true),
        ((Bus::Virtio, 1000.0, 3001.0, 100.0), false),
        ((Bus::Virtio, 1000.0, 9000.0, 7700.0), true),
        ((Bus::Virtio, 1000.0, 9000.0, 7600.0), false),
        ((Bus::Virtio, 1000.0, 9000.0, 2250.0), true),
        ((Bus::Virtio, 1000.0, 9000.0, 1900.0), false),
        ((Bus::Usb, 1000.0, 1000.0, 1000.0), false),
        ((Bus::Sd, 1000.0, 1000.0, 1000.0), false),
    ];
    for (case, expected) in rows {
        assert_eq!(said(case), expected, "{case:?}");
    }
}

#[test]
fn blocks_above_the_smallest_that_reach_the_bytes_of_large_ones_are_tested() {
    let said = |random_rate: f64, blocks: u32, link: f64| {
        let seen = [
            random(Read, 1, 1, 1000.0),
            in_order(Read, 1, 100e6),
            random(Read, blocks, DEPTH, random_rate / f64::from(4096 * blocks)),
        ];
        let test = next_limit_test(&with_link(link), &seen)?;
        Some((test.block, test.other))
    };
    assert_eq!(said(100e6, 16, 1e9), Some((1 << 20, Some(1 << 19))));
    assert_eq!(said(100e6, 4, 1e9), Some((1 << 16, Some(1 << 17))));
    assert_eq!([said(80e6, 16, 1e9), said(100e6, 16, 110e6)], [None; 2]);
}

#[test]
fn behind_a_limit_of_operations_blocks_well_above_those_that_meet_both_are_tested() {
    let said = |other: f64, large: f64| {
        let cells =
            [random(Read, 1, 1, 1000.0), random(Read, 1, DEPTH, 1000.0), in_order(Read, 1, large)];
        let tests = [test(4.096, 1.0), other_size(other)];
        let test = next_limit_test(&with_link(1e9), &[&cells[..], &tests].concat())?;
        Some((test.block, test.other))
    };
    // 1,000 operations per second.
    assert_eq!(said(8.192, 60.0e6), Some((1 << 20, None)), "60 MB/s are met with 60 kB");
    assert_eq!(said(8.192, 6.0e6), Some((128 << 10, None)), "75 of 80 kB a second suffice");
    assert_eq!(said(8.192, 400e6), Some((1 << 20, None)));
    assert_eq!(said(4.096, 4.096e6), None, "a limit of bytes, which small blocks have shown");
}

#[test]
fn waiting_for_what_is_in_flight_takes_a_tenth_of_a_test() {
    let depth = |per_s| LimitTest::small(4096, per_s).depth(0.5);
    assert_eq!([10.0, 100.0, 300.0, 1e6].map(depth), [4, 5, 15, 32]);
}

pub fn examples() -> Vec<Ruling> {
    let tests = [test(4.096, 1.024), test(4.1, 1.03), other_size(8.2)];
    [judge(&tests), limit_beyond(&tests)].concat()
}
