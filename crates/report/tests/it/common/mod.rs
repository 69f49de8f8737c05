//! Synthetic records with consistent rates, latencies and series; identical on every machine.

#![allow(dead_code)] // each test file uses a part of it

use record::*;
use workload::{Mix, Pacing, Pattern, Region, Stop, Workload};

/// A small deterministic generator; the samples need noise, not randomness.
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Noise {
        Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    /// Uniform in 0..1.
    pub fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    /// Within -1..1, mostly near 0.
    pub fn bell(&mut self) -> f64 {
        (self.unit() + self.unit() + self.unit()) / 1.5 - 1.0
    }
}
/// One cell of the sample grid: name, reads in percent, block bytes, depth, IOPS, median ns.
struct Cell(&'static str, u32, u32, u32, f64, f64);

const CELLS: [Cell; 9] = [
    Cell("seq-read-1MiB-q8", 100, 1 << 20, 8, 3353.0, 2.38e6),
    Cell("seq-read-1MiB-q1", 100, 1 << 20, 1, 2610.0, 382e3),
    Cell("seq-write-1MiB-q8", 0, 1 << 20, 8, 2954.0, 2.70e6),
    Cell("seq-write-1MiB-q1", 0, 1 << 20, 1, 2402.0, 415e3),
    Cell("rand-read-4KiB-q32", 100, 4096, 32, 412_300.0, 76e3),
    Cell("rand-read-4KiB-q1", 100, 4096, 1, 17_420.0, 56.4e3),
    Cell("rand-write-4KiB-q32", 0, 4096, 32, 361_800.0, 84e3),
    Cell("rand-write-4KiB-q1", 0, 4096, 1, 61_240.0, 15.1e3),
    Cell("mixed-4KiB-q32", 70, 4096, 32, 318_900.0, 91e3),
];

pub fn nvme() -> DriveIdentity {
    DriveIdentity {
        name: "nvme0n1".into(),
        path: Some("/dev/nvme0n1".into()),
        bus: "nvme".into(),
        vendor: Some("ACME".into()),
        model: Some("ACME X1 1TB".into()),
        serial: Some("S6Z1NJ0W".into()),
        firmware: Some("4B2QGXA7".into()),
        bytes: Some(1_000_204_886_016),
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(512),
        rotational: Some(false),
        read_only: Some(false),
        write_cache: Some(true),
        discard_max_bytes: Some(2_199_023_255_040),
        scheduler: Some("none".into()),
        ram: false,
        link: Some(Link {
            kind: "pcie".into(),
            now: Some("PCIe 3.0 x4".into()),
            best: Some("PCIe 4.0 x4".into()),
            ceiling_bytes_per_s: Some(3.56e9),
            downgraded: Some(true),
            port: None,
        }),
        health: Health {
            temperature_c: Some(41.0),
            temperature_warn_c: Some(82.0),
            wear_percent: Some(2.0),
            written_bytes: Some(12_400_000_000_000),
            rated_bytes: Some(600_000_000_000_000),
            media_errors: Some(0),
            read_bytes: Some(20_100_000_000_000),
            flash_written_bytes: Some(18_600_000_000_000),
            spare_percent: Some(100.0),
            reallocated: None,
            link_errors: None,
            logged_errors: Some(3),
            power_on_hours: Some(4321),
            power_cycles: Some(117),
            unsafe_shutdowns: Some(9),
            sensors_c: vec![41.0, 48.0],
            warnings: Vec::new(),
        },
        hardware_id: Some("eui.0025385b71b0a1c2".into()),
        formats: vec![512, 4096],
        details: vec![Detail { name: "version".into(), value: "NVMe 1.4".into() }],
        ..DriveIdentity::default()
    }
}

pub fn environment() -> Environment {
    Environment {
        ssdyno: "0.1.0".into(),
        host: Some("bench".into()),
        machine_id: Some("5f0c1e2d3b4a59687706f5e4d3c2b1a0".into()),
        board: None,
        os: Some("Debian GNU/Linux 12 (bookworm)".into()),
        kernel: Some("6.8.0-45-generic".into()),
        cpu: Cpu {
            model: Some("AMD Ryzen 7 5800X".into()),
            threads: Some(16),
            governor: Some("powersave".into()),
        },
        memory_bytes: Some(34_359_738_368),
        hypervisor: None,
        load: Some(0.21),
        backend: Some("uring".into()),
        clock: Some("tsc".into()),
        instrument_ns_per_io: Some(310.0),
    }
}

/// A complete `quick` run on an NVMe drive: 3 replicates, latencies, series, verdicts, doubts.
pub fn quick() -> Run {
    let mut run = empty();
    run.number = Some(192);
    run.seconds = Some(58.4);
    run.complete = true;
    run.state_after = State::Used;
    run.health_after = Some(Health {
        temperature_c: Some(52.0),
        written_bytes: Some(12_431_000_000_000),
        flash_written_bytes: Some(18_644_000_000_000),
        ..nvme().health
    });
    let mut noise = Noise::new(7);
    for cell in &CELLS {
        add_cell(&mut run, cell, &mut noise);
    }
    run.series.sort_by_key(|s| s.start_ns);
    for set in [1, 4, 16, 64, 128] {
        let name = format!("check-read-within-{set}MiB.p50");
        run.metrics.push(metric(&name, Unit::Nanoseconds, &[56.1e3, 56.6e3, 56.4e3]));
    }
    run.verdicts = vec![
        Verdict {
            kind: VerdictKind::Link,
            text: "seq-read-1MiB-q8 is at 99% of what PCIe 3.0 x4 carries: the link bounds it. \
                   The drive could use PCIe 4.0 x4."
                .into(),
            explains: vec![Explained { metric: "seq-read-1MiB-q8".into(), share: Some(0.99) }],
            next_test: Some("the same on a PCIe 4.0 port".into()),
            evidence: vec![
                Evidence::new("read rate", 3.516e9, Unit::BytesPerSecond),
                Evidence::new("link ceiling", 3.56e9, Unit::BytesPerSecond),
            ],
        },
        Verdict {
            kind: VerdictKind::PerCommand,
            text: "at depth 1 a 4 KiB read takes 56.4 us, whatever its size up to 16 KiB".into(),
            explains: Vec::new(),
            next_test: None,
            evidence: vec![Evidence::new("t0 * IOPS", 0.982, Unit::Number)],
        },
    ];
    run.warnings = vec![
        Finding::new(
            FindingKind::Governor,
            Level::Warn,
            "governor powersave: latency at depth 1 may read high",
        )
        .advise("ssdyno doctor"),
        Finding {
            workload: Some("rand-write-4KiB-q32".into()),
            ..Finding::new(FindingKind::DepthIsAFiction, Level::Note, "effective depth 29.1 of 32")
        },
        Finding {
            workload: Some("mixed-4KiB-q32".into()),
            ..Finding::new(FindingKind::DepthIsAFiction, Level::Note, "effective depth 27.4 of 32")
        },
    ];
    run.errors = vec![IoErrors {
        op: "read".into(),
        kind: "EIO".into(),
        workload: "rand-read-4KiB-q32".into(),
        count: 2,
        first_offsets: vec![131_072, 524_288],
    }];
    run
}

fn add_cell(run: &mut Run, cell: &Cell, noise: &mut Noise) {
    let &Cell(name, reads, block, depth, iops, median_ns) = cell;
    let sequential = block > 4096;
    let mut w = Workload::new(
        name,
        if sequential { Pattern::Sequential } else { Pattern::UniformOnce },
        Mix::read_percent(reads),
        block,
        Region::first(1 << 30),
    );
    (w.depth, w.stop) = (depth, Stop::after_ns(2_000_000_000));
    plan(run).workloads.push(serde_json::to_value(&w).expect("plain data").into());
    let writes = 2_000_000_000 * u64::from(reads < 100) * 3;
    plan(run).steps.push(PlanStep {
        name: name.into(),
        seconds: 6.0,
        repeats: 3,
        repeats_least: None,
        write_bytes_expected: None,
        write_bytes_max: writes,
    });
    let scale = if sequential { f64::from(block) } else { 1.0 };
    let unit = if sequential { Unit::BytesPerSecond } else { Unit::Iops };
    let samples: Vec<f64> = (0..3).map(|_| scale * iops * (1.0 + 0.008 * noise.bell())).collect();
    for (op, share) in
        [("read", f64::from(reads) / 100.0), ("write", 1.0 - f64::from(reads) / 100.0)]
    {
        if share > 0.0 {
            let samples: Vec<f64> = samples.iter().map(|s| s * share).collect();
            run.metrics.push(metric(&metric_name(name, op, reads), unit, &samples));
            add_latency(run, name, op, reads, median_ns, noise);
        }
    }
    for replicate in 0..3 {
        let series = time_series(
            name,
            replicate,
            reads,
            iops * f64::from(block),
            median_ns,
            run.series.len(),
            noise,
        );
        run.series.push(series);
    }
}

/// A mix has two metrics, named after it and the kind.
fn metric_name(name: &str, op: &str, reads: u32) -> String {
    let mixed = !reads.is_multiple_of(100);
    if mixed { name.replacen("mixed-", &format!("mixed-{op}-"), 1) } else { name.to_string() }
}

/// A metric with the mean of its samples and an interval of their spread.
pub fn metric(name: &str, unit: Unit, samples: &[f64]) -> Metric {
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let spread = (samples.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let half = 4.303 * spread / n.sqrt();
    Metric {
        name: name.into(),
        unit,
        value: Some(mean),
        low: Some(mean - half),
        high: Some(mean + half),
        n: samples.len() as u32,
        samples: samples.to_vec(),
        covers: Some(Covers::NextRun),
        runs: Some(1),
    }
}

fn add_latency(run: &mut Run, name: &str, op: &str, reads: u32, median_ns: f64, noise: &mut Noise) {
    let count = if median_ns > 1e5 { 6_000 } else { 60_000 };
    let service = latencies(count, median_ns, noise);
    let base = metric_name(name, op, reads);
    for (statistic, q) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)] {
        let known = if q < 1.0 { service.percentile(q) } else { service.max() };
        let value = known.map(|ns| ns as f64);
        let mut m = Metric::single(format!("{base}.{statistic}"), Unit::Nanoseconds, 0.0);
        (m.value, m.samples, m.n) = (value, value.into_iter().collect(), 1);
        run.metrics.push(m);
    }
    run.latencies.push(LatencyProfile {
        name: name.into(),
        op: op.into(),
        service,
        response: None,
    });
}

