//! COMPRESSIBLE: the gain that counts and the gain that must be ruled out.

use super::{repeat, short, table};
use crate::content::content;
use crate::{Contents, Ruling, gains_from};

/// Four rounds of random data, zeros, half-compressible and repeated data, relative to 100 MB/s.
fn rates(shares: [f64; 4]) -> Contents {
    Contents { rates: shares.map(|share| repeat(share * 100e6, 4)) }
}

#[test]
fn each_content_that_gains_5_percent_matters() {
    for place in 1..4 {
        let said = |gain| {
            let mut shares = [1.0; 4];
            shares[place] = gain;
            short([content(&rates(shares))])
        };
        let rows = [
            (0.5, "no: INCOMPRESSIBLE"),
            (1.0499, "no: INCOMPRESSIBLE"),
            (1.0501, "COMPRESSIBLE"),
            (3.0, "COMPRESSIBLE"),
        ];
        table(said, rows);
    }
}

/// Rounds that scatter leave an interval from below 1.05.
#[test]
fn a_gain_of_a_quarter_must_be_ruled_out() {
    let said = |scatter: f64| {
        let mut rates = rates([1.0; 4]);
        rates.rates[1] = [1.0 + scatter, 1.0 / (1.0 + scatter)].map(|f| f * 100e6).repeat(2);
        let ruling = content(&rates);
        let high = ruling.verdict.evidence.iter().find(|e| e.name == "zeros / random, high");
        format!("{} up to {:.2}", short([ruling.clone()]), high.expect("an interval").value)
    };
    let rows = [(0.070, "no: INCOMPRESSIBLE up to 1.21"), (0.10, "unknown up to 1.31")];
    table(said, rows);
}

#[test]
fn all_three_contents_must_be_measured_to_rule_a_gain_out() {
    let said = |rounds: usize| {
        let mut cut = rates([1.0; 4]);
        cut.rates[3].truncate(rounds);
        short([content(&cut)])
    };
    table(said, [(0, "unknown"), (1, "unknown"), (2, "no: INCOMPRESSIBLE")]);
}

#[test]
fn gains_are_asked_for_by_name() {
    let said = |name: &str| gains_from(&rates([1.0, 1.06, 1.04, 1.0]), name).to_string();
    table(said, [("zeros", "true"), ("half", "false"), ("random", "false")]);
}

pub fn examples() -> Vec<Ruling> {
    let single = Contents { rates: [1.0; 4].map(|rate| vec![rate]) };
    let seen = [rates([1.0, 3.0, 1.7, 1.0]), rates([1.0, 1.01, 1.02, 0.99]), single];
    seen.iter().map(content).collect()
}
