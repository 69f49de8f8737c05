//! Behaviours that published figures show, each stated with its source; no parameter of these drives
//! was fitted to them. The figures are rows of `published/predict.tsv`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::{Drive, DriveSpec, FigureOrigin};
use workload::Op;
use workload::OpKind::{Read, Write};

use crate::common::{Bench, MB, is_addressable};

const GIB: u64 = 1 << 30;

fn of_class(class: &str, pairs: &[(&str, &str)]) -> Bench {
    let spec = DriveSpec::from_class(class).and_then(|spec| spec.with_overrides(pairs));
    Bench::new(&spec.expect("known parameters"))
}

/// A 970 EVO Plus by its class, its capacity and its dies of 32 GB.
fn evo_plus(capacity: &str, dies: &str) -> Bench {
    of_class("pcie3-8ch", &[("capacity", capacity), ("nand.dies", dies), ("slc", "13GB")])
}

#[track_caller]
fn assert_near(ours: f64, published: f64, tolerance: f64) {
    let error = libm::log(ours / published).abs();
    assert!(error <= tolerance, "{ours:.0} here, {published:.0} published");
}

/// Fills the first `bytes`, rests until the cache is empty, and returns random reads a second.
fn settled_reads(bench: &mut Bench, depth: usize, bytes: u64) -> f64 {
    bench.sweep(Write, 0, bytes, 1 << 20, 1);
    bench.now += 600_000_000_000;
    bench.drive.idle(bench.now);
    bench.depth = depth;
    bench.random(Read, 4096, bytes, 0, 0.05) / 4096.0
}

/// Samsung's table: 250,000 and 480,000 random reads a second at depth 32 of four threads
/// (digit.in/reviews/general/samsung-970-evo-plus-nvme-m-2-ssd-250-gb-review-177943.html).
#[test]
fn planes_read_by_themselves() {
    for (capacity, dies, published) in [("250GB", "8", 250e3), ("500GB", "16", 480e3)] {
        assert_near(settled_reads(&mut evo_plus(capacity, dies), 128, GIB), published, 0.25);
    }
    let at_depth_1 = settled_reads(&mut evo_plus("500GB", "16"), 1, GIB);
    assert_near(at_depth_1, 19e3, 0.2);
}

/// CDRLabs' MX500 of 1 TB: 523.55 MB/s read in blocks of 64 KiB at depth 1
/// (cdrlabs.com/reviews/crucial-mx500-1tb-solid-state-drive/trim-performance-and-final-thoughts.html).
#[test]
fn a_sequential_read_is_read_ahead() {
    let mut bench =
        of_class("sata-tlc", &[("capacity", "1TB"), ("nand.dies", "16"), ("slc", "30GB")]);
    bench.sweep(Write, 0, GIB, 1 << 20, 1);
    bench.depth = 1;
    let rate = bench.sweep(Read, 0, GIB, 64 << 10, 1)[0] / MB;
    assert_near(rate, 523.55, 0.05);
}

/// One write and one flush after the other in each of `jobs`, for two seconds: writes a second.
fn flushed_writes(bench: &mut Bench, jobs: u64) -> f64 {
    let start = bench.now;
    let mut due: BinaryHeap<_> = (0..jobs).map(|job| Reverse((start, job, false))).collect();
    let mut writes = 0;
    while let Some(Reverse((now, job, is_flush))) =
        due.pop().filter(|next| next.0.0 < start + 2_000_000_000)
    {
        let offset = GIB * job + 4096 * (writes % 100_000);
        let op = if is_flush { Op::FLUSH } else { Op { kind: Write, offset, bytes: 4096 } };
        writes += u64::from(is_flush);
        let done = bench.drive.submit(now, &op).done_ns;
        due.push(Reverse((done, job, !is_flush)));
    }
    writes as f64 / 2.0
}

/// fio with a flush after every write: a 970 PRO of 512 GB does 456 a second in one job and 840 in
/// two, a PM981 three times as many in ten jobs as in one (github.com/TheJJ/ceph-diskbench).
#[test]
fn few_flushes_run_at_a_time() {
    let pairs = [("capacity", "512GB"), ("nand.dies", "16"), ("nand.bits", "2")];
    let [one, two, ten] =
        [1, 2, 10].map(|jobs| flushed_writes(&mut of_class("pcie3-8ch", &pairs), jobs));
    assert_near(one, 456.0, 0.25);
    assert_near(two / one, 840.0 / 456.0, 0.25);
    assert_near(ten / one, 1164.0 / 384.0, 0.25);
}

