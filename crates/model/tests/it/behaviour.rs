//! Tests individual behaviours of a drive against its description.

use crate::common::oracle::large;
use crate::common::{Bench, MB, mean};
use model::{BlockContent, CommandStatus, Drive, DriveSpec};
use workload::OpKind::{Discard, Read, Write};
use workload::{Op, OpKind};

fn spec(name: &str, pairs: &[(&str, &str)]) -> DriveSpec {
    let spec = DriveSpec::preset(name).expect("a known drive");
    spec.with_overrides(pairs).expect("known parameters")
}

fn op(kind: OpKind, offset: u64, bytes: u32) -> Op {
    Op { kind, offset, bytes }
}

#[test]
fn a_discarded_block_reads_as_described() {
    let cases = [
        (("trim", "true"), ("discard.zeros", "true"), BlockContent::Zeros),
        (("trim", "true"), ("discard.zeros", "false"), BlockContent::Anything),
        (("trim", "false"), ("discard.zeros", "true"), BlockContent::Write(1)),
    ];
    for (honoured, zeros, expected) in cases {
        let pairs = [("capacity", "4GiB"), honoured, zeros];
        let mut drive = Drive::new(&spec("samsung-980-pro-1t", &pairs), 1);
        drive.remember();
        drive.submit(0, &op(Write, 0, 65536));
        drive.submit(1_000_000, &op(Discard, 0, 65536));
        assert_eq!(drive.held(5), Some(expected), "{honoured:?} {zeros:?}");
        let mapped = drive.page_mapped().expect("page-mapped").map().mapped();
        assert_eq!(mapped, if expected == BlockContent::Write(1) { 16 } else { 0 });
    }
}

#[test]
fn a_discard_restores_speed_only_if_honoured() {
    for (honoured, restored) in [("true", true), ("false", false)] {
        let pairs = [("capacity", "8GiB"), ("op", "0.07"), ("slc", "0"), ("trim", honoured)];
        let mut bench = Bench::new(&spec("samsung-980-pro-1t", &pairs));
        let bytes = bench.drive.bytes();
        let fresh = bench.random(Write, 4096, bytes, 0, 2.0) / MB;
        bench.fill();
        bench.random(Write, 4096, bytes, 0, 20.0);
        let used = bench.random(Write, 4096, bytes, 0, 1.0) / MB;
        bench.discard_all();
        let after = bench.random(Write, 4096, bytes, 0, 2.0) / MB;
        assert!(used < fresh / 2.0, "{fresh} fresh, {used} used");
        assert_eq!(after > 0.9 * fresh, restored, "{fresh} fresh, {used} used, {after} after");
    }
}

#[test]
fn bad_commands_are_refused_and_change_nothing() {
    let mut drive = Drive::new(&spec("samsung-980-pro-1t", &[("capacity", "4GiB")]), 1);
    let bytes = drive.bytes();
    let bad = [
        op(Write, bytes, 4096),
        op(Read, u64::MAX - 511, 4096),
        op(Write, 100, 512),
        op(Read, 0, 100),
        op(Read, 0, 0),
    ];
    for op in bad {
        assert_eq!(drive.submit(0, &op).status, CommandStatus::Invalid, "{op:?}");
    }
    assert_eq!(drive.work().host, 0);
    let formatted = spec("sabrent-sb2130-1t", &[("capacity", "4GiB"), ("format", "4096")]);
    let mut drive = Drive::new(&formatted, 1);
    assert_eq!(drive.submit(0, &op(Write, 512, 4096)).status, CommandStatus::Invalid);
    assert_eq!(drive.submit(0, &op(Write, 4096, 4096)).status, CommandStatus::Ok);
}

