//! Tests of the wording of individual answers. Tests that apply to all answers are in `every.rs`.

use record::{
    Explained, Finding, FindingKind, HEADLINE_MAX, Level, Metric, Stamp, Unit, Verdict, VerdictKind,
};

use super::*;
use script::Outcome;

fn outcome(metrics: &[(&str, Unit, f64)]) -> Outcome {
    let metrics = metrics.iter().map(|(name, unit, v)| Metric::single(*name, *unit, *v));
    let mut out = Outcome::default();
    out.metrics = metrics.collect();
    out
}

fn verdict(kind: VerdictKind, workload: Option<&str>) -> Verdict {
    let explained = |name: &str| Explained { metric: name.into(), share: None };
    Verdict { explains: workload.map(explained).into_iter().collect(), ..Verdict::new(kind, "") }
}

fn measured() -> Outcome {
    outcome(&[
        ("seq-read-1MiB-q1", Unit::BytesPerSecond, 9e9),
        ("seq-read-1MiB-q8", Unit::BytesPerSecond, 3.4e9),
        ("seq-read-1MiB-q8.p50", Unit::Nanoseconds, 9e9),
        ("seq-write-1MiB-q8", Unit::BytesPerSecond, 12.6e6),
        ("rand-read-4KiB-q32", Unit::Iops, 88_400.0),
        ("rand-write-4KiB-q32", Unit::Iops, 1_240.0),
    ])
}

#[test]
fn quick_reports_the_deepest_queues_and_the_bound_of_its_workload() {
    let mut out = measured();
    let answer = quick(&out).expect("measured");
    assert_eq!(answer.headline, "Reads 3.40 GB/s, writes 12.6 MB/s; 88k/1.2k random IOPS.");
    assert_eq!((answer.tiles.len(), answer.limits.len()), (4, 0));
    let limited = |out: &mut Outcome, kind, workload| {
        out.verdicts = vec![verdict(VerdictKind::Drive, None), verdict(kind, workload)];
        let answer = quick(out).expect("measured");
        let limits: Vec<_> = answer.limits.into_iter().map(|l| (l.metric, l.by)).collect();
        (answer.headline.split_once("IOPS.").expect("rates").1.to_string(), limits)
    };
    let table = [
        (VerdictKind::Link, "seq-read-1MiB-q8", " The link limits sequential reads."),
        // The exact sentence is one character too long.
        (VerdictKind::Link, "seq-write-1MiB-q8", " The link limits writes."),
        (VerdictKind::Cpu, "rand-read-4KiB-q32", " The processor limits reads."),
        (VerdictKind::Depth, "rand-write-4KiB-q32", ""),
    ];
    for (kind, name, words) in table {
        let limits = vec![(name.to_string(), kind.clone())];
        assert_eq!(limited(&mut out, kind, Some(name)), (words.to_string(), limits));
    }
    // A limit of a workload without a tile is not shown.
    let none = (String::new(), Vec::new());
    assert_eq!(limited(&mut out, VerdictKind::Cpu, Some("mixed-4KiB-q32")), none);
    let heat = limited(&mut out, VerdictKind::Heat, None);
    assert_eq!(heat, (" Heat slowed the drive down.".to_string(), Vec::new()));
}

#[test]
fn a_device_that_is_only_read_has_an_answer_about_reads() {
    let out = outcome(&[
        ("seq-read-1MiB-q8", Unit::BytesPerSecond, 5.2e8),
        ("rand-read-4KiB-q32", Unit::Iops, 640.0),
    ]);
    assert_eq!(quick(&out).expect("measured").headline, "Reads 520 MB/s; 640 random IOPS.");
    assert!(quick(&Outcome::default()).is_none() && sustain(&Outcome::default()).is_none());
}

#[test]
fn reads_from_memory_are_not_praised() {
    let mut out = measured();
    out.warnings = vec![Finding::new(FindingKind::ServedFromRam, Level::Bad, "")];
    let answer = quick(&out).expect("measured");
    assert_eq!(answer.stamp, Stamp::NotTheDrive(FindingKind::ServedFromRam));
    assert!(answer.headline.starts_with("These are not the drive's numbers"));
    let mut out = measured();
    out.verdicts = vec![verdict(VerdictKind::Ram, None)];
    assert!(!quick(&out).expect("measured").headline.contains("GB/s"));
}

