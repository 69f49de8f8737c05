//! SPEED, PLACE MATTERS and PER-COMMAND of `speed`: numbers or ranges, ratios, fits.

use analysis::Cost;
use workload::OpKind;

use super::{checks, repeat, short, table};
use crate::speed::{PER_COMMAND, PLACES, legacy, per_command, places};
use crate::testing::target;
use crate::{CommandTimes, Legacy, PlaceRates, Ruling};

/// Reads of 1 MB, at 1 GB/s beside this time of a command.
fn command(command_ns: f64, residual: f64, fits: usize) -> CommandTimes {
    let cost = Cost { command_ns, bytes_per_s: 1e9, residual };
    CommandTimes { kind: OpKind::Read, chunk: 1_000_000, costs: vec![cost; fits], rounds: 4 }
}

/// The data take 1 ms.
#[test]
fn commands_are_the_limit_above_half_of_the_time() {
    let said = |command_ns| short([per_command(&command(command_ns, 0.0, 4))]);
    let rows = [(0.99e6, "no: DATA-BOUND"), (1e6, "no: DATA-BOUND"), (1.01e6, "PER-COMMAND")];
    table(said, rows);
}

#[test]
fn times_must_fit_a_line_within_a_quarter_and_in_every_round() {
    let said = |(residual, fits)| short([per_command(&command(2e6, residual, fits))]);
    let rows = [
        ((0.249, 4), "PER-COMMAND"),
        ((0.25, 4), "PER-COMMAND"),
        ((0.251, 4), "unknown"),
        ((0.0, 3), "unknown"),
        ((0.0, 5), "PER-COMMAND"),
    ];
    table(said, rows);
    let none = CommandTimes { rounds: 0, ..command(2e6, 0.0, 0) };
    assert_eq!(short([per_command(&none)]), "unknown");
}

fn printed(read: &[f64], write: &[f64]) -> Legacy {
    let mb_s = |rates: &[f64]| rates.iter().map(|rate| rate * 1e6).collect();
    Legacy { rates: [mb_s(read), mb_s(write)], bytes: 32 << 20, chunk: 64 << 10 }
}

#[test]
fn passes_within_5_percent_are_one_number() {
    let said = |passes: [f64; 2]| {
        let text = legacy(&printed(&passes, &[])).verdict.text;
        text.split_once("read ")
            .expect("reads")
            .1
            .split_once(" MB/s")
            .expect("a rate")
            .0
            .to_string()
    };
    let rows = [
        ([19.0, 20.0], "19.5"),
        ([18.9, 20.0], "18.9-20.0"),
        ([19.1, 20.0], "19.6"),
        // From 100 MB/s on without a decimal.
        ([99.9, 99.9], "99.9"),
        ([100.0, 100.0], "100"),
        ([90.0, 100.0], "90.0-100"),
    ];
    table(said, rows);
}

fn at_places(shares: &[f64]) -> PlaceRates {
    let places = ["start", "middle", "end"][..shares.len()].to_vec();
    let rates = shares.iter().map(|share| repeat(share * 100e6, 4)).collect();
    PlaceRates { kind: OpKind::Read, places, rates }
}

#[test]
fn a_place_matters_from_5_percent_on() {
    let said = |shares: Vec<f64>| short([places(&at_places(&shares))]);
    let rows = [
        (vec![1.0, 1.0, 0.953], "no: SAME EVERYWHERE"),
        (vec![1.0, 1.0, 0.951], "PLACE MATTERS"),
        (vec![1.0, 1.049, 1.0], "no: SAME EVERYWHERE"),
        (vec![1.0, 1.051, 1.0], "PLACE MATTERS"),
        (vec![1.0], "unknown"),
    ];
    table(said, rows);
}

#[test]
fn the_place_that_differs_most_is_named_in_either_direction() {
    let said = |shares: Vec<f64>| {
        let text = places(&at_places(&shares)).verdict.text;
        text.split_once(" of the drive").expect("a place").0.to_string()
    };
    let rows = [
        (vec![1.0, 0.5, 1.9], "At the middle"),
        (vec![1.0, 0.5, 2.1], "At the end"),
        (vec![1.0, 1.9, 0.5], "At the end"),
    ];
    table(said, rows);
}

#[test]
fn one_place_alone_is_not_judged_and_each_side_is() {
    let mut checks = checks(vec![at_places(&[1.0]), at_places(&[1.0, 0.5])]);
    checks.put(vec![command(2e6, 0.0, 4), command(1e3, 0.0, 4)]);
    let target = target();
    let facts = crate::rule::Facts { target: &target, seen: &[], checks: &checks };
    assert_eq!(short((PLACES.judge)(&facts)), "PLACE MATTERS");
    assert_eq!(short((PER_COMMAND.judge)(&facts)), "PER-COMMAND; no: DATA-BOUND");
}

pub fn examples() -> Vec<Ruling> {
    let mut scattered = at_places(&[1.0, 1.0]);
    scattered.rates[1] = vec![50e6, 100e6, 150e6, 60e6];
    let mut absent = at_places(&[1.0, 1.0]);
    absent.rates[1].clear();
    let rates = [at_places(&[1.0, 0.9, 0.5]), at_places(&[1.0, 1.0]), scattered, absent];
    let times = [command(2e6, 0.1, 4), command(0.5e6, 0.1, 4), command(2e6, 0.3, 4)];
    let numbers = [printed(&[20.0, 20.1], &[6.0, 7.0]), printed(&[], &[150.0])];
    let rulings = rates.iter().map(places).chain(times.iter().map(per_command));
    rulings.chain(numbers.iter().map(legacy)).collect()
}
