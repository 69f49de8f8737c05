//! FLUSH: shortest plausible flush, number of flushes.

use rig::TargetInfo;

use super::{short, table};
use crate::flush::flush;
use crate::testing::{target, with_drive};
use crate::{FlushTimes, Ruling};

/// So many flushes of this time.
pub fn flushes(ns: u64, count: u64) -> FlushTimes {
    let mut times = FlushTimes::default();
    (0..count).for_each(|_| times.service.record(ns));
    times
}

fn declares(write_cache: Option<bool>) -> TargetInfo {
    with_drive(|drive| drive.write_cache = write_cache)
}

#[test]
fn a_flush_below_30_us_is_none_unless_nothing_is_volatile() {
    let said = |(write_cache, ns)| short([flush(&declares(write_cache), &flushes(ns, 20))]);
    let rows = [
        ((None, 29_999), "FLUSH"),
        ((None, 30_000), "no: FLUSH PLAUSIBLE"),
        ((Some(true), 29_999), "FLUSH"),
        ((Some(true), 30_000), "no: FLUSH PLAUSIBLE"),
        ((Some(false), 29_999), "no: FLUSH PLAUSIBLE"),
        ((Some(false), 30_000), "no: FLUSH PLAUSIBLE"),
    ];
    table(said, rows);
}

#[test]
fn twenty_flushes_are_needed() {
    let said = |count| short([flush(&target(), &flushes(1000, count))]);
    table(said, [(19, "unknown"), (20, "FLUSH"), (21, "FLUSH")]);
}

#[test]
fn memory_has_nothing_to_flush() {
    let said = |ram| short([flush(&TargetInfo { ram, ..target() }, &flushes(1000, 20))]);
    table(said, [(false, "FLUSH"), (true, "unknown")]);
}

pub fn examples() -> Vec<Ruling> {
    let ram = TargetInfo { ram: true, ..target() };
    vec![
        flush(&target(), &flushes(9000, 20)),
        flush(&target(), &flushes(900_000, 20)),
        flush(&declares(Some(false)), &flushes(9000, 20)),
        flush(&ram, &flushes(9000, 20)),
        flush(&target(), &flushes(9000, 19)),
    ]
}
