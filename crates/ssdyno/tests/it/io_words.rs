//! `ssdyno io`: every option takes effect, checked by exact counts on any machine.

use serde_json::Value;

use crate::common::{MIB, Place, metric};

/// Operations of one kind in a record, with those that have no latency because the process stood
/// still: on a busy machine, it may.
fn ops(record: &Value, op: &str) -> u64 {
    let latencies = record["latencies"].as_array().expect("latencies").iter();
    let of_kind = latencies.filter(|l| l["op"] == op);
    let timed: u64 = of_kind.map(|l| l["service"]["count"].as_u64().expect("a count")).sum();
    let warnings = record["warnings"].as_array().into_iter().flatten();
    let excluded = warnings.filter(|w| w["name"] == "stood-still").filter_map(|w| {
        let words = w["text"].as_str()?.split_once("latencies exclude ")?.1;
        words.split(' ').next()?.parse::<u64>().ok()
    });
    timed + excluded.sum::<u64>()
}

fn workload(record: &Value) -> &Value {
    let workloads = record["plan"]["workloads"].as_array().expect("workloads");
    workloads.iter().find(|w| w["name"] == "io").expect("the workload")
}

#[test]
fn amounts_are_exact() {
    let place = Place::new();
    let table = [
        (". --size 4MiB --coverage 1", "read", 1024),
        (". --size 4MiB --coverage 0.5 --depth 16", "read", 512),
        (". --size 4MiB --coverage 2 --rw read --bs 64k", "read", 128),
        (". --size 4MiB --coverage 1 --rw write --jobs 4 --depth 4", "write", 1024),
        (". --size 4MiB --coverage 1 --jobs 3", "read", 1024),
        (". --size 4MiB --ops 1000 --jobs 3 --depth 8 --batch 4", "read", 1000),
        (". --size 4MiB --ops 7 --time 30s", "read", 7),
        (". --size 1MiB --ops 5000 --rw randwrite --repeats", "write", 5000),
        ("null: --ops 100000 --depth 32", "read", 100_000),
    ];
    for (line, op, count) in table {
        let record = place.io(line);
        assert_eq!(ops(&record, op), count, "{line}");
        assert_eq!(record["errors"].as_array().map(Vec::len), Some(0), "{line}");
        assert_eq!(record["complete"], true, "{line}");
    }
}

#[test]
fn a_record_has_the_promised_metrics() {
    let place = Place::new();
    let record = place.io(". --size 4MiB --ops 20000 --depth 8 --batch 4");
    let names = [
        "iops",
        "throughput",
        "service.p50",
        "service.p99",
        "service.p99.9",
        "service.max",
        "effective_depth",
        "cpu_ns_per_io",
        "batch_mean",
    ];
    for name in names {
        assert!(metric(&record, name).is_some_and(|v| v > 0.0), "{name}");
    }
    assert!(metric(&record, "response.p50").is_none(), "a closed loop has no schedule");
    let [iops, throughput] = ["iops", "throughput"].map(|m| metric(&record, m).expect("a value"));
    assert!((throughput / iops / 4096.0 - 1.0).abs() < 1e-9);
    assert!(metric(&record, "effective_depth").is_some_and(|d| d <= 8.0));
    assert!(metric(&record, "batch_mean").is_some_and(|b| b > 1.0 && b <= 4.0));
}

#[test]
fn a_rate_has_response_times_and_is_never_exceeded() {
    let place = Place::new();
    // The maximum rate over 1,000 operations; a machine that falls behind has a lower one. The
    // number of Poisson arrivals varies by its square root, so the maximum is five standard
    // deviations above the mean.
    let table =
        [("", 1000.0 / 0.4995), (" --poisson", 2320.0), (" --burst 100ms/100ms", 1000.0 / 0.8995)];
    for (words, most) in table {
        let record = place.io(&format!("null: --rate 2000 --ops 1000 --depth 64{words}"));
        let percentiles = ["response.p50", "response.p99", "response.max"];
        assert!(percentiles.iter().all(|name| metric(&record, name).is_some()), "{words}");
        let iops = metric(&record, "iops").expect("a rate");
        assert!(iops > 0.0 && iops <= most, "{iops} IOPS, at most {most} allowed:{words}");
        assert_eq!(ops(&record, "read"), 1000);
    }
}

#[test]
fn every_available_backend_is_named_in_the_record() {
    let place = Place::new();
    for backend in ["uring", "aio", "psync", "null"] {
        let line = ["io", ".", "--size", "4MiB", "--coverage", "1", "--backend", backend];
        let said = place.ssdyno(&[&line[..], &["--depth", "4", "--json", "--quiet"]].concat());
        if said.code != 0 {
            println!("skipped: backend {backend} is not available: {}", said.err.trim());
            continue;
        }
        let record = said.json();
        assert_eq!(record["environment"]["backend"], backend);
        assert_eq!(ops(&record, "read"), 1024, "{backend}");
    }
}

