//! Sample records: a plain one, and arbitrary ones.

#![allow(dead_code)] // Each test uses a part of it.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use record::*;
use std::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A record as imported.
pub fn document(run: &Run) -> Document {
    Document::from_run(run.clone()).expect("plain data")
}

/// A run that has just started, with a new id.
pub fn run(method: &str, model: &str, serial: &str) -> Run {
    let drive = DriveIdentity {
        name: "nvme7n1".into(),
        bus: "nvme".into(),
        vendor: Some("ACME".into()),
        model: Some(model.into()),
        serial: Some(serial.into()),
        ..DriveIdentity::default()
    };
    Run {
        schema: SCHEMA.into(),
        id: format!("{:026}", NEXT.fetch_add(1, Ordering::Relaxed)),
        number: None,
        started: "2026-11-21T14:30:00+01:00".into(),
        seconds: None,
        simulated_seconds: None,
        method: method.into(),
        target: target(drive),
        environment: Environment { ssdyno: "0.1.0".into(), ..Environment::default() },
        plan: Some(plan()),
        state_before: State::Unknown,
        state_after: State::Unknown,
        protocol: None,
        part_of: None,
        labels: None,
        options: None,
        seed: None,
        state_as_of: None,
        health_after: None,
        answer: None,
        metrics: Vec::new(),
        series: Vec::new(),
        latencies: Vec::new(),
        verdicts: Vec::new(),
        warnings: Vec::new(),
        errors: Vec::new(),
        complete: false,
        cut_short: None,
        origin: None,
    }
}

fn target(drive: DriveIdentity) -> Target {
    Target {
        spec: "/mnt/Scratch".into(),
        kind: TargetKind::Directory,
        path: Some("/mnt/Scratch".into()),
        bytes: Some(1 << 30),
        drive: Some(drive),
        layers: vec!["/dev/nvme7n1p2".into()],
        filesystem: None,
        direct: Some(true),
    }
}

fn plan() -> Plan {
    Plan {
        safety: Safety::Scratch,
        seconds: 60.0,
        write_bytes_expected: None,
        range: None,
        write_bytes_max: 1 << 32,
        region_bytes: 1 << 30,
        destroys: None,
        steps: Vec::new(),
        workloads: Vec::new(),
        command: vec!["ssdyno".into(), "run".into(), ".".into()],
    }
}

/// Series of `points` points with predictable values: point `i` of column `c` is `i + c / 8`, but
/// every third point of the second column is unknown.
pub fn series(name: &str, replicate: u32, points: u64) -> Series {
    let mut series = Series::new(name, replicate, u64::from(replicate) * 1_000_000_000);
    for i in 0..points {
        series.push(i * 100_000_000, &values(i));
    }
    series
}

/// The values of point `i`.
pub fn values(i: u64) -> [(&'static str, Unit, Option<f64>); 2] {
    let known = (!i.is_multiple_of(3)).then_some(i as f64 + 0.125);
    [("read", Unit::BytesPerSecond, Some(i as f64)), ("temperature", Unit::Celsius, known)]
}

/// An arbitrary run within the limits of the types.
pub fn any_run() -> impl Strategy<Value = Run> {
    let findings = (vec(verdict(), 0..3), vec(finding(), 0..3), vec(io_errors(), 0..3));
    let measured = (vec(metric(), 0..6), vec(any_series(), 0..4), vec(latency(), 0..3));
    let ends = (of(number()), any::<bool>(), of(text()), 0i64..4_000_000_000);
    let around = (any_environment(), of(any_plan()), of(any_origin()));
    (text(), any_target(), around, findings, measured, ends).prop_map(
        |(method, target, (environment, plan, origin), findings, measured, ends)| {
            let (verdicts, warnings, errors) = findings;
            let (metrics, series, latencies) = measured;
            let (seconds, complete, cut_short, started) = ends;
            let started = jiff::Timestamp::from_second(started).expect("in range").to_string();
            let (state_before, state_after) = (State::Fresh, State::Trimmed);
            let basis = run(&method, "", "");
            let answer = complete.then(|| answer(&method, &warnings));
            Run {
                answer,
                started,
                seconds,
                target,
                environment,
                plan,
                state_before,
                state_after,
                metrics,
                series,
                latencies,
                verdicts,
                warnings,
                errors,
                complete,
                cut_short,
                origin,
                ..basis
            }
        },
    )
}

fn answer(headline: &str, warnings: &[Finding]) -> Answer {
    let peer = Peer {
        metric: "a".into(),
        whose: headline.into(),
        unit: Unit::Iops,
        value: 0.5,
        highest: Some(0.75),
        percentile: None,
        differs: vec![headline.into()],
    };
    Answer {
        rest: headline.into(),
        peers: vec![peer],
        ..Answer::new(
            "Which?",
            headline,
            Stamp::Reservations(warnings.iter().map(|w| w.kind.clone()).collect()),
        )
    }
}

fn text() -> impl Strategy<Value = String> {
    "\\PC{0,8}"
}

fn number() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("JSON has only finite numbers", |n| n.is_finite())
}

fn unit() -> impl Strategy<Value = Unit> {
    prop::sample::select(vec![Unit::BytesPerSecond, Unit::Iops, Unit::Nanoseconds, Unit::Celsius])
}

