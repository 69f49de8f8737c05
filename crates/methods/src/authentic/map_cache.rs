//! Pairs of small reads within spans of doubling size. The first read is at a random address, the
//! second near it, where the drive needs the same part of its map. See [`rules`] for the
//! conclusion.
//!
//! Before the pairs, each span is read once in every [`STRIDE`], so that the drive caches as much
//! of the map as it can hold.

use record::Covers;
use workload::Permutation;
use workload::units::binary_tight;

use super::{Check, HELD, MISS, WITHIN_SPAN};
use rules::MapSpan;
use script::{Budget, Result, Session, TestRegion, timed_read};

/// The smallest span; its map takes 8 KiB.
const FIRST: u64 = 8 << 20;

/// The largest span; its map takes 128 MiB, more than a host's memory buffer for the drive.
const LARGEST: u64 = 128 << 30;

/// Bytes between the warm-up reads. A stride covers 1 KiB of the map, and drives fetch more than
/// that at a time.
const STRIDE: u64 = 1 << 20;

/// Both reads of a pair are in one area of this size, at least a quarter of it apart, so that they
/// do not share a flash page.
const AREA: u64 = 256 << 10;

/// Pairs of reads within each span.
const PAIRS: u64 = 256;

pub(super) static CHECK: Check = Check { share: 0.1, writes: false, run };

fn run(session: &mut Session<'_>, test_region: &TestRegion, seconds: f64) -> Result<()> {
    // Reads of a rotational disk show seek times, not its map.
    let drive = session.target().target.drive.as_ref();
    if drive.is_some_and(|drive| drive.rotational == Some(true)) {
        return Ok(());
    }
    let budget = Budget { seconds, ..Budget::default() };
    session.checks_mut().put(Vec::<MapSpan>::new());
    session.budget("check-map", budget, |session| {
        let mut ready = 0;
        for bytes in spans(test_region.bytes) {
            warm_up(session, ready, bytes, test_region)?;
            let pairs = pairs(session, bytes, test_region)?;
            ready = bytes;
            let span = MapSpan { bytes, pairs };
            session.checks_mut().update(|spans: &mut Vec<MapSpan>| spans.push(span));
        }
        Ok(())
    })?;
    publish(session);
    Ok(())
}

/// Spans of doubling size, and the whole region.
fn spans(bytes: u64) -> Vec<u64> {
    let largest = bytes.min(LARGEST) / STRIDE * STRIDE;
    let doubled = std::iter::successors(Some(FIRST), |bytes| Some(bytes * 2));
    // The last step is at least a factor of 1.5.
    let mut spans: Vec<u64> = doubled.take_while(|bytes| bytes * 3 / 2 < largest).collect();
    spans.push(largest);
    spans
}

/// Warms up the map of the part of the span beyond the previous one.
fn warm_up(session: &mut Session<'_>, from: u64, to: u64, test_region: &TestRegion) -> Result<()> {
    for offset in (from..to).step_by(STRIDE as usize) {
        timed_read(session, offset, u64::from(test_region.small))?;
    }
    Ok(())
}

/// Times of the pairs, nanoseconds.
fn pairs(session: &mut Session<'_>, bytes: u64, test_region: &TestRegion) -> Result<Vec<[f64; 2]>> {
    let small = u64::from(test_region.small);
    let area_blocks = AREA / small;
    let order = Permutation::new(bytes / AREA * area_blocks, test_region.seed_of(31) ^ bytes);
    // The second read is a quarter to three quarters of an area after the first, with wraparound.
    let neighbours = Permutation::new(area_blocks / 2, test_region.seed_of(32) ^ bytes);
    let mut pairs = Vec::new();
    for index in 0..PAIRS.min(order.len()) {
        let first = order.get(index);
        let (area, place) = (first / area_blocks, first % area_blocks);
        let second = area * area_blocks
            + (place + area_blocks / 4 + neighbours.get(index % neighbours.len())) % area_blocks;
        pairs.push([
            timed_read(session, first * small, small)?,
            timed_read(session, second * small, small)?,
        ]);
    }
    Ok(pairs)
}

fn publish(session: &mut Session<'_>) {
    if session.plans() {
        return;
    }
    let spans: Vec<MapSpan> = session.checks().list().to_vec();
    for (bytes, share) in rules::map_misses(&spans) {
        session.put_member(WITHIN_SPAN, &[&binary_tight(bytes)], Some(share.max(0.0)));
    }
    if let Some(map) = rules::map_held(&spans) {
        let metric = HELD.single(map.bytes);
        session.put_metric(metric.between(map.low, map.high, Covers::Resolution));
        session.put(MISS, Some(map.miss_ns));
    }
}

#[cfg(test)]
mod tests {
    use rig::Rig;

    use super::*;
    use script::Options;
    use script::test_drive::{Fake, Traits};

    #[test]
    fn both_reads_of_a_pair_are_in_one_area_and_a_quarter_of_it_apart() {
        let mut fake = Fake::confirmed(Traits::default(), 64 << 20);
        let test_region = TestRegion::new(fake.target(), &Options::default(), 60.0).expect("room");
        let mut session = Session::new(&mut fake);
        let times = pairs(&mut session, 16 << 20, &test_region).expect("nothing is wrong");
        drop(session);
        assert_eq!((times.len(), fake.door.reads.len()), (256, 512));
        let mut distances = std::collections::BTreeSet::new();
        for pair in fake.door.reads.chunks(2) {
            let [first, second] = [pair[0].start, pair[1].start];
            assert_eq!(first / AREA, second / AREA);
            let apart = first.abs_diff(second);
            assert!((AREA / 4..=AREA * 3 / 4).contains(&apart), "{first} {second}");
            distances.insert(apart);
        }
        assert!(distances.len() > 16, "they vary: {distances:?}");
    }

    #[test]
    fn spans_double_and_end_with_the_region() {
        const MIB: u64 = 1 << 20;
        assert_eq!(spans(48 * MIB), [8 * MIB, 16 * MIB, 48 * MIB]);
        assert_eq!(spans(5 * MIB), [5 * MIB]);
        assert_eq!(spans(64 << 40).last(), Some(&LARGEST));
    }
}
