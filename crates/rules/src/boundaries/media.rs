//! FLASH BOUND and CONTROLLER: bursts, byte rates, room on the link, shares of a read.

use record::Order;
use rig::{Bus, TargetInfo};
use workload::OpKind::{Read, Write};

use super::{short, table};
use crate::changes::{DEEPER, DEPTH, LARGER};
use crate::media::media;
use crate::testing::{
    burst, first_blocks, in_order, mixed, random, run, target, with_drive, with_link,
};
use crate::{Digest, Ruling};

const MIB: u32 = 1 << 20;

/// Sequential and random writes, sequential reads, and bursts of both kinds of writes, in MiB/s.
fn writes([large, small, reads, burst_large, burst_small]: [f64; 5]) -> Vec<Digest> {
    let mib = f64::from(MIB);
    vec![
        in_order(Read, 8, reads * mib),
        in_order(Write, 8, large * mib),
        random(Write, 1, DEPTH, small * 256.0),
        burst(MIB, 1, burst_large * mib),
        burst(4096, DEPTH, burst_small * mib),
    ]
}

fn said(target: &TargetInfo, seen: &[Digest]) -> String {
    short(media(target, seen))
}

#[test]
fn a_burst_30_percent_faster_shows_that_lasting_writes_wait_for_flash() {
    let said =
        |bursts: [f64; 2]| said(&target(), &writes([100.0, 50.0, 400.0, bursts[0], bursts[1]]));
    let rows = [
        ([129.0, 64.0], "nothing"),
        ([131.0, 64.0], "FLASH BOUND: seq-write-1MiB-q8 24%"),
        ([129.0, 65.5], "FLASH BOUND: rand-write-4KiB-q32 24%"),
        ([200.0, 200.0], "FLASH BOUND: seq-write-1MiB-q8 50%, rand-write-4KiB-q32 75%"),
    ];
    table(said, rows);
}

#[test]
fn random_writes_at_a_rate_of_any_operation_do_not_wait_for_flash() {
    // 10,000 writes a second, and four times as many in a burst.
    let small = 10_000.0 / 256.0;
    let seen = |others: &[Digest]| {
        let writes = writes([100.0, small, 400.0, 100.0, 4.0 * small]);
        [&writes[..], others].concat()
    };
    let flash = "FLASH BOUND: rand-write-4KiB-q32 75%";
    let with_larger = |larger| said(&target(), &seen(&[random(Write, LARGER[0], DEPTH, larger)]));
    table(with_larger, [(9_100.0, flash), (9_300.0, "nothing"), (10_900.0, flash)]);
    let with_mix = |(reads, operations)| {
        said(&target(), &seen(&[random(Read, 1, DEPTH, reads), mixed(operations)]))
    };
    let rows = [
        ((9_100.0, 10_000.0), flash),
        ((9_300.0, 10_000.0), "nothing"),
        ((90_000.0, 10_700.0), "nothing"),
        ((90_000.0, 10_900.0), flash),
        ((90_000.0, 9_100.0), flash),
    ];
    table(with_mix, rows);
    // No provider limits a stick.
    let stick = TargetInfo { bus: Bus::Usb, ..target() };
    assert_eq!(said(&stick, &seen(&[random(Write, LARGER[0], DEPTH, 10_000.0)])), flash);
}

/// A burst counts for cells of as large blocks or larger, with as many bytes in flight or more.
#[test]
fn the_fastest_burst_counts() {
    let mib = f64::from(MIB);
    let said = |(block, depth)| {
        let mut seen = writes([100.0, 50.0, 400.0, 100.0, 50.0]);
        seen.extend([in_order(Write, 1, 100.0 * mib), random(Write, 1, 1, 50.0 * 256.0)]);
        seen.push(burst(block, depth, 200.0 * mib));
        said(&target(), &seen)
    };
    let rows = [
        ((16 << 10, DEPTH), "FLASH BOUND: seq-write-1MiB-q8 50%, seq-write-1MiB-q1 50%"),
        ((16 << 10, 1), "FLASH BOUND: seq-write-1MiB-q8 50%, seq-write-1MiB-q1 50%"),
        ((4096, 1), "FLASH BOUND: rand-write-4KiB-q32 75%, rand-write-4KiB-q1 75%"),
        ((64 << 10, 1), "nothing"),
    ];
    table(said, rows);
}

