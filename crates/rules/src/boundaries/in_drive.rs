//! UNDETERMINED: whether the drive may have taken most of the time.

use rig::{DeviceTraffic, SplitPart};

use super::table;
use crate::testing::{device, digest, named, split, target};
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
    table(|share| first_statement(&[busy(share)]), [(0.79, idle), (0.8, BLAMED), (0.0, BLAMED)]);
    let deep = Digest { depth_nominal: Some(2), ..busy(0.1) };
    let few = Digest { ops: [199, 0], ..busy(0.1) };
    let elsewhere = Digest { bytes: [300_000_000, 0], ..busy(0.1) };
    for run in [deep, few, elsewhere] {
        assert!(!first_statement(std::slice::from_ref(&run)).contains("No cause"), "{run:?}");
    }
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
