//! Fits end to end: `quick` and `sustain` measure a virtual drive, another preset is fitted to the
//! records, and the fitted drive predicts other workloads on the measured one within 10%.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::Simulator;
use lab::Options;
use lab::fit::Measurements;
use model::DriveSpec;
use record::Run;
use rig::{Preparation, Rig};
use workload::{Content, Mix, Pattern, Region, Stop, Workload};

use crate::recorded::recorded;

const GB: u64 = 1_000_000_000;

/// The rate of a workload on a new drive, in bytes per second. For reads, the region is written
/// first.
fn rate(spec: &DriveSpec, workload: &Workload) -> f64 {
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut rig = Simulator::new(spec.clone(), "sim:x", interrupt, Box::new(|_: &rig::Event| {}));
    if workload.mix.read > 0 {
        let region = workload.region;
        let fill = Preparation::Fill { region, content: Content::Random, seed: 1 };
        rig.prepare(fill).expect("written");
    }
    let measured = rig.measure(workload).expect("measured");
    measured.throughput(None).expect("bytes")
}

fn unused_workloads() -> Vec<Workload> {
    let near = Region::first(2 * GB / 65_536 * 65_536);
    let new = |name: &str, pattern, mix, block, depth| Workload {
        depth,
        stop: Stop { bytes: Some(GB), ..Stop::default() },
        ..Workload::new(name, pattern, mix, block, near)
    };
    let over_the_cache = Region::first(24 * GB / 262_144 * 262_144);
    vec![
        new("random 16 KiB reads, 8 in flight", Pattern::UniformOnce, Mix::READ, 16_384, 8),
        new("random 8 KiB reads, 4 in flight", Pattern::UniformOnce, Mix::READ, 8192, 4),
        new("64 KiB reads in order, alone", Pattern::Sequential, Mix::READ, 65_536, 1),
        new("random 16 KiB writes, 2 in flight", Pattern::UniformOnce, Mix::WRITE, 16_384, 2),
        Workload {
            region: over_the_cache,
            stop: Stop::coverage(1.0),
            ..new("24 GB in order", Pattern::Sequential, Mix::WRITE, 262_144, 4)
        },
    ]
}

fn fitted_to(measured: &str, pairs: &[(&str, &str)], base: &str) {
    let place = tempfile::tempdir().expect("a directory");
    let query: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let target = format!("sim:{measured}?{}", query.join("&"));
    let store = place.path().join("s.sqlite");
    let runs =
        ["quick", "sustain"].map(|method| recorded(method, &target, &Options::default(), &store));
    let measurements = Measurements::from_runs("fitted", &runs).expect("measurements");
    let found = measurements.fit(Some(base)).expect("fitted");
    let undetermined: Vec<_> = found.undetermined.iter().map(|f| f.key.as_str()).collect();
    for key in ["heat.ambient_c", "nand.erase_us"] {
        assert!(undetermined.contains(&key), "{key} in {undetermined:?}");
    }
    let fitted = DriveSpec::parse("my.toml", &found.toml).expect("it can be read again");
    let truth = DriveSpec::preset(measured).and_then(|spec| spec.with_overrides(pairs));
    let truth = truth.expect("known");
    for workload in unused_workloads() {
        let (real, predicted) = (rate(&truth, &workload), rate(&fitted, &workload));
        let off = predicted / real - 1.0;
        println!("{}: {:.0} MB/s, {:+.1}%", workload.name, real / 1e6, off * 100.0);
        assert!(off.abs() <= 0.1, "{measured} from {base}, {}: {off:+.3}", workload.name);
    }
}

#[test]
fn a_fitted_drive_predicts_workloads_that_were_not_used() {
    fitted_to(
        "samsung-970-evo-plus-500",
        &[("capacity", "64GB"), ("slc", "8GB")],
        "integral-512-g3",
    );
}

#[test]
fn a_drive_without_a_cache_is_fitted_from_a_base_with_a_cache() {
    // Bits per cell and channels are in the data sheet; no measurement of quick or sustain shows
    // them.
    let base = "wd-sn530-256?nand.bits=2&nand.channels=8";
    fitted_to("samsung-970-pro-1t", &[("capacity", "48GB")], base);
}

/// What a fit advises is true: the run of the advice determines what was missing.
#[test]
fn the_advised_run_determines_the_spare_flash_and_the_rest_gives_the_flash() {
    let place = tempfile::tempdir().expect("a directory");
    let store = place.path().join("s.sqlite");
    let pairs = [
        ("capacity", "4GiB"),
        ("slc", "1GiB"),
        ("op", "0.15"),
        ("nand.read_us", "75"),
        ("nand.dies", "8"),
    ];
    let query: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let target = format!("sim:samsung-970-evo-plus-500?{}", query.join("&"));
    let [quick, sustain, states] = ["quick", "sustain", "states"]
        .map(|method| recorded(method, &target, &Options::default(), &store));
    let fit = |runs: &[Run]| {
        let measurements = Measurements::from_runs("fitted", runs).expect("measurements");
        measurements.fit(Some("samsung-970-evo-plus-500?slc=1GiB")).expect("fitted")
    };
    let fitted = fit(&[quick.clone(), sustain.clone()]);
    let advised = fitted.advice.iter().find(|advice| advice.parameters == ["op"]);
    let command = &advised.expect("advice about the spare flash").command;
    assert_eq!(*command, format!("ssdyno run '{target}' -m states"));
    let value = |fitted: &lab::fit::FitReport, key: &str| {
        let figure = fitted.decided.iter().find(|figure| figure.key == key);
        figure.and_then(|figure| figure.value.parse::<f64>().ok())
    };
    let near = |value: Option<f64>, truth: f64| {
        let value = value.expect("determined");
        assert!((value / truth - 1.0).abs() < 0.15, "{value} for {truth}");
    };
    near(value(&fitted, "nand.read_us"), 75.0);
    if let Some(dies) = value(&fitted, "nand.dies") {
        near(Some(dies), 8.0);
    }
    assert_eq!(value(&fitted, "op"), None);
    let fitted = fit(&[quick, sustain, states]);
    near(value(&fitted, "op"), 0.15);
    assert!(!fitted.advice.iter().any(|advice| advice.parameters.contains(&"op".to_string())));
}