/// PiBenchmarks on a Raspberry Pi 5: 807.26 MB/s on a third-generation link, whose packets carry 128
/// bytes (github.com/Pineboards/pineboards-docs.github.io/issues/16).
#[test]
fn packets_of_a_pi_carry_128_bytes() {
    let mut bench = of_class("pcie3-4ch-hmb", &[("host", "pi5"), ("link.0.bus", "pcie-3x1")]);
    bench.sweep(Write, 0, GIB, 1 << 20, 1);
    bench.depth = 2;
    assert_near(bench.sweep(Read, 0, GIB, 128 << 10, 1)[0] / MB, 807.26, 0.01);
}

/// Cards with the promise A1 on a Raspberry Pi 4 (pidramble.com/wiki/benchmarks/microsd-cards), and
/// the promise itself: 1,500 random reads and 500 random writes a second.
#[test]
fn a_class_on_another_bus_is_a_drive() {
    let spec = DriveSpec::from_class("sd-a1").expect("a class");
    let spec = spec.with_overrides(&[("bus", "sd-ddr50")]).expect("a bus");
    assert_eq!(spec.link.len(), 1);
    let mut bench = Bench::new(&spec);
    bench.depth = 1;
    let writes = bench.random(Write, 4096, GIB / 8, 0, 0.1) / MB;
    bench.sweep(Write, 0, GIB / 8, 1 << 20, 1);
    let reads = bench.random(Read, 4096, GIB / 8, 0, 0.1) / MB;
    assert_near(writes, 3.85, 0.2);
    assert_near(reads, 10.8, 0.2);
    assert!(writes * MB / 4096.0 > 500.0 && reads * MB / 4096.0 > 1500.0, "{writes} {reads}");
    assert!(Drive::new(&spec, 1).bytes() > 31_000_000_000);
}

#[test]
fn a_class_gives_what_a_description_does_not() {
    let text = "name = \"x\"\nclass = \"pcie4-4ch-hmb\"\ncapacity = \"64GiB\"\n[nand]\ndies = 4\n";
    let spec = DriveSpec::parse("x.toml", text).expect("a class");
    let class = DriveSpec::from_class("pcie4-4ch-hmb").expect("a class");
    assert_eq!((*spec.nand.dies, spec.nand.dies.from), (4, FigureOrigin::Guessed));
    assert_eq!(
        (spec.nand.read_us.from, &spec.nand.read_us),
        (FigureOrigin::Class, &class.nand.read_us)
    );
    assert!(
        spec.nand.read_us.source.starts_with("class pcie4-4ch-hmb: "),
        "{:?}",
        spec.nand.read_us
    );
    assert_eq!(spec.capacity.0, 64 << 30);
    let error =
        DriveSpec::parse("x.toml", "name = \"x\"\nclass = \"pcie4-4ch\"\n").expect_err("no class");
    assert_eq!(
        error.to_string(),
        "x.toml:2: class: no class 'pcie4-4ch'; did you mean 'pcie3-4ch'?"
    );
}

/// Rate of writes or reads in blocks of 1 MiB at depth 8 for some seconds, MB/s.
fn sequential_mb_s(bench: &mut Bench, kind: workload::OpKind, seconds: u64) -> f64 {
    let (mut at, mut bytes) = (0, 0);
    bench.depth = 8;
    let time = bench.run(
        |_, elapsed| {
            at = (at + (1 << 20)) % (8 * GIB);
            (elapsed < seconds * 1_000_000_000).then_some(Op { kind, offset: at, bytes: 1 << 20 })
        },
        |op, _| bytes += u64::from(op.bytes),
    );
    bytes as f64 / time / MB
}

/// SanDisk's X600: full rate to 74 C; 250 MB/s read and 60 written from 75 C, 140 and 20 from 83 C
/// (manualsdir.com/manuals/865417).
#[test]
fn a_hot_sata_drive_slows_in_bands() {
    for (air, read, written) in [("60", 559.9, 559.9), ("73", 250.0, 60.0), ("82", 140.0, 20.0)] {
        let pairs =
            [("capacity", "1TB"), ("nand.dies", "16"), ("slc", "60GB"), ("temperature", air)];
        let mut bench = of_class("sata-tlc", &pairs);
        bench.idle(1.0);
        assert_near(sequential_mb_s(&mut bench, Write, 40), written, 0.03);
        assert_near(sequential_mb_s(&mut bench, Read, 10), read, 0.03);
    }
}

