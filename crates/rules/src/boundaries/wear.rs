//! WEAR: life used, spares, media errors, reads that are repeated.

use record::Health;
use workload::OpKind::Read;

use super::{short, table};
use crate::testing::random;
use crate::wear::wear;
use crate::{Digest, Ruling};

fn reads(median: f64, mean: f64) -> Vec<Digest> {
    vec![Digest { read_ns: [median, mean], ..random(Read, 1, 1, 1e3) }]
}

#[test]
fn a_drive_is_worn_by_its_own_account() {
    let said = |(wear_percent, spare_percent, media_errors)| {
        let health = Health { wear_percent, spare_percent, media_errors, ..Health::default() };
        short(wear(&health, &[]))
    };
    let rows = [
        ((None, None, None), "nothing"),
        ((Some(99.0), None, None), "nothing"),
        ((Some(100.0), None, None), "WEAR"),
        ((Some(101.0), None, None), "WEAR"),
        ((None, Some(9.0), None), "WEAR"),
        ((None, Some(10.0), None), "nothing"),
        ((None, Some(11.0), None), "nothing"),
        ((None, None, Some(0)), "nothing"),
        ((None, None, Some(1)), "WEAR"),
    ];
    table(said, rows);
}

#[test]
fn a_mean_a_tenth_above_the_median_shows_reads_that_are_repeated() {
    let said = |(median, mean)| {
        let health = Health { wear_percent: Some(100.0), ..Health::default() };
        short(wear(&health, &reads(median, mean)))
    };
    let rows = [
        ((1000.0, 1099.0), "WEAR"),
        ((1000.0, 1101.0), "WEAR: rand-read-4KiB-q1 9%"),
        ((1000.0, 2000.0), "WEAR: rand-read-4KiB-q1 50%"),
        ((0.0, 1000.0), "WEAR"),
    ];
    table(said, rows);
}

#[test]
fn a_mean_a_sixth_above_the_fastest_shows_that_most_reads_are_repeated() {
    let said = |(fast_read_ns, mean)| {
        let health = Health { wear_percent: Some(150.0), ..Health::default() };
        let mut seen = reads(mean, mean);
        seen[0].fast_read_ns = fast_read_ns;
        short(wear(&health, &seen))
    };
    let rows = [
        ((1000.0, 1149.0), "WEAR"),
        ((1000.0, 1151.0), "WEAR: rand-read-4KiB-q1 13%"),
        ((1000.0, 2000.0), "WEAR: rand-read-4KiB-q1 50%"),
        ((0.0, 2000.0), "WEAR"),
    ];
    table(said, rows);
}

pub fn examples() -> Vec<Ruling> {
    let health = Health {
        wear_percent: Some(104.0),
        spare_percent: Some(3.0),
        media_errors: Some(7),
        ..Health::default()
    };
    let errors = Health { media_errors: Some(1), ..Health::default() };
    let rulings = [wear(&health, &reads(100e3, 125e3)), wear(&errors, &[])];
    rulings.into_iter().flatten().collect()
}
