//! MAPPING UNIT, DEVICE DEPTH, USB and PER-COMMAND: gains, whole depths, shares of a command.

use record::Order;
use rig::Bus;
use workload::OpKind;
use workload::OpKind::{Read, Write};

use super::{short, table};
use crate::changes::{DEEPER, DEPTH, LARGER};
use crate::contenders::contenders;
use crate::testing::{near, random, run};
use crate::{Digest, Ruling};

fn said(seen: &[Digest]) -> String {
    short(contenders(Bus::Other, seen, &[]))
}

fn us(kind: OpKind, blocks: u32, depth: u32, us: f64) -> Digest {
    random(kind, blocks, depth, 1e6 / us)
}

#[test]
fn larger_blocks_a_fifth_more_often_are_whole_units() {
    for blocks in [4, 8, 16] {
        let said =
            |rate| said(&[random(Write, 1, DEPTH, 100.0), random(Write, blocks, DEPTH, rate)]);
        let rows = [
            (119.0, "nothing"),
            (120.0, "MAPPING UNIT: rand-write-4KiB-q32 17%"),
            (200.0, "MAPPING UNIT: rand-write-4KiB-q32 50%"),
        ];
        table(said, rows);
    }
}

#[test]
fn a_mapping_unit_holds_down_single_writes_with_the_same_gain() {
    let said = |rate| {
        let deep = [random(Write, 1, DEPTH, 100.0), random(Write, 16, DEPTH, 200.0)];
        said(&[deep, [random(Write, 1, 1, 10.0), random(Write, 16, 1, rate)]].concat())
    };
    let rows = [
        (11.9, "MAPPING UNIT: rand-write-4KiB-q32 50%"),
        (12.0, "MAPPING UNIT: rand-write-4KiB-q32 50%, rand-write-4KiB-q1"),
        (12.1, "MAPPING UNIT: rand-write-4KiB-q32 50%, rand-write-4KiB-q1"),
    ];
    table(said, rows);
}

/// A unit of 64 KiB; one of 16 KiB may be a page of flash, which a deep queue does not tell.
#[test]
fn whole_units_are_read_with_87_percent_of_the_small_reads() {
    let said = |(blocks, depth, rate)| {
        let writes = [random(Write, 1, DEPTH, 100.0), random(Write, blocks, DEPTH, 200.0)];
        let reads = [random(Read, 1, depth, 100.0), random(Read, blocks, depth, rate)];
        let said = said(&[writes, reads].concat());
        said.trim_start_matches("MAPPING UNIT: rand-write-4KiB-q32 50%").to_string()
    };
    let rows = [
        ((16, 1, 86.0), ""),
        ((16, 1, 87.0), ", rand-read-4KiB-q1"),
        ((16, 1, 88.0), ", rand-read-4KiB-q1"),
        ((16, DEPTH, 86.0), ""),
        ((16, DEPTH, 87.0), ", rand-read-4KiB-q32"),
        ((4, 1, 88.0), ", rand-read-4KiB-q1"),
        ((4, DEPTH, 88.0), ""),
    ];
    table(said, rows);
}

/// Reads at depths 1, 32 and 128, and of larger blocks at depths 1 and 32.
fn reads(rates: [f64; 5]) -> Vec<Digest> {
    let cells = [(1, 1), (1, DEPTH), (1, DEEPER), (LARGER[0], 1), (LARGER[0], DEPTH)];
    cells.into_iter().zip(rates).map(|((n, depth), rate)| random(Read, n, depth, rate)).collect()
}