#[test]
fn a_worn_drive_ends_read_only_and_still_reads() {
    let pairs = [("capacity", "64MiB"), ("op", "0.5"), ("slc", "0"), ("endurance", "20")];
    let mut drive = Drive::new(&spec("samsung-980-pro-1t", &pairs), 1);
    let mut now = 0;
    let mut written = 0u64;
    let status = loop {
        let end = drive.submit(now, &op(Write, written % (64 << 20), 65536));
        now = end.done_ns;
        written += 65536;
        if end.status != CommandStatus::Ok || written > 64 << 30 {
            break end.status;
        }
    };
    assert_eq!(status, CommandStatus::ReadOnly);
    let rated = 20 * (96 << 20);
    assert!((rated / 2..2 * rated).contains(&written), "{written} bytes, rated about {rated}");
    let health = drive.health();
    assert!(health.read_only && health.spare_percent == 0.0, "{health:?}");
    assert!((80.0..120.0).contains(&health.wear_percent), "{health:?}");
    assert_eq!(drive.submit(now, &op(Read, 0, 65536)).status, CommandStatus::Ok);
}

#[test]
fn a_worn_card_ends_read_only_and_still_reads() {
    let pairs = [("capacity", "64MiB"), ("endurance", "6")];
    let mut drive = Drive::new(&spec("sd-class2", &pairs), 1);
    assert!(!drive.health().read_only);
    let (mut now, mut written) = (0, 0);
    let status = loop {
        let end = drive.submit(now, &op(Write, written % (64 << 20), 65536));
        now = end.done_ns;
        written += 65536;
        if end.status != CommandStatus::Ok || written > 4 << 30 {
            break end.status;
        }
    };
    assert_eq!(status, CommandStatus::ReadOnly);
    assert!(drive.health().read_only);
    assert_eq!(drive.submit(now, &op(Write, 0, 65536)).status, CommandStatus::ReadOnly);
    assert_eq!(drive.submit(now, &op(Read, 0, 65536)).status, CommandStatus::Ok);
}

#[test]
fn wear_levelling_keeps_erases_together() {
    let spread = |lead: &str| {
        let pairs =
            [("capacity", "256MiB"), ("op", "0.1"), ("slc", "0"), ("wear.level_lead", lead)];
        let more = [("endurance", "1000000"), ("superblock", "1MiB")];
        let mut bench = Bench::new(&spec("samsung-980-pro-1t", &[&pairs[..], &more].concat()));
        bench.fill();
        // Only one eighth of the drive is overwritten.
        for _ in 0..3_000_000 / 8 {
            let offset = bench.below(1 << 10) * 32768;
            let end = bench.drive.submit(bench.now, &op(Write, offset, 32768));
            bench.now = end.done_ns;
        }
        let page = bench.drive.page_mapped().expect("page-mapped");
        let blocks = page.blocks();
        let used = 0..blocks.count() - page.spares();
        let (low, high) =
            used.map(|sb| blocks.erases(sb)).fold((u32::MAX, 0), |(l, h), e| (l.min(e), h.max(e)));
        high - low
    };
    let (without, with) = (spread("0"), spread("20"));
    assert!(with < 60 && without > 3 * with, "{without} apart without levelling, {with} with");
}

#[test]
fn a_small_map_cache_slows_wide_random_reads_only() {
    let latency = |cache: &str, range: u64| {
        let pairs = [("capacity", "64GiB"), ("slc", "0"), ("map.cache", cache)];
        let mut bench = Bench::new(&spec("samsung-980-pro-1t", &pairs));
        bench.fill();
        bench.depth = 32;
        bench.random(Read, 4096, range, 0, 0.5);
        bench.depth = 1;
        4096.0 / bench.random(Read, 4096, range, 0, 0.5) * 1e6
    };
    let (narrow, wide) = (latency("8MiB", 4 << 30), latency("8MiB", 64 << 30));
    let whole = latency("0", 64 << 30);
    assert!((narrow / whole - 1.0).abs() < 0.05, "{narrow} us within the cache, {whole} with all");
    assert!(wide > whole + 40.0, "{wide} us beyond the cache, {whole} with all");
}

