//! The cause of a mix: times that add up, the side that takes half of them.

use record::VerdictKind;
use workload::Mix;
use workload::OpKind::{Read, Write};

use super::table;
use crate::changes::AFTER_REST;
use crate::mixed::{follow, follow_rested};
use crate::subject::Subject;
use crate::testing::{named, random};
use crate::{Digest, Ruling};

/// Reads and writes at 100 and at this rate, half of each mixed at a third rate, and the metrics
/// that a cause of one side then explains.
fn followed(kind: VerdictKind, side: &str, writes: f64, mixed: f64) -> String {
    let ops = [(mixed * 5.0) as u64, (mixed * 5.0) as u64];
    let run = named("mixed-4KiB-q32", random(Read, 1, 32, mixed));
    let run = Digest { mix: Mix::read_percent(50), ops, ..run };
    let seen = [random(Read, 1, 32, 100.0), random(Write, 1, 32, writes), run];
    let subjects = Subject::reported(&seen);
    let side = subjects.iter().find(|subject| subject.name() == side).expect("measured");
    let mut rulings = [Ruling::yes(kind, "").explaining(side, None)];
    follow(&seen, &mut rulings);
    super::short(rulings)
}

const READ: &str = "rand-read-4KiB-q32";
const WRITE: &str = "rand-write-4KiB-q32";

/// Alone, both sides together take 10 ms for each operation of the mix.
#[test]
fn a_mix_has_the_time_of_both_sides_within_60_to_160_percent() {
    let said = |mixed| followed(VerdictKind::FlashBound, READ, 100.0, mixed);
    let (alone, both) =
        ("FLASH BOUND: rand-read-4KiB-q32", "FLASH BOUND: rand-read-4KiB-q32, mixed-4KiB-q32");
    let rows = [(59.0, alone), (61.0, both), (100.0, both), (159.0, both), (161.0, alone)];
    table(said, rows);
}

#[test]
fn a_mix_has_the_cause_of_the_side_that_takes_half_of_its_time() {
    let said = |(side, writes)| {
        let words = followed(VerdictKind::FlashBound, side, writes, 100.0);
        words.contains("mixed").to_string()
    };
    let rows = [
        ((READ, 101.0), "true"),
        ((READ, 100.0), "true"),
        ((READ, 99.0), "false"),
        ((WRITE, 101.0), "false"),
        ((WRITE, 100.0), "false"),
        ((WRITE, 99.0), "true"),
    ];
    table(said, rows);
}

#[test]
fn causes_that_act_on_each_command_are_followed() {
    let said = |kind: VerdictKind| {
        let words = followed(kind, READ, 100.0, 100.0);
        words.contains("mixed").to_string()
    };
    let rows = [
        (VerdictKind::MappingUnit, "true"),
        (VerdictKind::DeviceDepth, "true"),
        (VerdictKind::Usb, "true"),
        (VerdictKind::PerCommand, "true"),
        (VerdictKind::FlashBound, "true"),
        (VerdictKind::Controller, "true"),
        (VerdictKind::DeviceCache, "true"),
        (VerdictKind::OpenBlocks, "true"),
        (VerdictKind::HostCeiling, "true"),
        (VerdictKind::Link, "false"),
        (VerdictKind::Cpu, "false"),
        (VerdictKind::Stall, "false"),
    ];
    table(said, rows);
}

#[test]
fn a_read_after_a_rest_within_150_percent_has_the_cause_of_others() {
    let said = |(kind, rested_ns): (VerdictKind, f64)| {
        let reads = |ns: f64| Digest { read_ns: [0.0, ns], ..random(Read, 1, 1, 1e3) };
        let rested = Digest { probe: true, ..named(AFTER_REST, reads(rested_ns)) };
        let seen = [reads(100.0), rested];
        let subjects = Subject::reported(&seen);
        let mut rulings = [Ruling::yes(kind, "").explaining(&subjects[0], None)];
        follow_rested(&seen, &mut rulings);
        rulings[0].verdict.explains(AFTER_REST).to_string()
    };
    let rows = [
        ((VerdictKind::FlashBound, 149.0), "true"),
        ((VerdictKind::FlashBound, 150.0), "true"),
        ((VerdictKind::FlashBound, 151.0), "false"),
        ((VerdictKind::Link, 100.0), "true"),
        ((VerdictKind::Stall, 100.0), "false"),
    ];
    table(said, rows);
}