fn metric() -> impl Strategy<Value = Metric> {
    let interval = (of(number()), of(number()), of(number()));
    let covers = (of(prop::sample::select(Covers::ALL.to_vec())), of(any::<u32>()));
    (text(), unit(), interval, any::<u32>(), vec(number(), 0..4), covers).prop_map(
        |(name, unit, (value, low, high), n, samples, (covers, runs))| Metric {
            name,
            unit,
            value,
            low,
            high,
            n,
            samples,
            covers,
            runs,
        },
    )
}

fn any_series() -> impl Strategy<Value = Series> {
    let points = vec((any::<u64>(), of(number()), of(number())), 0..20);
    (text(), any::<u32>(), any::<u64>(), points).prop_map(|(name, replicate, start_ns, points)| {
        let mut series = Series::new(name, replicate, start_ns);
        for (t, a, b) in points {
            series.push(t, &[("a", Unit::Iops, a), ("b c", Unit::Nanoseconds, b)]);
        }
        series
    })
}

fn latency() -> impl Strategy<Value = LatencyProfile> {
    let histogram = || {
        vec(0u64..1 << 40, 0..50).prop_map(|values| {
            let mut histogram = Histogram::default();
            values.into_iter().for_each(|v| histogram.record(v));
            histogram
        })
    };
    (text(), text(), histogram(), of(histogram()))
        .prop_map(|(name, op, service, response)| LatencyProfile { name, op, service, response })
}

fn evidence() -> impl Strategy<Value = Vec<Evidence>> {
    vec((text(), number(), unit()).prop_map(|(n, v, u)| Evidence::new(n, v, u)), 0..3)
}

/// Kinds of this version and of others.
fn verdict_kind() -> impl Strategy<Value = VerdictKind> {
    prop_oneof![
        prop::sample::select(VerdictKind::ALL),
        text().prop_map(|name| name.parse().expect("any name is a kind")),
    ]
}

fn finding_kind() -> impl Strategy<Value = FindingKind> {
    prop_oneof![
        prop::sample::select(FindingKind::ALL),
        text().prop_map(|name| name.parse().expect("any name is a kind")),
    ]
}

fn verdict() -> impl Strategy<Value = Verdict> {
    let explained = (text(), of(number())).prop_map(|(metric, share)| Explained { metric, share });
    (verdict_kind(), text(), vec(explained, 0..3), of(text()), evidence()).prop_map(
        |(kind, text, explains, next_test, evidence)| Verdict {
            kind,
            text,
            explains,
            next_test,
            evidence,
        },
    )
}

fn finding() -> impl Strategy<Value = Finding> {
    (finding_kind(), text(), of(text()), of(text()), evidence()).prop_map(
        |(kind, text, advice, workload, evidence)| Finding {
            kind,
            level: Level::Warn,
            text,
            advice,
            workload,
            evidence,
        },
    )
}

fn io_errors() -> impl Strategy<Value = IoErrors> {
    (text(), text(), text(), any::<u64>(), vec(any::<u64>(), 0..16)).prop_map(
        |(op, kind, workload, count, first_offsets)| IoErrors {
            op,
            kind,
            workload,
            count,
            first_offsets,
        },
    )
}

fn any_target() -> impl Strategy<Value = Target> {
    let drive = (text(), of(text()), of(text()), of(any::<u64>()), of(number())).prop_map(
        |(name, model, serial, bytes, temperature_c)| DriveIdentity {
            name,
            model,
            serial,
            bytes,
            link: Some(Link {
                kind: "usb".into(),
                ceiling_bytes_per_s: temperature_c,
                ..Link::default()
            }),
            health: Health { temperature_c, ..Health::default() },
            ..DriveIdentity::default()
        },
    );
    let filesystem = (text(), of(any::<u64>())).prop_map(|(kind, bytes)| FileSystem {
        kind,
        bytes,
        ..FileSystem::default()
    });
    let bytes = of(any::<u64>());
    (text(), of(text()), bytes, of(drive), of(filesystem), of(any::<bool>())).prop_map(
        |(spec, path, bytes, drive, filesystem, direct)| {
            let (kind, layers) = (TargetKind::Device, vec![spec.clone()]);
            Target { spec, kind, path, bytes, drive, layers, filesystem, direct }
        },
    )
}

fn any_environment() -> impl Strategy<Value = Environment> {
    (text(), of(text()), of(any::<u64>()), of(number())).prop_map(
        |(ssdyno, host, memory_bytes, load)| Environment {
            ssdyno,
            host,
            memory_bytes,
            load,
            ..Environment::default()
        },
    )
}

fn any_origin() -> impl Strategy<Value = Origin> {
    (of(text()), text(), of(text()), any::<bool>()).prop_map(
        |(tool, source, place, start_known)| {
            let kind = OriginKind::Imported;
            Origin {
                kind,
                version: tool.clone(),
                tool,
                source,
                command: place.clone(),
                place,
                start_known,
                title: None,
            }
        },
    )
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let step = (text(), number(), any::<u32>(), any::<u64>()).prop_map(
        |(name, seconds, repeats, write_bytes_max)| PlanStep {
            name,
            seconds,
            repeats,
            repeats_least: None,
            write_bytes_expected: None,
            write_bytes_max,
        },
    );
    (number(), any::<u64>(), vec(step, 0..3), vec(text(), 0..3)).prop_map(
        |(seconds, write_bytes_max, steps, command)| {
            let workload = serde_json::json!({ "seed": write_bytes_max, "share": seconds });
            let workloads = vec![workload.into()];
            Plan { seconds, write_bytes_max, steps, command, workloads, ..plan() }
        },
    )
}
