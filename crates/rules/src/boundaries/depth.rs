//! DEPTH: shares of the nominal depth in the workload and in the device, operations per slot.

use rig::DeviceTraffic;
use workload::Mix;

use super::{short, table};
use crate::depth::depth;
use crate::testing::{device, digest, named};
use crate::{Digest, Ruling};

/// Random reads at a nominal depth of 10, with the mean depth reached.
fn run(depth: f64) -> Digest {
    let (ops, bytes) = ([1000, 0], [4_096_000, 0]);
    named("a", Digest { depth_nominal: Some(10), depth, ops, bytes, ..digest("x") })
}

fn watched(in_device: f64, read_bytes: u64) -> Digest {
    let device = Some(DeviceTraffic { depth: in_device, ..device(read_bytes, 0) });
    Digest { device, ..run(10.0) }
}

#[test]
fn below_80_percent_of_its_depth_a_workload_had_another() {
    let said = |reached| short([depth(&[run(reached)])]);
    let rows = [
        (7.9, "DEPTH: a 21%"),
        (8.0, "no: DEPTH KEPT"),
        (8.1, "no: DEPTH KEPT"),
        (10.0, "no: DEPTH KEPT"),
    ];
    table(said, rows);
}

#[test]
fn below_40_percent_in_the_device_the_depth_was_not_reached() {
    let said = |in_device| short([depth(&[watched(in_device, 4_096_000)])]);
    let rows = [(3.9, "DEPTH: a 61%"), (4.0, "no: DEPTH KEPT"), (4.1, "no: DEPTH KEPT")];
    table(said, rows);
}

#[test]
fn a_device_that_read_half_of_the_bytes_is_believed() {
    let said = |read_bytes| short([depth(&[watched(1.0, read_bytes)])]);
    let rows =
        [(2_047_999, "no: DEPTH KEPT"), (2_048_000, "DEPTH: a 90%"), (2_048_001, "DEPTH: a 90%")];
    table(said, rows);
}

#[test]
fn only_random_reads_are_looked_for_in_the_device() {
    let said = |(random, write)| {
        let mix = Mix { read: 100 - write, write, ..Mix::READ };
        short([depth(&[Digest { random, mix, ..watched(1.0, 4_096_000) }])])
    };
    let rows = [
        ((true, 0), "DEPTH: a 90%"),
        ((true, 1), "no: DEPTH KEPT"),
        ((false, 0), "no: DEPTH KEPT"),
    ];
    table(said, rows);
    let both = [watched(1.0, 4_096_000), run(10.0)];
    assert_eq!(short([depth(&both)]), "no: DEPTH KEPT", "one replicate was not watched");
}

#[test]
fn twenty_operations_in_each_slot_are_needed() {
    let said = |ops| short([depth(&[Digest { ops, ..run(1.0) }])]);
    let rows = [
        ([199, 0], "unknown"),
        ([200, 0], "DEPTH: a 90%"),
        ([201, 0], "DEPTH: a 90%"),
        ([100, 100], "DEPTH: a 90%"),
    ];
    table(said, rows);
    let none = Digest { seconds: 0.0, ..run(1.0) };
    assert_eq!(short([depth(&[none])]), "unknown", "no time");
}

#[test]
fn a_depth_above_one_is_judged() {
    let said = |depth_nominal| short([depth(&[Digest { depth_nominal, ..run(0.5) }])]);
    let rows = [
        (None, "unknown"),
        (Some(1), "unknown"),
        (Some(2), "DEPTH: a 75%"),
        (Some(3), "DEPTH: a 83%"),
    ];
    table(said, rows);
}

#[test]
fn replicates_count_by_their_time() {
    let long = |depth: f64| Digest { seconds: 3.0, ..run(depth) };
    let said = |reached| short([depth(&[run(2.0), long(reached)])]);
    // (1 x 2 + 3 x 10) / 4 is exactly 8.
    table(said, [(9.9, "DEPTH: a 21%"), (10.0, "no: DEPTH KEPT")]);
}

pub fn examples() -> Vec<Ruling> {
    let worst = named("rand-read-4KiB-q10", run(2.5));
    vec![depth(&[run(9.0), worst]), depth(&[run(9.0)]), depth(&[])]
}
