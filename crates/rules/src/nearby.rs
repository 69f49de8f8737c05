//! DEVICE CACHE and OPEN BLOCKS: are operations faster on a small area than on the whole region?
//!
//! If reads are faster there, a cache of data or mapping tables covers the small area. If only
//! writes are, and much faster, the drive keeps a few blocks open at a time, as cards and sticks
//! do, and copies a block whenever a write falls outside them. Reads that take long anyway could hide
//! the miss of a cache, though, and then tell nothing. Neither shows if the whole region fits, nor do
//! faster reads show a cache where new data are in slower flash. Where random writes cost a copy even
//! within a block, those in order are faster, by more than a mapping unit explains.

use record::{Order, Unit, VerdictKind};
use workload::OpKind::{Read, Write};
use workload::units::binary;

use super::Ruling;
use super::grid::Grid;
use super::rule::{Role, Rule};
use crate::Digest;
use crate::changes::{DEPTH, NEAR_BYTES};

/// Minimum ratio at which a small area counts as faster; rounds differ by less.
pub(super) const NEAR_GAIN: f64 = 1.25;

/// Minimum cost of copying a block, as a multiple of a write to an open block. A guess: the lowest
/// ratio seen on cards is 10.
const COPY_MIN: f64 = 3.0;

/// Maximum number of fetches from flash for which a write that misses a cache waits: what it replaces
/// is written back first.
const FETCHES_MAX: f64 = 2.0;

/// Minimum ratio at which writes in order show that others cost the copy of a block, unless larger
/// random blocks show a mapping unit. One of 64 KiB is written once instead of 16 times, each with a
/// read that takes half as long.
const IN_ORDER_MIN: f64 = 24.0;

/// OPEN BLOCKS also applies at depth 1 if its rate is within this factor of the rate at high depth.
const ALONE_FACTOR: f64 = 2.0;

pub static RULE: Rule = Rule {
    role: Role::Cause,
    overridden_by: super::media::LIMITS_OF_HOST,
    judge: |facts| nearby(facts.seen).into_iter().collect(),
};

pub fn nearby(seen: &[Digest]) -> Option<Ruling> {
    let grid = Grid::from_digests(seen);
    let [reads, writes] =
        [Read, Write].map(|kind| Some(grid.near(kind)? / grid.random(kind, 1, DEPTH)?));
    let [deep_reads, deep_writes] =
        [Read, Write].map(|kind| grid.find(kind, Order::Random, 1, DEPTH));
    let (bytes, small) = (binary(NEAR_BYTES), binary(u64::from(grid.small()?)));
    if let Some(gain) = reads.filter(|gain| *gain >= NEAR_GAIN) {
        if gain < NEAR_GAIN * slowdown_of_new_data(&grid) {
            return None;
        }
        let text = format!(
            "A cache of the drive (data or tables) holds {bytes}, but not the region: reads of \
             {small} are {gain:.1} times as fast within {bytes}."
        );
        let ruling = Ruling::yes(VerdictKind::DeviceCache, text)
            .explaining(deep_reads?, Some(1.0 - 1.0 / gain))
            .next_test("--size 64MiB, 256MiB, ...: the rate falls at the size of the cache")
            .with("reads within little / all over", gain, Unit::Number);
        return Some(match writes.filter(|gain| *gain >= NEAR_GAIN).zip(deep_writes) {
            Some((gain, writes)) => ruling.explaining(writes, Some(1.0 - 1.0 / gain)).with(
                "writes within little / all over",
                gain,
                Unit::Number,
            ),
            None => ruling,
        });
    }
    // What a write takes longer than one nearby, a read would, too, if it missed a cache.
    let added_s = grid.random(Write, 1, DEPTH).zip(grid.near(Write));
    let added_s = added_s.map_or(0.0, |(all, near)| 1.0 / all - 1.0 / near);
    let would_show = grid
        .random(Read, 1, DEPTH)
        .is_some_and(|rate| added_s / FETCHES_MAX >= (NEAR_GAIN - 1.0) / rate);
    let clear = reads.is_some() && would_show && grid.writes_hold();
    let local = writes.filter(|gain| clear && *gain >= COPY_MIN);
    let in_order = grid.rate(Write, Order::Sequential, 1, DEPTH);
    let in_order = in_order.zip(grid.random(Write, 1, DEPTH)).map(|(rate, random)| rate / random);
    let in_order = in_order.filter(|gain| *gain >= IN_ORDER_MIN && !grid.gains_from_units());
    let gain = local.or(in_order).filter(|_| !grid.mixes_at_rate_of_writes())?;
    let (faster, base) = match local {
        Some(_) => {
            (format!("within {bytes}, but reads are not"), "writes within little / all over")
        }
        None => ("in order, more than a mapping unit explains".into(), "writes in order / random"),
    };
    let text = format!(
        "Writes of {small} are {gain:.0} times as fast {faster}: the drive writes to a few blocks \
         at a time, and a write outside them costs a copy."
    );
    let ruling = Ruling::yes(VerdictKind::OpenBlocks, text)
        .explaining(deep_writes?, Some(1.0 - 1.0 / gain))
        .next_test("ssdyno io --rw write to 1, 2, 4, ... places in turn: the number of open blocks")
        .with(base, gain, Unit::Number);
    let rates = grid.random(Write, 1, 1).zip(grid.random(Write, 1, DEPTH));
    let alike = rates.is_some_and(|(one, deep)| deep / one <= ALONE_FACTOR);
    match grid.find(Write, Order::Random, 1, 1).filter(|_| alike) {
        Some(alone) => Some(ruling.explaining(alone, None)),
        None => Some(ruling),
    }
}

