//! CPU QUOTA and IO LIMIT: share of the time, rates at a limit.

use rig::{GroupLimits, SplitPart};

use super::{short, table};
use crate::group::{io_limit, queue_limit, quota};
use crate::testing::{digest, named, split, target};
use crate::{Digest, Ruling};

fn held(name: &str, throttled_s: f64) -> Digest {
    named(name, Digest { seconds: 10.0, throttled_s, ..digest("x") })
}

#[test]
fn a_quota_that_stops_a_tenth_of_the_time_is_a_limit() {
    let said = |throttled_s| short(quota(&target(), &[held("a", throttled_s)]));
    let rows = [(0.0, "nothing"), (0.99, "nothing"), (1.0, "CPU QUOTA: a 10%")];
    table(said, rows.into_iter().chain([(1.01, "CPU QUOTA: a 10%")]));
    let seen = [held("a", 1.1), held("a", 1.1), held("b", 0.5), held("c", 5.0)];
    assert_eq!(short(quota(&target(), &seen)), "CPU QUOTA: a 11%, c 50%");
}

/// Ten seconds of reads and writes, per second.
fn run(bytes: [u64; 2], ops: [u64; 2]) -> Digest {
    let ten = |n: u64| n * 10;
    let (bytes, ops) = (bytes.map(ten), ops.map(ten));
    named("a", Digest { seconds: 10.0, bytes, ops, ..digest("x") })
}

#[test]
fn nine_tenths_to_twice_a_limit_are_at_it() {
    let rows = [
        (89, "nothing"),
        (90, "IO LIMIT: a 90%"),
        (91, "IO LIMIT: a 91%"),
        (199, "IO LIMIT: a 100%"),
        (200, "nothing"),
        (201, "nothing"),
    ];
    for side in 0..2 {
        let mut limits = [None; 2];
        limits[side] = Some(100.0);
        let amounts = |n: u64| {
            let mut pair = [0; 2];
            pair[side] = n;
            pair
        };
        let group = GroupLimits { bytes_per_s: limits, ..GroupLimits::default() };
        table(|n| short(io_limit(&group, &[run(amounts(n), [0; 2])])), rows);
        let group = GroupLimits { iops: limits, ..GroupLimits::default() };
        table(|n| short(io_limit(&group, &[run([0; 2], amounts(n))])), rows);
    }
}

#[test]
fn a_limit_of_nothing_is_none() {
    let said = |limit| {
        let group = GroupLimits { iops: [Some(limit), None], ..GroupLimits::default() };
        short(io_limit(&group, &[run([0; 2], [1, 0])]))
    };
    table(said, [(0.0, "nothing"), (1.0, "IO LIMIT: a 100%")]);
}

#[test]
fn a_short_queue_is_a_limit_if_it_was_full_and_more_was_asked_for() {
    let run = |nominal, depth, splits| {
        let depth_nominal = Some(nominal);
        let ops = [1000, 0];
        named("a", Digest { depth_nominal, depth, splits, ops, seconds: 10.0, ..digest("x") })
    };
    let of_run = |requests, run| {
        let mut short_queue = target();
        short_queue.limits.queue_requests = requests;
        short(queue_limit(&short_queue, &[run]))
    };
    let said = |requests, nominal, depth| of_run(requests, run(nominal, depth, [None; 2]));
    assert_eq!(said(Some(4), 32, 5.0), "IO LIMIT: a 84%");
    assert_eq!(said(Some(4), 32, 6.0), "IO LIMIT: a 81%");
    assert_eq!(said(Some(4), 32, 6.1), "nothing", "more than the queue holds");
    assert_eq!(said(Some(4), 5, 4.0), "nothing", "nearly as many as asked for");
    assert_eq!(said(Some(4), 32, 3.1), "nothing", "not full");
    assert_eq!(said(Some(256), 32, 20.0), "nothing");
    assert_eq!(said(Some(256), 1, 1.0), "nothing");
    assert_eq!(said(None, 32, 5.0), "nothing");
    // Half of the time before the drive, in which so much of it is spent.
    let said = |held, drive| {
        let parts = [(SplitPart::Held, held), (SplitPart::Queue, 20), (SplitPart::Drive, drive)];
        of_run(Some(4), run(32, 30.0, split(&parts)))
    };
    assert_eq!(said(30, 7), "IO LIMIT: a 93%");
    assert_eq!(said(30, 20), "IO LIMIT: a 81%");
    assert_eq!(said(30, 6), "nothing", "places were free");
    assert_eq!(said(30, 21), "nothing", "more than the queue holds");
    assert_eq!(said(29, 10), "nothing", "not before the drive");
}

pub fn examples() -> Vec<Ruling> {
    let mut limited = target();
    limited.limits.group.processors = Some(1.5);
    let (bytes, ops) = (Some(100e6), Some(2000.0));
    let group = GroupLimits { bytes_per_s: [bytes, None], iops: [None, ops], processors: None };
    let seen = [run([95_000_000, 0], [1, 0]), named("b", run([0; 2], [0, 2000]))];
    let quotas = [quota(&limited, &[held("a", 5.0)]), quota(&target(), &[held("a", 5.0)])];
    quotas.into_iter().chain([io_limit(&group, &seen)]).flatten().collect()
}
