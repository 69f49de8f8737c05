//! DEVICE DEPTH and USB: whole ratios, the queue that they name, and the parts of a read that one
//! command at a time keeps from overlapping.

use record::Link;
use rig::{Bus, TargetInfo};
use workload::OpKind::{Read, Write};

use super::{short, table};
use crate::changes::{DEEPER, DEPTH, LARGER};
use crate::contenders::contenders;
use crate::testing::{burst, in_order, near, random, target, with_drive};
use crate::{Digest, Ruling};

fn said(seen: &[Digest]) -> String {
    short(contenders(&target(), seen, &[]))
}

fn on(bus: Bus) -> TargetInfo {
    TargetInfo { bus, ..target() }
}

/// Reads at depths 1, 32 and 128, and of larger blocks at depths 1 and 32.
fn reads(rates: [f64; 5]) -> Vec<Digest> {
    let cells = [(1, 1), (1, DEPTH), (1, DEEPER), (LARGER[0], 1), (LARGER[0], DEPTH)];
    cells.into_iter().zip(rates).map(|((n, depth), rate)| random(Read, n, depth, rate)).collect()
}

/// The same with a queue of the whole number of commands, and buffered writes: of a single read,
/// flash takes half.
fn reads_and_their_depth(rates: [f64; 5]) -> Vec<Digest> {
    let depth = (rates[1] / rates[0]).round() as u32;
    let mut seen = reads(rates);
    seen.extend((depth > 1).then(|| random(Read, 1, depth, rates[1])));
    seen.push(random(Write, 1, 1, 2.0 * rates[0]));
    seen
}

#[test]
fn a_whole_number_of_commands_at_a_time_is_the_depth_of_the_device() {
    let said = |rates| said(&reads_and_their_depth(rates));
    let depth = "DEVICE DEPTH: rand-read-4KiB-q32";
    let rows = [
        ([100.0, 200.0, 200.0, 50.0, 100.0], depth),
        // Higher depths give the same within 8%,
        ([100.0, 200.0, 185.5, 50.0, 100.0], depth),
        ([100.0, 200.0, 185.0, 50.0, 100.0], "nothing"),
        ([100.0, 200.0, 218.0, 50.0, 100.0], "nothing"),
        // larger blocks the same depth within 8%,
        ([100.0, 200.0, 200.0, 50.0, 92.7], depth),
        ([100.0, 200.0, 200.0, 50.0, 92.5], "nothing"),
        // and it is whole within 8%.
        ([100.0, 215.0, 215.0, 50.0, 107.5], depth),
        ([100.0, 217.0, 217.0, 50.0, 108.5], "nothing"),
        ([100.0, 185.0, 185.0, 50.0, 92.5], depth),
        ([100.0, 183.0, 183.0, 50.0, 91.5], "nothing"),
        // From 1 to 16 commands.
        ([100.0, 1600.0, 1600.0, 50.0, 800.0], depth),
        ([100.0, 1700.0, 1700.0, 50.0, 850.0], "nothing"),
        ([100.0, 100.0, 100.0, 50.0, 50.0], depth),
        ([100.0, 40.0, 40.0, 50.0, 20.0], "nothing"),
    ];
    table(said, rows);
}

/// Two of eight commands on one of eight dies wait for each other.
#[test]
fn as_many_commands_reach_the_rate_of_a_longer_queue() {
    let said = |eight: Option<f64>| {
        let mut seen = reads([100.0, 800.0, 800.0, 50.0, 400.0]);
        seen.extend(eight.map(|rate| random(Read, 1, 8, rate)));
        said(&seen)
    };
    let depth = "DEVICE DEPTH: rand-read-4KiB-q32";
    let rows = [
        (None, "nothing"),
        (Some(525.0), "nothing"),
        (Some(735.0), "nothing"),
        (Some(737.0), depth),
        (Some(800.0), depth),
    ];
    table(said, rows);
}

/// A read takes 10 ms, with 3.3 ms of data a block. A write shows how much of it is not flash.
#[test]
fn one_command_at_a_time_needs_two_parts_that_could_overlap() {
    let said = |writes| {
        let reads = reads([100.0, 100.0, 100.0, 50.0, 50.0]);
        said(&[&reads[..], &[random(Write, 1, 1, writes)]].concat())
    };
    let depth = "DEVICE DEPTH: rand-read-4KiB-q32";
    let rows = [
        (99.0, "nothing"),
        (101.0, "PER-COMMAND: rand-read-4KiB-q32 66%"),
        (110.9, "PER-COMMAND: rand-read-4KiB-q32 57%"),
        (111.2, depth),
        (990.0, depth),
        (1010.0, "nothing"),
    ];
    table(said, rows);
}

