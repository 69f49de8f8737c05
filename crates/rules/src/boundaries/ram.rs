//! RAM, DRIVE and GUEST: shares of the bytes, the ceiling of the link, the page cache.

use record::{Finding, FindingKind, Level};
use rig::{DeviceTraffic, TargetInfo};

use super::{repeat, short, table};
use crate::ram::{PageCache, RULE, ram};
use crate::rule::Facts;
use crate::testing::{device, digest, named, target, with_link};
use crate::{Checks, Digest, Ruling};

const MIB: u64 = 1 << 20;

/// A second of transfers, and what the drive's own counters saw of them.
fn run(name: &str, bytes: [u64; 2], counted: Option<[u64; 2]>) -> Digest {
    let device = counted.map(|[read, written]| device(read, written));
    named(name, Digest { bytes, device, ..digest("x") })
}

fn said(seen: &[Digest]) -> String {
    short([ram(&target(), seen, None)])
}

#[test]
fn a_drive_that_read_less_than_half_was_not_what_was_read() {
    let said = |read| said(&[run("a", [10 * MIB, 0], Some([read, 0]))]);
    let rows = [
        (0, "RAM"),
        (5 * MIB - 1, "RAM"),
        (5 * MIB, "no: DRIVE"),
        (5 * MIB + 1, "no: DRIVE"),
        (20 * MIB, "no: DRIVE"),
    ];
    table(said, rows);
}

#[test]
fn a_mebibyte_must_have_been_read() {
    let said = |bytes| said(&[run("a", [bytes, 0], Some([0, 0]))]);
    table(said, [(MIB - 1, "unknown"), (MIB, "RAM"), (MIB + 1, "RAM")]);
}

/// The kernel counts what it read for this process; the drive also reads for others.
#[test]
fn reads_for_other_programs_do_not_count() {
    let said = |own_read_bytes| {
        let device = DeviceTraffic { own_read_bytes, ..device(10 * MIB, 0) };
        said(&[Digest { device: Some(device), ..run("a", [10 * MIB, 0], None) }])
    };
    let rows = [(None, "no: DRIVE"), (Some(5 * MIB), "no: DRIVE"), (Some(4 * MIB), "RAM")];
    table(said, rows);
}

#[test]
fn writes_of_which_less_than_half_reached_the_drive_stayed_in_memory() {
    let said = |(bytes, written)| said(&[run("a", [0, bytes], Some([0, written]))]);
    let rows = [
        ((10 * MIB, 5 * MIB - 1), "RAM: a 50%"),
        ((10 * MIB, 5 * MIB), "unknown"),
        ((10 * MIB, 0), "RAM: a 100%"),
        ((MIB - 1, 0), "unknown"),
        ((MIB, 0), "RAM: a 100%"),
    ];
    table(said, rows);
}

/// The link carries 1,000 bytes per second.
#[test]
fn above_105_percent_of_the_link_it_was_memory() {
    let said = |bytes| short([ram(&with_link(1000.0), &[run("a", bytes, None)], None)]);
    let rows =
        [([1050, 0], "unknown"), ([1051, 0], "RAM"), ([0, 1051], "RAM"), ([600, 600], "unknown")];
    table(said, rows);
    assert_eq!(short([ram(&with_link(0.0), &[run("a", [1051, 0], None)], None)]), "unknown");
}

#[test]
fn a_page_cache_twice_as_fast_was_not_what_was_read() {
    let said = |ratio| {
        let cache = PageCache { direct: repeat(100.0, 2), cached: repeat(100.0 * ratio, 2) };
        short([ram(&target(), &[run("a", [1, 0], None)], Some(&cache))])
    };
    table(said, [(1.99, "unknown"), (2.01, "no: DRIVE"), (8.0, "no: DRIVE")]);
}

