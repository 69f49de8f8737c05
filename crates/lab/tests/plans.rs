//! Plans hold on virtual drives: every method takes the steps its plan names, as often as it says,
//! writes no more than it promises, and does not promise much more than it writes. It publishes the
//! metrics it declares, and no others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::Simulator;
use methods::{Method, MethodError, Options, Session, all};
use model::DriveSpec;
use record::{Metric, Plan};
use rig::Event;

/// An SD card, an NVMe drive, an eMMC and a SATA drive, small enough for a test.
const DRIVES: [(&str, &str); 4] = [
    ("sd-150x", "128MiB"),
    ("samsung-970-evo-plus-250", "512MiB"),
    ("cm4-emmc-32", "256MiB"),
    ("crucial-bx100-120", "256MiB"),
];

/// A plan promises no more than this many times what is written.
const BOUND_OVER_WRITTEN: f64 = 3.0;

/// Methods whose bound is a declared number of drive writes.
const DECLARED: [&str; 7] = [
    "snia-iops",
    "snia-throughput",
    "snia-latency",
    "snia-wsat",
    "snia-hir",
    "snia-xsr",
    "snia-dirth",
];

const NO_PROGRAMS: &str = "a virtual drive runs no programs";
const ONE_FORMAT: &str = "this drive has one format";
const NO_DISC: &str = "there is no RAM disc beside a virtual drive";
const SHORT: &str = "the passes are too short to show a cache, or the slowest hundredth";

/// Declared metrics that the NVMe drive of this test does not publish, and the reason. The tests of
/// the methods publish them.
const ELSEWHERE: [(&str, &str); 20] = [
    ("command.time", NO_PROGRAMS),
    ("command.{user,system}", NO_PROGRAMS),
    ("command.sync", NO_PROGRAMS),
    ("command.memory", NO_PROGRAMS),
    ("command.device-{read,written}", NO_PROGRAMS),
    ("command.device-{written-synced,discarded}", NO_PROGRAMS),
    ("command.device-depth", NO_PROGRAMS),
    ("command.exit", NO_PROGRAMS),
    ("heat-load.time-to-throttle", "the work is too short for the drive to throttle"),
    ("iozone-{size}-{size}.{cold-read,cold-random-read}.cached", "it has no page cache"),
    ("lbaf-{seq,rand}-{read,write}-{size}-q{depth}-in-{512,4096}", ONE_FORMAT),
    ("lbaf-{seq,rand}-{read,write}-{size}-q{depth}.ratio", ONE_FORMAT),
    ("legacy-{hd,fs}-{read,write}.ram", NO_DISC),
    ("mark-{hd,fs}-{read,write}.ram", NO_DISC),
    ("mark-{hd,fs}-{read,write}.ratio", NO_DISC),
    ("sustain-fresh.cache", SHORT),
    ("sustain-fresh.undershoot", SHORT),
    ("sustain-fresh.{inside,after}", SHORT),
    ("sustain-idle-{time}.cache", SHORT),
    ("sustain-{fresh,full}.worst-1%", SHORT),
];

type Counts = BTreeMap<String, u32>;

/// What a run did.
struct Done {
    steps: Counts,
    written: u64,
    result: Result<(), MethodError>,
    warnings: Vec<String>,
    metrics: Vec<Metric>,
}

fn drive(name: &str, capacity: &str) -> DriveSpec {
    let preset = DriveSpec::preset(name).expect("a preset");
    preset.with_overrides(&[("capacity", capacity)]).expect("a capacity")
}

/// A shorter run than usual, of which the plan is as true.
fn options(method: &dyn Method) -> Options {
    let info = method.info();
    let seconds = match info.name {
        name if DECLARED.contains(&name) => info.seconds / 1000.0,
        "states" | "heat" | "align" | "trim" => info.seconds / 50.0,
        _ => info.seconds.min(90.0),
    };
    let time = Some(Duration::from_secs_f64(seconds.max(1.0)));
    // Whoever names a number of rounds gets it, however slow the drive.
    Options { time, replicates: Some(2), ..Options::default() }
}

