//! `speed` on a virtual drive that panics if anything but borrowed blocks is written to a borrowed
//! drive.

use std::time::Duration;

use record::{Metric, Safety, State, TargetKind};

use script::test_drive::{Fake, Traits, perform};
use script::{MethodError, Options, Outcome, Result, plan};

use super::INFO;

/// At depth 1: 2 ms per command, 32 MB/s for its data.
fn traits() -> Traits {
    Traits { command_ns: 2_000_000, rate: 32e6, noise: 0.0, ..Traits::default() }
}

/// A stick of 100 MiB on a host with transfers of 16 KiB.
fn stick(allowed: Safety) -> Fake {
    let mut fake = Fake::confirmed(traits(), 100 << 20);
    fake.info.allowed = allowed;
    let mut drive = fake.info.target.drive.take().unwrap_or_default();
    drive.transfer_max_bytes = Some(16 << 10);
    fake.info.target.drive = Some(drive);
    fake
}

fn run(fake: &mut Fake, seconds: u64) -> (Outcome, Result<()>) {
    let mut out = Outcome::default();
    let options = Options { time: Some(Duration::from_secs(seconds)), ..Options::default() };
    let result = perform(&INFO, fake, &options, &mut out);
    (out, result)
}

fn metric<'a>(out: &'a Outcome, name: &str) -> &'a Metric {
    out.metrics.iter().find(|m| m.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn a_lent_stick_tells_what_a_command_costs_and_gets_everything_back() {
    let mut fake = stick(Safety::Borrows);
    let options = Options { time: Some(Duration::from_secs(600)), ..Options::default() };
    let plan = plan(&INFO, &fake.info, &options).expect("enough room");
    assert_eq!(
        (plan.safety, plan.region_bytes, &plan.destroys),
        (Safety::Borrows, 96 << 20, &None)
    );
    let (out, result) = run(&mut fake, 600);
    result.expect("nothing is wrong");
    assert!(fake.borrowed.is_empty() && fake.written <= plan.write_bytes_max);
    assert_eq!(out.state_after, State::Unknown, "its own content changes no state");
    // 16 KiB take 2 ms and 0.512 ms.
    let rate = 16384.0 / 2.512e-3;
    for name in ["speed-read", "speed-write-middle", "speed-read-end"] {
        let m = metric(&out, name);
        assert!((m.value.expect("measured") / rate - 1.0).abs() < 0.01, "{m:?}");
        assert_eq!(m.n, 4);
    }
    assert_eq!(metric(&out, "speed-read.legacy").value.map(|v| v.round()), Some(6.5e6));
    let command = metric(&out, "speed-read.command-time").value.expect("a line");
    assert!((command / 2e6 - 1.0).abs() < 0.02, "{command}");
    let names: Vec<_> = out.verdicts.iter().map(|v| v.kind.name()).collect();
    for name in ["SPEED", "SAME EVERYWHERE", "PER-COMMAND"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[test]
fn places_alternate_and_the_old_number_leaves_the_flush_out() {
    let mut fake = stick(Safety::Borrows);
    fake.traits.flush_ns = 2_000_000_000;
    let (out, result) = run(&mut fake, 600);
    result.expect("nothing is wrong");
    let places = ["speed-read", "speed-read-middle", "speed-read-end"];
    let names = fake.issued.iter().map(|w| w.name.as_str());
    let order: Vec<&str> = names.filter(|name| places.contains(name)).take(6).collect();
    let back = places.into_iter().rev();
    assert_eq!(order, places.into_iter().chain(back).collect::<Vec<_>>());
    // 2048 chunks of 2.512 ms, and a flush of 2 s.
    assert_eq!(metric(&out, "speed-write.legacy").value.map(|v| v.round()), Some(6.5e6));
    let honest = metric(&out, "speed-write").value.expect("measured");
    let rate = f64::from(32 << 20) / (2048.0 * 2.512e-3 + 2.0);
    assert!((honest / rate - 1.0).abs() < 0.01, "{honest}, {rate}");
}

#[test]
fn whatever_ends_a_run_what_was_borrowed_goes_back() {
    let mut all = stick(Safety::Borrows);
    run(&mut all, 30).1.expect("nothing is wrong");
    for call in 0..all.calls {
        let mut fake = stick(Safety::Borrows);
        fake.interrupt_at = Some(call);
        let (_, result) = run(&mut fake, 30);
        assert!(result.is_err_and(|e| e.interrupted()), "call {call}");
        assert!(fake.borrowed.is_empty(), "call {call}");
    }
    let mut fake = stick(Safety::Borrows);
    fake.traits.vanishes_at_ns = Some(20_000_000_000);
    let (out, result) = run(&mut fake, 30);
    assert!(matches!(result, Err(MethodError::Errors { .. })));
    assert!(fake.borrowed.is_empty() && !out.errors.is_empty());
}

#[test]
fn a_stick_that_was_not_lent_is_read_and_a_slow_one_gets_fewer_passes() {
    let mut fake = stick(Safety::Reads);
    let (out, result) = run(&mut fake, 30);
    result.expect("reads are allowed");
    assert_eq!(fake.written, 0);
    assert!(out.metrics.iter().all(|m| !m.name.contains("write")));
    let notes: Vec<_> = out.warnings.iter().map(|w| w.kind.name()).collect();
    assert_eq!(notes[..2], ["reads-only", "rounds-cut"]);
}

#[test]
fn a_scratch_file_is_filled_and_has_one_place() {
    for (bytes, block) in [(4u64 << 20, 512), (64 << 20, 4096), ((33 << 20) + 512, 512)] {
        let mut fake = Fake::new(traits());
        assert_eq!(fake.info.target.kind, TargetKind::Directory);
        (fake.info.bytes, fake.info.logical_block_bytes) = (bytes, block);
        let plan = plan(&INFO, &fake.info, &Options::default()).expect("enough room");
        assert_eq!(plan.safety, Safety::Scratch);
        let (out, result) = run(&mut fake, 20);
        result.expect("nothing is wrong");
        assert!(metric(&out, "speed-write").value.is_some() && fake.filled <= 32 << 20);
        assert!(out.metrics.iter().all(|m| !m.name.contains("middle")));
    }
}
