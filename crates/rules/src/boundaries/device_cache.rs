//! DEVICE CACHE by working sets: the step that counts, and the one that must be ruled out.

use workload::OpKind::{Read, Write};

use super::{checks, repeat, short, table};
use crate::changes::DEPTH;
use crate::device_cache::{RULE, device_cache};
use crate::rule::Facts;
use crate::testing::{near, random, target};
use crate::{Ruling, WorkingSet, WorkingSets};

/// Sets of 1, 4, 16, ... MiB with four medians each, in units of 10 us.
fn sets(times: &[f64]) -> Vec<WorkingSet> {
    let set = |(i, time): (usize, &f64)| set(i, *time);
    times.iter().enumerate().map(set).collect()
}

fn set(i: usize, time: f64) -> WorkingSet {
    WorkingSet { bytes: 1 << (20 + 2 * i), p50_ns: repeat(time * 10e3, 4) }
}

#[test]
fn a_step_of_a_fifth_is_a_cache() {
    let said = |step| short([device_cache(&sets(&[1.0, 1.0, step]), None)]);
    let rows = [
        (0.5, "no: NO DEVICE CACHE"),
        (1.1999, "no: NO DEVICE CACHE"),
        (1.2001, "DEVICE CACHE"),
        (10.0, "DEVICE CACHE"),
    ];
    table(said, rows);
}

/// Medians that scatter leave an interval from below 1.2.
#[test]
fn half_more_must_be_ruled_out() {
    let said = |scatter: f64| {
        let mut sets = sets(&[1.0, 1.0, 1.0]);
        sets[2].p50_ns = [1.0 + scatter, 1.0 / (1.0 + scatter)].map(|f| f * 10e3).repeat(2);
        short([device_cache(&sets, None)])
    };
    // The upper ends are 1.45 and 1.56.
    table(said, [(0.22, "no: NO DEVICE CACHE"), (0.275, "unknown")]);
}

#[test]
fn three_sets_are_needed() {
    let said = |n: usize| short([device_cache(&sets(&[1.0, 2.0, 3.0, 4.0][..n]), None)]);
    let rows = [(0, "unknown"), (1, "unknown"), (2, "unknown"), (3, "DEVICE CACHE")];
    table(said, rows);
}

#[test]
fn the_smallest_set_is_as_slow_as_at_the_other_end() {
    let said = |far| short([device_cache(&sets(&[1.0, 1.0, 2.0]), Some(&set(0, far)))]);
    let rows = [
        (0.5, "DEVICE CACHE"),
        (1.66, "DEVICE CACHE"),
        (1.67, "no: NO DEVICE CACHE"),
        (2.0, "no: NO DEVICE CACHE"),
    ];
    table(said, rows);
}

/// Closer to the fastest than to the slowest set: below the geometric mean of 1 and 4.
#[test]
fn the_cache_ends_at_the_last_set_closer_to_the_fastest() {
    let said = |middle| {
        let text = device_cache(&sets(&[1.0, middle, 4.0]), None).verdict.text;
        text.split_once("reads take ").expect("two sets").1.to_string()
    };
    let rows = [
        (1.99, "10.0 us within 4 MiB and 40.0 us within 16 MiB."),
        (2.01, "10.0 us within 1 MiB and 40.0 us within 16 MiB."),
    ];
    table(said, rows);
}

#[test]
fn it_explains_single_random_reads_by_the_step() {
    let said = |step| {
        let checks = checks(WorkingSets { near: sets(&[1.0, 1.0, step]), far: set(0, 1.0) });
        let (target, seen) = (target(), [random(Read, 1, 1, 1e3), random(Read, 1, 32, 1e3)]);
        short((RULE.judge)(&Facts { target: &target, seen: &seen, checks: &checks }))
    };
    let rows = [(1.25, "DEVICE CACHE: rand-read-4KiB-q1 20%"), (1.0, "no: NO DEVICE CACHE")];
    table(said, rows);
}

pub fn examples() -> Vec<Ruling> {
    let mut once = sets(&[1.0, 1.0, 1.0]);
    once.iter_mut().for_each(|set| set.p50_ns.truncate(1));
    let mut scattered = sets(&[1.0, 1.0, 1.0]);
    scattered[2].p50_ns = vec![5e3, 20e3, 10e3];
    let seen = [sets(&[1.0, 1.0, 2.0]), sets(&[1.0, 1.0, 1.1]), sets(&[1.0]), once, scattered];
    seen.iter().map(|sets| device_cache(sets, None)).collect()
}

/// A miss takes 20 us; single writes take from 50 to 110 us.
#[test]
fn it_explains_single_writes_that_wait_for_a_miss_as_a_full_queue_does() {
    let said = |(write_us, near_gain): (f64, f64)| {
        let checks = checks(WorkingSets { near: sets(&[1.0, 1.0, 3.0]), far: set(0, 1.0) });
        let seen = [
            random(Write, 1, 1, 1e6 / write_us),
            random(Write, 1, DEPTH, 100e3),
            near(Write, near_gain * 100e3),
        ];
        short((RULE.judge)(&Facts { target: &target(), seen: &seen, checks: &checks }))
    };
    let rows = [
        ((50.0, 2.0), "DEVICE CACHE: rand-write-4KiB-q1 40%"),
        ((99.0, 2.0), "DEVICE CACHE: rand-write-4KiB-q1 20%"),
        ((110.0, 2.0), "DEVICE CACHE"),
        ((50.0, 1.24), "DEVICE CACHE"),
    ];
    table(said, rows);
}
