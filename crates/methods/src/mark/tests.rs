//! `mark` and `command` on a virtual test drive.

use std::time::Duration;

use record::Metric;
use workload::{Caching, Calls};

use super::{LEGACY, REFERENCE, Reference};
use crate::find;
use script::test_drive::{Fake, Traits, perform};
use script::{MethodError, Options, Outcome, Result, plan};

fn options() -> Options {
    Options { time: Some(Duration::from_secs(17)), ..Options::default() }
}

fn run(name: &str, fake: &mut Fake, options: &Options) -> (Outcome, Result<()>) {
    let mut out = Outcome::default();
    let result = perform(find(name).expect("exists"), fake, options, &mut out);
    (out, result)
}

fn marked(fake: &mut Fake, options: &Options) -> Outcome {
    let (out, result) = run("mark", fake, options);
    result.expect("run succeeds");
    out
}

fn metric<'a>(out: &'a Outcome, name: &str) -> &'a Metric {
    out.metrics.iter().find(|m| m.name == name).unwrap_or_else(|| panic!("no {name}"))
}

/// A drive with a RAM disc as the reference, ten times as fast.
fn with_ram_disc() -> Fake {
    let traits = Traits { rate: 5e9, command_ns: 8_000, noise: 0.0, ..Traits::default() };
    let mut fake = Fake::new(Traits { noise: 0.0, ..Traits::default() });
    fake.reference = Some(Box::new(Fake::new(traits)));
    fake
}

#[test]
fn legacy_scores_are_whole_files_in_whole_ticks() {
    let mut fake = with_ram_disc();
    let out = marked(&mut fake, &options().with(&LEGACY, true));
    let hd = metric(&out, "legacy-hd-read");
    let kib = hd.value.expect("scored") / 1024.0;
    // A file of 8 MiB from memory takes 0.84 ms: the 1191st is the first one after 1.00 s.
    let file_s: f64 = 839_860e-9;
    let files = (1.0 / file_s).ceil();
    let ticks = (files * file_s * 100.0).floor();
    assert_eq!(kib, (files * 8192.0 * 100.0 / ticks).floor());
    assert!(hd.low < hd.value && hd.value < hd.high && hd.n == 1);
    assert!(out.metrics.iter().all(|m| m.name.starts_with("legacy-")), "only legacy metrics");
    let legacy = fake.issued.iter().find(|w| w.name == "legacy-fs-write").expect("issued");
    assert_eq!((legacy.caching, legacy.calls), (Caching::Buffered, Calls::Bytes { host_ns: 190 }));
    assert_eq!((legacy.region.bytes, legacy.blocks.max()), (8 << 20, 4096));
}

#[test]
fn scores_have_intervals_and_a_ratio_to_the_ram_disc() {
    let mut fake = with_ram_disc();
    let out = marked(&mut fake, &options());
    for (column, ratio) in [("hd-read", 0.1), ("fs-read", 0.1), ("fs-write", 0.1)] {
        let m = metric(&out, &format!("mark-{column}.ratio"));
        assert_eq!(m.n, 4, "{column}");
        let value = m.value.expect("measured");
        assert!((value / ratio - 1.0).abs() < 0.05, "{column}: {value}");
    }
    let order: Vec<_> = fake.issued.iter().filter(|w| w.name == "mark-hd-write").collect();
    assert!(order.iter().all(|w| w.flush_every == Some(1) && w.caching == Caching::Bypass));
    let verdict = &out.verdicts[0];
    assert_eq!((verdict.kind.name(), verdict.evidence.len()), ("MARK", 4));
    assert!(verdict.text.contains("the RAM disc of this machine"), "{}", verdict.text);
}

#[test]
fn only_whole_files_of_8_mib_are_scored() {
    let mut fake = Fake::new(Traits::default());
    fake.info.bytes = (44 << 20) + 4096;
    marked(&mut fake, &options());
    let columns = fake.issued.iter().filter(|w| w.name.starts_with("mark-"));
    let regions: Vec<_> = columns.map(|w| w.region).collect();
    assert!(!regions.is_empty());
    for region in &regions {
        assert!(region.end() <= 40 << 20 && region.bytes.is_multiple_of(8 << 20), "{region:?}");
    }
    assert!(regions.iter().any(|region| region.end() == 40 << 20), "{regions:?}");
}

