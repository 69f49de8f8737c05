//! SATURATED BY OTHERS: share of the bytes, busy time, bytes moved, flushes.

use rig::DeviceTraffic;

use super::{short, table};
use crate::others::others;
use crate::testing::{device, digest, named, target, with_drive};
use crate::{Digest, Ruling};

const MIB: u64 = 1 << 20;

/// A second of reads: KiB of this process, KiB of the drive, and the busy share of the time.
fn run(own_kib: u64, all_kib: u64, busy: f64) -> Digest {
    let device = Some(DeviceTraffic { busy, ..device(all_kib << 10, 0) });
    named("a", Digest { bytes: [own_kib << 10, 0], device, ..digest("x") })
}

#[test]
fn a_fifth_of_the_bytes_of_a_busy_drive_are_noticed() {
    let said = |(own_kib, all_kib, busy)| short(others(&target(), &[run(own_kib, all_kib, busy)]));
    let rows = [
        ((8001, 10_000, 1.0), "nothing"),
        ((8000, 10_000, 1.0), "SATURATED BY OTHERS: a 20%"),
        ((7900, 10_000, 1.0), "SATURATED BY OTHERS: a 21%"),
        ((12_000, 10_000, 1.0), "nothing"),
        // Busy for nine tenths of the time.
        ((5000, 10_000, 0.899), "nothing"),
        ((5000, 10_000, 0.9), "SATURATED BY OTHERS: a 50%"),
        ((5000, 10_000, 0.901), "SATURATED BY OTHERS: a 50%"),
        // Four mebibytes.
        ((2000, 4095, 1.0), "nothing"),
        ((2048, 4096, 1.0), "SATURATED BY OTHERS: a 50%"),
        ((2048, 4097, 1.0), "SATURATED BY OTHERS: a 50%"),
    ];
    table(said, rows);
}

#[test]
fn a_drive_must_be_busy_for_all_of_the_time() {
    let long = |busy| Digest { seconds: 3.0, ..run(5000, 10_000, busy) };
    let said = |busy| short(others(&target(), &[run(5000, 10_000, 0.6), long(busy)]));
    // 0.6 of one second and 1.0 of three are nine tenths.
    table(said, [(0.99, "nothing"), (1.01, "SATURATED BY OTHERS: a 50%")]);
}

#[test]
fn a_journal_may_write_64_kib_with_each_flush() {
    let said = |flushes| {
        let writes = Digest { ops: [0, 1000], bytes: [0, MIB], flushes, ..run(0, 8192, 1.0) };
        short(others(&target(), &[writes]))
    };
    let rows = [(0, "SATURATED BY OTHERS: a 88%"), (86, "SATURATED BY OTHERS: a 20%")];
    table(said, rows.into_iter().chain([(87, "nothing")]));
}

#[test]
fn layers_with_transfers_of_their_own_are_not_judged() {
    let said = |(name, direct): (&str, bool)| {
        let info = with_drive(|drive| drive.name = name.to_string());
        short(others(&info, &[Digest { direct, ..run(5000, 10_000, 1.0) }]))
    };
    let rows = [
        (("sda", true), "SATURATED BY OTHERS: a 50%"),
        (("sda", false), "nothing"),
        (("md0", true), "nothing"),
        (("dm-0", true), "nothing"),
    ];
    table(said, rows);
}

pub fn examples() -> Vec<Ruling> {
    others(&target(), &[run(6000, 10_000, 1.0)]).into_iter().collect()
}