/// A block of 64 KiB takes 1 ms after a rest. The lasting rate of 32.8 MB/s is half of that of the
/// second block if it takes another millisecond, and the link carries 66.
#[test]
fn the_second_of_two_blocks_is_no_faster_than_a_controller_takes_in_the_first() {
    let said = |(two_ms, link): (f64, f64)| {
        let seen = [
            random(Read, 1, 1, 100.0),
            in_order(Write, 8, 32.8e6),
            burst(16 << 10, 1, 32.8e6),
            first_blocks(1, 0.001),
            first_blocks(2, two_ms / 1e3),
        ];
        said(&with_link(link), &seen)
    };
    let rows = [
        ((2.0, 66e6), "FLASH BOUND: seq-write-1MiB-q8 50%"),
        ((2.53, 66e6), "FLASH BOUND: seq-write-1MiB-q8 23%"),
        ((2.54, 66e6), "nothing"),
        // The controller takes in as much as it lasts.
        ((3.0, 66e6), "nothing"),
        // Faster than the link is scatter.
        ((2.0, 56e6), "nothing"),
        ((1.0, 66e6), "nothing"),
    ];
    table(said, rows);
}

/// A burst of ten seconds, without the flush after it.
#[test]
fn the_flush_after_a_burst_does_not_count() {
    let said = |flush_s| {
        let mut seen = writes([100.0, 50.0, 400.0, 120.0, 50.0]);
        seen[3].flush_s = flush_s;
        said(&target(), &seen)
    };
    let rows = [(0.0, "nothing"), (0.7, "nothing"), (0.9, "FLASH BOUND: seq-write-1MiB-q8 24%")];
    table(said, rows);
}

#[test]
fn one_rate_of_bytes_that_a_rest_does_not_raise_is_the_controllers() {
    let said = |rates| said(&target(), &writes(rates));
    let both = "CONTROLLER: seq-write-1MiB-q8, rand-write-4KiB-q32";
    let rows = [
        ([100.0, 100.0, 400.0, 100.0, 100.0], both),
        // Random writes up to 15% slower, and no faster,
        ([100.0, 85.5, 400.0, 100.0, 100.0], both),
        ([100.0, 84.5, 400.0, 100.0, 100.0], "nothing"),
        ([100.0, 107.5, 400.0, 100.0, 100.0], both),
        ([100.0, 108.5, 400.0, 100.0, 100.0], "nothing"),
        // bursts up to 20% faster; of a faster one, a part may have found room in a buffer,
        ([100.0, 100.0, 400.0, 119.0, 100.0], both),
        ([100.0, 100.0, 400.0, 121.0, 100.0], "nothing"),
        ([100.0, 100.0, 400.0, 131.0, 100.0], "FLASH BOUND: seq-write-1MiB-q8 24%"),
        // and reads half as fast again.
        ([100.0, 100.0, 150.0, 100.0, 100.0], both),
        ([100.0, 100.0, 149.0, 100.0, 100.0], "nothing"),
    ];
    table(said, rows);
}

#[test]
fn guests_memory_and_discs_are_not_judged() {
    let seen = writes([100.0, 50.0, 400.0, 200.0, 50.0]);
    let said = |(guest, ram, rotational): (Option<&str>, bool, Option<bool>)| {
        let guest = guest.map(String::from);
        let drive = with_drive(|drive| drive.rotational = rotational);
        said(&TargetInfo { guest, ram, ..drive }, &seen)
    };
    let flash = "FLASH BOUND: seq-write-1MiB-q8 50%";
    let rows = [
        ((None, false, None), flash),
        ((None, false, Some(false)), flash),
        ((None, false, Some(true)), "nothing"),
        ((None, true, None), "nothing"),
        ((Some("KVM"), false, None), "nothing"),
    ];
    table(said, rows);
}

