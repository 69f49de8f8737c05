//! Whole-drive methods on a fake drive: results and refusals.

use std::time::Duration;

use record::{FindingKind, Metric, Safety, State, TargetKind, Verdict};

use crate::{ALL, find};
use script::test_drive::{Fake, FlashTraits, Traits, perform, steps};
use script::{MethodError, MethodInfo, Options, Outcome, Result, plan};

const GIB: u64 = 1 << 30;

/// 80 MB/s, so that a GiB takes long enough for a time series but few enough operations.
fn traits(flash: FlashTraits) -> Traits {
    Traits { rate: 10e6, command_ns: 1_000_000, noise: 0.01, flash, ..Traits::default() }
}

fn run(fake: &mut Fake, name: &str, seconds: u64) -> (Outcome, Result<()>) {
    let time = (seconds > 0).then(|| Duration::from_secs(seconds));
    let mut out = Outcome::default();
    let options = Options { time, ..Options::default() };
    let result = perform(find(name).expect("exists"), fake, &options, &mut out);
    (out, result)
}

fn done(flash: FlashTraits, name: &str, seconds: u64) -> Outcome {
    let mut fake = Fake::confirmed(traits(flash), GIB);
    let (out, result) = run(&mut fake, name, seconds);
    result.expect("nothing is wrong with the drive");
    out
}

fn metric<'a>(out: &'a Outcome, name: &str) -> &'a Metric {
    let names = || out.metrics.iter().map(|m| m.name.as_str()).collect::<Vec<_>>();
    out.metrics
        .iter()
        .find(|m| m.name == name)
        .unwrap_or_else(|| panic!("no {name}: {:?}", names()))
}

fn value(out: &Outcome, name: &str) -> f64 {
    metric(out, name).value.expect("known")
}

fn verdict<'a>(out: &'a Outcome, name: &str) -> Option<&'a Verdict> {
    out.verdicts.iter().find(|v| v.kind.name() == name)
}

fn near(value: f64, truth: f64, share: f64) {
    assert!((value / truth - 1.0).abs() <= share, "{value} is not {truth}");
}

