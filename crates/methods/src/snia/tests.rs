//! The tests of the specification on a virtual drive.

use std::time::Duration;

use record::Metric;

use crate::find;
use script::test_drive::{Fake, FlashTraits, Traits, perform};
use script::{MethodError, Options, Outcome, Result};

const BYTES: u64 = 128 << 20;

/// Runs a test on a drive whose random writes slow down as it fills, by up to `full_cost`.
fn run(name: &str, seconds: u64, full_cost: f64) -> Outcome {
    let (out, result) = run_at(10e6, name, seconds, full_cost);
    result.expect("nothing is wrong");
    out
}

/// The same at this rate, bytes per second.
fn run_at(rate: f64, name: &str, seconds: u64, full_cost: f64) -> (Outcome, Result<()>) {
    let flash = FlashTraits { full_cost, ..FlashTraits::default() };
    let traits = Traits { rate, command_ns: 1_000_000, noise: 0.01, flash, ..Traits::default() };
    let mut fake = Fake::confirmed(traits, BYTES);
    let mut out = Outcome::default();
    let options = Options { time: Some(Duration::from_secs(seconds)), ..Options::default() };
    let result = perform(find(name).expect("exists"), &mut fake, &options, &mut out);
    (out, result)
}

fn metric<'a>(out: &'a Outcome, name: &str) -> &'a Metric {
    out.metrics.iter().find(|m| m.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn value(out: &Outcome, name: &str) -> f64 {
    metric(out, name).value.expect("known")
}

fn says(out: &Outcome, verdict: &str) -> bool {
    out.verdicts.iter().any(|v| v.kind.name() == verdict)
}

/// Eight channels, 1 ms and 4 KiB at 10 MB/s each.
const RATE: f64 = 8.0 / (1e-3 + 4096.0 / 10e6);

#[test]
fn iops_has_all_cells_and_both_words() {
    let out = run("snia-iops", 3000, 1.0);
    let cells = out.metrics.iter().filter(|m| !m.name.contains('.')).count();
    assert_eq!(cells, 56);
    let writes = value(&out, "snia-iops-4KiB-r0");
    assert!((writes / RATE - 1.0).abs() < 0.05, "{writes} is not {RATE}");
    assert_eq!(metric(&out, "snia-iops-4KiB-r0.pts").samples.len(), analysis::WINDOW);
    assert!(value(&out, "snia-iops.pts-round") <= value(&out, "snia-iops.plateau-round"));
    assert!(says(&out, "STEADY"), "{:?}", out.verdicts);
    let series: Vec<_> = out.series.iter().filter(|s| s.name.ends_with("-rounds")).collect();
    assert_eq!(series.len(), 3);
    let rows = out.series.iter().filter(|s| s.name.starts_with("snia")).map(|s| s.t_ns.len());
    assert!(rows.max() <= Some(series[0].t_ns.len()));
}

/// A card at 1 kB/s per channel does not finish a round: its cells are kept, and the run is not
/// marked complete.
#[test]
fn a_first_round_that_its_limit_ends_is_no_result() {
    let (out, result) = run_at(1e3, "snia-iops", 60, 1.0);
    assert!(matches!(result, Err(MethodError::Unfinished { .. })), "{result:?}");
    assert!(value(&out, "snia-iops-1MiB-r100") > 0.0);
    assert!(!out.metrics.iter().any(|m| m.name == "snia-iops-512B-r0"), "no cell was skipped");
}

#[test]
fn a_steady_window_without_a_capacity_written_is_steady_by_the_specification_only() {
    let out = run("snia-latency", 100, 1.0);
    assert!(says(&out, "PTS-STEADY ONLY"), "{:?}", out.verdicts);
    let alone = 1e9 / (RATE / 8.0);
    assert!((value(&out, "snia-latency-4KiB-r0") / alone - 1.0).abs() < 0.03);
    assert!(value(&out, "snia-latency-4KiB-r0.max") >= value(&out, "snia-latency-4KiB-r0"));
    metric(&out, "snia-latency-distribution.p50");
    assert!(out.latencies.iter().any(|l| l.name == "snia-latency-distribution" && l.op == "write"));
}

#[test]
fn throughput_saturation_rests_recovery_and_demand_have_their_figures() {
    let out = run("snia-throughput", 200, 1.0);
    let large = 8.0 * 1048576.0 / (1e-3 + 1048576.0 / 10e6);
    assert!((value(&out, "snia-throughput-1MiB-r0") / large - 1.0).abs() < 0.1);
    metric(&out, "snia-throughput-128KiB-r100.pts");

    let out = run("snia-wsat", 600, 3.0);
    assert!(value(&out, "snia-wsat-4KiB-r0.first-round") > 0.0);

    let out = run("snia-hir", 300, 1.0);
    assert_eq!(metric(&out, "snia-hir-wait-50s").n, 36);

    let out = run("snia-xsr", 60, 1.0);
    metric(&out, "snia-xsr-sequential-after.recovery");

    let out = run("snia-dirth", 100, 1.0);
    let [most, least] = ["snia-dirth-t32-q32", "snia-dirth-t1-q1"].map(|name| value(&out, name));
    assert!(most > 5.0 * least, "{most}, {least}");
    metric(&out, "snia-dirth-t32-q32.response");
}