/// Reads per second at depths 1, 32 and 128, of 16 and 64 KiB at depth 32, of 4 KiB in order, of
/// 64 KiB at depth 1, sequential reads at depths 8 and 1 in MB/s, and writes. The link carries 4,096
/// MB/s.
#[derive(Clone, Debug)]
struct Reads {
    one: f64,
    deep: f64,
    deeper: f64,
    large: [f64; 2],
    small_in_order: f64,
    large_one: f64,
    in_order: f64,
    in_order_one: f64,
    buffered_write_us: Option<f64>,
    writes: f64,
    /// The slowest hundredth of the small reads of a queue over their median.
    tail: f64,
}

/// Reads for which nothing is to be said.
const PLAIN: Reads = Reads {
    one: 1000.0,
    deep: 10e3,
    deeper: 10e3,
    large: [10e3, 10e3],
    small_in_order: 10e3,
    large_one: 1000.0,
    in_order: 4000.0,
    in_order_one: 1000.0,
    buffered_write_us: None,
    writes: 1000.0,
    tail: 1.8,
};

fn reads(r: &Reads) -> Vec<Digest> {
    let mut seen = vec![
        random(Read, 1, 1, r.one),
        Digest {
            read_ns: [100e3; 2],
            slow_read_ns: r.tail * 100e3,
            ..random(Read, 1, DEPTH, r.deep)
        },
        random(Read, 1, DEEPER, r.deeper),
        random(Read, LARGER[0], DEPTH, r.large[0]),
        random(Read, LARGER[1], DEPTH, r.large[1]),
        run(Read, Order::Sequential, 1, DEPTH, r.small_in_order),
        random(Read, LARGER[1], 1, r.large_one),
        in_order(Read, 8, r.in_order * 1e6),
        in_order(Read, 1, r.in_order_one * 1e6),
        random(Write, 1, DEPTH, r.writes),
    ];
    seen.extend(r.buffered_write_us.map(|us| random(Write, 1, 1, 1e6 / us)));
    seen
}

#[test]
fn a_queue_that_waits_though_commands_and_link_have_room_waits_for_flash() {
    let said = |(ceiling, reads): (f64, Reads)| said(&with_link(ceiling), &self::reads(&reads));
    let flash = "FLASH BOUND: rand-read-4KiB-q32";
    let in_order = |small_in_order| Reads { small_in_order, ..PLAIN };
    let slower = |in_order, writes| Reads { small_in_order: in_order, writes, ..PLAIN };
    let scaling = |one| Reads { one, large_one: one, ..in_order(20e3) };
    let rows = [
        ((4096e6, PLAIN), "nothing"),
        // A longer queue, or the same in order, is a tenth faster.
        ((4096e6, Reads { deeper: 10.9e3, ..PLAIN }), "nothing"),
        ((4096e6, Reads { deeper: 11.1e3, ..PLAIN }), flash),
        ((4096e6, in_order(10.9e3)), "nothing"),
        ((4096e6, in_order(11.1e3)), flash),
        ((4096e6, Reads { tail: 1.49, deeper: 11.1e3, ..PLAIN }), flash),
        // A drive that reads ahead looks up fewer of them, whatever the others wait for.
        ((4096e6, Reads { tail: 1.51, ..in_order(100e3) }), flash),
        ((4096e6, Reads { tail: 1.49, ..in_order(100e3) }), "nothing"),
        // In another order they are 8% slower, and writes half as fast again.
        ((4096e6, slower(9190.0, 15.1e3)), flash),
        ((4096e6, slower(9210.0, 15.1e3)), "nothing"),
        ((4096e6, slower(9190.0, 14.9e3)), "nothing"),
        // If they waited in one line, they would wait equally long.
        ((4096e6, Reads { tail: 1.51, ..slower(9190.0, 15.1e3) }), flash),
        ((4096e6, Reads { tail: 1.49, ..slower(9190.0, 15.1e3) }), "nothing"),
        // 80% of 32 single reads.
        ((4096e6, scaling(391.0)), flash),
        ((4096e6, scaling(390.0)), "nothing"),
        // 41 MB/s are 85% of the link.
        ((48.3e6, in_order(20e3)), flash),
        ((48.1e6, in_order(20e3)), "nothing"),
    ];
    table(said, rows);
}