#[test]
fn depth_is_limited_by_the_link() {
    let mut sata = Bench::preset("crucial-mx500-250");
    let mut rates = [0.0; 2];
    for (rate, depth) in rates.iter_mut().zip([32, 256]) {
        sata.depth = depth;
        sata.sweep(Write, 0, 1 << 30, 128 << 10, 1);
        *rate = sata.random(Read, 4096, 1 << 30, 0, 0.2);
    }
    assert!((rates[1] / rates[0] - 1.0).abs() < 0.02, "{rates:?}");
    let mut bench = Bench::preset("samsung-980-pro-1t");
    bench.sweep(Write, 0, 4 << 30, 128 << 10, 1);
    bench.depth = 1;
    let one = bench.random(Read, 4096, 4 << 30, 0, 0.2);
    bench.depth = 64;
    let many = bench.random(Read, 4096, 4 << 30, 0, 0.2);
    assert!(many > 8.0 * one, "depth 64: {many}, depth 1: {one}");
}

#[test]
fn unwritten_blocks_read_faster_than_flash_can() {
    let mut bench = Bench::preset("samsung-980-pro-1t");
    bench.sweep(Write, 0, 1 << 30, 128 << 10, 1);
    bench.depth = 1;
    let written = 4096.0 / bench.random(Read, 4096, 1 << 30, 0, 0.1) * 1e6;
    let unwritten = 4096.0 / bench.random(Read, 4096, 1 << 30, 1 << 29, 0.1) * 1e6;
    assert!(written > 30.0 && unwritten < written, "{written} us, {unwritten} us");
    let never = bench.drive.submit(bench.now, &op(Read, 900 << 30, 4096)).done_ns - bench.now;
    assert!(never < 20_000, "{never} ns for a block that was never written");
}

#[test]
fn idle_time_empties_the_cache() {
    let mut bench = Bench::new(&spec("samsung-970-evo-plus-250", &[("capacity", "64GB")]));
    let part = 12 << 30;
    let burst = |bench: &mut Bench, n: u64| {
        mean(&bench.sweep(Write, n * part, (n + 1) * part, 128 << 10, 1)) / MB
    };
    let fresh = burst(&mut bench, 0);
    let next = burst(&mut bench, 1);
    bench.idle(300.0);
    let rested = burst(&mut bench, 2);
    assert!(fresh > 2200.0 && next < 600.0 && rested > 2100.0, "{fresh} {next} {rested}");
}

/// Regression test: the cache once accepted writes again only when it was nearly drained, so an
/// idle time of seconds gained nothing.
#[test]
fn a_short_rest_gives_back_the_part_of_the_cache_that_it_drained() {
    let mut bench = Bench::new(&spec("samsung-970-evo-plus-250", &[("capacity", "64GB")]));
    let part: u64 = 16 << 30;
    bench.sweep(Write, 0, part, 128 << 10, 1);
    let fast = |bench: &mut Bench, n: u64| {
        let windows = bench.sweep(Write, n * part, n * part + (8 << 30), 128 << 10, 64);
        windows.iter().filter(|&&rate| rate > 1500.0 * MB).count()
    };
    let [mut before, mut short, mut long] = [0; 3];
    for (n, (rest, count)) in
        [(0.0, &mut before), (3.0, &mut short), (9.0, &mut long)].into_iter().enumerate()
    {
        bench.idle(rest);
        *count = fast(&mut bench, n as u64 + 1);
    }
    assert!(before == 0 && short > 4 && long > 2 * short, "{before} {short} {long} of 64");
}

/// Regression test: folding once filled the dies' queues with as much work as the idle time, and
/// the next command waited for all of it: 2.9 s on the QLC drive.
#[test]
fn a_command_after_a_rest_does_not_wait_for_the_work_of_the_rest() {
    for name in ["qlc-1t", "samsung-970-evo-plus-250", "crucial-mx500-1t"] {
        let mut bench = Bench::preset(name);
        let part = 64 << 20;
        bench.sweep(Write, 0, 4 << 30, 1 << 20, 1);
        let before = bench.sweep(Write, 4 << 30, (4 << 30) + part, 1 << 20, 1)[0];
        bench.idle(1.0);
        let after = bench.sweep(Write, 5 << 30, (5 << 30) + part, 1 << 20, 1)[0];
        let held_up_s = part as f64 / after - part as f64 / before;
        assert!(held_up_s < 0.1, "{name}: {held_up_s} s, {before} before, {after} after");
    }
}