/// Latencies around a median with a tail up to about twenty times the median.
pub fn latencies(count: u32, median_ns: f64, noise: &mut Noise) -> Histogram {
    let mut histogram = Histogram::default();
    for _ in 0..count {
        let body = median_ns * (1.0 + 0.25 * noise.bell());
        let stall = noise.unit();
        let factor = if stall > 0.995 { 1.0 + 20.0 * noise.unit().powi(2) } else { 1.0 };
        histogram.record((body * factor) as u64);
    }
    histogram
}

const READ_COLUMNS: [&str; 5] = ["read", "read.p50", "read.p99", "read.max", "device.read"];
const WRITE_COLUMNS: [&str; 5] = ["write", "write.p50", "write.p99", "write.max", "device.write"];

fn time_series(
    name: &str,
    replicate: u32,
    reads: u32,
    bytes_per_s: f64,
    median_ns: f64,
    index: usize,
    noise: &mut Noise,
) -> Series {
    // Replicates are interleaved: all workloads once, then all again.
    let slot = u64::from(replicate) * CELLS.len() as u64 + index as u64 / 3;
    let mut series = Series::new(name, replicate, slot * 2_100_000_000);
    for i in 1..=20u64 {
        let rate = bytes_per_s * (1.0 + 0.03 * noise.bell());
        let heat = 41.0 + 27.0 * (1.0 - libm::exp(-(slot as f64) / 9.0)) + 0.3 * noise.bell();
        let share = f64::from(reads) / 100.0;
        let (read, write) = (rate * share, rate * (1.0 - share));
        // Rounded, because the last bit of exp() may differ between machines.
        let heated = (i % 5 == 0).then_some((heat * 100.0).round() / 100.0);
        let mut row = vec![("temperature", Unit::Celsius, heated)];
        for (names, rate) in [(READ_COLUMNS, read), (WRITE_COLUMNS, write)] {
            let [bytes, p50, p99, max, device] = names;
            row.push((device, Unit::BytesPerSecond, Some(rate * 1.002)));
            if rate > 0.0 {
                row.push((bytes, Unit::BytesPerSecond, Some(rate)));
                for (name, factor) in [(p50, 1.0), (p99, 1.5), (max, 9.0)] {
                    let ns = median_ns * factor * (1.0 + 0.15 * noise.bell());
                    row.push((name, Unit::Nanoseconds, Some(ns)));
                }
            }
        }
        series.push(i * 100_000_000, &row);
    }
    series
}

