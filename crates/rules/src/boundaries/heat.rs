//! HEAT: warning temperatures, share of the time, one rate for all kinds of work.

use record::{Finding, FindingKind, Level};
use rig::{TargetInfo, Temperature};
use workload::Mix;

use super::{short, table};
use crate::heat::heat;
use crate::testing::{digest, named, with_drive};
use crate::{Digest, Ruling};

fn warns_at(celsius: Option<f64>) -> TargetInfo {
    with_drive(|drive| drive.health.temperature_warn_c = celsius)
}

fn run(start_c: f64, max_c: f64) -> Digest {
    let temperature = Some(Temperature { start_c, end_c: max_c, max_c });
    named("a", Digest { temperature, ..digest("x") })
}

fn found(kind: FindingKind, run: Digest) -> Digest {
    Digest { findings: vec![Finding::new(kind, Level::Warn, "")], ..run }
}

#[test]
fn a_drive_that_reaches_its_warning_temperature_is_hot() {
    let said = |(warn_c, max_c)| short([heat(&warns_at(warn_c), &[run(30.0, max_c)])]);
    let rows = [
        ((Some(60.0), 59.9), "no: COOL"),
        ((Some(60.0), 60.0), "HEAT"),
        ((Some(60.0), 60.1), "HEAT"),
        ((Some(90.0), 89.9), "no: COOL"),
        // Without a warning temperature, 70 C may be too hot.
        ((None, 69.9), "no: COOL"),
        ((None, 70.0), "unknown"),
        ((None, 70.1), "unknown"),
    ];
    table(said, rows);
    assert_eq!(short([heat(&warns_at(Some(60.0)), &[digest("a")])]), "unknown", "no sensor");
}

#[test]
fn what_the_rig_found_throttled_for_most_of_the_time_is_explained() {
    let said = |seconds| {
        let throttled = found(FindingKind::Throttled, run(30.0, 40.0));
        short([heat(&warns_at(None), &[Digest { seconds, ..throttled }, run(30.0, 40.0)])])
    };
    table(said, [(0.9, "no: COOL"), (1.0, "no: COOL"), (1.1, "HEAT: a")]);
}

#[test]
fn a_run_that_was_ended_for_its_temperature_was_hot() {
    let said = |kind| short([heat(&warns_at(None), &[found(kind, run(30.0, 40.0))])]);
    let rows = [(FindingKind::TemperatureLimit, "HEAT"), (FindingKind::GeneratorBound, "no: COOL")];
    table(said, rows);
}

/// Reads and writes, sequential and random, of so many MB per second; the first is 100.
fn all_kinds(start_c: f64, others: [u64; 3]) -> Vec<Digest> {
    let kinds = [
        ("rr", Mix::READ, true, 100),
        ("rw", Mix::WRITE, true, others[0]),
        ("sr", Mix::READ, false, others[1]),
        ("sw", Mix::WRITE, false, others[2]),
    ];
    let run = |(name, mix, random, mb): (&str, Mix, bool, u64)| {
        let mut bytes = [0; 2];
        bytes[usize::from(mix.write > 0)] = mb * 1_000_000;
        named(name, Digest { mix, random, bytes, ..run(start_c, 90.0) })
    };
    kinds.map(run).to_vec()
}

#[test]
fn one_rate_within_a_tenth_of_all_kinds_of_work_is_a_throttle() {
    let said =
        |(start_c, others)| short([heat(&warns_at(Some(60.0)), &all_kinds(start_c, others))]);
    let rows = [
        ((70.0, [100, 100, 91]), "HEAT: rr, rw, sr, sw"),
        ((70.0, [100, 100, 90]), "HEAT: rr, rw, sr, sw"),
        // Without one of them, they are not of all kinds.
        ((70.0, [100, 100, 89]), "HEAT: rr, rw, sr"),
        ((70.0, [89, 100, 89]), "HEAT"),
        ((70.0, [100, 89, 89]), "HEAT"),
        // It was hot from the start.
        ((60.0, [100, 100, 100]), "HEAT: rr, rw, sr, sw"),
        ((59.9, [100, 100, 100]), "HEAT"),
    ];
    table(said, rows);
}

/// Half of the time is not most of it.
#[test]
fn a_workload_that_began_hot_for_most_of_its_time_is_explained() {
    let said = |seconds| {
        let mut seen = all_kinds(70.0, [100; 3]);
        seen.push(Digest { seconds, bytes: [100_000_000, 0], ..named("rr", run(50.0, 90.0)) });
        short([heat(&warns_at(Some(60.0)), &seen)])
    };
    table(said, [(0.9, "HEAT: rr, rw, sr, sw"), (1.0, "HEAT: rw, sr, sw")]);
}

pub fn examples() -> Vec<Ruling> {
    let throttled = [found(FindingKind::Throttled, run(30.0, 40.0))];
    let stopped = [found(FindingKind::TemperatureLimit, run(30.0, 40.0))];
    vec![
        heat(&warns_at(None), &throttled),
        heat(&warns_at(None), &stopped),
        heat(&warns_at(Some(60.0)), &all_kinds(70.0, [100; 3])),
        heat(&warns_at(Some(60.0)), &[run(50.0, 61.0), run(61.0, 60.0)]),
        heat(&warns_at(Some(60.0)), &[run(30.0, 45.0), run(44.0, 50.0)]),
        heat(&warns_at(None), &[run(65.0, 75.0)]),
        heat(&warns_at(None), &[]),
    ]
}
