//! POWER STATE: time of the first read after a rest.

use workload::OpKind::Read;

use super::{short, table};
use crate::changes::AFTER_REST;
use crate::power::power;
use crate::testing::{named, random};
use crate::{Digest, Ruling};

/// Usual reads, and the first after each rest.
fn seen(usual_ns: f64, firsts: [f64; 3]) -> Vec<Digest> {
    let usual = Digest { read_ns: [usual_ns; 2], ..random(Read, 1, 1, 1e3) };
    let first = |ns| {
        let run = Digest { read_ns: [0.0, ns], probe: true, ..random(Read, 1, 1, 1e3) };
        named(AFTER_REST, run)
    };
    [vec![usual], firsts.map(first).to_vec()].concat()
}

#[test]
fn three_times_a_usual_read_and_200_us_are_a_wake() {
    let said = |(usual_ns, first_ns)| short(power(&seen(usual_ns, [first_ns; 3])));
    let rows = [
        ((100e3, 499e3), "nothing"),
        ((100e3, 500e3), "POWER STATE: check-read-after-rest 80%"),
        ((100e3, 501e3), "POWER STATE: check-read-after-rest 80%"),
        ((10e3, 229e3), "nothing"),
        ((10e3, 230e3), "POWER STATE: check-read-after-rest 96%"),
        ((0.0, 500e3), "nothing"),
    ];
    table(said, rows);
}

#[test]
fn where_some_reads_are_much_longer_their_mean_is_the_usual_time() {
    let said = |(median_ns, mean_ns)| {
        let mut seen = seen(0.0, [500e3; 3]);
        seen[0].read_ns = [median_ns, mean_ns];
        short(power(&seen))
    };
    let rows = [
        ((10e3, 101e3), "nothing"),
        ((10e3, 100e3), "POWER STATE: check-read-after-rest 80%"),
        ((100e3, 10e3), "POWER STATE: check-read-after-rest 80%"),
    ];
    table(said, rows);
}

#[test]
fn most_rests_must_show_it() {
    let said = |firsts| short(power(&seen(100e3, firsts)));
    let rows = [
        ([1e6, 100e3, 100e3], "nothing"),
        ([1e6, 1e6, 100e3], "POWER STATE: check-read-after-rest 90%"),
    ];
    table(said, rows);
    assert_eq!(short(power(&seen(100e3, [1e6; 3])[..1])), "nothing", "no rest");
}

pub fn examples() -> Vec<Ruling> {
    power(&seen(100e3, [5e6; 3])).into_iter().collect()
}