/// A queue of reads of 1 ms gives nothing: flash has its share of each.
#[test]
fn reads_that_wait_for_each_other_wait_for_flash_if_it_takes_half_of_one() {
    let said = |(deep, write_us): (f64, f64)| {
        let large = [deep; 2];
        let in_line = Reads { deep, deeper: deep, large, small_in_order: deep, ..PLAIN };
        let seen =
            reads(&Reads { buffered_write_us: Some(write_us), in_order_one: 3500.0, ..in_line });
        said(&with_link(4096e6), &seen)
    };
    let (single, both) =
        ("FLASH BOUND: rand-read-4KiB-q1", "FLASH BOUND: rand-read-4KiB-q32, rand-read-4KiB-q1");
    let rows = [
        ((1000.0, 499.0), both),
        ((1000.0, 501.0), single),
        ((1079.0, 499.0), both),
        ((1081.0, 499.0), single),
    ];
    table(said, rows);
}

/// A read takes 1 ms and one of 16 KiB 100 us more, so that a buffered write of 16 KiB is longer than
/// its command by 100 us, or by what 12 KiB take in the fastest workload: flash has what is surely not
/// the command.
#[test]
fn reads_that_wait_for_each_other_wait_for_flash_if_the_longest_command_leaves_half() {
    let said = |(burst_us, transfer_us): (f64, f64)| {
        let rate = |blocks: u32, us: f64| f64::from(blocks << 12) * 1e6 / us;
        let seen = [
            random(Read, 1, 1, 1000.0),
            random(Read, 1, DEPTH, 1000.0),
            random(Read, LARGER[0], 1, 1e6 / 1100.0),
            burst(LARGER[0] << 12, 1, rate(LARGER[0], burst_us)),
            in_order(Read, 8, rate(LARGER[0] - 1, transfer_us)),
        ];
        self::said(&with_link(4096e6), &seen)
    };
    let (single, both) =
        ("FLASH BOUND: rand-read-4KiB-q1", "FLASH BOUND: rand-read-4KiB-q32, rand-read-4KiB-q1");
    let rows = [
        ((599.0, 50.0), both),
        ((601.0, 50.0), single),
        ((766.0, 50.0), single),
        ((768.0, 50.0), "nothing"),
        // A link that turns around takes longer for them; that says nothing of flash.
        ((768.0, 700.0), "nothing"),
    ];
    table(said, rows);
}

/// 16 KiB, a third as often, are 55 MB/s.
#[test]
fn reads_whose_iops_fall_with_their_size_wait_for_data() {
    let said = |(ceiling, rate)| {
        self::said(&with_link(ceiling), &reads(&Reads { large: [rate, 10e3], ..PLAIN }))
    };
    let flash = "FLASH BOUND: rand-read-4KiB-q32";
    let rows = [
        ((4096e6, 3340.0), "nothing"),
        ((4096e6, 3330.0), flash),
        ((64.0e6, 3330.0), "nothing"),
        ((64.4e6, 3330.0), flash),
    ];
    table(said, rows);
}

/// 64 KiB at 10,000 per second are 655 MB/s.
#[test]
fn sequential_reads_that_random_ones_nearly_reach_wait_for_flash() {
    let link = with_link(4096e6);
    let said =
        |(in_order, in_order_one)| said(&link, &reads(&Reads { in_order, in_order_one, ..PLAIN }));
    let (deep, both) =
        ("FLASH BOUND: seq-read-1MiB-q8", "FLASH BOUND: seq-read-1MiB-q8, seq-read-1MiB-q1");
    let rows = [
        // 70% of 936 MB/s.
        ((937.0, 100.0), "nothing"),
        ((936.0, 100.0), deep),
        // At depth 1, 60% of the rate.
        ((900.0, 539.0), deep),
        ((900.0, 540.0), both),
        ((900.0, 541.0), both),
    ];
    table(said, rows);
}