/// TechPowerUp's 970 PRO without a heat sink: 1.5 GB/s from 80 C on
/// (techpowerup.com/review/samsung-970-pro-ssd-512-gb/7.html).
#[test]
fn a_drive_of_eight_channels_slows_at_80_degrees() {
    let pairs =
        [("capacity", "512GB"), ("nand.dies", "32"), ("nand.bits", "2"), ("cooled", "false")];
    let mut bench = of_class("pcie3-8ch", &[&pairs[..], &[("nand.program_us", "777")]].concat());
    let cool = sequential_mb_s(&mut bench, Write, 20);
    sequential_mb_s(&mut bench, Write, 300);
    let hot = sequential_mb_s(&mut bench, Write, 20);
    assert!(cool > 2300.0, "{cool}");
    assert_near(hot, 1500.0, 0.25);
}

/// At room temperature and with a heat sink, no preset reaches its first step in a minute of writes.
#[test]
fn usual_runs_do_not_throttle() {
    let mut count = 0;
    for name in DriveSpec::presets().filter(|name| is_addressable(name)) {
        let spec = DriveSpec::preset(name).expect("a preset");
        let steps = spec.heat.throttle.iter().map(|step| *step.above_c);
        let Some(first) = steps.reduce(f64::min) else { continue };
        let mut bench = Bench::new(&spec);
        sequential_mb_s(&mut bench, Write, 60);
        let celsius = bench.drive.temperature(bench.now);
        assert!(celsius < first - 5.0, "{name}: {celsius} C of {first}");
        count += 1;
    }
    assert!(count >= 10, "{count} presets with steps");
}

/// A full 970 EVO Plus writes after a rest as a fresh one does, 2.3, 3.2 or 3.3 GB/s, into the fixed part
/// of its cache: 4, 4 and 6 GB of the 13, 22 and 42 GB in Samsung's table
/// (digit.in/reviews/general/samsung-970-evo-plus-nvme-m-2-ssd-250-gb-review-177943.html,
/// thefpsreview.com/2020/06/01/samsung-970-evo-1tb-m-2-nvme-ssd-review/2).
#[test]
fn a_full_drive_regains_the_fixed_part_of_its_cache() {
    let published =
        [("250", 4, 2300.0, 400.0), ("500", 4, 3200.0, 900.0), ("1t", 6, 3300.0, 1700.0)];
    for (capacity, fixed_gb, cached, direct) in published {
        let mut bench = Bench::preset(&format!("samsung-970-evo-plus-{capacity}"));
        bench.fill();
        let before = bench.sweep(Write, 0, GIB, 1 << 20, 1)[0] / MB;
        assert!(before < 1.1 * direct, "{capacity}: {before}");
        bench.idle(600.0);
        let rates = bench.sweep(Write, 8 * GIB, 18 * GIB, 1 << 20, 10);
        // The first one completes a superblock at full density.
        rates[1..fixed_gb - 1].iter().for_each(|rate| assert_near(rate / MB, cached, 0.05));
        rates[fixed_gb + 1..].iter().for_each(|rate| assert_near(rate / MB, direct, 0.05));
    }
}

/// AnandTech's Crucial P1 of 1 TB, random reads after idle time: excellent within 16 GB of test data,
/// which its cache holds; with 64 GB, full 12% slower than with nothing else on the drive
/// (anandtech.com/show/13512/the-crucial-p1-1tb-ssd-review/6).
#[test]
fn what_stays_in_the_cache_is_read_faster() {
    let mut bench = Bench::preset("qlc-1t");
    let near = settled_reads(&mut bench, 1, 14 * GIB);
    let pairs = [("capacity", "64GiB"), ("slc", "60GB"), ("slc.idle_fold", "false")];
    assert_near(near, settled_reads(&mut of_class("pcie3-4ch", &pairs), 1, 14 * GIB), 0.05);
    let partly = settled_reads(&mut Bench::preset("qlc-1t"), 2, 64 * GIB);
    let bytes = bench.drive.bytes() / GIB * GIB;
    settled_reads(&mut bench, 2, bytes);
    let full = bench.random(Read, 4096, 64 * GIB, 0, 0.2) / 4096.0;
    assert_near(full / partly, 0.88, 0.05);
}

/// CDRLabs' C300: 20 MB/s after random writes, 140 once discarded: a seventh. A smaller drive with as
/// much spare flash.
#[test]
fn a_used_drive_of_a_simple_controller_writes_at_a_fraction_of_its_rate() {
    let spec = DriveSpec::preset("crucial-c300-256").expect("a preset");
    let mut bench = Bench::new(&spec.with_overrides(&[("capacity", "16GB")]).expect("known"));
    let bytes = bench.drive.bytes();
    let part = bytes / (64 << 10) * (64 << 10);
    bench.depth = 1;
    let fresh = bench.sweep(Write, 0, part, 64 << 10, 1)[0];
    bench.depth = 32;
    bench.random(Write, 4096, bytes, 0, 600.0);
    bench.depth = 1;
    let used = bench.sweep(Write, 0, part / 8, 64 << 10, 1)[0];
    assert!((5.0..10.0).contains(&(fresh / used)), "{} MB/s, then {}", fresh / MB, used / MB);
}

