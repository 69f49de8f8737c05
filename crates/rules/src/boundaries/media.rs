//! FLASH BOUND and CONTROLLER: bursts, byte rates, room on the link, shares of a read.

use rig::TargetInfo;
use workload::OpKind::{Read, Write};

use super::{short, table};
use crate::changes::{DEEPER, DEPTH, LARGER};
use crate::media::media;
use crate::testing::{burst, in_order, random, target, with_drive, with_link};
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
fn a_burst_half_as_fast_again_shows_that_lasting_writes_wait_for_flash() {
    let said =
        |bursts: [f64; 2]| said(&target(), &writes([100.0, 50.0, 400.0, bursts[0], bursts[1]]));
    let rows = [
        ([149.0, 74.0], "nothing"),
        ([150.0, 74.0], "FLASH BOUND: seq-write-1MiB-q8 33%"),
        ([149.0, 75.0], "FLASH BOUND: rand-write-4KiB-q32 33%"),
        ([200.0, 200.0], "FLASH BOUND: seq-write-1MiB-q8 50%, rand-write-4KiB-q32 75%"),
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
    let rows = [(0.0, "nothing"), (1.9, "nothing"), (2.1, "FLASH BOUND: seq-write-1MiB-q8 34%")];
    table(said, rows);
}

#[test]
fn one_rate_of_bytes_that_a_rest_does_not_raise_is_the_controllers() {
    let said = |rates| said(&target(), &writes(rates));
    let both = "CONTROLLER: seq-write-1MiB-q8, rand-write-4KiB-q32";
    let rows = [
        ([100.0, 100.0, 400.0, 100.0, 100.0], both),
        // Random writes within 15%,
        ([100.0, 85.5, 400.0, 100.0, 100.0], both),
        ([100.0, 84.5, 400.0, 100.0, 100.0], "nothing"),
        ([100.0, 114.5, 400.0, 100.0, 100.0], both),
        ([100.0, 115.5, 400.0, 100.0, 100.0], "nothing"),
        // bursts up to 30% faster,
        ([100.0, 100.0, 400.0, 130.0, 100.0], both),
        ([100.0, 100.0, 400.0, 131.0, 100.0], "nothing"),
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

/// Reads per second at depths 1, 32 and 128, of 16 and 64 KiB at depth 32, of 64 KiB at depth 1,
/// and sequential reads at depths 8 and 1 in MB/s. The link carries 4,096 MB/s.
#[derive(Clone, Debug)]
struct Reads {
    one: f64,
    deep: f64,
    large: [f64; 2],
    large_one: f64,
    in_order: f64,
    in_order_one: f64,
    buffered_write_us: Option<f64>,
}

/// Reads for which nothing is to be said.
const PLAIN: Reads = Reads {
    one: 1000.0,
    deep: 10e3,
    large: [10e3, 10e3],
    large_one: 1000.0,
    in_order: 4000.0,
    in_order_one: 1000.0,
    buffered_write_us: None,
};

fn reads(r: &Reads) -> Vec<Digest> {
    let mut seen = vec![
        random(Read, 1, 1, r.one),
        random(Read, 1, DEPTH, r.deep),
        random(Read, 1, DEEPER, r.deep),
        random(Read, LARGER[0], DEPTH, r.large[0]),
        random(Read, LARGER[1], DEPTH, r.large[1]),
        random(Read, LARGER[1], 1, r.large_one),
        in_order(Read, 8, r.in_order * 1e6),
        in_order(Read, 1, r.in_order_one * 1e6),
    ];
    seen.extend(r.buffered_write_us.map(|us| random(Write, 1, 1, 1e6 / us)));
    seen
}

#[test]
fn larger_blocks_read_less_often_with_room_on_the_link_wait_for_flash() {
    let link = with_link(4096e6);
    let said = |large| said(&link, &reads(&Reads { large, ..PLAIN }));
    let flash = "FLASH BOUND: rand-read-4KiB-q32";
    let rows = [
        ([10e3, 10e3], "nothing"),
        // 1.3 times as many small reads.
        ([10e3, 7700.0], "nothing"),
        ([10e3, 7690.0], flash),
        ([7690.0, 10e3], flash),
    ];
    table(said, rows);
    // 85% of the link: 7,690 reads of 64 KiB are 504 MB/s, of 593 MB/s.
    let said = |ceiling| {
        self::said(&with_link(ceiling), &reads(&Reads { large: [10e3, 7690.0], ..PLAIN }))
    };
    table(said, [(592e6, "nothing"), (594e6, flash)]);
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
    let said = |ceiling| {
        let seen = reads(&Reads { in_order: 850.0, in_order_one: 100.0, ..PLAIN });
        self::said(&with_link(ceiling), &seen)
    };
    table(said, [(999e6, "nothing"), (1001e6, deep)]);
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
fn a_single_read_that_takes_twice_a_buffered_write_waits_for_flash() {
    let link = with_link(4096e6);
    let said = |us| said(&link, &reads(&Reads { buffered_write_us: Some(us), ..PLAIN }));
    let flash = "FLASH BOUND: rand-read-4KiB-q1";
    table(said, [(499.0, flash), (500.0, flash), (501.0, "nothing"), (1100.0, "nothing")]);
}

pub fn examples() -> Vec<Ruling> {
    let flash = writes([100.0, 50.0, 400.0, 200.0, 100.0]);
    let controller = writes([100.0, 100.0, 400.0, 105.0, 100.0]);
    let reads = reads(&Reads { large: [10e3, 7000.0], ..PLAIN });
    [flash, controller, reads].iter().flat_map(|seen| media(&target(), seen)).collect()
}
