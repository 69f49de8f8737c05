//! The tests of whole drives on a virtual one: what each must find out, and whom each must refuse.

use std::time::Duration;

use record::{Metric, Safety, State, TargetKind, Verdict};

use crate::fake::{Fake, FlashTraits, Traits};
use crate::{Method, MethodError, Options, Outcome, all, find};

const GIB: u64 = 1 << 30;

/// 80 MB/s, so that a GiB takes long enough to have a course, and few enough operations.
fn traits(flash: FlashTraits) -> Traits {
    Traits { rate: 10e6, command_ns: 1_000_000, noise: 0.01, flash, ..Traits::default() }
}

fn run(fake: &mut Fake, name: &str, seconds: u64) -> (Outcome<'static>, Result<(), MethodError>) {
    let time = (seconds > 0).then(|| Duration::from_secs(seconds));
    let mut out = Outcome::default();
    let options = Options { time, ..Options::default() };
    let result = find(name).expect("exists").run(fake, &options, &mut out);
    (out, result)
}

fn done(flash: FlashTraits, name: &str, seconds: u64) -> Outcome<'static> {
    let mut fake = Fake::given_away(traits(flash), GIB);
    let (out, result) = run(&mut fake, name, seconds);
    result.expect("nothing is wrong with the drive");
    out
}

fn metric<'a>(out: &'a Outcome<'_>, name: &str) -> &'a Metric {
    let names = || out.metrics.iter().map(|m| m.name.as_str()).collect::<Vec<_>>();
    out.metrics
        .iter()
        .find(|m| m.name == name)
        .unwrap_or_else(|| panic!("no {name}: {:?}", names()))
}

fn value(out: &Outcome<'_>, name: &str) -> f64 {
    metric(out, name).value.expect("known")
}

fn verdict<'a>(out: &'a Outcome<'_>, name: &str) -> Option<&'a Verdict> {
    out.verdicts.iter().find(|v| v.name == name)
}

fn near(value: f64, truth: f64, share: f64) {
    assert!((value / truth - 1.0).abs() <= share, "{value} is not {truth}");
}

/// Those that destroy.
fn drastic() -> impl Iterator<Item = &'static &'static dyn Method> {
    all().iter().filter(|m| m.info().safety == Safety::Destroys)
}

fn cached() -> FlashTraits {
    FlashTraits {
        cache_bytes: 200 << 20,
        cache_gain: 4.0,
        folding: 2.0,
        cache_back_per_s: 1e6,
        ..FlashTraits::default()
    }
}

#[test]
fn whoever_did_not_give_a_drive_away_is_refused_before_the_first_byte() {
    for method in drastic() {
        let name = method.info().name;
        let mut fake = Fake::given_away(traits(FlashTraits::default()), GIB);
        fake.info.allowed = Safety::Scratch;
        let mut out = Outcome::default();
        for kind in [TargetKind::Device, TargetKind::Directory, TargetKind::File] {
            fake.info.target.kind = kind;
            if name == "zones" && kind == TargetKind::Device {
                continue;
            }
            let options = Options::default();
            let planned = method.plan(&fake.info, &options).expect_err("refused").to_string();
            let ran = method.run(&mut fake, &options, &mut out).expect_err("refused");
            assert!(matches!(ran, MethodError::Rig(rig::RigError::Refused(_))), "{name}: {ran}");
            let word =
                if kind == TargetKind::Device { "given away" } else { "needs a whole drive" };
            assert!(planned.contains(word) && ran.to_string() == planned, "{planned}");
        }
        assert_eq!((fake.calls, fake.written), (0, 0), "{name}");
    }
}

#[test]
fn sustain_finds_the_cache_its_end_and_the_folding() {
    let out = done(cached(), "sustain", 0);
    let cache = metric(&out, "sustain-fresh.cache");
    let truth = f64::from(200 << 20);
    near(cache.value.expect("found"), truth, 0.02);
    assert!(cache.low.expect("interval") <= truth && truth <= cache.high.expect("interval"));
    // Eight channels, each a command of 1 ms and 1 MiB at 10 MB/s.
    let direct = 8.0 * 1048576.0 / (1e-3 + 1048576.0 / 10e6);
    near(value(&out, "sustain-fresh.inside"), 4.0 * direct, 0.05);
    near(value(&out, "sustain-fresh.after"), direct / 2.0, 0.05);
    near(value(&out, "sustain-full.average"), direct, 0.05);
    near(value(&out, "sustain-fresh.undershoot"), 0.5, 0.05);
    let found = verdict(&out, "CACHE END").expect("found");
    assert!(found.text.contains("folded"), "{}", found.text);
    assert_eq!(out.state_after, State::Used);
    // A megabyte of cache comes back in a second.
    near(value(&out, "sustain-idle-60s.cache"), 60e6, 0.2);
    near(value(&out, "sustain-idle-900s.cache"), truth, 0.1);
    assert!(value(&out, "sustain-idle-900s") > 2.0 * value(&out, "sustain-idle-30s"));
}

#[test]
fn sustain_finds_no_cache_where_there_is_none() {
    let out = done(FlashTraits::default(), "sustain", 0);
    assert!(verdict(&out, "NO CACHE END").is_some(), "{:?}", out.verdicts);
    assert!(!out.metrics.iter().any(|m| m.name.ends_with(".cache") || m.name.ends_with("shoot")));
    let slow = Traits { rate: 500e6, ..traits(FlashTraits::default()) };
    let (out, result) = run(&mut Fake::given_away(slow, GIB), "sustain", 0);
    result.expect("fast is no error");
    assert!(verdict(&out, "UNDETERMINED").expect("too short").text.contains("too short"));
}

#[test]
fn a_drive_without_discard_is_measured_as_it_is_and_that_is_said() {
    let mut fake = Fake::given_away(traits(FlashTraits::default()), GIB);
    fake.info.discard = false;
    let (out, result) = run(&mut fake, "sustain", 0);
    result.expect("no error");
    assert_eq!(out.warnings.iter().filter(|w| w.name == "no-discard").count(), 1);
}