#[test]
fn without_a_ram_disc_the_published_reference_is_used_and_reported() {
    let out = marked(&mut Fake::new(Traits::default()), &options());
    assert!(out.verdicts[0].text.contains("as published"), "{}", out.verdicts[0].text);
    assert_eq!(out.warnings[0].kind.name(), "reference-published");
    let asked = options().with(&REFERENCE, Reference::RiscOsRamFs);
    let mut fake = with_ram_disc();
    let out = marked(&mut fake, &asked);
    assert!(out.verdicts[0].text.contains("as published") && out.warnings.is_empty());
    assert!(
        fake.reference.expect("there").issued.is_empty(),
        "an unused reference is not measured"
    );
}

#[test]
fn a_read_only_target_has_two_columns_and_plans_hold() {
    let mut fake = Fake::read_only(Traits::default());
    let out = marked(&mut fake, &options());
    assert!(out.metrics.iter().all(|m| !m.name.contains("write")) && fake.written == 0);
    for legacy in [true, false] {
        let mut fake = with_ram_disc();
        let options = options().with(&LEGACY, legacy);
        let plan = plan(find("mark").expect("exists"), &fake.info, &options).expect("room");
        marked(&mut fake, &options);
        assert!(fake.written <= plan.write_bytes_max, "{plan:?}");
        let seconds = (fake.now_ns + fake.reference.expect("there").now_ns) as f64 / 1e9;
        assert!(seconds < 1.15 * plan.seconds && plan.seconds < 18.0, "{seconds} {}", plan.seconds);
    }
}

#[test]
fn an_interrupted_mark_keeps_what_it_measured() {
    let mut whole = with_ram_disc();
    marked(&mut whole, &options());
    for call in (0..whole.calls).step_by(5) {
        let mut fake = with_ram_disc();
        fake.interrupt_at = Some(call);
        let (out, result) = run("mark", &mut fake, &options());
        assert!(result.expect_err("interrupted").interrupted(), "call {call}");
        // The interrupted call gives no sample; the calls before it do.
        assert!(fake.issued.len() < 2 || metric(&out, "legacy-hd-read").n == 1);
    }
}

fn command(fake: &mut Fake, words: &[&str]) -> (Outcome, Result<()>) {
    let command = words.iter().map(|word| word.to_string()).collect();
    run("command", fake, &Options::default().with(&crate::command::COMMAND, command))
}

#[test]
fn a_command_runs_three_times_and_its_io_is_counted() {
    let (out, result) = command(&mut Fake::new(Traits::default()), &["make", "-j4"]);
    result.expect("it ran");
    assert_eq!(metric(&out, "command.time").samples.len(), 3);
    let value = |name| metric(&out, name).value.map(f64::round);
    assert_eq!(value("command.device-written"), Some(4096.0));
    assert_eq!(value("command.device-written-synced"), Some(65_536.0));
    let verdict = &out.verdicts[0];
    assert!(
        verdict.text.contains("65.5 kB") && verdict.kind.name() == "COMMAND",
        "{}",
        verdict.text
    );
}

#[test]
fn a_command_that_fails_is_a_finding_and_is_not_repeated() {
    let mut fake = Fake::new(Traits::default());
    fake.exits = vec![0, 7];
    let (out, result) = command(&mut fake, &["false"]);
    let error = result.expect_err("it failed");
    assert!(error.to_string().contains("exit code 7"), "{error}");
    assert_eq!(metric(&out, "command.exit").samples, [0.0, 7.0]);
    assert_eq!(
        (out.warnings[0].kind.name(), out.verdicts[0].kind.name()),
        ("command-failed", "FAILED")
    );
    let none = command(&mut fake, &[]).1.expect_err("nothing to run");
    assert!(matches!(none, MethodError::NoCommand));
}