/// A run of `ssdyno io` at a fixed rate: response times differ from service times.
pub fn io() -> Run {
    let mut run = empty();
    (run.method, run.number, run.complete) = ("io".into(), Some(193), true);
    run.seconds = Some(10.02);
    let mut w = Workload::new("io", Pattern::UniformOnce, Mix::READ, 4096, Region::first(1 << 30));
    (w.depth, w.batch, w.pacing) = (64, 16, Pacing::Poisson { rate: 100_000.0 });
    plan(&mut run).workloads = vec![serde_json::to_value(&w).expect("plain data").into()];
    plan(&mut run).command =
        ["ssdyno", "io", "/dev/nvme0n1", "--rw", "randread", "--rate", "100000", "--poisson"]
            .map(String::from)
            .to_vec();
    plan(&mut run).safety = Safety::Reads;
    plan(&mut run).write_bytes_max = 0;
    run.target.kind = TargetKind::Device;
    (run.target.spec, run.target.path) = ("/dev/nvme0n1".into(), Some("/dev/nvme0n1".into()));
    run.target.filesystem = None;
    let mut noise = Noise::new(3);
    let service = latencies(50_000, 71e3, &mut noise);
    let response = latencies(50_000, 94e3, &mut noise);
    run.metrics.push(Metric::single("iops", Unit::Iops, 99_982.0));
    run.metrics.push(Metric::single("throughput", Unit::BytesPerSecond, 99_982.0 * 4096.0));
    for (clock, histogram) in [("service", &service), ("response", &response)] {
        for (statistic, q) in
            [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("max", 1.0)]
        {
            let known = if q < 1.0 { histogram.percentile(q) } else { histogram.max() };
            let mut m = Metric::single(format!("{clock}.{statistic}"), Unit::Nanoseconds, 0.0);
            m.value = known.map(|ns| ns as f64);
            run.metrics.push(m);
        }
    }
    run.metrics.push(Metric::single("effective_depth", Unit::Number, 7.14));
    run.metrics.push(Metric::single("cpu_ns_per_io", Unit::Nanoseconds, 712.0));
    run.metrics.push(Metric::single("batch_mean", Unit::Number, 1.31));
    run.metrics.push(Metric::single("late_ops", Unit::Number, 862.0));
    run.latencies = vec![LatencyProfile {
        name: "io".into(),
        op: "read".into(),
        service,
        response: Some(response),
    }];
    let mut series = Series::new("io", 0, 0);
    for i in 1..=100u64 {
        let dip = if (60..68).contains(&i) { 0.35 } else { 1.0 };
        let rate = 409.5e6 * dip * (1.0 + 0.02 * noise.bell());
        series.push(i * 100_000_000, &[("read", Unit::BytesPerSecond, Some(rate))]);
    }
    run.series = vec![series];
    run
}

