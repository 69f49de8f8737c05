//! `snia-hir`: recovery of a drive in short idle times (host idle recovery).

use record::{MetricKey, Safety, Unit};

use super::cell::Cell;
use super::metrics::hir::{NAME, STEADY, THEN_NONE, WAIT};
use super::rounds::Rounds;
use super::{IGNORES, MINUTE, Part, answers, run, tracked};
use script::whole::{Whole, time_tight};
use script::{MethodInfo, MetricInfo};

/// Seconds of writes before each wait.
const ACCESS_SECONDS: f64 = 5.0;

/// Durations of the waits, seconds.
const WAITS: [f64; 5] = [5.0, 10.0, 15.0, 25.0, 50.0];

/// Cycles of writes and a wait: three minutes of writes for each wait duration. The specification
/// has thirty minutes.
const CYCLES: u32 = 36;

/// Limits of a round, of the writes before a wait, and of all rounds, in drive writes.
const ROUND_PASSES: f64 = 0.25;
const ACCESS_PASSES: f64 = 1.0 / 64.0;
const PASSES_MAX: f64 = 6.0;

pub(crate) static HIR: MethodInfo = MethodInfo {
    name: NAME,
    summary: "SNIA: recovery in short rests",
    about: "Discards the drive, writes it twice sequentially, then writes random 4 KiB blocks \
            in rounds of a minute until steady. Then it alternates five seconds of writes with \
            a wait of 5, 10, 15, 25 or 50 seconds, 36 times each, followed by as many writes \
            without a wait, and reports the rate for every wait. Five seconds of writes end \
            early after 1/64 of the drive, a round after a quarter of it, and all rounds after \
            six times the drive.",
    safety: Safety::Destroys,
    seconds: 7_400.0,
    writes: "the whole drive twice, then at random at most 12 times the drive",
    primary: &[STEADY.name, WAIT.name],
    metrics: &[&[STEADY, WAIT, THEN_NONE], &tracked!("snia-hir-steady", "snia-hir", Unit::Iops)],
    run: |session, options| run(session, options, &HIR, parts),
    answer: answers::hir,
    ignores: IGNORES,
    ..MethodInfo::EMPTY
};

fn parts(whole: &Whole) -> Vec<Part> {
    let cell = |name: &MetricKey, seconds, passes| {
        let cell = Cell::random(whole, NAME, whole.test_region.small, 0, whole.seconds(seconds));
        cell.writing_at_most(whole, passes).named(name)
    };
    let steady = cell(&STEADY.into(), MINUTE, ROUND_PASSES).tracked();
    let mut parts = vec![
        Part::Purge,
        Part::Precondition,
        Part::Rounds(Rounds::new(NAME, vec![steady], PASSES_MAX)),
    ];
    for wait in WAITS {
        let name = WAIT.member(&[&time_tight(wait)]);
        let then_none = THEN_NONE.member(&[&time_tight(wait)]);
        let (seconds, cycles) = (whole.seconds(wait), CYCLES);
        parts.push(Part::Rests {
            cell: cell(&name, ACCESS_SECONDS, ACCESS_PASSES),
            seconds,
            cycles,
        });
        let none = cell(&then_none, ACCESS_SECONDS, ACCESS_PASSES);
        parts.push(Part::Rests { cell: none, seconds: 0.0, cycles });
    }
    parts
}