/// A command takes at most 100 us and the transfer of 1 MiB 256 us, so that 1 MiB in 409 us, or
/// 2,562 MB/s, waits for flash. Over USB, 16 commands take 1,600 us: 491 MB/s.
#[test]
fn sequential_reads_take_longer_than_their_commands_and_their_transfer() {
    let said = |(bus, in_order)| {
        let large = [10e3, 40e3];
        let seen = reads(&Reads { in_order, in_order_one: 1.0, large, ..PLAIN });
        self::said(&TargetInfo { bus, ..with_link(4096e6) }, &seen)
    };
    let flash = "FLASH BOUND: seq-read-1MiB-q8";
    let rows = [
        ((Bus::Nvme, 2570.0), "nothing"),
        ((Bus::Nvme, 2550.0), flash),
        ((Bus::Usb, 493.0), "nothing"),
        ((Bus::Usb, 490.0), flash),
        ((Bus::Sd, 493.0), "nothing"),
        ((Bus::Emmc, 493.0), "nothing"),
    ];
    table(said, rows);
}

/// 1 MiB takes 262 us in a queue, and a command 50 us; at depth 1 a quarter more than both is 416 us,
/// or 2,521 MB/s.
#[test]
fn a_single_large_read_a_third_longer_than_command_and_transfer_waits_for_flash() {
    let said = |(bus, in_order_one): (Bus, f64)| {
        let reads = Reads { in_order_one, buffered_write_us: Some(50.0), ..PLAIN };
        let said = said(&TargetInfo { bus, ..with_link(4096e6) }, &self::reads(&reads));
        said.replace(", ", " ")
            .replace("rand-read-4KiB-q1", "")
            .replace("FLASH BOUND: ", "")
            .trim()
            .to_string()
    };
    let rows = [
        ((Bus::Nvme, 2530.0), ""),
        ((Bus::Nvme, 2510.0), "seq-read-1MiB-q1"),
        ((Bus::Usb, 2510.0), ""),
    ];
    table(said, rows);
}

/// A read takes 1,000 us, 64 KiB that and 15 times the data of a small block.
#[test]
fn data_of_half_the_time_of_a_single_read_waits_for_flash() {
    let said = |(data_us, ceiling): (f64, f64)| {
        let large_one = 1e6 / (1000.0 + 15.0 * data_us);
        said(&with_link(ceiling), &reads(&Reads { large_one, ..PLAIN }))
    };
    let flash = "FLASH BOUND: rand-read-4KiB-q1";
    let rows = [
        ((499.0, 4096e6), "nothing"),
        ((501.0, 4096e6), flash),
        // The link takes less than half of it: 4 KiB in 300 us are 13.7 MB/s.
        ((600.0, 13.6e6), "nothing"),
        ((600.0, 13.7e6), flash),
    ];
    table(said, rows);
}

#[test]
fn a_single_read_half_as_long_again_as_a_buffered_write_waits_for_flash() {
    let link = with_link(4096e6);
    let said = |us| {
        let reads = Reads { buffered_write_us: Some(us), in_order_one: 3500.0, ..PLAIN };
        said(&link, &self::reads(&reads))
    };
    let flash = "FLASH BOUND: rand-read-4KiB-q1";
    table(said, [(499.0, flash), (666.0, flash), (668.0, "nothing"), (1100.0, "nothing")]);
}

pub fn examples() -> Vec<Ruling> {
    let flash = writes([100.0, 50.0, 400.0, 200.0, 100.0]);
    let controller = writes([100.0, 100.0, 400.0, 105.0, 100.0]);
    let reads = reads(&Reads { small_in_order: 20e3, ..PLAIN });
    [flash, controller, reads].iter().flat_map(|seen| media(&target(), seen)).collect()
}
