//! Runs the driver against a controller with all faults enabled: no request may be lost, corrupted
//! or left hanging.
//!
//! The two longest runs include every fault. `cargo xtask bench nvme` runs a million commands, with
//! doorbells and with a controller that dozes.
//!
//! Two mutants, checked by hand, fail these tests. One reuses PRP list pages in submission order,
//! as if commands completed in that order: `Queue::enter` builds the list of every transfer in the
//! page of tracker `sq_tail % trackers`, so data end up at wrong addresses. The other ignores the
//! generation in `Tracker::is`, so duplicate completions end requests that are still in flight.

use crate::torture;
use crate::torture::{Outcome, Plan};
use controller::{Faults, Setup};

const TIMEOUT_NS: u64 = 2_000_000;

fn plan(seed: u64, commands: u64) -> Plan {
    let faults = Faults::all(3 * TIMEOUT_NS);
    Plan {
        setup: Setup { seed, faults, transfer_max: 5, ..Setup::default() },
        commands,
        queues: 2,
        slots: 16,
        request_bytes: 512 << 10,
        shadow: false,
        timeout_ns: TIMEOUT_NS,
    }
}

fn check(name: &str, outcome: &Outcome) {
    assert!(!outcome.hung, "{name}: {outcome:?}");
    assert_eq!(outcome.corrupt, 0, "{name}: {outcome:?}");
    assert_eq!(outcome.pushed, outcome.ended, "{name}: lost: {outcome:?}");
    assert_eq!(outcome.violations, 0, "{name}: {outcome:?}");
}

fn every_fault(name: &str, plan: Plan) -> Outcome {
    let outcome = torture::run(plan);
    check(name, &outcome);
    assert!(outcome.faults.iter().all(|seen| *seen > 0), "not all faults occurred: {outcome:?}");
    assert!(outcome.overdue > 0 && outcome.resets > 2 && outcome.strays > 0, "{outcome:?}");
    assert!(outcome.turns > 10, "{outcome:?}");
    outcome
}

/// Either way the controller sees each command in the same step, so the two runs differ only in the
/// number of doorbell writes.
#[test]
fn all_faults_with_doorbells_and_shadow_doorbells() {
    let rung = every_fault("doorbells", plan(1, 60_000));
    let mut plan = Plan { shadow: true, ..plan(1, 60_000) };
    plan.setup.dozes = true;
    let dozed = every_fault("shadow doorbells of an emulator", plan);
    assert!(dozed.doorbells > 0 && dozed.doorbells < rung.doorbells, "{dozed:?}, {rung:?}");
    assert_eq!(Outcome { doorbells: rung.doorbells, ..dozed }, rung);
}

#[test]
fn shadow_doorbells_and_small_rings() {
    let mut plan = plan(2, 10_000);
    plan.shadow = true;
    check("shadow doorbells", &torture::run(plan));
    plan.setup.dozes = true;
    check("shadow doorbells of an emulator", &torture::run(plan));
    plan.setup.entries_max = 8;
    check("rings of 8 for 16 slots", &torture::run(plan));
}

#[test]
fn chained_prp_lists() {
    let mut plan = plan(3, 2_000);
    plan.setup.transfer_max = 0;
    plan.request_bytes = 514 * nvme::PAGE_BYTES;
    plan.slots = 4;
    check("no transfer limit", &torture::run(plan));
}

#[test]
fn a_seed_reproduces_a_run() {
    assert_eq!(torture::run(plan(4, 2_000)), torture::run(plan(4, 2_000)));
}