/// A run interrupted by Ctrl-C in the middle of the first round.
pub fn cut_short() -> Run {
    let mut run = quick();
    (run.number, run.complete, run.seconds) = (Some(194), false, Some(12.3));
    run.cut_short = Some("interrupted".into());
    run.metrics.retain(|m| m.name.starts_with("seq-read"));
    for m in run.metrics.iter_mut().filter(|m| m.n > 1) {
        (m.low, m.high, m.n) = (None, None, 1);
        m.samples.truncate(1);
    }
    run.latencies.truncate(2);
    run.series.truncate(2);
    (run.verdicts, run.errors) = (vec![], vec![]);
    run.warnings.push(
        Finding::new(
            FindingKind::ServedFromRam,
            Level::Bad,
            "reads came from the page cache: the device read 0.2% of what was read",
        )
        .with(Evidence::new("device bytes / application bytes", 0.002, Unit::Number))
        .advise("leave out --buffered, or drop the caches first"),
    );
    run
}

/// The `quick` run with an answer that contains every kind of part.
pub fn answered() -> Run {
    let rate = ("seq-read-1MiB-q8".to_string(), Unit::BytesPerSecond);
    let stamp = Stamp::Reservations(vec![FindingKind::Governor]);
    let answer = Answer {
        headline: "Reads 3.52 GB/s, writes 2.90 GB/s. Random writes are 1.4 times below this \
                   model: heat."
            .into(),
        rest: "88k/61k random IOPS. The link limits sequential reads.".into(),
        loss: Some(Loss {
            metric: "rand-write-4KiB-q32".into(),
            factor: 1.4,
            whose: "this model".into(),
            cause: Some(VerdictKind::Heat),
        }),
        tiles: vec![Tile {
            label: "Sequential reads".into(),
            metric: rate.0.clone(),
            unit: rate.1,
            value: Some(3.52e9),
            low: Some(3.50e9),
            high: None,
            better: Better::Higher,
        }],
        charts: vec![
            Chart::bars("Large sequential blocks", rate.1)
                .source(&rate.0, "sequential reads")
                .mark("ceiling of the link", 3.56e9),
        ],
        limits: vec![Limit {
            metric: rate.0.clone(),
            by: VerdictKind::Link,
            confidence: Confidence::Measured,
        }],
        peers: vec![maker(rate.0, rate.1, 3.5e9)],
        ..Answer::new("How fast is the drive?", "", stamp)
    };
    Run { answer: Some(answer), ..quick() }
}

