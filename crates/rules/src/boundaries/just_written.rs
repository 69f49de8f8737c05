//! FLASH BOUND by the state of the data: the gain of reads of data just written.

use workload::OpKind::Read;

use super::{short, table};
use crate::Ruling;
use crate::changes::{DEPTH, JUST_WRITTEN};
use crate::just_written::just_written;
use crate::testing::{named, random};

/// Reads after a rest at depths 32 and 1, and of data just written.
fn judged(rested: [f64; 2], written: [f64; 2]) -> Option<Ruling> {
    let cells = [DEPTH, 1].into_iter().zip(rested.into_iter().zip(written));
    let seen = cells.flat_map(|(depth, (rested, written))| {
        let name = format!("rand-read-{JUST_WRITTEN}-4KiB-q{depth}");
        [random(Read, 1, depth, rested), named(&name, random(Read, 1, depth, written))]
    });
    just_written(&seen.collect::<Vec<_>>())
}

#[test]
fn reads_of_data_just_written_that_are_a_tenth_faster_show_flash() {
    let said = |written| short(judged([1000.0, 100.0], written));
    let rows = [
        ([1090.0, 109.0], "nothing"),
        ([1110.0, 109.0], "FLASH BOUND: rand-read-4KiB-q32 10%"),
        ([1090.0, 111.0], "FLASH BOUND: rand-read-4KiB-q1 10%"),
        ([2000.0, 200.0], "FLASH BOUND: rand-read-4KiB-q32 50%, rand-read-4KiB-q1 50%"),
        ([500.0, 50.0], "nothing"),
    ];
    table(said, rows);
}

pub fn examples() -> Vec<Ruling> {
    judged([1000.0, 100.0], [2000.0, 105.0]).into_iter().collect()
}