#[test]
fn operations_have_the_requested_kinds_and_sizes() {
    let place = Place::new();
    let mixed = place.io(". --size 4MiB --ops 4000 --rw randrw --mix 70 --flush-every 100");
    let (reads, writes) = (ops(&mixed, "read"), ops(&mixed, "write"));
    assert!((2600..3000).contains(&reads), "{reads} reads of 4000 at 70%");
    assert!(reads + writes <= 4000 && ops(&mixed, "flush") >= writes / 100);
    assert!(metric(&mixed, "read.iops").is_some() && metric(&mixed, "write.service.max").is_some());
    let split = place.io("null: --ops 10000 --bs 4k:60,64k:40");
    let [iops, bytes] = ["iops", "throughput"].map(|name| metric(&split, name).expect("a value"));
    let mean = 0.6 * 4096.0 + 0.4 * 65_536.0;
    assert!((bytes / iops / mean - 1.0).abs() < 0.05, "{} bytes on average", bytes / iops);
    let written = place.io(". --size 1MiB --rw write --coverage 1");
    assert_eq!((ops(&written, "write"), ops(&written, "flush")), (256, 1));
    let unflushed = place.io(". --size 1MiB --rw write --coverage 1 --no-flush");
    assert_eq!(ops(&unflushed, "flush"), 0);
}

#[test]
fn options_appear_in_the_plan() {
    let place = Place::new();
    let is = |line: &str, path: &str, expected: Value| {
        let record = place.io(&format!("null: --ops 10 {line}"));
        assert_eq!(workload(&record).pointer(path), Some(&expected), "{line}");
    };
    is("--rw read --backwards", "/pattern/kind", "backwards".into());
    is("--rw read --stride 64k", "/pattern/stride_bytes", 65_536.into());
    is("--zipf 1.1", "/pattern/theta", 1.1.into());
    is("--hot 20/80", "/pattern/zones/0/space", 0.2.into());
    is("--repeats", "/pattern/kind", "uniform".into());
    is("--offset 1MiB", "/region/start", MIB.into());
    is("--shift 512", "/shift_bytes", 512.into());
    is("--buffered", "/caching", "buffered".into());
    is("--seed 7", "/seed", 7.into());
    is("--rw write --content zeros", "/content", "zeros".into());
    is("--rw write --content repeated", "/content", "repeated".into());
    is("--rw write --content 50%", "/content/compressible", 0.5.into());
    is("--rate 500", "/pacing/kind", "fixed".into());
}

#[test]
fn content_is_as_requested() {
    let place = Place::new();
    let write = |words: &str| {
        let file = place.file("file", MIB);
        place.io(&format!("{file} --rw write --bs 64k --coverage 1 --destroy=1048576 {words}"));
        std::fs::read(file).expect("a file")
    };
    let zeros = |bytes: &[u8]| bytes.iter().filter(|b| **b == 0).count() as f64 / MIB as f64;
    assert_eq!(zeros(&write("--content zeros")), 1.0);
    let random = zeros(&write("--content random"));
    assert!((0.002..0.006).contains(&random), "{random}");
    let half = zeros(&write("--content 50%"));
    assert!((0.45..0.55).contains(&half), "{half}");
    let repeated = write("--content repeated");
    assert!(repeated.chunks(4096).all(|page| page == &repeated[..4096]));
    assert_ne!(write("--seed 1"), write("--seed 2"));
}

#[test]
fn a_shifted_workload_touches_nothing_before_its_start() {
    let place = Place::new();
    let file = place.file("file", MIB);
    let touched = |words: &str| {
        let file = place.file("file", MIB);
        let line = format!("{file} --rw write --bs 64k --coverage 1 --destroy=1048576 {words}");
        place.io(&line);
        let bytes = std::fs::read(&file).expect("a file");
        let first = bytes.iter().position(|b| *b != 0).expect("a written byte") as u64;
        let last = bytes.iter().rposition(|b| *b != 0).expect("a written byte") as u64;
        (first / 512 * 512, last / 512 * 512 + 512)
    };
    assert_eq!(touched("--buffered"), (0, MIB));
    assert_eq!(touched("--buffered --shift 512"), (512, MIB - 65_536 + 512));
    assert_eq!(touched("--buffered --offset 512k"), (512 << 10, MIB));
    assert_eq!(std::fs::metadata(file).expect("a file").len(), MIB, "the file must not grow");
}

#[test]
fn written_data_verify_in_every_order() {
    let place = Place::new();
    let orders = ["--rw write", "--rw randwrite", "--rw write --backwards", "--rw randrw --mix 50"];
    for order in orders {
        for words in ["--depth 8 --batch 4", "--jobs 2 --bs 4k:50,16k:50"] {
            let line = format!(". --size 2MiB --coverage 2 --verify {order} {words}");
            let record = place.io(&line);
            assert_eq!(record["errors"].as_array().map(Vec::len), Some(0), "{line}");
            assert!(metric(&record, "verified_bytes").is_some_and(|b| b > 0.0), "{line}");
        }
    }
}

#[test]
fn writes_stay_within_the_announced_bound() {
    let place = Place::new();
    let lines = [
        "--rw randwrite --ops 1000",
        "--rw write --coverage 1.5 --jobs 3",
        "--rw randrw --ops 1000",
        "--rw randread --coverage 1",
    ];
    for line in lines {
        let record = place.io(&format!(". --size 4MiB {line}"));
        let most = record["plan"]["write_bytes_max"].as_u64().expect("bytes");
        let written = ops(&record, "write") * 4096;
        let fill = if line.contains("--rw write") { 0 } else { 4 * MIB };
        assert!(written + fill <= most, "{line}: {written} and {fill}, announced {most}");
        assert!(most <= 16 * MIB, "{line}: {most}");
    }
}