fn run(spec: &DriveSpec, method: &dyn Method, options: &Options) -> Done {
    let steps = Arc::new(Mutex::new(Counts::new()));
    let seen = Arc::clone(&steps);
    let observer = move |event: &Event| {
        if let Event::Step { name, .. } = event {
            *seen.lock().expect("one thread").entry(name.clone()).or_default() += 1;
        }
    };
    let idle = Arc::new(AtomicBool::new(false));
    let mut rig = Simulator::new(spec.clone(), "sim:drive", idle, Box::new(observer));
    let mut session = Session::new(&mut rig);
    let result = method.run(&mut session, options);
    let outcome = session.finish();
    let written = rig.health().written_bytes.unwrap_or(0);
    let steps = std::mem::take(&mut *steps.lock().expect("one thread"));
    let warnings = outcome.warnings.iter().map(|w| w.kind.to_string()).collect();
    Done { steps, written, result, warnings, metrics: outcome.metrics }
}

fn planned(plan: &Plan) -> Counts {
    plan.steps.iter().map(|step| (step.name.clone(), step.repeats)).collect()
}

/// The bytes promised for the repeats that ran.
fn promised(plan: &Plan, steps: &Counts) -> f64 {
    let of = |step: &record::Step| {
        let ran = f64::from(*steps.get(&step.name).unwrap_or(&0)) / f64::from(step.repeats);
        step.write_bytes_max as f64 * ran
    };
    plan.steps.iter().map(of).sum()
}

/// The names of the declarations of the metrics that were published, and those without one.
fn published(method: &dyn Method, done: &Done) -> (BTreeSet<&'static str>, Vec<String>) {
    let (mut declared, mut others) = (BTreeSet::new(), Vec::new());
    for metric in &done.metrics {
        match method.info().declaration(&metric.key()).filter(|d| d.unit == metric.unit) {
            Some(declaration) => drop(declared.insert(declaration.name)),
            None => others.push(format!("{} in {}", metric.name, metric.unit.name())),
        }
    }
    (declared, others)
}

/// Returns the names of the declarations that were published.
fn plans_hold(name: &str, capacity: &str) -> BTreeSet<&'static str> {
    let spec = drive(name, capacity);
    let info = Simulator::info(&spec, "sim:drive");
    let (mut broken, mut seen) = (Vec::new(), BTreeSet::new());
    for method in all() {
        let (options, method_name) = (options(*method), method.info().name);
        let at = format!("{method_name} on {name}");
        let plan = match methods::plan(*method, &info, &options) {
            Ok(plan) => plan,
            Err(refused) => {
                let done = run(&spec, *method, &options);
                let ran = done.result.expect_err("refused").to_string();
                assert_eq!((refused.to_string(), done.written), (ran, 0), "{at}");
                continue;
            }
        };
        let done = run(&spec, *method, &options);
        let (declared, others) = published(*method, &done);
        seen.extend(declared);
        if !others.is_empty() {
            broken.push(format!("{at}: published without a declaration: {others:?}"));
        }
        done.result.unwrap_or_else(|e| panic!("{at}: {e}"));
        let ratio = promised(&plan, &done.steps) / done.written.max(1) as f64;
        println!("{at}: wrote {}, promised {ratio:.2} times that", done.written);
        let (planned, declared) = (planned(&plan), DECLARED.contains(&method_name));
        if done.steps != planned {
            let findings = &done.warnings;
            broken.push(format!("{at}: planned {planned:?}, took {:?}; {findings:?}", done.steps));
        }
        if done.written > plan.write_bytes_max {
            let most = plan.write_bytes_max;
            broken.push(format!("{at}: wrote {}, promised at most {most}", done.written));
        }
        if !declared && plan.write_bytes_max > 0 && ratio > BOUND_OVER_WRITTEN {
            broken.push(format!("{at}: promised {ratio:.2} times what was written: {plan:#?}"));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    seen
}

#[test]
fn plans_hold_on_an_sd_card() {
    plans_hold(DRIVES[0].0, DRIVES[0].1);
}

#[test]
fn plans_hold_on_an_nvme_drive_and_every_declared_metric_is_published() {
    let published = plans_hold(DRIVES[1].0, DRIVES[1].1);
    let declared = all().iter().flat_map(|method| method.info().metrics()).map(|m| m.name);
    let silent: BTreeSet<_> = declared.filter(|name| !published.contains(name)).collect();
    assert_eq!(silent, ELSEWHERE.into_iter().map(|(name, _)| name).collect());
}

#[test]
fn plans_hold_on_an_emmc() {
    plans_hold(DRIVES[2].0, DRIVES[2].1);
}

#[test]
fn plans_hold_on_a_sata_drive() {
    plans_hold(DRIVES[3].0, DRIVES[3].1);
}