/// The destructive methods.
fn destructive() -> impl Iterator<Item = &'static &'static MethodInfo> {
    ALL.iter().filter(|m| m.safety == Safety::Destroys)
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
fn a_drive_without_destroy_is_refused_before_the_first_byte() {
    for method in destructive() {
        let name = method.name;
        let mut fake = Fake::confirmed(traits(FlashTraits::default()), GIB);
        fake.info.allowed = Safety::Scratch;
        let mut out = Outcome::default();
        for kind in [TargetKind::Device, TargetKind::Directory, TargetKind::File] {
            fake.info.target.kind = kind;
            let elsewhere = [
                ("zones", TargetKind::Device),
                ("geometry", TargetKind::Device),
                ("trim", TargetKind::Directory),
                ("stream", TargetKind::Directory),
                ("wear", TargetKind::Directory),
                ("restore", TargetKind::Directory),
                ("zones", TargetKind::File),
            ];
            let in_scratch = method.scratch.passes.is_some() && kind == TargetKind::Directory;
            if in_scratch || elsewhere.contains(&(name, kind)) {
                continue;
            }
            let options = Options::default();
            let planned = plan(method, &fake.info, &options).expect_err("refused").to_string();
            let ran = perform(method, &mut fake, &options, &mut out).expect_err("refused");
            let MethodError::Rig(error) = &ran else { panic!("{name}: {ran}") };
            assert_eq!(error.fault(), Some(rig::ErrorClass::Refused), "{name}: {ran}");
            let files = ["wear", "restore"].contains(&name);
            let word = match kind {
                TargetKind::Device => "overwrites",
                _ if files || method.scratch.passes.is_some() => "overwrites",
                _ => "needs a whole drive",
            };
            assert!(planned.contains(word) && ran.to_string() == planned, "{planned}");
        }
        assert_eq!((fake.calls, fake.written), (0, 0), "{name}");
    }
}

/// A scratch file in a directory, as it is before the first write.
fn in_directory(flash: FlashTraits, bytes: u64) -> Fake {
    let mut fake = Fake::confirmed(traits(flash), bytes);
    (fake.info.target.kind, fake.info.allowed) = (TargetKind::Directory, Safety::Scratch);
    (fake.info.discard, fake.info.target.spec) = (false, ".".into());
    fake
}

/// The methods that take a file in place of a drive, and how they answer on a plain one.
const IN_FILES: [(&str, &str); 6] = [
    ("sustain", "At least 268 MB at "),
    ("states", "Beside a full file, random writes reach "),
    ("zones", "Equally fast in all parts of the file "),
    ("align", "Alignment makes no visible difference "),
    ("heat", "No slowdown, in a load too short to settle: "),
    ("cluster", "512 KiB units write at or near "),
];

#[test]
fn in_a_directory_each_answers_for_its_file_and_keeps_to_its_passes() {
    let scratch = ALL.iter().filter(|method| method.scratch.passes.is_some());
    let names: Vec<&str> = scratch.map(|method| method.name).collect();
    assert_eq!(names, IN_FILES.map(|(name, _)| name));
    for (name, begin) in IN_FILES {
        let method = find(name).expect("exists");
        let flash = if name == "cluster" { 500e6 } else { 10e6 };
        let mut fake = in_directory(FlashTraits::default(), GIB / 4);
        fake.traits.noise = 0.0;
        if name == "cluster" {
            (fake.traits.rate, fake.traits.command_ns) = (flash, 80_000);
        }
        let planned = plan(method, &fake.info, &Options::default()).expect("planned");
        let most = method.scratch.passes.expect("in a file") * (GIB / 4) as f64;
        assert!(planned.write_bytes_max as f64 <= 1.01 * most, "{name}: {planned:?}");
        assert_eq!(planned.safety, Safety::Scratch, "{name}");
        let (out, result) = run(&mut fake, name, 0);
        result.expect("nothing is wrong with the drive");
        assert!(fake.written <= planned.write_bytes_max, "{name}: {}", fake.written);
        let headline = out.answer.expect("declared").headline;
        assert!(headline.starts_with(begin), "{name}: {headline}");
        let noted = out.warnings.iter().any(|f| f.kind == FindingKind::MeasuredInFile);
        assert!(noted, "{name}: {:?}", out.warnings);
        assert_eq!(out.state_after, State::Unknown, "{name}: a file is not the drive");
    }
}

#[test]
fn in_memory_a_file_is_no_drive() {
    for (name, _) in IN_FILES {
        let mut fake = in_directory(FlashTraits::default(), GIB / 4);
        fake.info.ram = true;
        let (_, result) = run(&mut fake, name, 0);
        let text = result.expect_err("refused").to_string();
        assert!(text.contains(". is in memory, so ") && fake.written == 0, "{name}: {text}");
    }
}

#[test]
fn sustain_in_a_file_finds_a_cache_that_ends_within_it() {
    let mut fake = in_directory(cached(), GIB);
    let (out, result) = run(&mut fake, "sustain", 0);
    result.expect("nothing is wrong with the drive");
    near(value(&out, "sustain-fresh.cache"), f64::from(200 << 20), 0.02);
    let headline = &out.answer.as_ref().expect("declared").headline;
    assert!(headline.starts_with("At least 206 MB at "), "{headline}");
    assert_eq!(fake.written, GIB, "one pass");
    let mut small = in_directory(cached(), 150 << 20);
    let (out, result) = run(&mut small, "sustain", 0);
    result.expect("nothing is wrong with the drive");
    // Half a second is too short to tell.
    let headline = &out.answer.as_ref().expect("declared").headline;
    assert!(headline.ends_with(" on average, a cache may end later."), "{headline}");
}

#[test]
fn sustain_finds_the_cache_its_end_and_the_folding() {
    let out = done(cached(), "sustain", 0);
    let cache = metric(&out, "sustain-fresh.cache");
    let truth = f64::from(200 << 20);
    near(cache.value.expect("found"), truth, 0.02);
    assert!(cache.low.expect("interval") <= truth && truth <= cache.high.expect("interval"));
    // Eight channels, each with commands of 1 ms plus 1 MiB at 10 MB/s.
    let direct = 8.0 * 1048576.0 / (1e-3 + 1048576.0 / 10e6);
    near(value(&out, "sustain-fresh.inside"), 4.0 * direct, 0.05);
    near(value(&out, "sustain-fresh.after"), direct / 2.0, 0.05);
    near(value(&out, "sustain-full.average"), direct, 0.05);
    near(value(&out, "sustain-fresh.undershoot"), 0.5, 0.05);
    let found = verdict(&out, "CACHE END").expect("found");
    assert!(found.text.contains("folded"), "{}", found.text);
    assert_eq!(out.state_after, State::Used);
    // One megabyte of cache is regained per second.
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
    let (out, result) = run(&mut Fake::confirmed(slow, GIB), "sustain", 0);
    result.expect("fast is no error");
    assert!(verdict(&out, "UNDETERMINED").expect("too short").text.contains("too short"));
}

#[test]
fn an_interrupted_pass_keeps_its_time_series_but_not_its_figures() {
    let mut fake = Fake::confirmed(traits(cached()), GIB);
    // The calls are the discard, the first pass and the second pass.
    fake.interrupt_at = Some(2);
    let (out, result) = run(&mut fake, "sustain", 0);
    assert!(result.expect_err("interrupted").interrupted());
    let kept: Vec<_> = out.series.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(kept, ["sustain-fresh", "sustain-full"]);
    assert!(verdict(&out, "CACHE END").is_some());
    assert!(!out.metrics.iter().any(|m| m.name.starts_with("sustain-full")));
}

#[test]
fn a_drive_without_discard_is_measured_as_it_is_with_a_warning() {
    let mut fake = Fake::confirmed(traits(FlashTraits::default()), GIB);
    fake.info.discard = false;
    let (out, result) = run(&mut fake, "sustain", 0);
    result.expect("no error");
    assert_eq!(out.warnings.iter().filter(|w| w.kind == FindingKind::NoDiscard).count(), 1);
}

#[test]
fn states_shows_what_use_costs_and_what_discard_restores() {
    let worn = FlashTraits { full_cost: 4.0, ragged_cost: 1.5, ..FlashTraits::default() };
    let out = done(worn.clone(), "states", 500);
    let fresh = value(&out, "states-fresh");
    // Three of the eight channels: commands of 1 ms plus 4 KiB at 10 MB/s each.
    near(fresh, 3.0 * 4096.0 / (1e-3 + 4096.0 / 10e6), 0.03);
    for (state, share) in [
        ("states-filled", 0.25),
        ("states-partition-deleted", 0.25),
        ("states-file-deleted", 1.0),
        ("states-formatted", 1.0),
        ("states-used-discarded", 1.0),
    ] {
        near(value(&out, state), share * fresh, 0.05);
    }
    for side in ["read", "write"] {
        let of = |state: &str| value(&out, &format!("states-{side}-{state}"));
        assert!(of("used") < 0.95 * of("fresh"), "{side}");
        near(of("restored"), of("fresh"), 0.05);
    }
    metric(&out, "states-write-used.last-tenth");
    assert!(verdict(&out, "UNTRIMMED").is_some() && verdict(&out, "DISCARD RESTORES").is_some());
    let deaf = done(FlashTraits { ignores_discard: true, ..worn }, "states", 500);
    assert!(verdict(&deaf, "DISCARD RESTORES").is_none(), "{:?}", deaf.verdicts);
}

#[test]
fn align_finds_the_cost_of_crossing_a_page_and_none_if_it_is_free() {
    let crossing = FlashTraits { crossing_cost: 8.0, ..FlashTraits::default() };
    let out = done(crossing.clone(), "align", 20);
    for (shift, ratio) in [(512, 0.125), (3584, 0.125), (4096, 1.0), (65536, 1.0)] {
        let m = metric(&out, &format!("align-{shift}.ratio"));
        near(m.value.expect("measured"), ratio, 0.03);
        assert!(m.low.is_some() && m.n == 4);
    }
    assert!(verdict(&out, "MISALIGNED").is_some());
    assert!(verdict(&done(FlashTraits::default(), "align", 20), "ALIGNMENT IS FREE").is_some());
    let mut fake = Fake::confirmed(traits(crossing), GIB);
    fake.info.logical_block_bytes = 4096;
    let (out, result) = run(&mut fake, "align", 20);
    result.expect("no error");
    assert!(out.warnings.iter().any(|w| w.kind == FindingKind::AlignmentForced));
    assert!(!out.metrics.iter().any(|m| m.name.starts_with("align-512")));
}

#[test]
fn plans_of_whole_drives_hold() {
    for method in destructive() {
        let name = method.name;
        let mut fake = Fake::confirmed(traits(cached()), GIB).that_formats();
        let options = Options { time: Some(Duration::from_secs(60)), ..Options::default() };
        let plan = plan(method, &fake.info, &options).expect("given away");
        assert_eq!((plan.safety, fake.calls), (Safety::Destroys, 0), "{name}");
        let part = match name {
            "cluster" => "the first 256 MiB of",
            "restore" => "the first 64 MiB of",
            _ => "everything on",
        };
        assert_eq!(plan.destroys, Some(format!("{part} /dev/x")), "{name}");
        let mut out = Outcome::default();
        perform(method, &mut fake, &options, &mut out).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(
            fake.written <= plan.write_bytes_max,
            "{name}: {} of {}",
            fake.written,
            plan.write_bytes_max
        );
        let points = out.series.iter().map(|s| s.t_ns.len()).max().unwrap_or(0);
        assert!(points <= 2000, "{name}: {points} points");
        assert_eq!(fake.steps, steps(&plan), "{name}");
    }
}

#[test]
fn a_given_size_limits_the_part_of_the_drive_that_is_touched() {
    for method in destructive() {
        let mut fake = Fake::confirmed(traits(FlashTraits::default()), GIB).that_formats();
        let options = Options {
            time: Some(Duration::from_secs(20)),
            size: Some(64 << 20),
            ..Options::default()
        };
        let mut out = Outcome::default();
        perform(method, &mut fake, &options, &mut out)
            .unwrap_or_else(|e| panic!("{}: {e}", method.name));
        assert!(fake.issued.iter().all(|w| w.region.end() <= 64 << 20), "{}", method.name);
    }
}

#[test]
fn whole_drives_keep_what_was_measured_before_an_interruption() {
    for method in destructive() {
        let name = method.name;
        let quick = || Fake::confirmed(traits(cached()), 64 << 20).that_formats();
        let options = Options { time: Some(Duration::from_secs(20)), ..Options::default() };
        let mut whole = quick();
        perform(method, &mut whole, &options, &mut Outcome::default())
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        for call in (0..whole.calls).step_by(1 + whole.calls as usize / 12) {
            let mut fake = quick();
            fake.interrupt_at = Some(call);
            let mut out = Outcome::default();
            let error = perform(method, &mut fake, &options, &mut out).expect_err("interrupted");
            assert!(error.interrupted(), "{name}, call {call}: {error}");
        }
    }
}

#[test]
fn zones_tells_addresses_apart_and_only_reads_without_destroy() {
    let flash = FlashTraits { ragged_cost: 2.0, unmapped_gain: 4.0, ..FlashTraits::default() };
    let mut fake = Fake::confirmed(traits(flash), GIB);
    fake.wear(0..512 << 20, 128 << 20..256 << 20);
    fake.info.allowed = Safety::Reads;
    let plan =
        plan(find("zones").expect("exists"), &fake.info, &Options::default()).expect("reads");
    assert_eq!((plan.safety, plan.write_bytes_max, plan.destroys), (Safety::Reads, 0, None));
    let (out, result) = run(&mut fake, "zones", 0);
    result.expect("reads are allowed");
    assert_eq!(fake.written, 0);
    let series = out.series.iter().find(|s| s.name == "zones-read-shuffled-profile").expect("kept");
    let rates: Vec<f64> = series.columns[0].values.iter().map(|v| v.expect("read")).collect();
    let level =
        |part: std::ops::Range<usize>| rates[part.clone()].iter().sum::<f64>() / part.len() as f64;
    near(level(32..64) / level(0..32), 0.5, 0.05);
    near(level(128..256) / level(64..128), 4.0, 0.05);
    assert!(value(&out, "zones-read.agreement") > 0.95);
    assert_eq!(value(&out, "zones-read.unmapped-share"), 0.5);
    assert!(value(&out, "zones-read.unmapped") > 3.0 * value(&out, "zones-read.mapped"));
    fake.info.allowed = Safety::Destroys;
    let (out, result) = run(&mut fake, "zones", 0);
    result.expect("given away");
    assert_eq!(fake.written, GIB);
    assert!(value(&out, "zones-write.first-third") < value(&out, "zones-write.last-tenth"));
}

#[test]
fn heat_finds_throttling_the_time_to_it_and_the_effect_of_cooling() {
    let hot =
        FlashTraits { rise_k: 60.0, inertia_s: 100.0, throttle_c: 75.0, ..FlashTraits::default() };
    let mut fake = Fake::confirmed(traits(hot.clone()), 16 * GIB);
    let (out, result) = run(&mut fake, "heat", 2000);
    result.expect("heat is no error");
    let found = verdict(&out, "HEAT").expect("throttles");
    assert!(found.text.contains("the drive throttles"), "{}", found.text);
    // 30 C + 60 K (1 - exp(-t / 100 s)) = 75 C.
    near(value(&out, "heat-load.time-to-throttle") / 1e9, 100.0 * libm::log(4.0), 0.35);
    near(value(&out, "heat-load.hot"), value(&out, "heat-load.cold") / 2.0, 0.15);
    near(value(&out, "heat-cooled"), value(&out, "heat-load.cold"), 0.05);
    let mut fake = Fake::confirmed(traits(FlashTraits { rise_k: 15.0, ..hot }), 16 * GIB);
    let (out, _) = run(&mut fake, "heat", 2000);
    assert!(
        verdict(&out, "COOL").is_some() && verdict(&out, "HEAT").is_none(),
        "{:?}",
        out.verdicts
    );
    near(value(&out, "heat-load.end"), 45.0, 0.02);
}

#[test]
fn lbaf_compares_formats_restores_the_original_and_refuses_drives_that_cannot_format() {
    let crossing = FlashTraits { small_block_cost: 1.5, ..FlashTraits::default() };
    let mut fake = Fake::confirmed(traits(crossing), GIB).that_formats();
    let (out, result) = run(&mut fake, "lbaf", 20);
    result.expect("formats");
    assert_eq!(fake.info.logical_block_bytes, 512);
    // A, B, B, A, and the original format.
    assert_eq!(fake.formatted, [4096, 512, 512, 4096, 512]);
    let ratio = metric(&out, "lbaf-rand-write-4KiB-q32.ratio");
    near(ratio.value.expect("measured"), 1.5, 0.05);
    assert_eq!((ratio.n, metric(&out, "lbaf-seq-read-1MiB-q8-in-512").n), (2, 2));
    let mut fake = Fake::confirmed(traits(FlashTraits::default()), GIB);
    let (_, result) = run(&mut fake, "lbaf", 20);
    assert!(result.expect_err("cannot").to_string().contains("not supported"));
    assert_eq!(fake.written, 0);
}

#[test]
fn trim_tells_a_discard_that_works_from_one_that_is_ignored() {
    let flash = FlashTraits { full_cost: 5.0, unmapped_gain: 4.0, ..FlashTraits::default() };
    let out = done(flash.clone(), "trim", 60);
    let seen = verdict(&out, "TRIM WORKS").expect("all three signals");
    assert!(seen.text.contains("100% of 256 MiB read as zeros"), "{}", seen.text);
    assert!(value(&out, "trim-write-restored") > 3.0 * value(&out, "trim-write-used"));
    assert!(value(&out, "trim-read-discarded") > 2.0 * value(&out, "trim-read-mapped"));
    let canary = |out: &Outcome| ["zeros", "kept"].map(|s| value(out, &format!("trim-canary.{s}")));
    assert_eq!(canary(&out), [1.0, 0.0]);
    let out = done(FlashTraits { ignores_discard: true, ..flash }, "trim", 60);
    let unseen = verdict(&out, "NO TRIM").expect("no signal");
    assert!(unseen.text.contains("kept their content"), "{}", unseen.text);
    assert_eq!(canary(&out), [0.0, 1.0]);
}