#[test]
fn sustain_reports_the_cache_and_both_rates() {
    let all = [
        ("sustain-fresh.cache", Unit::Bytes, 170e9),
        ("sustain-fresh.inside", Unit::BytesPerSecond, 5.0e9),
        ("sustain-fresh.after", Unit::BytesPerSecond, 1.45e9),
        ("sustain-fresh.average", Unit::BytesPerSecond, 1.9e9),
        ("sustain-full.average", Unit::BytesPerSecond, 1.9e9),
    ];
    let mut out = outcome(&all);
    out.series.push(record::Series::new("sustain-fresh", 0, 0));
    let answer = sustain(&out).expect("measured");
    let expected = "170 GB at 5.00 GB/s, then 1.45 GB/s; 1.90 GB/s when the drive is full.";
    assert_eq!(answer.headline, expected);
    assert_eq!(answer.charts[0].marks[0].at, 170e9);
    let level = sustain(&outcome(&all[3..4])).expect("measured").headline;
    assert_eq!(level, "1.90 GB/s throughout, no cache end found.");
    let longest = all.map(|(name, unit, v)| (name, unit, v * 1.234e4));
    let answer = sustain(&outcome(&longest)).expect("measured");
    assert!(answer.headline.chars().count() <= HEADLINE_MAX, "{}", answer.headline);
}

#[test]
fn a_steady_throughput_names_its_round_and_marks_the_window() {
    let all = [
        ("snia-throughput-1MiB-r0", Unit::BytesPerSecond, 160e6),
        ("snia-throughput-1MiB-r0.plateau", Unit::BytesPerSecond, 160e6),
        ("snia-throughput-1MiB-r100", Unit::BytesPerSecond, 280e6),
        ("snia-throughput-1MiB.pts-round", Unit::Number, 5.0),
        ("snia-throughput-1MiB.plateau-round", Unit::Number, 6.0),
        ("snia-throughput-128KiB-r0", Unit::BytesPerSecond, 120e6),
        ("snia-throughput-128KiB-r0.plateau", Unit::BytesPerSecond, 120e6),
        ("snia-throughput-128KiB.plateau-round", Unit::Number, 9.0),
    ];
    let of = |metrics: &[(&str, Unit, f64)]| {
        let mut out = outcome(metrics);
        let series = ["1MiB-r0", "128KiB-r0"];
        let series = series.map(|cell| format!("snia-throughput-{cell}-rounds"));
        out.series.extend(series.map(|name| record::Series::new(name, 0, 0)));
        snia_throughput(&out).expect("measured")
    };
    let steady = of(&all);
    let expected = "Reads 280 MB/s, writes 160 MB/s in steady state, reached in round 6.";
    assert_eq!(steady.headline, expected);
    assert!(steady.tiles.iter().any(|t| t.label == "Steady in round" && t.value == Some(6.0)));
    let bands = &steady.charts[0].bands;
    assert_eq!(bands[0].x, Some([1.5, 6.5]));
    let levels: Vec<_> = bands.iter().filter_map(|band| band.y).collect();
    assert_eq!(levels, [[144e6, 176e6]], "the band of the size that the window belongs to");
    assert!(of(&all[..3]).headline.ends_with("not steady when the rounds ended."));
}

#[test]
fn rates_counts_and_factors_have_the_digits_that_matter() {
    let rates = [3.4e9, 12.6e9, 999.6e6, 12.6e6].map(script::draft::rate);
    assert_eq!(rates, ["3.40 GB/s", "12.6 GB/s", "1.00 GB/s", "12.6 MB/s"]);
    let counts = [640.4, 88_123.0, 1.2e6, 9_949.0, 3.25].map(script::draft::count);
    assert_eq!(counts, ["640", "88k", "1.2M", "9.9k", "3.2"]);
    assert_eq!([3.13, 12.3].map(script::draft::times), ["3.1 times", "12 times"]);
}

