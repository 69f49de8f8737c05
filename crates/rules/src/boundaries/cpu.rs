//! CPU: share of the time, shortest workload.

use record::{Finding, FindingKind, Level};

use super::{short, table};
use crate::cpu::cpu;
use crate::testing::{digest, named};
use crate::{Digest, Ruling};

/// A run of which the rig found the processor to be the limit, or not.
fn run(bound: bool, seconds: f64, cpu_share: f64) -> Digest {
    let kind = FindingKind::GeneratorBound;
    let findings = bound.then(|| Finding::new(kind, Level::Warn, "")).into_iter().collect();
    named("a", Digest { findings, seconds, cpu_share, ..digest("x") })
}

#[test]
fn the_processor_is_the_limit_of_what_it_held_for_most_of_the_time() {
    let said = |seconds| short([cpu(&[run(true, seconds, 0.9), run(false, 1.0, 0.9)])]);
    let rows = [(0.9, "no: CPU FREE"), (1.0, "no: CPU FREE"), (1.1, "CPU: a 90%")];
    table(said, rows);
}

#[test]
fn a_hundredth_of_a_second_is_too_short() {
    let said = |seconds| short([cpu(&[run(true, seconds, 0.9)])]);
    table(said, [(0.0099, "unknown"), (0.01, "CPU: a 90%"), (0.0101, "CPU: a 90%")]);
}

#[test]
fn a_share_of_zero_is_unknown() {
    let said = |share| short([cpu(&[run(false, 1.0, share)])]);
    table(said, [(0.0, "unknown"), (0.001, "no: CPU FREE"), (1.0, "no: CPU FREE")]);
}

#[test]
fn a_wait_for_the_processor_is_said_beside_its_share() {
    let said = |waiting_s| cpu(&[Digest { waiting_s, ..run(false, 1.0, 0.2) }]).verdict.text;
    let waited =
        "CPU at most 20% of a core, which a thread waited for during at most 1% of the time";
    table(said, [(0.009, "CPU at most 20% of a core"), (0.01, waited)]);
}

pub fn examples() -> Vec<Ruling> {
    let other = |name, run| named(name, run);
    let free = [other("b", run(false, 1.0, 0.3)), other("c", run(false, 1.0, 0.4))];
    let bound = [free[1].clone(), other("rand-read-4KiB-q32", run(true, 1.0, 0.97))];
    vec![cpu(&bound), cpu(&free), cpu(&[])]
}
