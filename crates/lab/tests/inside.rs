//! The methods that look inside a drive, on virtual drives whose inside is known. Here with few seeds;
//! `cargo xtask bench inside` counts the errors over 20.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::Simulator;
use methods::{Options, Outcome, Session};
use model::DriveSpec;
use rig::Event;
use workload::{Op, OpKind};

/// A run of a method on a virtual drive, with options as typed.
fn run(method: &str, spec: &DriveSpec, seconds: u64, typed: &[(&str, &str)]) -> Outcome {
    let method = methods::find(method).expect("a method");
    let time = Some(Duration::from_secs(seconds)).filter(|time| !time.is_zero());
    let mut options = Options { time, ..Options::default() };
    for (name, word) in typed {
        let declared = method.info().options.iter().find(|o| o.name() == *name).expect("declared");
        options.parse(*declared, &[word.to_string()]).expect("a value");
    }
    let never = Arc::new(AtomicBool::new(false));
    let mut rig = Simulator::new(spec.clone(), "sim:drive", never, Box::new(|_: &Event| {}));
    let mut session = Session::new(&mut rig);
    method.run(&mut session, &options).expect("nothing is wrong");
    session.finish()
}

fn preset(name: &str, overrides: &[(&str, &str)]) -> DriveSpec {
    let preset = DriveSpec::preset(name).expect("a preset");
    preset.with_overrides(overrides).expect("permitted")
}

fn find(out: &Outcome, name: &str) -> Option<f64> {
    out.metrics.iter().find(|m| m.name == name)?.value
}

fn value(out: &Outcome, name: &str) -> f64 {
    find(out, name).unwrap_or_else(|| panic!("no {name}"))
}

/// Every preset behind USB or an SD bus.
fn removable() -> impl Iterator<Item = DriveSpec> {
    let all = DriveSpec::presets().map(|name| preset(name, &[("capacity", "4GiB")]));
    all.filter(|spec| {
        let bus = spec.link.first().map_or("", |link| link.bus.value.as_str());
        bus.starts_with("sd") || bus.starts_with("usb")
    })
}

#[test]
fn speed_says_the_same_of_a_chunk_in_its_sweep_and_in_its_headline() {
    let mut wrong = Vec::new();
    for spec in removable() {
        let out = run("speed", &spec, 0, &[]);
        for kind in ["read", "write"] {
            let headline = value(&out, &format!("speed-{kind}"));
            // The largest chunk, which is the one used, comes last.
            let chunk =
                |name: &str| name.starts_with(&format!("speed-{kind}-")) && name.ends_with("iB");
            let sweep = out.metrics.iter().rfind(|m| chunk(&m.name)).expect("a sweep");
            println!("{} {kind}: {headline:.0}, {} {:?}", spec.name, sweep.name, sweep.value);
            let sweep = sweep.value.expect("measured");
            if (sweep / headline - 1.0).abs() > 0.03 {
                wrong.push(format!("{} {kind}: {headline} and {sweep}", spec.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Operations per second of random 4 KiB reads with a full queue, after a fill and a rest.
fn capacity(spec: &DriveSpec) -> f64 {
    let mut drive = model::Drive::new(spec, 1);
    let bytes = drive.bytes().min(1 << 30);
    let mut now = 0;
    for offset in (0..bytes).step_by(1 << 20) {
        now = drive.submit(now, &Op { kind: OpKind::Write, offset, bytes: 1 << 20 }).done_ns;
    }
    now = drive.submit(now, &Op::FLUSH).done_ns + 10_000_000_000;
    let begin = now;
    let mut flight = std::collections::BinaryHeap::new();
    let (mut last, mut place) = (now, 1u64);
    let count = 40_000;
    for number in 0..count {
        if number >= 128 {
            let std::cmp::Reverse(done) = flight.pop().expect("in flight");
            now = now.max(done);
        }
        place =
            place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let offset = (place >> 33) % (bytes / 4096) * 4096;
        let done = drive.submit(now, &Op { kind: OpKind::Read, offset, bytes: 4096 }).done_ns;
        last = last.max(done);
        flight.push(std::cmp::Reverse(done));
    }
    f64::from(count) * 1e9 / (last - begin) as f64
}

#[test]
fn curve_finds_the_knee_at_the_capacity_of_the_model() {
    let drives = ["samsung-970-evo-plus-250", "crucial-bx100-120", "sd-150x", "usb-16k"];
    let mut wrong = Vec::new();
    for name in drives {
        let spec = preset(name, &[("capacity", "2GiB"), ("vary", "0")]);
        let (out, truth) = (run("curve", &spec, 60, &[("p99", "1ms")]), capacity(&spec));
        let knee = value(&out, "curve-knee");
        println!("{name}: knee {knee:.0} of {truth:.0}, 1 ms up to {:?}", find(&out, "curve-kept"));
        println!("closed {:?}, 110% {:?}", find(&out, "curve-closed"), find(&out, "curve-110"));
        println!("{:?}", out.answer.as_ref().map(|answer| &answer.headline));
        if (knee / truth - 1.0).abs() > 0.05 {
            wrong.push(format!("{name}: knee {knee}, capacity {truth}"));
        }
        let [tenth, near] = ["curve-10.p99", "curve-110.p99"].map(|point| find(&out, point));
        assert!(tenth.is_none() || tenth < near, "{name}: {tenth:?} and {near:?}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