/// A buffer with power-loss protection makes a flush unnecessary; a drive that ignores flushes only
/// pretends.
#[test]
fn a_flush_waits_for_flash_unless_the_buffer_is_protected_or_the_flush_ignored() {
    let cases = [
        (("protected", "false"), true),
        (("protected", "true"), false),
        (("flush_ignored", "true"), false),
    ];
    for (pair, waits) in cases {
        let described = spec("samsung-980-pro-1t", &[("capacity", "4GiB"), pair]);
        let program_ns = (*described.nand.slc_program_us * 1e3) as u64;
        let mut drive = Drive::new(&described, 1);
        let written = drive.submit(0, &op(Write, 0, 4096)).done_ns;
        let took = drive.submit(written, &Op::FLUSH).done_ns - written;
        assert_eq!(took > program_ns, waits, "{pair:?}: {took} ns");
        assert_eq!(took < 30_000, !waits, "{pair:?}: {took} ns");
    }
}

#[test]
fn a_drive_that_sleeps_takes_its_time_to_wake() {
    let pairs = [("capacity", "4GiB"), ("command.wake_us", "5000")];
    let mut drive = Drive::new(&spec("samsung-980-pro-1t", &pairs), 1);
    let first = drive.submit(0, &op(Write, 0, 4096)).done_ns;
    let mut took = |rest_ms: u64, from: u64| {
        let at = from + rest_ms * 1_000_000;
        drive.submit(at, &op(Write, 0, 4096)).done_ns - at
    };
    let (awake, asleep) = (took(50, first), took(150, first + 60_000_000));
    assert!(awake < 1_000_000 && asleep > 5_000_000, "{awake} {asleep}");
}

/// Times of single reads at depth 1 in ascending order, ns.
fn read_times(pairs: &[(&str, &str)]) -> Vec<u64> {
    let mut bench = Bench::new(&spec("samsung-980-pro-1t", pairs));
    bench.sweep(Write, 0, 1 << 30, 1 << 20, 1);
    bench.idle(20.0);
    let mut times: Vec<u64> = (0..4000)
        .map(|_| {
            let offset = bench.below(1 << 18) * 4096;
            let done = bench.drive.submit(bench.now, &op(Read, offset, 4096)).done_ns;
            done - std::mem::replace(&mut bench.now, done)
        })
        .collect();
    times.sort_unstable();
    times
}

#[test]
fn with_variation_no_two_reads_are_alike_and_their_mean_stays() {
    let (bare, varied) = (read_times(&[]), read_times(&[("vary", "1")]));
    let mean = |times: &[u64]| times.iter().sum::<u64>() as f64 / times.len() as f64;
    assert_eq!(bare[400], bare[3600], "without variation, all are equal");
    assert!(varied[2000] < varied[3600] && varied[3600] < varied[3960], "a tail");
    assert!(varied[3999] > varied[2000] * 3 / 2, "a read that was repeated");
    assert!((mean(&varied) / mean(&bare) - 1.0).abs() < 0.03, "{} {}", mean(&varied), mean(&bare));
    assert_eq!(varied, read_times(&[("vary", "1")]), "the same seeds give the same times");
    assert_ne!(varied, read_times(&[("vary", "1"), ("vary.session_seed", "2")]));
}

/// Presets are fitted without variation and remain valid with it.
#[test]
fn variation_keeps_the_rate_of_a_fill() {
    for name in ["samsung-970-evo-plus-250", "qlc-1t"] {
        let rate = |amount| {
            let pairs = [("capacity", "16GB"), ("vary", amount), ("slc", "4GB")];
            let mut bench = Bench::new(&spec(name, &pairs));
            let bytes = bench.drive.bytes();
            bench.sweep(Write, 0, bytes / (1 << 20) * (1 << 20), 1 << 20, 1)[0]
        };
        let (bare, varied) = (rate("0"), rate("1"));
        assert!((varied / bare - 1.0).abs() < 0.03, "{name}: {bare} bare, {varied} varied");
    }
}