/// Times of random 4 KiB writes in ascending order, ms.
fn write_times(bench: &mut Bench, depth: usize, count: u64) -> Vec<f64> {
    let mut times = Vec::new();
    let mut flight = BinaryHeap::from(vec![Reverse(bench.now); depth]);
    for _ in 0..count {
        let Reverse(begin) = flight.pop().expect("depth is not 0");
        let op = Op { kind: Write, offset: bench.below(1 << 18) * 4096, bytes: 4096 };
        let end = bench.drive.submit(begin, &op).done_ns;
        times.push((end - begin) as f64 / 1e6);
        flight.push(Reverse(end));
        bench.now = bench.now.max(end);
    }
    times.sort_unstable_by(f64::total_cmp);
    times
}

fn quantile(times: &[f64], share: f64) -> f64 {
    times[((times.len() - 1) as f64 * share) as usize]
}

/// A SanDisk Ultra of 16 GB: of 5 MB, the slowest write takes 20 to 32 ms and the usual one 2 ms
/// (forum.arduino.cc/t/benchmarks-for-new-sandisk-and-samsung-microsds/249649). In the PX4 guide, the
/// longest writes of eight cards have a median of 150 ms (github.com/PX4/PX4-user_guide/pull/3067).
#[test]
fn a_card_pauses_for_milliseconds_in_5_mb_and_for_longer_now_and_then() {
    let mut bench = of_class("sd-uhs", &[]);
    let times = write_times(&mut bench, 1, 1220);
    assert_near(quantile(&times, 0.5), 2.0, 0.15);
    assert_near(quantile(&times, 1.0), 20.0, 0.1);
    let times = write_times(&mut bench, 1, 20_000);
    assert_near(quantile(&times, 1.0), 150.0, 0.15);
}

/// Of a card or an eMMC with 64 requests in flight, 19, 28 and 575 ms are published at 50, 99 and 99.99%:
/// 1.5 and 30 times the median.
#[test]
fn writes_of_cards_have_a_tail() {
    for class in ["emmc", "sd-a1", "sd-uhs"] {
        let mut bench = of_class(class, &[("vary", "1")]);
        let times = write_times(&mut bench, 64, 150_000);
        let tail = [0.99, 0.9999].map(|share| quantile(&times, share) / quantile(&times, 0.5));
        assert!(tail[0] > 1.1 && (3.0..60.0).contains(&tail[1]), "{class}: {tail:?}");
    }
}

/// A controller limits how often reads suspend a program (US patent 10,956,081), so that it ends. Without
/// a limit, a used drive of 4 GiB that mostly reads 1 MiB blocks came to 5 operations a second, the
/// slowest after 71 s.
#[test]
fn programs_end_although_the_host_mostly_reads() {
    let preset = DriveSpec::preset("samsung-970-evo-plus-250").expect("a preset");
    let mut bench = Bench::new(&preset.with_overrides(&[("capacity", "4GiB")]).expect("known"));
    let blocks = bench.drive.bytes() >> 20;
    bench.sweep(Write, 0, blocks << 20, 1 << 20, 1);
    bench.random(Write, 4096, blocks << 20, 0, 10.0);
    for read_percent in [100, 95] {
        let (start, mut slowest_ns) = (bench.now, 0);
        let mut flight = BinaryHeap::from(vec![Reverse(start); 32]);
        for _ in 0..10_000 {
            let Reverse(begin) = flight.pop().expect("32 of them");
            let kind = if bench.below(100) < read_percent { Read } else { Write };
            let op = Op { kind, offset: bench.below(blocks) << 20, bytes: 1 << 20 };
            let end = bench.drive.submit(begin, &op).done_ns;
            slowest_ns = slowest_ns.max(end - begin);
            flight.push(Reverse(end));
            bench.now = bench.now.max(end);
        }
        let rate = 10_000.0 / (bench.now - start) as f64 * 1e9;
        let slowest_ms = slowest_ns as f64 / 1e6;
        assert!(rate > 600.0 && slowest_ms < 150.0, "{rate} a second, slowest {slowest_ms} ms");
    }
}
