//! MAPPING UNIT and PER-COMMAND: gains, shares of a command.

use record::Order;
use workload::OpKind;
use workload::OpKind::{Read, Write};

use super::{short, table};
use crate::changes::{DEEPER, DEPTH, LARGER};
use crate::contenders::contenders;
use crate::testing::{burst, in_order, named, near, random, run, target, with_link};
use crate::{Digest, Ruling};

fn said(seen: &[Digest]) -> String {
    short(contenders(&target(), seen, &[]))
}

fn us(kind: OpKind, blocks: u32, depth: u32, us: f64) -> Digest {
    random(kind, blocks, depth, 1e6 / us)
}

#[test]
fn larger_blocks_a_fifth_more_often_are_whole_units() {
    for blocks in [2, 4, 8, 16] {
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
fn a_queue_far_from_the_ideal_rate_is_long_enough() {
    // 100 operations a second at depth 32; single ones.
    let said = |single| {
        let mut cells = deep(Write, [100.0; 5]);
        cells.retain(|cell| cell.depth_nominal != Some(DEEPER));
        cells.push(random(Write, 1, 1, single));
        said(&cells).split(" at").next().unwrap_or_default().to_string()
    };
    assert_eq!(said(6.2), "nothing");
    assert!(said(6.3).starts_with("PER-COMMAND: rand-write-4KiB-q32"), "{}", said(6.3));
}

/// Random reads at depth 32 that those in order exceed.
#[test]
fn reads_ahead_do_not_hide_the_command_where_flash_is_no_limit() {
    // Data just written: single, in a queue; single reads of 16 KiB for 1,000 of 4 KiB a second.
    let said = |[single, queue, larger]: [f64; 3]| {
        let mut cells = deep(Read, [10e3, 10e3, 90e3, 10e3, 10e3]);
        cells[0] = random(Read, 1, DEPTH, 10e3);
        cells.extend([random(Read, 1, 1, 1e3), random(Read, LARGER[0], 1, larger)]);
        for (depth, rate) in [(1, single), (DEPTH, queue)] {
            let name = format!("rand-read-just-written-4KiB-q{depth}");
            cells.push(named(&name, random(Read, 1, depth, rate)));
        }
        said(&cells)
    };
    let command = "PER-COMMAND: rand-read-4KiB-q32";
    let rows = [
        ([1.2e3, 10e3, 900.0], command),
        ([1.09e3, 10e3, 900.0], "nothing"),
        ([1.2e3, 10.4e3, 900.0], "nothing"),
        ([1.2e3, 10e3, 960.0], "nothing"),
    ];
    table(said, rows);
}

/// Writes of 4 KiB at 100 a second: nearby, in order, of 64 KiB, and the share of these bytes that
/// large blocks in order reach.
#[test]
fn units_written_as_fast_as_large_blocks_show_where_small_ones_in_order_fill_them() {
    let said = |[nearby, ordered, whole, share]: [f64; 4]| {
        let bytes = whole * f64::from(64 << 10);
        said(&[
            random(Write, 1, DEPTH, 100.0),
            near(Write, nearby),
            run(Write, Order::Sequential, 1, DEPTH, ordered),
            random(Write, 16, DEPTH, whole),
            in_order(Write, 8, bytes / share),
        ])
    };
    let unit = |share| format!("MAPPING UNIT: rand-write-4KiB-q32 {share}%");
    for (rates, expected) in [
        ([100.0, 900.0, 100.0, 0.9], unit(89)),
        ([92.1, 900.0, 100.0, 0.9], unit(89)),
        // Nearby writes are faster: open blocks or a cached map.
        ([108.1, 900.0, 100.0, 0.9], "nothing".into()),
        ([100.0, 199.0, 100.0, 0.9], "nothing".into()),
        ([100.0, 201.0, 100.0, 0.9], unit(50)),
        // More than a unit has blocks is not its doing.
        ([100.0, 2300.0, 100.0, 0.9], unit(94)),
        ([100.0, 900.0, 91.9, 0.9], "nothing".into()),
        ([100.0, 900.0, 92.1, 0.9], unit(89)),
        // The copy of a block of flash takes the time of more bytes.
        ([100.0, 900.0, 100.0, 0.74], "nothing".into()),
        ([100.0, 900.0, 100.0, 0.76], unit(89)),
    ] {
        assert_eq!(said(rates), expected, "{rates:?}");
    }
}

#[test]
fn a_mapping_unit_holds_down_single_writes_with_the_same_gain() {
    let said = |(blocks, rate)| {
        let deep = [random(Write, 1, DEPTH, 100.0), random(Write, 16, DEPTH, 200.0)];
        said(&[deep, [random(Write, 1, 1, 10.0), random(Write, blocks, 1, rate)]].concat())
    };
    let rows = [
        ((16, 11.9), "MAPPING UNIT: rand-write-4KiB-q32 50%"),
        ((16, 12.0), "MAPPING UNIT: rand-write-4KiB-q32 50%, rand-write-4KiB-q1"),
        ((4, 11.9), "MAPPING UNIT: rand-write-4KiB-q32 50%"),
        ((4, 12.1), "MAPPING UNIT: rand-write-4KiB-q32 50%, rand-write-4KiB-q1"),
    ];
    table(said, rows);
}

/// Of a unit of 64 KiB; a unit of 16 KiB may be a page of flash, which a deep queue does not tell.
#[test]
fn whole_units_are_read_by_a_deep_queue_with_87_percent_of_the_small_reads() {
    let said = |(blocks, rate)| {
        let writes = [random(Write, 1, DEPTH, 100.0), random(Write, blocks, DEPTH, 200.0)];
        let reads = [random(Read, 1, DEPTH, 100.0), random(Read, blocks, DEPTH, rate)];
        let said = said(&[writes, reads].concat());
        said.trim_start_matches("MAPPING UNIT: rand-write-4KiB-q32 50%").to_string()
    };
    let rows = [
        ((16, 86.0), ""),
        ((16, 87.0), ", rand-read-4KiB-q32"),
        ((16, 88.0), ", rand-read-4KiB-q32"),
        ((4, 88.0), ""),
    ];
    table(said, rows);
}

/// A unit of 16 KiB; 64 KiB take three units' data longer.
#[test]
fn a_single_read_is_of_a_whole_unit_if_the_unit_takes_time_and_the_small_block_as_much() {
    let said = |(small_us, unit_us, data_us): (f64, f64, f64)| {
        let writes = [random(Write, 1, DEPTH, 100.0), random(Write, 4, DEPTH, 200.0)];
        let reads = [
            us(Read, 1, 1, small_us),
            us(Read, 4, 1, unit_us),
            us(Read, 16, 1, unit_us + 3.0 * data_us),
        ];
        let said = said(&[&writes[..], &reads].concat());
        said.trim_start_matches("MAPPING UNIT: rand-write-4KiB-q32 50%").to_string()
    };
    let rows = [
        // The data of a unit take a tenth of a read.
        ((100.0, 100.0, 9.9), ""),
        ((100.0, 100.0, 10.1), ", rand-read-4KiB-q1"),
        // The small block saves at most a quarter of them.
        ((100.0, 104.9, 20.0), ", rand-read-4KiB-q1"),
        ((100.0, 105.1, 20.0), ""),
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

#[test]
fn the_sentence_names_the_operations_that_it_explains() {
    let seen = deep(Read, [100.0; 5]);
    let sentence = |writes: f64| {
        let writes = [random(Write, 1, DEPTH, writes)];
        let rulings = contenders(&target(), &[&seen[..], &writes].concat(), &[]);
        rulings[0].verdict.text.clone()
    };
    assert!(sentence(100.0).starts_with("The cost of a read or write is"), "{}", sentence(100.0));
    assert!(sentence(10.0).starts_with("The cost of a read is"), "{}", sentence(10.0));
}

/// 100 reads of 64 KiB are 6.6 MB/s, of which 85% of the link are room.
#[test]
fn where_larger_blocks_fill_the_link_reads_and_writes_must_agree() {
    let said = |(ceiling, writes): (f64, f64)| {
        let seen = deep(Read, [100.0, 100.0, 100.0, 100.0, 40.0]);
        let writes = [random(Write, 1, DEPTH, writes)];
        short(contenders(&with_link(ceiling), &[&seen[..], &writes].concat(), &[]))
    };
    let command = "PER-COMMAND: rand-read-4KiB-q32, rand-write-4KiB-q32";
    let rows = [
        ((7.72e6, 100.0), "nothing"),
        ((7.70e6, 100.0), command),
        ((7.70e6, 91.0), "nothing"),
        ((7.70e6, 93.0), command),
        ((7.70e6, 107.0), command),
        ((7.70e6, 109.0), "nothing"),
    ];
    table(said, rows);
}

/// Single reads after a rest, 50 per second, and reads of data just written.
#[test]
fn where_larger_blocks_fill_the_link_faster_flash_that_changes_nothing_shows_the_commands() {
    let said = |(single, full): (f64, f64)| {
        let mut seen = deep(Read, [100.0, 100.0, 100.0, 100.0, 40.0]);
        seen.push(random(Read, 1, 1, 50.0));
        seen.extend([(1, single), (DEPTH, full)].map(|(depth, iops)| {
            let name = format!("rand-read-just-written-4KiB-q{depth}");
            named(&name, random(Read, 1, depth, iops))
        }));
        short(contenders(&with_link(7.7e6), &seen, &[]))
    };
    let command = "PER-COMMAND: rand-read-4KiB-q32";
    let rows = [
        ((55.1, 100.0), command),
        ((54.9, 100.0), "nothing"),
        ((55.1, 102.9), command),
        ((55.1, 103.1), "nothing"),
    ];
    table(said, rows);
}

/// A read takes 10 ms; over this link, 12 KiB more take 1.23 ms, and 60 KiB more 6.14 ms.
#[test]
fn a_link_that_a_command_occupies_takes_the_time_of_larger_data_on_top() {
    let said = |[larger, largest]: [f64; 2]| {
        let seen = deep(Read, [100.0, larger, 100.0, 100.0, largest]);
        short(contenders(&with_link(10e6), &seen, &[]))
    };
    let command = "PER-COMMAND: rand-read-4KiB-q32";
    let rows = [
        // 8% below 89 and 62 reads per second.
        ([82.1, 70.0], command),
        ([81.8, 70.0], "nothing"),
        ([82.1, 57.1], command),
        ([82.1, 56.9], "nothing"),
    ];
    table(said, rows);
}

/// 100 writes are 0.4096 MB/s, of a link that 64 KiB would fill.
#[test]
fn a_burst_of_as_many_small_writes_shows_the_commands_if_large_ones_are_faster() {
    let said = |(burst_iops, large): (f64, f64)| {
        let mut seen = deep(Write, [100.0, 100.0, 100.0, 100.0, 60.0]);
        seen.extend([burst(4096, DEPTH, burst_iops * 4096.0), in_order(Write, 8, large)]);
        short(contenders(&with_link(7.7e6), &seen, &[]))
    };
    let command = "PER-COMMAND: rand-write-4KiB-q32";
    let rows = [
        ((91.0, 1e6), "nothing"),
        ((93.0, 1e6), command),
        ((107.0, 1e6), command),
        ((109.0, 1e6), "nothing"),
        ((100.0, 0.61e6), "nothing"),
        ((100.0, 0.62e6), command),
    ];
    table(said, rows);
}

/// 100 reads and as many writes of 4 KiB, of a link that 16 KiB would fill: the cost is the data if
/// large blocks carry no more of them.
#[test]
fn reads_and_writes_at_one_rate_have_the_link_in_common_if_large_blocks_carry_as_much() {
    let said = |large| {
        let mut seen = deep(Write, [100.0, 25.0, 100.0, 100.0, 6.0]);
        seen.extend([random(Read, 1, DEPTH, 100.0), in_order(Write, 8, large)]);
        short(contenders(&with_link(0.42e6), &seen, &[]))
    };
    let command = "PER-COMMAND: rand-write-4KiB-q32, rand-read-4KiB-q32";
    table(said, [(0.41e6, "nothing"), (0.44e6, "nothing"), (0.45e6, command)]);
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
        ((100.0, 93.0), "PER-COMMAND: rand-write-4KiB-q1 100%"),
        ((100.0, 91.0), "nothing"),
        ((100.0, 84.0), "nothing"),
        ((100.0, 83.0), "MAPPING UNIT: rand-write-4KiB-q1 17%"),
    ];
    table(said, rows);
}

/// Blocks of 8 KiB twice as often as those of 4 KiB. If they are more than one and a half times the
/// bytes of large writes in order, a cache took them.
#[test]
fn larger_blocks_that_a_cache_took_are_no_units() {
    let said = |in_order_bytes: f64| {
        let [small, units] =
            [(1, 100.0), (2, 200.0)].map(|(n, rate)| random(Write, n, DEPTH, rate));
        said(&[small, units, in_order(Write, 8, in_order_bytes)])
    };
    let units_bytes = 200.0 * 8192.0;
    let unit = "MAPPING UNIT: rand-write-4KiB-q32 50%";
    let rows = [(units_bytes, unit), (units_bytes / 1.49, unit), (units_bytes / 1.51, "nothing")];
    table(said, rows);
}

/// 1 us is data. A part of the writes takes longer and raises the mean: what they wait for is no cost
/// of each.
#[test]
fn what_most_writes_do_not_take_is_not_the_commands() {
    let said = |median_us: f64| {
        let small = Digest { write_ns: median_us * 1e3, ..us(Write, 1, 1, 100.0) };
        said(&[small, us(Write, 16, 1, 115.0)])
    };
    let rows = [
        (0.0, "PER-COMMAND: rand-write-4KiB-q1 99%"),
        (120.0, "PER-COMMAND: rand-write-4KiB-q1 99%"),
        (52.0, "PER-COMMAND: rand-write-4KiB-q1 51%"),
        (50.0, "nothing"),
    ];
    table(said, rows);
}

/// The same of a read, whose command a buffered write shows.
#[test]
fn what_most_buffered_writes_do_not_take_is_not_a_reads_command() {
    let said = |median_us: f64| {
        let write = Digest { write_ns: median_us * 1e3, ..us(Write, 1, 1, 80.0) };
        said(&[us(Read, 1, 1, 90.0), us(Read, 16, 1, 105.0), write])
    };
    let rows = [
        (0.0, "PER-COMMAND: rand-read-4KiB-q1 88%"),
        (31.1, "PER-COMMAND: rand-read-4KiB-q1 33%"),
        (30.9, "nothing"),
    ];
    table(said, rows);
}

/// 4 us of data a block in the larger size, less in the smaller one.
#[test]
fn of_two_sizes_of_writes_the_one_with_less_time_for_data_counts() {
    let said = |middle_us| {
        said(&[us(Write, 1, 1, 8.0), us(Write, 4, 1, middle_us), us(Write, 16, 1, 68.0)])
    };
    let rows = [
        (30.0, "nothing"),
        (20.1, "nothing"),
        (19.9, "PER-COMMAND: rand-write-4KiB-q1 50%"),
        (7.4, "PER-COMMAND: rand-write-4KiB-q1 100%"),
        (7.3, "nothing"),
    ];
    table(said, rows);
}

/// The command of a read is known from a buffered write.
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
        // However long it takes.
        ((900.0, 30.9), "nothing"),
        ((900.0, 901.0), "nothing"),
    ];
    table(said, rows);
}

#[test]
fn time_to_load_a_part_of_the_map_is_not_the_commands() {
    let said = |(kind, nearby)| {
        let alone = [us(Write, 1, 1, 100.0), us(Write, 16, 1, 115.0)];
        said(&[alone.to_vec(), vec![random(kind, 1, DEPTH, 100.0), near(kind, nearby)]].concat())
    };
    let command = "PER-COMMAND: rand-write-4KiB-q1 99%";
    let rows = [
        ((Write, 124.0), command),
        ((Write, 125.0), "nothing"),
        // Reads need the same parts.
        ((Read, 124.0), command),
        ((Read, 125.0), "nothing"),
    ];
    table(said, rows);
}

#[test]
fn a_slow_command_holds_down_a_deep_queue_that_scales_by_80_percent() {
    let said = |(read_us, scale): (f64, f64)| {
        let alone = [us(Read, 1, 1, read_us), us(Read, 16, 1, read_us + 15.0)];
        let others =
            [random(Read, 1, DEPTH, scale * 1e6 / read_us), us(Write, 1, 1, read_us - 1.0)];
        said(&[alone, others].concat())
    };
    let rows = [
        ((300.0, 25.5), "PER-COMMAND: rand-read-4KiB-q1 99%"),
        ((300.0, 25.7), "PER-COMMAND: rand-read-4KiB-q1 99%, rand-read-4KiB-q32 99%"),
        ((190.0, 25.7), "PER-COMMAND: rand-read-4KiB-q1 99%"),
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
    let seen = [units, command, deep(Read, [100.0, 98.0, 102.0, 100.0, 80.0])];
    seen.iter().flat_map(|seen| contenders(&target(), seen, &[])).collect()
}