/// Where a queue gives nothing and flash is 5%, a command is the rest without its data.
#[test]
fn of_one_read_after_another_half_is_the_commands() {
    let said = |larger| {
        let reads = reads([100.0, 100.0, 100.0, larger, larger]);
        said(&[&reads[..], &[random(Write, 1, 1, 105.0)]].concat())
    };
    let rows = [
        (42.0, "nothing"),
        (42.6, "PER-COMMAND: rand-read-4KiB-q32 50%"),
        (99.0, "PER-COMMAND: rand-read-4KiB-q32 95%"),
    ];
    table(said, rows);
}

/// A longer queue takes long there, and is not tested.
#[test]
fn where_a_queue_gives_nothing_a_longer_one_gives_nothing() {
    let said = |rate| {
        let mut seen = reads([100.0, rate, rate, 50.0, rate / 2.0]);
        seen.retain(|run| run.depth_nominal != Some(DEEPER));
        seen.extend([random(Write, 1, 1, 200.0), random(Read, 1, 2, rate)]);
        said(&seen)
    };
    let depth = "DEVICE DEPTH: rand-read-4KiB-q32";
    table(said, [(100.0, depth), (107.0, depth), (109.0, "nothing"), (200.0, "nothing")]);
}

/// A card copies a block for a random write. Sequential ones of 16 KiB in a burst are buffered if
/// they are no slower than such reads, of 20 ms; the command is shorter by 10 ms to what 12 KiB take
/// in the fastest workload, if that is more: nothing is said that does not hold for both.
#[test]
fn where_single_writes_wait_a_burst_shows_the_command() {
    let said = |(burst_ms, transfer_ms): (f64, f64)| {
        let reads = reads([100.0, 100.0, 100.0, 50.0, 50.0]);
        let rate = |blocks: u32, ms: f64| f64::from(blocks << 12) * 1e3 / ms;
        let writes =
            [random(Write, 1, 1, 1.0), burst(LARGER[0] << 12, 1, rate(LARGER[0], burst_ms))];
        let fastest = in_order(Read, 8, rate(LARGER[0] - 1, transfer_ms));
        said(&[&reads[..], &writes, &[fastest]].concat())
    };
    let rows = [
        ((20.1, 1.0), "nothing"),
        ((19.9, 1.0), "PER-COMMAND: rand-read-4KiB-q32 66%"),
        ((19.9, 9.9), "PER-COMMAND: rand-read-4KiB-q32 66%"),
        ((19.9, 11.0), "nothing"),
        ((18.9, 1.0), "DEVICE DEPTH: rand-read-4KiB-q32"),
        ((11.1, 1.0), "DEVICE DEPTH: rand-read-4KiB-q32"),
        ((10.9, 1.0), "nothing"),
    ];
    table(said, rows);
}

#[test]
fn writes_with_the_same_number_of_commands_have_the_same_depth() {
    let said = |deep| {
        let mut seen = reads([100.0, 200.0, 200.0, 50.0, 100.0]);
        seen.push(random(Read, 1, 2, 200.0));
        seen.extend([random(Write, 1, 1, 100.0), random(Write, 1, DEPTH, deep)]);
        said(&seen)
    };
    let both = "DEVICE DEPTH: rand-read-4KiB-q32, rand-write-4KiB-q32";
    let rows = [
        (183.0, "DEVICE DEPTH: rand-read-4KiB-q32"),
        (185.0, both),
        (215.0, both),
        // Writes gain more than two commands at a time allow.
        (217.0, "nothing"),
    ];
    table(said, rows);
}

/// Reads gain twice from a queue, writes by 25% to 36%, and both end at 200: commands hold both.
#[test]
fn a_rate_that_writes_reach_with_another_gain_is_not_the_depth() {
    let said = |(single, deep)| {
        let mut seen = reads([100.0, 200.0, 200.0, 50.0, 100.0]);
        seen.push(random(Read, 1, 2, 200.0));
        seen.extend([random(Write, 1, 1, single), random(Write, 1, DEPTH, deep)]);
        said(&seen)
    };
    let reads = "DEVICE DEPTH: rand-read-4KiB-q32";
    table(
        said,
        [((160.0, 200.0), "nothing"), ((160.0, 215.0), "nothing"), ((160.0, 217.0), reads)],
    );
}