fn maker(metric: String, unit: Unit, value: f64) -> Peer {
    let whose = "its maker".to_string();
    Peer { metric, whose, unit, value, highest: None, percentile: None, differs: Vec::new() }
}

/// A run killed before it measured anything.
pub fn empty() -> Run {
    Run {
        schema: SCHEMA.into(),
        id: "20261121T205001-3f9a1c2d".into(),
        number: Some(195),
        started: "2026-11-21T20:50:01+01:00".into(),
        seconds: None,
        simulated_seconds: None,
        method: "quick".into(),
        target: Target {
            spec: ".".into(),
            kind: TargetKind::Directory,
            path: Some("/mnt/bench".into()),
            bytes: Some(1 << 30),
            drive: Some(nvme()),
            layers: vec!["/dev/nvme0n1p2".into()],
            filesystem: Some(FileSystem {
                kind: "ext4".into(),
                mount: "/home".into(),
                source: Some("/dev/nvme0n1p2".into()),
                options: Some("rw,relatime".into()),
                bytes: Some(983_349_346_304),
                free_bytes: Some(612_032_839_680),
                unit_bytes: Some(4096),
            }),
            direct: Some(true),
        },
        environment: environment(),
        plan: Some(Plan {
            safety: Safety::Scratch,
            seconds: 60.0,
            write_bytes_expected: None,
            range: None,
            write_bytes_max: 31_000_000_000,
            region_bytes: 1 << 30,
            destroys: None,
            steps: vec![],
            workloads: vec![],
            command: ["ssdyno", "run", "."].map(String::from).to_vec(),
        }),
        state_before: State::Used,
        state_after: State::Unknown,
        protocol: None,
        seed: None,
        state_as_of: None,
        health_after: None,
        answer: None,
        metrics: vec![],
        series: vec![],
        latencies: vec![],
        verdicts: vec![],
        warnings: vec![],
        ..Run::default()
    }
}

/// The plan of a sample.
fn plan(run: &mut Run) -> &mut Plan {
    run.plan.as_mut().expect("the sample has one")
}

