//! The FAT zone: erase blocks at the start that take small random writes without being copied,
//! intended for the tables of a FAT file system.
//!
//! Small random writes are timed in each of the first erase blocks and in some far after them, at
//! the same offsets within every block. The zone ends where the time changes, if it changes by more
//! than the blocks on either side differ among themselves.

use super::FAT_ZONE;
use analysis::mean;
use rig::BlockWay;
use workload::{Content, Filler, Permutation, Region};

use script::whole::Whole;
use script::{Bulk, Result, Session, timed_write};

/// Erase blocks tested at the start. In Linaro's survey of flash cards, zones end after one to
/// four.
const FIRST: u64 = 10;

/// Erase blocks spread over the second half of the region, for comparison.
const OTHERS: u64 = 8;
const OTHERS_MIN: u64 = 4;

/// Bytes per write: a sector of a table, as file systems write it.
const SMALL: u64 = 4096;

/// Timed writes to a block in each round, after one write that opens it.
const WRITES: u64 = 8;

/// Rounds over all blocks. No round starts if the search would then take longer than this, seconds.
const ROUNDS: u32 = 2;
const SECONDS_MAX: f64 = 60.0;

/// Time after which the search ends without a result, seconds.
const SECONDS_END: f64 = 240.0;

/// A write in the zone takes at most this share of the time of the fastest block after the zone.
const ZONE_SHARE: f64 = 0.5;

/// The means of the zone and the other blocks differ by at least this many standard errors.
const ERRORS: f64 = 5.0;

/// The results of the small writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Small {
    /// Time of a small write outside any zone, nanoseconds.
    pub usual_ns: f64,
    pub zone: Option<Zone>,
}

/// A FAT zone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Zone {
    /// Its size, from the start.
    pub bytes: u64,
    /// Time of a small write in the zone, nanoseconds.
    pub each_ns: f64,
}

/// Searches for a zone among erase blocks of this size; `None` in a plan, if the region has too few
/// blocks, or if the search takes too long.
pub(super) fn search(
    session: &mut Session<'_>,
    whole: &Whole,
    erase: Option<u64>,
) -> Result<Option<Small>> {
    session.step(FAT_ZONE.name, 0);
    let small = SMALL.max(u64::from(whole.block));
    let bytes = u64::from(ROUNDS) * (FIRST + OTHERS) * (WRITES + 1) * small;
    let bulk = [Bulk::new(BlockWay::Write, Region::first(whole.bytes()), bytes)];
    let zone = session.transfer(FAT_ZONE.name, &bulk, |session| {
        let Some(erase) = erase else { return Ok(None) };
        let Some((blocks, first)) = places(whole.bytes() / erase) else { return Ok(None) };
        let times = small_writes(session, whole, erase, &blocks, small)?;
        Ok(times.map(|times| judge(&times, first, erase)))
    })?;
    Ok(zone.flatten())
}

/// Times of small writes to these erase blocks, of each block in each round; `None` if that takes
/// too long.
fn small_writes(
    session: &mut Session<'_>,
    whole: &Whole,
    erase: u64,
    blocks: &[u64],
    small: u64,
) -> Result<Option<Vec<Vec<f64>>>> {
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); blocks.len()];
    let began_ns = session.elapsed_ns();
    let elapsed =
        |session: &mut Session<'_>| session.elapsed_ns().saturating_sub(began_ns) as f64 / 1e9;
    for round in 0..ROUNDS {
        if round > 0 && 2.0 * elapsed(session) > SECONDS_MAX {
            break;
        }
        let seed = whole.test_region.seed_of(40 + round);
        let slots = Permutation::new(erase / small, seed);
        let filler = Filler::new(Content::Random, seed);
        for (block, times) in blocks.iter().zip(&mut times) {
            let offset = |turn: u64| block * erase + slots.get(turn) * small;
            // Opening a block may close another one. That time is not counted.
            timed_write(session, &filler, offset(0), small)?;
            session.flush()?;
            let from_ns = session.elapsed_ns();
            for turn in 1..=WRITES {
                timed_write(session, &filler, offset(turn), small)?;
            }
            session.flush()?;
            let ns = session.elapsed_ns().saturating_sub(from_ns) as f64;
            times.push(ns / WRITES as f64);
            if elapsed(session) > SECONDS_END {
                return Ok(None);
            }
        }
    }
    Ok(Some(times))
}

/// Selects the erase blocks to write to, out of `blocks`; also returns how many of them are at the
/// start. `None` if there are too few to compare.
fn places(blocks: u64) -> Option<(Vec<u64>, usize)> {
    let half = blocks / 2;
    let (first, outside) = (FIRST.min(half), OTHERS.min(blocks - half));
    let spread = (0..outside).map(|i| half + i * (blocks - half) / outside);
    let blocks = (0..first).chain(spread).collect();
    (first >= 2 && outside >= OTHERS_MIN).then_some((blocks, first as usize))
}

/// Finds the zone from the times of each block and round. The `first` blocks are at the start. A
/// zone that does not end within them is not reported, as its size is unknown.
fn judge(times: &[Vec<f64>], first: usize, erase: u64) -> Small {
    let ends = (1..first).filter_map(|end| {
        let (zone, outside) = (logarithms(&times[..end]), logarithms(&times[end..]));
        Some((end, separation(&zone, &outside)?))
    });
    let end = ends.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(end, _)| end);
    Small {
        usual_ns: geometric_mean(&times[end.unwrap_or(first)..]),
        zone: end
            .map(|end| Zone { bytes: end as u64 * erase, each_ns: geometric_mean(&times[..end]) }),
    }
}

