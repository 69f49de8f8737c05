//! DEVICE CACHE and OPEN BLOCKS by a small area: gains of reads and writes.

use record::Order;
use workload::OpKind::{Read, Write};

use super::{short, table};
use crate::changes::DEPTH;
use crate::nearby::nearby;
use crate::testing::{mixed, named, near, random, run};
use crate::{Digest, Ruling};

/// Reads and writes at 100 per second, and within a small area at these rates.
fn seen(reads: f64, writes: f64) -> Vec<Digest> {
    let everywhere = [random(Read, 1, DEPTH, 100.0), random(Write, 1, DEPTH, 100.0)];
    [everywhere, [near(Read, reads), near(Write, writes)]].concat()
}

#[test]
fn reads_faster_by_a_quarter_in_a_small_area_are_a_cache() {
    let said = |(reads, writes)| short(nearby(&seen(reads, writes)));
    let rows = [
        ((124.0, 100.0), "nothing"),
        ((125.0, 100.0), "DEVICE CACHE: rand-read-4KiB-q32 20%"),
        ((126.0, 100.0), "DEVICE CACHE: rand-read-4KiB-q32 21%"),
        // Then writes count from a quarter on, too.
        ((200.0, 124.0), "DEVICE CACHE: rand-read-4KiB-q32 50%"),
        ((200.0, 125.0), "DEVICE CACHE: rand-read-4KiB-q32 50%, rand-write-4KiB-q32 20%"),
    ];
    table(said, rows);
}

#[test]
fn writes_alone_must_be_three_times_as_fast_for_open_blocks() {
    let said = |(reads, writes)| short(nearby(&seen(reads, writes)));
    let rows = [
        ((100.0, 299.0), "nothing"),
        ((100.0, 300.0), "OPEN BLOCKS: rand-write-4KiB-q32 67%"),
        ((124.0, 400.0), "OPEN BLOCKS: rand-write-4KiB-q32 75%"),
    ];
    table(said, rows);
    // A copy for each write would let a mix pass more operations.
    let with_mix =
        |operations| short(nearby(&[&seen(100.0, 300.0)[..], &[mixed(operations)]].concat()));
    table(with_mix, [(107.0, "nothing"), (109.0, "OPEN BLOCKS: rand-write-4KiB-q32 67%")]);
    let writes = [random(Write, 1, DEPTH, 100.0), near(Write, 900.0)];
    assert_eq!(short(nearby(&writes)), "nothing", "reads were not compared");
}

#[test]
fn writes_in_order_must_be_24_times_as_fast_for_open_blocks() {
    let said = |in_order| {
        let writes = run(Write, Order::Sequential, 1, DEPTH, in_order);
        short(nearby(&[random(Write, 1, DEPTH, 100.0), writes]))
    };
    let open = "OPEN BLOCKS: rand-write-4KiB-q32 96%";
    table(said, [(2390.0, "nothing"), (2400.0, open), (2410.0, open)]);
    // Larger blocks a fifth more often are mapping units.
    let said = |larger| {
        let in_order = run(Write, Order::Sequential, 1, DEPTH, 4e3);
        let writes = [random(Write, 1, DEPTH, 100.0), random(Write, 16, DEPTH, larger), in_order];
        short(nearby(&writes))
    };
    table(said, [(119.0, "OPEN BLOCKS: rand-write-4KiB-q32 98%"), (120.0, "nothing")]);
}

#[test]
fn at_depth_1_open_blocks_are_the_limit_within_half_of_the_deep_rate() {
    let said = |one| {
        let mut seen = seen(100.0, 400.0);
        seen.push(random(Write, 1, 1, one));
        short(nearby(&seen))
    };
    let rows = [
        (51.0, "OPEN BLOCKS: rand-write-4KiB-q32 75%, rand-write-4KiB-q1"),
        (50.0, "OPEN BLOCKS: rand-write-4KiB-q32 75%, rand-write-4KiB-q1"),
        (49.0, "OPEN BLOCKS: rand-write-4KiB-q32 75%"),
    ];
    table(said, rows);
}

#[test]
fn writes_repeated_between_the_tests_stay_within_a_quarter() {
    for word in ["again", "after"] {
        let said = |rate| {
            let name = format!("cause-write-{word}-4KiB-32");
            let mut seen = seen(100.0, 400.0);
            seen.push(Digest { probe: true, ..named(&name, random(Write, 1, DEPTH, rate)) });
            short(nearby(&seen))
        };
        let open = "OPEN BLOCKS: rand-write-4KiB-q32 75%";
        let rows =
            [(79.0, "nothing"), (80.0, open), (100.0, open), (125.0, open), (126.0, "nothing")];
        table(said, rows);
    }
}

pub fn examples() -> Vec<Ruling> {
    let in_order = [random(Write, 1, DEPTH, 100.0), run(Write, Order::Sequential, 1, DEPTH, 4e3)];
    let grids = [seen(200.0, 100.0), seen(200.0, 400.0), seen(100.0, 400.0), in_order.to_vec()];
    grids.iter().flat_map(|seen| nearby(seen)).collect()
}
