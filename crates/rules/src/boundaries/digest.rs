//! Digests: every figure that is taken from a measurement.

use record::{Finding, FindingKind, Level, MetricKey, Statistic, Unit};
use rig::{BackendKind, KindStats, Measurement, Temperature, ThreadLoad};
use workload::{Caching, Mix, OpKind, Pattern, Region, Workload};

use super::table;
use crate::Digest;
use crate::testing::device;

fn workload() -> Workload {
    let region = Region::first(1 << 30);
    Workload::new("rand-read-4KiB-q1", Pattern::Uniform, Mix::READ, 4096, region)
}

/// Operations of 1 MB each with these times in milliseconds.
fn stats(times: &[(u64, u64)]) -> Option<KindStats> {
    let mut stats = KindStats::default();
    for (count, ms) in times {
        (0..*count).for_each(|_| stats.service.record(ms * 1_000_000));
        (stats.ops, stats.bytes) = (stats.ops + count, stats.bytes + count * 1_000_000);
    }
    Some(stats)
}

/// Ten seconds: 900 reads of 1 ms and one of 2 s, 50 writes of 1 ms, two flushes of 500 ms.
fn measurement() -> Measurement {
    let mut m = Measurement { elapsed_ns: 10_000_000_000, direct: true, ..Measurement::default() };
    m.kinds[OpKind::Read as usize] = stats(&[(900, 1), (1, 2000)]);
    m.kinds[OpKind::Write as usize] = stats(&[(50, 1)]);
    m.kinds[OpKind::Flush as usize] = stats(&[(2, 500)]);
    (m.cpu_ns, m.throttled_ns, m.device) = (4_000_000_000, 3_000_000_000, Some(device(7, 8)));
    m.temperature = Some(Temperature { start_c: 30.0, end_c: 31.0, max_c: 32.0 });
    m.findings = vec![Finding::new(FindingKind::Throttled, Level::Warn, "")];
    for (second, rate) in [(4, 50.0), (8, 60.0), (10, 70.0)] {
        m.series.push(second * 1_000_000_000, &[("read", Unit::BytesPerSecond, Some(rate))]);
    }
    m
}

#[test]
fn a_digest_has_the_figures_of_its_measurement() {
    let digest = Digest::from_measurement(&workload(), &measurement());
    assert_eq!((digest.name.as_str(), digest.mix), ("rand-read-4KiB-q1", Mix::READ));
    assert_eq!(digest.metrics, ["rand-read-4KiB-q1"]);
    assert!(digest.random && digest.direct && !digest.probe && !digest.is_run());
    assert_eq!((digest.ops, digest.bytes), ([901, 50], [901_000_000, 50_000_000]));
    assert_eq!((digest.seconds, digest.stalled_s, digest.throttled_s), (10.0, 2.0, 3.0));
    assert_eq!((digest.flushes, digest.flush_s), (2, 1.0));
    assert_eq!((digest.depth_nominal, digest.block_bytes), (Some(1), 4096));
    // 2.95 s of reads and writes in 9 s without flushes.
    assert!((digest.depth - 2.95 / 9.0).abs() < 1e-9, "{}", digest.depth);
    assert_eq!((digest.cpu_share, digest.rates.as_slice()), (0.4, &[50.0, 60.0][..]));
    assert_eq!(digest.device.map(|device| device.written_bytes), Some(8));
    assert_eq!(digest.temperature.map(|celsius| celsius.max_c), Some(32.0));
    let [median, mean] = digest.read_ns;
    assert!((median / 1e6 - 1.0).abs() < 0.01 && (mean / 1e6 - 2.9e3 / 901.0).abs() < 0.01);
    assert!(digest.found(&FindingKind::Throttled) && !digest.found(&FindingKind::GeneratorBound));
    assert_eq!((digest.throughput(), digest.both_ways()), (90.1e6, 95.1e6));
}

#[test]
fn a_quota_holds_threads_for_no_longer_than_the_time() {
    let said = |ns| {
        let m = Measurement { throttled_ns: ns, ..measurement() };
        Digest::from_measurement(&workload(), &m).throttled_s.to_string()
    };
    let rows = [(9_999_999_999, "9.999999999"), (10_000_000_000, "10"), (10_000_000_001, "10")];
    table(said, rows);
}

#[test]
fn the_busiest_thread_has_the_share_and_the_wait_beyond_a_quota() {
    let said = |(cpu_ms, waiting_ms): (u64, u64)| {
        let ns = |ms: u64| ms * 1_000_000;
        let busiest =
            ThreadLoad { wall_ns: ns(10_000), cpu_ns: ns(cpu_ms), waiting_ns: ns(waiting_ms) };
        let digest =
            Digest::from_measurement(&workload(), &Measurement { busiest, ..measurement() });
        format!("{} {}", digest.cpu_share, digest.waiting_s)
    };
    let rows = [
        ((3_000, 0), "0.4 0"),
        ((5_000, 3_000), "0.5 0"),
        ((5_000, 4_000), "0.5 1"),
        ((0, 20_000), "0.4 10"),
    ];
    table(said, rows);
}

#[test]
fn the_processor_time_of_a_polling_driver_is_unknown() {
    let said = |backend| {
        let m = Measurement { backend, ..measurement() };
        Digest::from_measurement(&workload(), &m).cpu_share.to_string()
    };
    let rows = [(None, "0.4"), (Some(BackendKind::Nvme), "0"), (Some(BackendKind::Uring), "0.4")];
    table(said, rows);
}

#[test]
fn io_is_direct_if_it_was_asked_for_and_granted() {
    let said = |(caching, direct)| {
        let m = Measurement { direct, ..measurement() };
        Digest::from_measurement(&Workload { caching, ..workload() }, &m).direct.to_string()
    };
    let rows = [
        ((Caching::Bypass, true), "true"),
        ((Caching::Bypass, false), "false"),
        ((Caching::Buffered, true), "false"),
    ];
    table(said, rows);
}

#[test]
fn a_run_of_one_workload_has_metrics_without_a_name() {
    let digest = Digest::of_run(&workload(), &measurement());
    let names = [Statistic::Throughput, Statistic::Iops];
    assert_eq!(digest.metrics, names.map(|name| MetricKey::of_run(name).to_string()));
    assert!(digest.is_run());
}

#[test]
fn probes_count_only_if_nothing_is_reported() {
    let said = |probes: &[bool]| {
        let digest = |probe: &bool| Digest { probe: *probe, ..crate::testing::digest("a") };
        let seen: Vec<Digest> = probes.iter().map(digest).collect();
        Digest::reported(&seen).count().to_string()
    };
    let rows: [(&[bool], &str); 4] =
        [(&[], "0"), (&[false, true], "1"), (&[false, false], "2"), (&[true, true], "2")];
    table(said, rows);
}