#[test]
fn links_can_be_put_before_any_drive() {
    let mut bench = Bench::new(&spec("samsung-980-pro-1t", &[("link", "pcie-2x1")]));
    let write = mean(&bench.sweep(Write, 0, 1 << 30, 1 << 20, 1)) / MB;
    let read = mean(&bench.sweep(Read, 0, 1 << 30, 1 << 20, 1)) / MB;
    for rate in [write, read] {
        assert!((rate / 410.0 - 1.0).abs() < 0.01, "{rate} MB/s");
    }
}

/// A whole drive has a separate frontier for moved data and keeps a few superblocks free. The
/// closed form's ratio of physical to logical pages excludes the free ones.
#[test]
fn write_amplification_of_a_whole_drive_is_near_the_closed_form() {
    for share in ["0.07", "0.15", "0.28", "0.5"] {
        let pairs = [("capacity", "2GiB"), ("op", share), ("slc", "0"), ("endurance", "1000000")];
        let mut bench = Bench::new(&spec("samsung-980-pro-1t", &pairs));
        let blocks = bench.drive.bytes() / 4096;
        bench.fill();
        let mut work = [bench.drive.work(); 2];
        for seen in &mut work {
            for _ in 0..3 * blocks {
                let offset = bench.below(blocks) * 4096;
                bench.now = bench.drive.submit(bench.now, &op(Write, offset, 4096)).done_ns;
            }
            *seen = bench.drive.work();
        }
        let found = 1.0 + (work[1].moved - work[0].moved) as f64 / (3 * blocks) as f64;
        let page = bench.drive.page_mapped().expect("page-mapped");
        let held = page.layout().superblocks - page.blocks().free();
        let physical = f64::from(held * page.layout().superblock_pages);
        let closed = large(physical / f64::from(page.layout().logical_pages));
        println!("spare {share}: {found:.3}, closed form {closed:.3}");
        assert!((found / closed - 1.0).abs() < 0.03, "spare {share}: {found}, {closed}");
    }
}

#[test]
fn a_drive_with_one_frontier_collects_in_idle_time_only_what_fits_it() {
    let mut bench = Bench::new(&spec("indilinx-m225-64", &[("capacity", "2GiB"), ("vary", "0")]));
    bench.fill();
    for _ in 0..20 {
        bench.random(Write, 4096, 2 << 30, 0, 20.0);
        bench.idle(3600.0);
    }
}

#[test]
fn unaligned_writes_look_up_the_map_like_aligned_ones() {
    let lookup = |offset: u64, bytes: u32| {
        let time = |cache: &str| {
            let pairs = [("capacity", "8GiB"), ("map.cache", cache), ("map.miss_us", "60")];
            let mut drive = Drive::new(&spec("dramless-hmb-1t", &pairs), 1);
            drive.submit(0, &op(Write, offset, bytes)).done_ns
        };
        time("8KiB") - time("0")
    };
    assert_eq!(lookup(0, 4096), 60_000);
    assert_eq!(lookup(512, 512), 60_000);
    assert_eq!(lookup(512, 4096), 60_000);
    assert_eq!(lookup(0, 4608), 60_000);
    assert_eq!(lookup((4 << 20) - 512, 1024), 120_000, "two parts of the map");
}

#[test]
fn overwritten_and_discarded_parts_of_units_leave_the_buffer() {
    let rate = |ops: &[Op]| {
        // Not a multiple of the writes, so the sector that still waits takes no room from them.
        let pairs = [("capacity", "4GiB"), ("slc", "0"), ("buffer", "1100KiB")];
        let mut bench = Bench::new(&spec("samsung-980-pro-1t", &pairs));
        for _ in 0..4000 {
            for op in ops {
                bench.now = bench.drive.submit(bench.now, op).done_ns;
            }
        }
        bench.now += 1_000_000_000;
        bench.sweep(Write, 1 << 30, (1 << 30) + (64 << 20), 128 << 10, 1)[0] / MB
    };
    let (fresh, sector) = (rate(&[]), op(Write, 512, 512));
    for ops in [&[sector][..], &[sector, op(Write, 0, 4096)], &[sector, op(Discard, 0, 4096)]] {
        let rate = rate(ops);
        assert!(rate > 0.95 * fresh, "{fresh} MB/s fresh, {rate} after {ops:?}");
    }
}