/// Imported output of another tool: one rate, and nothing about machine, drive or time.
pub fn imported() -> Run {
    let mut run = unknown();
    run.id = "00000000003F9A1C2D0000001".into();
    run.method = "fio".into();
    run.plan = None;
    run.target =
        Target { spec: "test.dat".into(), kind: TargetKind::Unknown, bytes: None, ..run.target };
    run.metrics = vec![Metric::single("rand-read-4KiB-q64", Unit::Iops, 6987.3)];
    run.origin = Some(Origin {
        version: Some("3.33".into()),
        place: Some("line 3".into()),
        ..Origin::imported(Some("fio"), "out.txt")
    });
    run
}

/// A run with as little information as the schema allows, of an unknown method.
pub fn unknown() -> Run {
    let mut run = empty();
    (run.number, run.method, run.complete) = (None, "someday".into(), true);
    run.target.drive = None;
    run.target.path = None;
    run.target.layers = vec![];
    run.target.filesystem = None;
    run.target.direct = None;
    run.target.kind = TargetKind::File;
    run.environment = Environment { ssdyno: "0.1.0".into(), ..Environment::default() };
    run.state_before = State::Unknown;
    plan(&mut run).command = vec![];
    let mut nothing = Metric::single("cache.bytes", Unit::Bytes, 0.0);
    (nothing.value, nothing.n, nothing.samples) = (None, 0, vec![]);
    run.metrics = vec![
        nothing,
        metric("cache.end", Unit::Bytes, &[110e9, 112e9, 114e9]),
        Metric::single("slope", Unit::Number, -0.0123),
        Metric::single("heat", Unit::Celsius, 68.5),
    ];
    run
}

/// A run in which every foreign text tries to break out of its output format.
pub fn hostile() -> Run {
    let evil = "</script><b>x</b>|`*\x1b[2J\u{202e}\"'&=1+1,\n";
    let mut run = answered();
    let answer = run.answer.as_mut().expect("answered");
    (answer.question, answer.headline) = (evil.into(), evil.into());
    answer.rest = evil.into();
    answer.stamp = Stamp::Other(serde_json::json!({ evil: 1 }));
    (answer.tiles[0].label, answer.charts[0].title) = (evil.into(), evil.into());
    answer.peers[0] = Peer { differs: vec![evil.into()], ..maker(evil.into(), Unit::Iops, 1.0) };
    (run.target.spec, run.target.path) = (evil.into(), Some(evil.into()));
    let drive = run.target.drive.as_mut().expect("the sample has one");
    (drive.vendor, drive.model, drive.serial) = (None, Some(evil.into()), Some(evil.into()));
    run.environment.cpu.model = Some(evil.into());
    plan(&mut run).command = vec!["ssdyno".into(), evil.into()];
    (run.warnings[0].text, run.warnings[0].advice) = (evil.into(), Some(evil.into()));
    (run.verdicts[0].text, run.errors[0].kind) = (evil.into(), evil.into());
    (run.metrics[0].name, run.series[0].name) = (evil.into(), evil.into());
    run
}

/// An hour of one workload: 100,000 intervals with a cache that ends.
pub fn long() -> Run {
    let mut run = io();
    (run.method, run.number, run.seconds) = ("sustain".into(), Some(196), Some(3600.0));
    let mut noise = Noise::new(11);
    let mut series = Series::new("fill", 0, 0);
    for i in 1..=100_000u64 {
        let level = match i {
            ..12_000 => 6.21e9,
            12_000..70_000 => 1.41e9,
            _ => 0.52e9,
        };
        let stall = if noise.unit() > 0.998 { 0.1 } else { 1.0 };
        let rate = (level * stall * (1.0 + 0.1 * noise.bell())).round();
        let warm = 1.0 - libm::exp(-(i as f64) / 20_000.0);
        let heat = (41.0 + 27.0 * warm + 0.5 * noise.bell()).round();
        series.push(
            i * 36_000_000,
            &[
                ("write", Unit::BytesPerSecond, Some(rate)),
                ("device.write", Unit::BytesPerSecond, Some((rate * 1.003).round())),
                ("temperature", Unit::Celsius, Some(heat)),
            ],
        );
    }
    run.series = vec![series];
    run
}
