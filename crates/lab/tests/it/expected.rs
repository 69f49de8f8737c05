//! Plans come true: on a virtual drive with known rates, the planned time is within a factor of the
//! time that the run takes. The tests of SNIA are excluded: their rounds depend on what they find.
//!
//! The suite has ten presets and the cheap methods. With `SSDYNO_PLANS_DRAW=100` the test draws as
//! many pairs of all presets and methods, from the seed `SSDYNO_PLANS_SEED`, and prints them as
//! commands, the worst first.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fuzz::Random;
use lab::{Options, Request, Work, drives};

use crate::quiet::Quiet;

/// Sticks, cards, an eMMC and SATA drives, two of them behind USB 2.
const PRESETS: [&str; 10] = [
    "usb-16k",
    "usb-cruzer-4g",
    "sd-150x",
    "sd-class2",
    "sd-adata-4g",
    "cm4-emmc-32",
    "bx500-on-usb2",
    "sabrent-512-on-usb2",
    "indilinx-m225-64",
    "crucial-bx500-240",
];

/// NVMe drives, on which `quick` writes tens of gigabytes.
const FAST: [&str; 3] = ["samsung-980-pro-1t", "wd-sn530-256", "qlc-1t"];

/// Methods whose simulation takes about a second, with the largest ratio of the planned and the
/// real time, either way.
const CHEAP: [(&str, f64); 2] = [("quick", 1.5), ("speed", 2.2)];

/// The same of drawn methods.
const DRAWN_FACTOR_MAX: f64 = 1.5;

/// All methods that a virtual drive can run and whose time does not depend on what they find.
const DRAWN: [&str; 12] = [
    "quick",
    "authentic",
    "stream",
    "cluster",
    "speed",
    "trim",
    "align",
    "zones",
    "sdclass",
    "fake",
    "curve",
    "iozone",
];

/// A plan and what came of it.
#[derive(Debug)]
struct Case {
    command: String,
    factor_max: f64,
    planned_seconds: f64,
    seconds: f64,
    planned_bytes: u64,
    bytes: u64,
}

impl Case {
    /// The ratio of the two times, at least 1.
    fn factor(&self) -> f64 {
        let ratio = self.planned_seconds / self.seconds;
        ratio.max(1.0 / ratio)
    }
}

/// The capacity of whole-drive runs, which would take minutes on a real one.
fn target(preset: &str) -> String {
    let presets = drives::presets().expect("well formed");
    let capacity = presets.iter().find(|known| known.name == preset).map_or(0, |known| known.bytes);
    let size = if capacity > 4 << 30 { "?capacity=4GiB" } else { "" };
    format!("sim:{preset}{size}")
}

fn case(preset: &str, method: &str, factor_max: f64) -> Option<Case> {
    let place = tempfile::tempdir().expect("a directory");
    let target = target(preset);
    let request = Request { store: Some(place.path().join("runs")), ..Request::on(&target) };
    let options = Options::default();
    let work = Work::method(method, &options).expect("a method");
    let interrupt = Arc::new(AtomicBool::new(false));
    // Some methods need a larger drive, or one that declares more.
    let planned = request.plan(&work).ok()?;
    let plan = planned.plan.clone();
    let begun = planned.begin(Box::new(Quiet), &interrupt).expect("it begins");
    let run = begun.run(&interrupt).run;
    let before = run.target.drive.as_ref().and_then(|drive| drive.health.written_bytes);
    let after = run.health_after.as_ref().and_then(|health| health.written_bytes);
    Some(Case {
        command: format!("ssdyno run '{target}' -m {method}"),
        factor_max,
        planned_seconds: plan.seconds,
        seconds: run.simulated_seconds.expect("a virtual drive"),
        planned_bytes: plan.write_bytes_expected.expect("known rates"),
        bytes: after.unwrap_or(0).saturating_sub(before.unwrap_or(0)),
    })
}

/// Pairs drawn from all presets and methods.
fn drawn(count: usize) -> Vec<(String, (&'static str, f64))> {
    let seed = std::env::var("SSDYNO_PLANS_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut random = Random::new(seed.unwrap_or(1));
    let presets = drives::presets().expect("well formed");
    let pairs = (0..count).map(|_| {
        let preset = &presets[random.below(presets.len())];
        (preset.name.clone(), (DRAWN[random.below(DRAWN.len())], DRAWN_FACTOR_MAX))
    });
    pairs.collect()
}

#[test]
fn planned_times_come_true() {
    let count = std::env::var("SSDYNO_PLANS_DRAW").ok().and_then(|count| count.parse().ok());
    let pairs = count.map_or_else(
        || {
            let pairs = PRESETS.iter().flat_map(|preset| CHEAP.map(|method| (preset, method)));
            let fast = FAST.iter().map(|preset| (preset, CHEAP[1]));
            pairs.chain(fast).map(|(preset, method)| ((*preset).to_string(), method)).collect()
        },
        drawn,
    );
    let mut cases: Vec<Case> =
        pairs.iter().filter_map(|(preset, (method, most))| case(preset, method, *most)).collect();
    cases.sort_by(|a, b| b.factor().total_cmp(&a.factor()));
    for case in &cases {
        let Case { command, planned_seconds, seconds, planned_bytes, bytes, .. } = case;
        println!(
            "{:5.2} {command}: planned {planned_seconds:.1} s, came {seconds:.1}; {} and {} MB",
            case.factor(),
            planned_bytes / 1_000_000,
            bytes / 1_000_000
        );
    }
    let broken: Vec<&Case> = cases.iter().filter(|case| case.factor() > case.factor_max).collect();
    assert!(broken.is_empty(), "{} of {}: {broken:#?}", broken.len(), cases.len());
}