#[test]
fn a_whole_number_of_commands_at_a_time_is_the_depth_of_the_device() {
    let said = |rates| said(&reads(rates));
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

#[test]
fn writes_with_the_same_number_of_commands_have_the_same_depth() {
    let said = |deep| {
        let writes = [random(Write, 1, 1, 100.0), random(Write, 1, DEPTH, deep)];
        said(&[reads([100.0, 200.0, 200.0, 50.0, 100.0]), writes.to_vec()].concat())
    };
    let both = "DEVICE DEPTH: rand-read-4KiB-q32, rand-write-4KiB-q32";
    let rows = [
        (183.0, "DEVICE DEPTH: rand-read-4KiB-q32"),
        (185.0, both),
        (215.0, both),
        (217.0, "DEVICE DEPTH: rand-read-4KiB-q32"),
    ];
    table(said, rows);
}

#[test]
fn one_command_at_a_time_over_usb_is_the_bridges() {
    let said = |(bus, commands): (Bus, f64)| {
        let (small, large) = (100.0 * commands, 50.0 * commands);
        short(contenders(bus, &reads([100.0, small, small, 50.0, large]), &[]))
    };
    let rows = [
        ((Bus::Usb, 1.0), "USB: rand-read-4KiB-q32"),
        ((Bus::Usb, 2.0), "DEVICE DEPTH: rand-read-4KiB-q32"),
        ((Bus::Nvme, 1.0), "DEVICE DEPTH: rand-read-4KiB-q32"),
    ];
    table(said, rows);
}

/// Operations at depth 32: deeper, of 16 KiB, in order, nearby, and of 64 KiB.
fn deep(kind: OpKind, [deeper, larger, in_order, nearby, largest]: [f64; 5]) -> Vec<Digest> {
    vec![
        random(kind, 1, DEPTH, 100.0),
        random(kind, 1, DEEPER, deeper),
        random(kind, LARGER[0], DEPTH, larger),
        run(kind, Order::Sequential, 1, DEPTH, in_order),
        near(kind, nearby),
        random(kind, LARGER[1], DEPTH, largest),
    ]
}

#[test]
fn a_rate_that_stays_within_8_percent_is_the_commands() {
    for (kind, command) in
        [(Read, "PER-COMMAND: rand-read-4KiB-q32"), (Write, "PER-COMMAND: rand-write-4KiB-q32")]
    {
        table(|rates| said(&deep(kind, rates)), [([100.0; 5], command)]);
        for change in 0..4 {
            let said = |rate| {
                let mut rates = [100.0; 5];
                rates[change] = rate;
                said(&deep(kind, rates))
            };
            let rows = [(91.9, "nothing"), (92.1, command), (107.9, command), (108.1, "nothing")];
            table(said, rows);
        }
        // Blocks 16 times as large keep three quarters.
        let said = |rate| said(&deep(kind, [100.0, 100.0, 100.0, 100.0, rate]));
        table(said, [(74.0, "nothing"), (75.0, command), (76.0, command)]);
    }
}

/// The time of 60 us of data in 15 small blocks, beside a command.
#[test]
fn at_depth_1_half_of_the_time_is_the_commands() {
    let said =
        |(small_us, large_us)| said(&[us(Write, 1, 1, small_us), us(Write, 16, 1, large_us)]);
    let rows = [
        // 4 us of 8.0, 8.2 or 7.8 us are data.
        ((8.0, 68.0), "nothing"),
        ((8.2, 68.2), "PER-COMMAND: rand-write-4KiB-q1 51%"),
        ((7.8, 67.8), "nothing"),
        ((100.0, 100.0), "PER-COMMAND: rand-write-4KiB-q1 100%"),
        ((100.0, 99.0), "nothing"),
    ];
    table(said, rows);
}

/// The command of a read is known from a buffered write, or takes longer than any flash.
#[test]
fn at_depth_1_a_third_of_a_reads_time_is_the_commands() {
    let said = |(read_us, write_us)| {
        let reads = [us(Read, 1, 1, read_us), us(Read, 16, 1, read_us + 15.0)];
        let said = said(&[reads.to_vec(), vec![us(Write, 1, 1, write_us)]].concat());
        said.split("; ").next().unwrap_or_default().to_string()
    };
    let rows = [
        // 1 us of each is data.
        ((90.0, 30.9), "nothing"),
        ((90.0, 31.1), "PER-COMMAND: rand-read-4KiB-q1 33%"),
        ((90.0, 90.0), "nothing"),
        ((90.0, 95.0), "nothing"),
        ((200.9, 300.0), "nothing"),
        ((201.1, 300.0), "PER-COMMAND: rand-read-4KiB-q1 100%"),
    ];
    table(said, rows);
}

#[test]
fn time_to_load_a_part_of_the_map_is_not_the_commands() {
    let said = |nearby| {
        let alone = [us(Write, 1, 1, 100.0), us(Write, 16, 1, 115.0)];
        said(&[alone.to_vec(), vec![random(Write, 1, DEPTH, 100.0), near(Write, nearby)]].concat())
    };
    let rows = [(124.0, "PER-COMMAND: rand-write-4KiB-q1 99%"), (125.0, "nothing")];
    table(said, rows);
}

#[test]
fn a_slow_command_holds_down_a_deep_queue_that_scales_by_80_percent() {
    let said = |(read_us, scale): (f64, f64)| {
        let alone = [us(Read, 1, 1, read_us), us(Read, 16, 1, read_us + 15.0)];
        said(&[alone.to_vec(), vec![random(Read, 1, DEPTH, scale * 1e6 / read_us)]].concat())
    };
    let rows = [
        ((300.0, 25.5), "PER-COMMAND: rand-read-4KiB-q1 100%"),
        ((300.0, 25.7), "PER-COMMAND: rand-read-4KiB-q1 100%, rand-read-4KiB-q32 100%"),
    ];
    table(said, rows);
}

#[test]
fn a_write_shorter_than_a_read_was_buffered_and_its_deep_queue_is_the_commands() {
    let said = |read_us| {
        let writes = [us(Write, 1, 1, 100.0), us(Write, 16, 1, 115.0)];
        let deep = [random(Write, 1, DEPTH, 31.0 * 10e3), us(Read, 1, 1, read_us)];
        said(&[writes, deep].concat())
    };
    let rows = [
        (99.0, "PER-COMMAND: rand-write-4KiB-q1 99%"),
        (101.0, "PER-COMMAND: rand-write-4KiB-q1 99%, rand-write-4KiB-q32 99%"),
    ];
    table(said, rows);
}

pub fn examples() -> Vec<Ruling> {
    let units = vec![random(Write, 1, DEPTH, 100.0), random(Write, 16, DEPTH, 200.0)];
    let command = vec![us(Write, 1, 1, 100.0), us(Write, 16, 1, 115.0)];
    let two = reads([100.0, 200.0, 200.0, 50.0, 100.0]);
    let one = reads([100.0, 100.0, 100.0, 50.0, 50.0]);
    let seen = [units, command, two, deep(Read, [100.0, 98.0, 102.0, 100.0, 80.0])];
    let other = seen.iter().flat_map(|seen| contenders(Bus::Other, seen, &[]));
    other.chain(contenders(Bus::Usb, &one, &[])).collect()
}