/// A queue that gives nothing is the device's only for writes that reach its buffer, all over.
#[test]
fn writes_that_one_command_at_a_time_delays_wait_for_neither_flash_nor_copies() {
    let said = |(bus, nearby): (Bus, f64)| {
        let writes = [random(Write, 1, 1, 200.0), random(Write, 1, DEPTH, 200.0)];
        let reads = reads([100.0, 100.0, 100.0, 50.0, 50.0]);
        let seen = [&reads[..], &writes, &[near(Write, nearby)]].concat();
        let said = short(contenders(&on(bus), &seen, &[]));
        said.split_once(": ").map_or(said.clone(), |(_, explained)| explained.to_string())
    };
    let (reads, both) = ("rand-read-4KiB-q32", "rand-read-4KiB-q32, rand-write-4KiB-q32");
    let rows = [
        ((Bus::Other, 200.0), both),
        ((Bus::Other, 248.0), both),
        ((Bus::Other, 250.0), reads),
        ((Bus::Usb, 200.0), reads),
        ((Bus::Sd, 200.0), reads),
        ((Bus::Emmc, 200.0), reads),
    ];
    table(said, rows);
}

/// The host's part of a command overlaps even there.
#[test]
fn one_command_at_a_time_over_usb_is_the_transports() {
    let said = |(bus, now, gain): (Bus, &str, f64)| {
        let link = Link { now: Some(now.into()), ..Link::default() };
        let target = TargetInfo { bus, ..with_drive(|drive| drive.link = Some(link)) };
        let mut seen = reads([100.0, 100.0 * gain, 100.0 * gain, 50.0, 50.0 * gain]);
        seen.push(random(Read, 1, 2, 200.0));
        short(contenders(&target, &seen, &[]))
    };
    let (bulk_only, uas) = ("USB 480 Mb/s, usb-storage", "USB 5 Gb/s, uas");
    let rows = [
        ((Bus::Usb, bulk_only, 1.0), "USB: rand-read-4KiB-q32"),
        ((Bus::Usb, bulk_only, 1.49), "USB: rand-read-4KiB-q32"),
        ((Bus::Usb, bulk_only, 1.51), "nothing"),
        ((Bus::Usb, bulk_only, 2.0), "DEVICE DEPTH: rand-read-4KiB-q32"),
        ((Bus::Usb, uas, 1.0), "nothing"),
        ((Bus::Usb, uas, 2.0), "DEVICE DEPTH: rand-read-4KiB-q32"),
        ((Bus::Nvme, "", 1.0), "nothing"),
    ];
    table(said, rows);
}

/// A write takes 2 ms, and a burst of writes no less: they do not wait for flash.
#[test]
fn the_transport_holds_writes_that_a_rest_does_not_speed_up_and_reads_that_flash_does_not_fill() {
    let said = |(single, deep, burst_iops): (f64, f64, f64)| {
        let reads = reads([100.0, 100.0, 100.0, 50.0, 50.0]);
        let writes = [random(Write, 1, 1, single), random(Write, 1, DEPTH, deep)];
        let burst = burst(4096, DEPTH, burst_iops * 4096.0);
        short(contenders(&on(Bus::Usb), &[&reads[..], &writes, &[burst]].concat(), &[]))
    };
    let (reads, both) = ("USB: rand-read-4KiB-q32", "USB: rand-read-4KiB-q32, rand-write-4KiB-q32");
    let rows = [
        ((500.0, 500.0, 500.0), both),
        ((500.0, 749.0, 749.0), both),
        ((500.0, 751.0, 751.0), reads),
        ((500.0, 500.0, 530.0), both),
        ((500.0, 500.0, 550.0), reads),
        ((99.0, 99.0, 99.0), reads),
        ((990.0, 990.0, 990.0), both),
        ((1010.0, 1010.0, 1010.0), "nothing"),
    ];
    table(said, rows);
}

pub fn examples() -> Vec<Ruling> {
    let two = reads_and_their_depth([100.0, 200.0, 200.0, 50.0, 100.0]);
    let one = reads([100.0, 100.0, 100.0, 50.0, 50.0]);
    let in_line = [&one[..], &[random(Write, 1, 1, 105.0)]].concat();
    let seen = [(Bus::Other, two), (Bus::Usb, one), (Bus::Sd, in_line)];
    seen.iter().flat_map(|(bus, seen)| contenders(&on(*bus), seen, &[])).collect()
}