#[test]
fn align_calls_writes_slower_only_if_that_is_certain() {
    let headline = |ratios: [(f64, f64); 2]| {
        let mut out = outcome(&[("align-0", Unit::BytesPerSecond, 14.2e3)]);
        for (name, (ratio, high)) in ["align-512.ratio", "align-4096.ratio"].iter().zip(ratios) {
            let metric = Metric::single(*name, Unit::Number, ratio);
            out.metrics.push(metric.between(2.0 * ratio - high, high, record::Covers::Mean));
        }
        align(&out).expect("measured").headline
    };
    assert_eq!(
        headline([(0.5, 0.6), (0.4, 1.2)]),
        "Misaligned 4 KiB writes are 2.0 times slower, at an offset of 512 B."
    );
    assert_eq!(
        headline([(0.95, 1.1), (0.85, 1.2)]),
        "Misaligned 4 KiB writes may be slower (85% of aligned): not certain."
    );
    // The wider interval is 0.70 to 1.20.
    assert_eq!(
        headline([(0.97, 1.1), (0.95, 1.2)]),
        "Alignment makes no visible difference to 4 KiB writes (within 30%)."
    );
}

#[test]
fn fio_jobs_are_reported_under_their_names() {
    const RATE: Unit = Unit::BytesPerSecond;
    let job = [
        ("my-job.write.throughput", RATE, 91.2e6),
        ("my-job.write.iops", Unit::Iops, 22e3),
        ("my-job.write.service.p99", Unit::Nanoseconds, 1.2e6),
        ("my-job.effective_depth", Unit::Number, 4.0),
    ];
    let answer = by_hand(&outcome(&job)).expect("measured");
    assert_eq!(answer.headline, "my-job: writes 91.2 MB/s, 22k IOPS; 99% within 1.20 ms.");
    let labels: Vec<&str> = answer.tiles.iter().map(|tile| tile.label.as_str()).collect();
    let expected = ["Speed", "Operations per second", "p99 latency", "Effective queue depth"];
    assert_eq!(labels, expected);

    let mix = [
        ("a.read.throughput", RATE, 12.3e6),
        ("a.read.iops", Unit::Iops, 3e3),
        ("a.read.service.p99", Unit::Nanoseconds, 1.2e6),
        ("a.write.throughput", RATE, 5.21e6),
    ];
    let answer = by_hand(&outcome(&mix)).expect("measured");
    let expected = "a: reads 12.3 MB/s, writes 5.21 MB/s; 99% of reads within 1.20 ms.";
    assert_eq!((answer.headline.as_str(), answer.charts.len()), (expected, 1));
    assert_eq!(answer.tiles[0].label, "Speed of reads");

    let three = [&job[..], &mix, &[("b.discard.throughput", RATE, 1e9)]].concat();
    let answer = by_hand(&outcome(&three)).expect("measured");
    assert_eq!(answer.headline, "my-job: writes 91.2 MB/s, 22k IOPS; first of 3 jobs.");
    assert_eq!((answer.charts[0].title.as_str(), answer.charts.len()), ("Speed of each job", 2));
    assert_eq!(answer.tiles[0].label, "Speed of my-job writes");

    // The name is cut, not the figures.
    let name = "long-".repeat(30);
    let long = mix.map(|(key, unit, v)| (key.replacen('a', &name, 1), unit, v));
    let long: Vec<_> = long.iter().map(|(key, unit, v)| (key.as_str(), *unit, *v)).collect();
    let headline = by_hand(&outcome(&long)).expect("measured").headline;
    assert_eq!(headline.chars().count(), HEADLINE_MAX, "{headline}");
    let end = "...: reads 12.3 MB/s, writes 5.21 MB/s; 99% of reads within 1.20 ms.";
    assert!(headline.starts_with("long-long-") && headline.ends_with(end), "{headline}");

    // `io` has one workload without a name, whose directions are parts of it.
    let io = [
        ("throughput", RATE, 91.2e6),
        ("iops", Unit::Iops, 22e3),
        ("read.throughput", RATE, 50e6),
        ("service.p99", Unit::Nanoseconds, 1.2e6),
    ];
    let answer = by_hand(&outcome(&io)).expect("measured");
    assert_eq!(answer.headline, "91.2 MB/s, 22k IOPS; 99% of operations within 1.20 ms.");
    assert_eq!((answer.tiles[0].label.as_str(), answer.tiles.len()), ("Speed", 3));
}
