//! Virtual drives with the engine's worker: results are reproducible bit for bit and exact in
//! virtual time, and have the same form as those of a real target.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::Simulator;
use model::DriveSpec;
use rig::{Event, Measurement, Preparation, Rig, RigError, StopReason};
use workload::{Content, Mix, OpKind, Pacing, Pattern, Region, Stop, Workload};

const GIB: u64 = 1 << 30;

fn drive(overrides: &[(&str, &str)]) -> Simulator {
    let preset = DriveSpec::preset("samsung-970-evo-plus-250").expect("a preset");
    let spec = preset.with_overrides(overrides).expect("parameters");
    let quiet = Arc::new(AtomicBool::new(false));
    Simulator::new(spec, "sim:test", quiet, Box::new(|_: &Event| {}))
}

fn reads(stop: Stop) -> Workload {
    let region = Region::first(GIB);
    Workload { stop, ..Workload::new("read", Pattern::UniformOnce, Mix::READ, 4096, region) }
}

fn prepared() -> Simulator {
    let mut drive = drive(&[("capacity", "8GiB")]);
    let region = Region::first(8 * GIB);
    drive.prepare(Preparation::Fill { region, content: Content::Random, seed: 1 }).expect("fills");
    drive
}

#[test]
fn the_same_seed_gives_the_same_results_to_the_last_bit() {
    let run = || -> (Measurement, u64) {
        let mut drive = prepared();
        let stop = Stop::after_ns(200_000_000);
        let mix = Mix::read_percent(70);
        let mixed = Workload { mix, depth: 16, jobs: 2, flush_at_end: true, ..reads(stop) };
        let measured = drive.measure(&mixed).expect("measured");
        (measured, drive.elapsed_ns())
    };
    assert_eq!(run(), run());
}

#[test]
fn amounts_are_exact_across_jobs() {
    let mut drive = prepared();
    for (jobs, stop, ops) in [
        (1, Stop { ops: Some(1000), ..Stop::default() }, 1000),
        (3, Stop { ops: Some(1000), ..Stop::default() }, 1000),
        (3, Stop { bytes: Some(4096 * 500), ..Stop::default() }, 500),
    ] {
        let measured =
            drive.measure(&Workload { jobs, depth: 4, ..reads(stop) }).expect("measured");
        assert_eq!(measured.kind(OpKind::Read).map(|k| k.ops), Some(ops));
        assert_eq!(measured.stop, StopReason::Amount);
        assert!(measured.effective_depth <= f64::from(4 * jobs) + 1e-9);
        let device = measured.device.expect("a virtual drive counts its traffic");
        assert_eq!(device.depth, measured.effective_depth, "both queues are equally deep");
    }
}

#[test]
fn a_schedule_in_virtual_time_has_no_jitter() {
    let mut drive = prepared();
    let pacing = Pacing::Fixed { rate: 1000.0 };
    let workload = Workload { pacing, ..reads(Stop::after_ns(1_000_000_000)) };
    let measured = drive.measure(&workload).expect("measured");
    let stats = measured.kind(OpKind::Read).expect("reads");
    assert_eq!((stats.ops, measured.late_ops), (1000, 0));
    let response = stats.response.as_ref().expect("an open loop");
    assert_eq!(response.sum(), stats.service.sum(), "a drive that keeps up adds no waiting");
}

#[test]
fn reads_of_unwritten_blocks_are_reported() {
    let reported = |m: &Measurement| {
        m.findings.iter().any(|f| f.kind == record::FindingKind::UnwrittenBlocksRead)
    };
    let some = reads(Stop { ops: Some(100), ..Stop::default() });
    assert!(reported(&drive(&[("capacity", "8GiB")]).measure(&some).expect("measured")));
    assert!(!reported(&prepared().measure(&some).expect("measured")));
}

#[test]
fn a_drive_that_becomes_slower_above_its_warning_temperature_is_throttled() {
    let throttled = |above_c: &str| {
        let limit = [("heat.throttle.0.above_c", above_c), ("heat.throttle.0.below_c", "45")];
        let heat = [&[("capacity", "8GiB"), ("heat.bare_s", "10")], &limit[..]].concat();
        let preset = DriveSpec::preset("samsung-970-pro-1t").expect("a preset");
        let spec = preset.with_overrides(&heat).expect("parameters");
        let quiet = Arc::new(AtomicBool::new(false));
        let mut drive = Simulator::new(spec, "sim:test", quiet, Box::new(|_: &Event| {}));
        let (stop, region) = (Stop::after_ns(30_000_000_000), Region::first(GIB));
        let writes = Workload::new("write", Pattern::Sequential, Mix::WRITE, 1 << 20, region);
        let measured = drive.measure(&Workload { stop, depth: 8, ..writes }).expect("measured");
        measured.findings.iter().any(|f| f.kind == record::FindingKind::Throttled)
    };
    assert!(throttled("50"), "reached after a third of the time");
    assert!(!throttled("80"), "never reached");
}

