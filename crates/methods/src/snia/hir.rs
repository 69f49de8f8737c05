//! `snia-hir`: recovery of a drive in short idle times (host idle recovery).

use record::{MetricKey, Safety, Unit};

use super::cell::Cell;
use super::rounds::Rounds;
use super::{MINUTE, Part, Snia, tracked};
use crate::whole::{Whole, time_tight};
use crate::{MethodInfo, MetricInfo};

const NAME: &str = "snia-hir";

/// Seconds of work before each wait.
const ACCESS_SECONDS: f64 = 5.0;

/// Durations of the waits, seconds.
const WAITS: [f64; 5] = [5.0, 10.0, 15.0, 25.0, 50.0];

/// Cycles of work and wait: three minutes of work per wait. The specification has thirty minutes.
const CYCLES: u32 = 36;

/// Limits of a round, of the work before a wait, and of all rounds: drive writes.
const ROUND_PASSES: f64 = 0.25;
const ACCESS_PASSES: f64 = 1.0 / 64.0;
const PASSES_MOST: f64 = 6.0;

pub(crate) static HIR: Snia = Snia {
    info: &MethodInfo {
        name: NAME,
        summary: "SNIA: what short rests give back",
        about: "Discards the drive, writes it twice in order, then 4 KiB blocks at random in \
                rounds of a minute until steady. Then five seconds of writes and a wait of 5, 10, \
                15, 25 and 50 seconds, 36 times each, with as much work without a wait in between: \
                the rate for every wait. Work ends early when it has written a 64th of the drive, a \
                round a quarter of it, all rounds six times the drive.",
        safety: Safety::Destroys,
        seconds: 7_400.0,
        writes: "the whole drive twice, then at random at most 12 times the drive",
        primary: &["snia-hir-steady", "snia-hir-wait-{time}"],
        metrics: &[
            &[
                MetricInfo::new(
                    "snia-hir-steady",
                    Unit::Iops,
                    "random 4 KiB writes without a wait, in rounds until steady",
                ),
                MetricInfo::new(
                    "snia-hir-wait-{time}",
                    Unit::Iops,
                    "5 s of writes with such a wait after each, 36 times",
                ),
                MetricInfo::new(
                    "snia-hir-wait-{time}-then-none",
                    Unit::Iops,
                    "as much work without a wait, after that",
                ),
            ],
            &tracked(
                "snia-hir-steady.first-round",
                "snia-hir-steady.{pts,plateau}",
                "snia-hir.{pts-round,plateau-round}",
                Unit::Iops,
            ),
        ],
        answer: crate::answer::hir,
        ..MethodInfo::EMPTY
    },
    parts,
};

fn parts(whole: &Whole) -> Vec<Part> {
    let cell = |name: &MetricKey, seconds, passes| {
        let cell = Cell::random(whole, NAME, whole.test_region.small, 0, whole.seconds(seconds));
        cell.writing_at_most(whole, passes).named(name)
    };
    let steady = cell(&MetricKey::of_words(&[&NAME, &"steady"]), MINUTE, ROUND_PASSES).tracked();
    let mut parts = vec![
        Part::Purge,
        Part::Precondition,
        Part::Rounds(Rounds::new(NAME, vec![steady], PASSES_MOST)),
    ];
    for wait in WAITS {
        let name = MetricKey::of_words(&[&NAME, &"wait", &time_tight(wait)]);
        let then_none = MetricKey::of_words(&[&name, &"then-none"]);
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
