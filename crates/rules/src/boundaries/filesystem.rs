//! FILE SYSTEM: idle share of the drive, operations, bytes moved.

use record::FileSystem;
use rig::{DeviceTraffic, TargetInfo};

use super::{short, table};
use crate::filesystem::file_system;
use crate::testing::{device, digest, named, target};
use crate::{Digest, Ruling};

fn on_ext4() -> TargetInfo {
    let mut info = target();
    info.target.filesystem = Some(FileSystem { kind: "ext4".into(), ..FileSystem::default() });
    info
}

/// A second of 200 reads of 4 KiB, with the share of the time in which the drive was busy.
fn run(busy: f64) -> Digest {
    let (ops, bytes) = ([200, 0], [819_200, 0]);
    let device = Some(DeviceTraffic { busy, ..device(819_200, 0) });
    named("a", Digest { ops, bytes, device, ..digest("x") })
}

#[test]
fn a_drive_idle_for_half_of_the_time_waits_for_the_software_above() {
    let said = |busy| short(file_system(&on_ext4(), &[run(busy)]));
    let rows = [
        (0.0, "nothing"),
        (0.01, "FILE SYSTEM: a 99%"),
        (0.49, "FILE SYSTEM: a 51%"),
        (0.5, "FILE SYSTEM: a 50%"),
        (0.51, "nothing"),
    ];
    table(said, rows);
}

#[test]
fn two_hundred_operations_are_needed() {
    let said = |ops| short(file_system(&on_ext4(), &[Digest { ops, ..run(0.4) }]));
    let rows = [
        ([199, 0], "nothing"),
        ([200, 0], "FILE SYSTEM: a 60%"),
        ([100, 100], "FILE SYSTEM: a 60%"),
    ];
    table(said, rows);
}

#[test]
fn the_drive_must_have_moved_half_of_the_bytes() {
    let said = |(read_bytes, written_bytes)| {
        let device = DeviceTraffic { busy: 0.4, ..device(read_bytes, written_bytes) };
        short(file_system(&on_ext4(), &[Digest { device: Some(device), ..run(0.4) }]))
    };
    let rows = [
        ((409_599, 0), "nothing"),
        ((409_600, 0), "FILE SYSTEM: a 60%"),
        ((409_599, 1), "FILE SYSTEM: a 60%"),
    ];
    table(said, rows);
}

#[test]
fn one_direct_operation_at_a_time_is_judged() {
    let said = |(direct, depth_nominal)| {
        short(file_system(&on_ext4(), &[Digest { direct, depth_nominal, ..run(0.4) }]))
    };
    let rows = [
        ((true, Some(1)), "FILE SYSTEM: a 60%"),
        ((false, Some(1)), "nothing"),
        ((true, Some(2)), "nothing"),
        ((true, None), "nothing"),
    ];
    table(said, rows);
    assert_eq!(short(file_system(&target(), &[run(0.4)])), "nothing", "no file system");
}

#[test]
fn replicates_count_by_their_time() {
    let long = |busy| Digest { seconds: 3.0, ..run(busy) };
    let said = |busy| short(file_system(&on_ext4(), &[run(0.8), long(busy)]));
    table(said, [(0.39, "FILE SYSTEM: a 51%"), (0.41, "nothing")]);
}

pub fn examples() -> Vec<Ruling> {
    let seen = [run(0.4), named("b", run(0.3))];
    file_system(&on_ext4(), &seen).into_iter().collect()
}