/// How much longer a single read of data just written takes; 1 if it does not. Where new data are in
/// slower flash, an area that has none of them is faster by as much, without a cache.
fn slowdown_of_new_data(grid: &Grid<'_>) -> f64 {
    let rates = grid.random(Read, 1, 1).zip(grid.just_written(1));
    rates.map_or(1.0, |(usual, new)| (usual / new.iops()).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{named, near, random};
    use super::*;

    fn found(reads: [f64; 2], writes: [f64; 2]) -> Option<(VerdictKind, Vec<String>)> {
        let seen = [
            random(Read, 1, DEPTH, reads[0]),
            near(Read, reads[1]),
            random(Write, 1, DEPTH, writes[0]),
            near(Write, writes[1]),
            random(Write, 1, 1, writes[0] / 1.9),
        ];
        let verdict = nearby(&seen)?.verdict;
        Some((verdict.kind, verdict.explains.into_iter().map(|e| e.metric).collect()))
    }

    #[test]
    fn faster_reads_of_little_are_a_cache_and_faster_writes_alone_open_blocks() {
        let (read, write) = ("rand-read-4KiB-q32".to_string(), "rand-write-4KiB-q32".to_string());
        let alone = "rand-write-4KiB-q1".to_string();
        let cache = |explained| Some((VerdictKind::DeviceCache, explained));
        assert_eq!(found([50e3, 63e3], [9e3, 9e3]), cache(vec![read.clone()]));
        assert_eq!(found([50e3, 63e3], [9e3, 40e3]), cache(vec![read, write.clone()]));
        let open = Some((VerdictKind::OpenBlocks, vec![write, alone]));
        let open_kind = Some(VerdictKind::OpenBlocks);
        assert_eq!(found([2e3, 2.2e3], [9.0, 28.0]), open);
        assert_eq!(found([2e3, 2.2e3], [9.0, 26.0]), None, "scatter");
        assert_eq!(found([50e3, 62e3], [9e3, 9e3]), None);
        // 4 us more a write could be two fetches of 2 us, which reads of 10 us would not show.
        assert_eq!(found([100e3, 100e3], [200e3, 1e6]), None, "a cache may be missed");
        assert_eq!(found([150e3, 150e3], [180e3, 1e6]).map(|found| found.0), open_kind);
    }

    #[test]
    fn an_area_without_new_data_in_slower_flash_is_no_cache() {
        let found = |new_rate: f64, near_rate: f64| {
            let new = named("rand-read-just-written-4KiB-q1", random(Read, 1, 1, new_rate));
            let reads = [random(Read, 1, 1, 10e3), random(Read, 1, DEPTH, 50e3)];
            let seen = [&reads[..], &[new, near(Read, near_rate), near(Write, 9e3)]].concat();
            nearby(&[&seen[..], &[random(Write, 1, DEPTH, 9e3)]].concat()).is_some()
        };
        assert!(found(10e3, 63e3) && found(20e3, 63e3));
        assert!(!found(5e3, 124e3) && found(5e3, 126e3));
    }
}
