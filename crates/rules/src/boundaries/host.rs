//! HOST CEILING: how close rates are, and of how many models.

use rig::TargetInfo;
use workload::OpKind::Read;

use super::{checks, short, table};
use crate::host::RULE;
use crate::rule::Facts;
use crate::testing::{random, with_link};
use crate::{Neighbour, Ruling};

const CELL: &str = "rand-read-4KiB-q1";

/// The rulings on a drive of model A at 1,000 reads per second, beside others.
fn judge(model: Option<&str>, others: &[(&str, f64)]) -> Vec<Ruling> {
    let mut target: TargetInfo = with_link(1e9);
    target.target.drive.get_or_insert_default().model = model.map(String::from);
    let neighbour = |(model, rate): &(&str, f64)| Neighbour {
        model: model.to_string(),
        rates: [(CELL.to_string(), *rate)].into(),
    };
    let checks = checks(others.iter().map(neighbour).collect::<Vec<_>>());
    (RULE.judge)(&Facts { target: &target, seen: &[random(Read, 1, 1, 1000.0)], checks: &checks })
}

#[test]
fn three_models_within_2_percent_of_the_fastest_share_a_ceiling() {
    let said = |others: &[(&str, f64)]| short(judge(Some("A"), others));
    let ceiling = "HOST CEILING: rand-read-4KiB-q1";
    let rows: [(&[(&str, f64)], &str); 9] = [
        (&[("B", 1000.0), ("C", 981.0)], ceiling),
        (&[("B", 1000.0), ("C", 980.0)], ceiling),
        (&[("B", 1000.0), ("C", 979.0)], "nothing"),
        // This drive must be within 2% as well.
        (&[("B", 1020.0), ("C", 1020.0)], ceiling),
        (&[("B", 1021.0), ("C", 1021.0), ("D", 1021.0)], "nothing"),
        // Two models, or three of which two are one, may agree by chance.
        (&[("B", 1000.0)], "nothing"),
        (&[("B", 1000.0), (" b ", 1000.0)], "nothing"),
        (&[("B", 1000.0), ("a", 1000.0)], "nothing"),
        (&[], "nothing"),
    ];
    table(said, rows);
    assert_eq!(short(judge(None, &[("B", 1000.0), ("C", 1000.0)])), "nothing", "no model");
}

#[test]
fn a_neighbours_rates_are_operations_of_its_cells() {
    use record::{Metric, Unit};
    let metrics = [
        Metric::single("rand-read-4KiB-q1", Unit::Iops, 1000.0),
        Metric::single("seq-read-1MiB-q8", Unit::BytesPerSecond, 10.0 * 1048576.0),
        Metric::single("rand-read-4KiB-q1.p99", Unit::Nanoseconds, 5.0),
        Metric::single("temperature", Unit::Celsius, 40.0),
    ];
    let neighbour = Neighbour::new("B", &metrics);
    let rates: Vec<_> = neighbour.rates.iter().map(|(name, rate)| (name.as_str(), *rate)).collect();
    assert_eq!(rates, [("rand-read-4KiB-q1", 1000.0), ("seq-read-1MiB-q8", 10.0)]);
    assert_eq!(neighbour.model, "B");
}

pub fn examples() -> Vec<Ruling> {
    judge(Some("A"), &[("B", 1000.0), ("C", 990.0), ("D", 500.0)])
}
