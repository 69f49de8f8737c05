//! Cases of methods whose figures follow from the preset, or from the model itself: `authentic`,
//! `iometer`, `restore` and `speed`.

use model::DriveSpec;
use script::Options;
use workload::OpKind;

use super::{Case, Judged, case, judged_all, outcome, specimen};
use crate::inside::{find, run_with};

/// All cases.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    const MIB: f64 = 1048576.0;
    for (what, overrides, truths) in [
        ("nothing to find", &[][..], [None; 3]),
        ("map of 64 MiB cached", &[("map_cache", "64KiB")], [Some(64.0 * MIB), None, None]),
        ("map of 192 MiB cached", &[("map_cache", "192KiB")], [Some(192.0 * MIB), None, None]),
        ("compression by 0.6", &[("compression", "0.6")], [None, Some(0.6), None]),
        ("deduplication", &[("dedupe", "true")], [None, None, Some(1.0)]),
        (
            "compression by 0.5 and deduplication",
            &[("compression", "0.5"), ("dedupe", "true")],
            [None, Some(0.5), Some(1.0)],
        ),
    ] {
        let judge = move |seed| authentic(overrides, truths, seed);
        cases.push(case(format!("authentic, {what}"), judge));
    }
    cases.push(case("iometer, two workers, two specifications", iometer));
    for name in ["sd-150x", "crucial-bx100-120"] {
        cases.push(case(format!("restore, {name}"), move |seed| restore(name, seed)));
    }
    for name in ["sd-panasonic-512m", "sd-class2", "usb-belkin-1g"] {
        cases.push(case(format!("speed, {name}"), move |seed| speed(name, seed)));
    }
    cases
}

/// `authentic`: the bytes covered by the map cache within a quarter, the compressible share saved
/// within 0.05, and deduplication, each only if the drive has it.
fn authentic(overrides: &[(&str, &str)], truths: [Option<f64>; 3], seed: u64) -> Judged {
    let spec = specimen("crucial-bx100-120", &[&[("capacity", "1GiB")], overrides].concat(), seed);
    let out = outcome("authentic", &spec, seed);
    let near: [fn(f64, f64) -> bool; 3] = [
        |found, truth| (found / truth - 1.0).abs() <= 0.25,
        |found, truth| (found - truth).abs() <= 0.05,
        |found, truth| found > 0.0 && found <= truth + 0.05,
    ];
    let names = ["check-map-held", "check-compression", "check-dedupe"];
    let judged = |i: usize| match (find(&out, names[i]), truths[i]) {
        (Some(found), Some(truth)) => Some(near[i](found, truth)),
        (found, truth) => (found.is_some() || truth.is_none()).then_some(found == truth),
    };
    judged_all([0, 1, 2].map(judged))
}

/// `iometer`: the rate of two workers with a queue of 32 is within 5% of the model's own, and the
/// shares of a mixed specification are kept.
fn iometer(seed: u64) -> Judged {
    let spec = specimen("samsung-970-evo-plus-250", &[("capacity", "1GiB")], seed);
    let mut options = Options { seed, ..Options::default() };
    let method = methods::find("iometer").expect("a method");
    let icf = method.options.iter().find(|o| o.name() == "icf").expect("declared");
    options.parse(*icf, &[crate::inside::ICF.to_string()]).expect("well formed");
    let out = run_with(method, &spec, &options);
    let truth = crate::inside::completed(&spec, OpKind::Read, 32, 40_000);
    let rate = find(&out, "iometer-1").map(|rate| (rate / truth - 1.0).abs() <= 0.05);
    let mixed = ["read", "write"].map(|kind| find(&out, &format!("iometer-2-{kind}")));
    let share = mixed[0].zip(mixed[1]).map(|(read, write)| read / (read + write));
    judged_all([rate, share.map(|share| (share - 0.6 * 0.67).abs() <= 0.02)])
}

/// `restore`: the drive is the limit, at the rate of the model's own sequential writes.
fn restore(name: &str, seed: u64) -> Judged {
    let spec = specimen(name, &[("capacity", "1GiB")], seed);
    let out = outcome("restore", &spec, seed);
    let limit = match out.verdicts[0].kind.name() {
        "UNDETERMINED" => None,
        kind => Some(kind == "WRITES"),
    };
    let truth = written(&spec, 64 << 20, 8);
    let rate = find(&out, "restore-write").map(|rate| (rate / truth - 1.0).abs() <= 0.05);
    judged_all([limit, rate])
}

/// Bytes per second of sequential writes of 1 MiB with their flush on a new drive, computed by the
/// model itself.
fn written(spec: &DriveSpec, bytes: u64, depth: usize) -> f64 {
    let mut drive = model::Drive::new(spec, *spec.seed);
    let mut flight = std::collections::VecDeque::new();
    let mut now = 0;
    for offset in (0..bytes).step_by(1 << 20) {
        if flight.len() == depth {
            now = flight.pop_front().unwrap_or(now).max(now);
        }
        let op = workload::Op { kind: OpKind::Write, offset, bytes: 1 << 20 };
        flight.push_back(drive.submit(now, &op).done_ns);
    }
    now = flight.into_iter().max().unwrap_or(now);
    bytes as f64 * 1e9 / drive.submit(now, &workload::Op::FLUSH).done_ns as f64
}

/// `speed`: the rates of the chunk used agree within 3% between sweep and headline.
fn speed(name: &str, seed: u64) -> Judged {
    let out = outcome("speed", &specimen(name, &[], seed), seed);
    judged_all(["read", "write"].map(|kind| {
        let chunk =
            |name: &str| name.starts_with(&format!("speed-{kind}-")) && name.ends_with("iB");
        let sweep = out.metrics.iter().rfind(|m| chunk(&m.name))?.value?;
        Some((sweep / find(&out, &format!("speed-{kind}"))? - 1.0).abs() <= 0.03)
    }))
}
