//! FILE SYSTEM, LAYER, BLOCK QUEUE and COMPLETION: share of the time in each part above the drive.

use record::FileSystem;
use rig::{SplitPart, TargetInfo};

use super::{short, table};
use crate::above_drive::above_drive;
use crate::testing::{device, digest, named, split, target};
use crate::{Digest, Ruling};

/// A target on ext4 on an encrypted volume, on a drive with this scheduler.
fn on_ext4(scheduler: &str) -> TargetInfo {
    let mut info = target();
    info.target.filesystem = Some(FileSystem { kind: "ext4".into(), ..FileSystem::default() });
    info.target.layers = vec!["/dev/dm-0".into()];
    info.target.drive.get_or_insert_default().scheduler = Some(scheduler.into());
    info
}

/// A second of 1,000 reads, with these percentages of their time in some parts.
fn run(name: &str, parts: &[(SplitPart, u64)]) -> Digest {
    let splits = split(parts);
    named(name, Digest { ops: [1000, 0], bytes: [4_096_000, 0], splits, ..digest("x") })
}

fn said_on(target: &TargetInfo, parts: &[(SplitPart, u64)]) -> String {
    short(above_drive(target, &[run("a", parts)]))
}

#[test]
fn a_tenth_of_the_time_in_one_part_is_a_cause() {
    let kinds = [
        (SplitPart::Held, ["nothing", "FILE SYSTEM: a 10%", "FILE SYSTEM: a 11%"]),
        (SplitPart::Layer, ["nothing", "LAYER: a 10%", "LAYER: a 11%"]),
        (SplitPart::Queue, ["nothing", "BLOCK QUEUE: a 10%", "BLOCK QUEUE: a 11%"]),
        (SplitPart::Completion, ["nothing", "COMPLETION: a 10%", "COMPLETION: a 11%"]),
    ];
    for (part, expected) in kinds {
        let said = |percent| said_on(&on_ext4("mq-deadline"), &[(part, percent)]);
        table(said, [9, 10, 11].into_iter().zip(expected));
    }
}

#[test]
fn a_part_needs_its_place() {
    let held = [(SplitPart::Held, 50)];
    assert_eq!(said_on(&target(), &held), "nothing", "no file system");
    let layer = [(SplitPart::Layer, 50)];
    assert_eq!(said_on(&target(), &layer), "nothing", "no layer");
    let queue = [(SplitPart::Queue, 50)];
    assert_eq!(said_on(&on_ext4("none"), &queue), "nothing", "no scheduler");
    let waiting = [(SplitPart::Waiting, 50), (SplitPart::Drive, 50)];
    assert_eq!(said_on(&on_ext4("mq-deadline"), &waiting), "nothing", "another cause");
}

#[test]
fn the_largest_part_is_the_cause() {
    let said = |held| {
        let parts = [(SplitPart::Held, held), (SplitPart::Completion, 20), (SplitPart::Queue, 15)];
        said_on(&on_ext4("mq-deadline"), &parts)
    };
    table(said, [(19, "COMPLETION: a 20%"), (21, "FILE SYSTEM: a 21%")]);
}

#[test]
fn an_idle_drive_is_no_evidence() {
    let device = Some(rig::DeviceTraffic { busy: 0.1, ..device(4_096_000, 0) });
    let idle = Digest { device, splits: [None; 2], ..run("a", &[]) };
    assert_eq!(short(above_drive(&on_ext4("mq-deadline"), &[idle])), "nothing");
}

#[test]
fn replicates_count_by_their_time() {
    let said = |held| {
        let seen = [run("a", &[(SplitPart::Held, 5)]), run("a", &[(SplitPart::Held, held)])];
        short(above_drive(&on_ext4("none"), &seen))
    };
    table(said, [(14, "nothing"), (15, "FILE SYSTEM: a 10%"), (17, "FILE SYSTEM: a 11%")]);
}

pub fn examples() -> Vec<Ruling> {
    let seen = [
        run("a", &[(SplitPart::Held, 40)]),
        run("b", &[(SplitPart::Held, 30)]),
        run("c", &[(SplitPart::Queue, 30)]),
        run("d", &[(SplitPart::Completion, 30)]),
        run("e", &[(SplitPart::Layer, 30)]),
    ];
    above_drive(&on_ext4("mq-deadline"), &seen)
}