fn geometric_mean(blocks: &[Vec<f64>]) -> f64 {
    libm::exp(mean(&logarithms(blocks)))
}

fn logarithms(blocks: &[Vec<f64>]) -> Vec<f64> {
    blocks.iter().flatten().map(|ns| libm::log(ns.max(1.0))).collect()
}

/// The distance between the means of two groups of logarithms, if the slowest time of the zone is
/// well below the fastest of the others and the distance is significant.
fn separation(zone: &[f64], others: &[f64]) -> Option<f64> {
    let slowest = zone.iter().copied().max_by(f64::total_cmp)?;
    let fastest = others.iter().copied().min_by(f64::total_cmp)?;
    let distance = mean(others) - mean(zone);
    let freedom = (zone.len() + others.len()).saturating_sub(2).max(1) as f64;
    let variance = (squared_distances(zone) + squared_distances(others)) / freedom;
    let error = (variance * (1.0 / zone.len() as f64 + 1.0 / others.len() as f64)).sqrt();
    let is_apart = slowest <= fastest + libm::log(ZONE_SHARE) && distance >= ERRORS * error;
    is_apart.then_some(distance)
}

fn squared_distances(values: &[f64]) -> f64 {
    values.iter().map(|v| (v - mean(values)).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use script::Options;
    use script::test_drive::{Fake, Traits};

    const MIB: u64 = 1 << 20;

    /// The zone found from the times of 18 blocks in two rounds; `each` returns the time of a
    /// block, ms.
    fn zone(each: impl Fn(usize) -> f64) -> Option<u64> {
        let times: Vec<Vec<f64>> = (0..18).map(|i| vec![each(i) * 1e6, each(i) * 1.07e6]).collect();
        judge(&times, 10, 4 * MIB).zone.map(|zone| zone.bytes)
    }

    #[test]
    fn a_zone_ends_where_all_blocks_after_it_are_slower() {
        let scatter = |i: usize| 1.0 + 0.1 * (i * 7 % 5) as f64;
        for end in 1..10 {
            let each = |i: usize| if i < end { 8.0 * scatter(i) } else { 300.0 * scatter(i) };
            assert_eq!(zone(each), Some(end as u64 * 4 * MIB));
        }
        // One block after the zone is as fast, so the zone has no end.
        assert_eq!(zone(|i| if i < 2 || i == 14 { 8.0 } else { 300.0 }), None);
        assert_eq!(zone(|i| if i < 2 { 200.0 } else { 300.0 * scatter(i) }), None);
        assert_eq!(zone(|i| 300.0 * scatter(i)), None);
        // All of the first blocks are fast, so the end is not seen.
        assert_eq!(zone(|i| if i < 10 { 8.0 } else { 300.0 }), None);
        // The scatter is as large as the distance.
        assert_eq!(zone(|i| if i == 0 { 8.0 } else { 17.0 * (1 << (i % 8)) as f64 }), None);
    }

    /// Both groups deviate by `scatter` to either side of their means, which are 1 apart.
    #[test]
    fn groups_are_apart_by_five_standard_errors() {
        let group = |mean: f64, scatter: f64, n: usize| -> Vec<f64> {
            (0..n).map(|i| if i % 2 == 0 { mean - scatter } else { mean + scatter }).collect()
        };
        let apart = |scatter, n, m| separation(&group(0.0, scatter, n), &group(1.0, scatter, m));
        // The error is scatter * sqrt((n + m) / (n + m - 2) * (1 / n + 1 / m)).
        assert_eq!([apart(0.141, 4, 8), apart(0.142, 4, 8)].map(|d| d.is_some()), [true, true]);
        let wide = |scatter: f64| separation(&group(0.0, scatter, 2), &group(1.0, scatter, 2));
        assert_eq!([wide(0.141), wide(0.142)].map(|d| d.is_some()), [true, false]);
        assert_eq!(separation(&[0.0], &[0.69, 0.69]), None, "half of the time is not reached");
        assert!(separation(&[0.0], &[0.70, 0.70]).is_some());
    }

    #[test]
    fn every_block_gets_its_small_writes_and_one_that_opens_it_in_both_rounds() {
        let mut fake = Fake::confirmed(Traits::default(), 64 * MIB);
        let options = Options::default();
        let whole = Whole::unguarded(&super::super::INFO, &fake.info, &options).expect("room");
        let mut session = Session::new(&mut fake);
        let small = search(&mut session, &whole, Some(4 * MIB)).expect("nothing is wrong");
        drop(session);
        assert_eq!(small.and_then(|small| small.zone), None, "all blocks are equal");
        // Of 16 erase blocks, 8 are at the start and 8 in the second half.
        assert_eq!(fake.written, 2 * 16 * (WRITES + 1) * SMALL);
    }

    #[test]
    fn few_blocks_are_not_compared() {
        assert_eq!(places(6), None);
        let (blocks, first) = places(1000).expect("enough");
        assert_eq!((blocks.len(), first, blocks[9], blocks[10]), (18, 10, 9, 500));
        assert!(blocks.iter().all(|block| *block < 1000));
        assert_eq!(places(8), Some(((0..8).collect(), 4)));
    }
}