#[test]
fn time_passes_only_on_request() {
    let mut drive = drive(&[("capacity", "8GiB")]);
    assert_eq!(drive.elapsed_ns(), 0);
    drive.idle(Duration::from_secs(3600)).expect("idles");
    assert_eq!(drive.elapsed_ns(), 3_600_000_000_000);
    let region = Region::first(8 * GIB);
    let discarded = drive.prepare(Preparation::Discard { region }).expect("discards");
    assert_eq!(drive.elapsed_ns(), 3_600_000_000_000 + discarded.elapsed_ns);
}

#[test]
fn unsupported_operations_of_a_virtual_drive_are_reported() {
    let mut drive = drive(&[("capacity", "8GiB")]);
    let verify = Workload { verify: true, ..reads(Stop::coverage(1.0)) };
    assert!(matches!(drive.measure(&verify), Err(RigError::Unsupported(_))));
    let odd = Preparation::Format { block_bytes: 520 };
    assert!(matches!(drive.prepare(odd), Err(RigError::Unsupported(_))));
    let beyond =
        Workload { region: Region { start: 8 * GIB, bytes: GIB }, ..reads(Stop::default()) };
    assert!(matches!(drive.measure(&beyond), Err(RigError::Unsupported(_))));
}

#[test]
fn the_user_ends_a_run_in_virtual_time_too() {
    let interrupt = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupt);
    let observer = Box::new(move |event: &Event| {
        if matches!(event, Event::Interval { .. }) {
            flag.store(true, Ordering::Relaxed);
        }
    });
    let preset = DriveSpec::preset("samsung-970-evo-plus-250").expect("a preset");
    let mut drive = Simulator::new(preset, "sim:test", interrupt, observer);
    let endless = Workload { mix: Mix::WRITE, ..reads(Stop::default()) };
    let measured = drive.measure(&endless).expect("a partial measurement");
    assert_eq!(measured.stop, StopReason::Interrupted);
    assert!(measured.kind(OpKind::Write).is_some_and(|k| k.ops > 0));
    assert!(matches!(drive.measure(&endless), Err(RigError::Interrupted)));
}

#[test]
fn the_rows_of_a_long_run_are_limited() {
    // The slowest possible drive: 10 s per operation, 2 million intervals.
    // A random read may happen to continue another and be read ahead.
    let slow = [("command.read_us", "10000000"), ("buffer.read_ahead", "0")];
    let mut drive = drive(&[&[("capacity", "8GiB")], &slow[..]].concat());
    let ops = 20_000;
    let slow = reads(Stop { ops: Some(ops), ..Stop::default() });
    let measured = drive.measure(&slow).expect("measured");
    let series = &measured.series;
    let rows = series.t_ns.len();
    assert!((16_384..=32_768).contains(&rows), "{rows} rows");
    let values = |name: &str| series.column(name).expect("a column").values.clone();
    let spans = series.t_ns.iter().scan(0, |from, t| Some(t - std::mem::replace(from, *t)));
    let bytes: f64 =
        values("read").iter().zip(spans).map(|(v, ns)| v.unwrap_or(0.0) * ns as f64 / 1e9).sum();
    let moved = ops as f64 * 4096.0;
    assert!((bytes / moved - 1.0).abs() < 0.001, "{bytes} of {moved} bytes");
    let max_of = |name: &str| values(name).into_iter().flatten().reduce(f64::max);
    assert_eq!((max_of("read.low"), max_of("read.high")), (Some(0.0), Some(40_960.0)));
    let thinned = |f: &record::Finding| f.kind == record::FindingKind::SeriesThinned;
    assert!(measured.findings.iter().any(thinned), "{:?}", measured.findings);
}

#[test]
fn virtual_time_has_an_end() {
    let mut drive = drive(&[("capacity", "8GiB"), ("command.read_us", "10000000")]);
    drive.idle(Duration::from_secs(20 * 365 * 86_400 - 1000)).expect("idles");
    let measured = drive.measure(&reads(Stop::default())).expect("a partial measurement");
    assert_eq!(measured.stop, StopReason::Interrupted);
    let ops = measured.kind(OpKind::Read).map_or(0, |k| k.ops);
    assert!((90..=110).contains(&ops), "{ops} operations in 1000 s");
    let error = drive.idle(Duration::from_nanos(1)).expect_err("the limit");
    assert!(error.to_string().contains("its limit of 20 years"), "{error}");
    // A time beyond the range of the clock.
    let mut other = self::drive(&[("capacity", "8GiB")]);
    other.idle(Duration::MAX).expect("idles to the limit");
    assert!(other.idle(Duration::from_nanos(1)).is_err());
}