#[test]
fn without_a_counter_the_rig_and_the_path_decide() {
    let cache = PageCache { direct: repeat(100.0, 2), cached: repeat(800.0, 3) };
    let said = |(kind, direct): (Option<FindingKind>, bool)| {
        let findings = kind.map(|kind| Finding::new(kind, Level::Warn, "")).into_iter().collect();
        let seen = [Digest { findings, direct, ..run("a", [1, 0], None) }];
        short([ram(&target(), &seen, Some(&cache))])
    };
    let rows = [
        ((None, true), "no: DRIVE"),
        ((None, false), "unknown"),
        ((Some(FindingKind::ServedFromRam), true), "RAM"),
        ((Some(FindingKind::ServedFromRam), false), "RAM"),
        ((Some(FindingKind::Throttled), true), "no: DRIVE"),
    ];
    table(said, rows);
}

#[test]
fn how_much_the_drive_read_is_told_in_whole_percent() {
    let said = |read| {
        let text = ram(&target(), &[run("a", [100 * MIB, 0], Some([read, 0]))], None).verdict.text;
        text.split_once("the drive read ").expect("a share").1.to_string()
    };
    let rows = [
        (994 * MIB / 10, "at least 99% of the bytes requested."),
        (996 * MIB / 10, "100% of the bytes requested."),
        (995 * MIB / 10, "at least 100% of the bytes requested."),
        (50 * MIB, "at least 50% of the bytes requested."),
    ];
    table(said, rows);
}

#[test]
fn in_a_guest_the_drive_is_the_hosts() {
    let said = |(guest, read): (Option<&str>, u64)| {
        let guest = guest.map(String::from);
        let target = TargetInfo { guest, ..target() };
        short([ram(&target, &[run("a", [10 * MIB, 0], Some([read, 0]))], None)])
    };
    let rows = [
        ((None, 10 * MIB), "no: DRIVE"),
        ((Some("KVM"), 10 * MIB), "no: GUEST"),
        ((Some("KVM"), 0), "RAM"),
    ];
    table(said, rows);
}

#[test]
fn what_only_writes_is_not_asked_about_reads() {
    let said = |seen: Vec<Digest>| {
        let (target, checks) = (target(), Checks::default());
        short((RULE.judge)(&Facts { target: &target, seen: &seen, checks: &checks }))
    };
    let rows = [
        (vec![], "unknown"),
        (vec![run("w", [0, 10 * MIB], None)], "nothing"),
        (vec![run("w", [0, 10 * MIB], Some([0, 0]))], "RAM: w 100%"),
        (vec![run("r", [1, 0], None)], "unknown"),
    ];
    table(said, rows);
}

pub fn examples() -> Vec<Ruling> {
    let memory = TargetInfo { ram: true, ..target() };
    let guest = TargetInfo { guest: Some("KVM".into()), ..target() };
    let reads = |name, read| run(name, [100 * MIB, 0], Some([read * MIB, 0]));
    let few = [reads("rand-read-4KiB-q1", 10), reads("seq-read-1MiB-q8", 100)];
    let half = [reads("a", 100), run("b", [300 * MIB, 0], Some([225 * MIB, 0]))];
    let unwatched = [run("a", [MIB, 0], None)];
    let served = Finding::new(FindingKind::ServedFromRam, Level::Warn, "");
    let served = [Digest { findings: vec![served], ..unwatched[0].clone() }];
    let buffered = [Digest { direct: false, ..unwatched[0].clone() }];
    let cache = |ratio| PageCache { direct: repeat(100.0, 2), cached: repeat(100.0 * ratio, 2) };
    let fast = [run("seq-read-1MiB-q8", [2000, 0], None)];
    let buffered_writes = [run("rand-write-4KiB-q1", [0, 10 * MIB], Some([0, MIB]))];
    vec![
        ram(&memory, &few, None),
        ram(&with_link(1000.0), &fast, None),
        ram(&target(), &buffered_writes, None),
        ram(&target(), &few, None),
        ram(&target(), &half, None),
        ram(&guest, &half, None),
        ram(&target(), &served, None),
        ram(&target(), &buffered, None),
        ram(&target(), &unwatched, None),
        ram(&target(), &unwatched, Some(&cache(8.0))),
        ram(&target(), &unwatched, Some(&cache(1.1))),
        ram(&target(), &[], None),
    ]
}
