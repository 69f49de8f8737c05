//! UNDETERMINED: whether the drive may have taken most of the time.

use rig::{DeviceTraffic, SplitPart};

use super::table;
use crate::testing::{device, digest, named, split, stood_still, target};
use crate::{Checks, Digest, judge};

/// A second of 1,000 reads that the drive served.
fn reads(name: &str) -> Digest {
    let device = Some(DeviceTraffic { busy: 1.0, ..device(100_000_000, 0) });
    named(name, Digest { ops: [1000, 0], bytes: [100_000_000, 0], device, ..digest("x") })
}

/// The first statement about runs without a cause.
fn first_statement(seen: &[Digest]) -> String {
    let verdicts = judge(&target(), seen, &Checks::default());
    let text = verdicts.last().expect("undetermined").text.clone();
    text.split(": CPU").next().unwrap_or_default().to_string()
}

const BLAMED: &str = "The drive itself seems to be the limit";

#[test]
fn the_drive_is_blamed_if_it_had_four_fifths_of_the_time() {
    let said = |drive: u64| {
        let splits = split(&[(SplitPart::Drive, drive - 1), (SplitPart::Link, 1)]);
        first_statement(&[Digest { splits, ..reads("rand-read-4KiB-q8") }])
    };
    let rows = [
        (
            79,
            "No cause was found for random 4 KiB reads at depth 8, of whose time the drive had 79%",
        ),
        (80, BLAMED),
        (100, BLAMED),
    ];
    table(said, rows);
}

#[test]
fn without_a_split_an_idle_drive_is_not_blamed() {
    let busy = |busy| {
        let run = reads("rand-read-4KiB-q1");
        let device = run.device.map(|device| DeviceTraffic { busy, ..device });
        Digest { device, ..run }
    };
    let idle =
        "No cause was found for random 4 KiB reads at depth 1, of whose time the drive had 79%";
    table(|share| first_statement(&[busy(share)]), [(0.79, idle), (0.8, BLAMED)]);
    let deep = Digest { depth_nominal: Some(2), depth: 2.0, ..busy(0.9) };
    let few = Digest { ops: [199, 0], ..busy(0.9) };
    for run in [busy(0.0), deep, few] {
        let said = first_statement(std::slice::from_ref(&run));
        assert!(said.contains("how much of the time the drive had is unknown"), "{said}");
    }
}

#[test]
fn a_drive_that_serves_others_or_a_stopped_process_is_not_blamed() {
    let of_drive = |bytes, seconds| {
        let splits = split(&[(SplitPart::Drive, 95)]);
        let findings = vec![stood_still(seconds)];
        let device = Some(device(100_000_000, 0));
        first_statement(&[Digest { bytes: [bytes, 0], splits, findings, device, ..reads("a") }])
    };
    assert_eq!(of_drive(81_000_000, 0.09), BLAMED);
    let shared = "No cause was found for a; others transferred 20% of the drive's bytes";
    assert_eq!(of_drive(80_000_000, 0.0), shared);
    assert_eq!(of_drive(80_000_000, 0.1), "The process was stopped for 10% of the time of a");
}

#[test]
fn both_kinds_are_named() {
    let with = |name, drive| Digest { splits: split(&[(SplitPart::Drive, drive)]), ..reads(name) };
    let seen = [with("a", 95), with("b", 40), with("c", 60)];
    assert_eq!(
        first_statement(&seen),
        "The drive itself seems to be the limit of a; no cause was found for b and c, of whose \
         time the drive had 40% to 60%"
    );
}
