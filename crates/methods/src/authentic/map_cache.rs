//! Pairs of small reads within spans of doubling size. The first read is at a random address, the
//! second near it, where the drive needs the same part of its map. See [`crate::verdict`] for the
//! conclusion.
//!
//! Before the pairs, each span is read once in every [`STRIDE`], so that the drive caches as much
//! of the map as it can hold.

use record::{Covers, Metric, MetricKey, Unit};
use workload::Permutation;
use workload::units::binary_tight;

use super::Check;
use crate::session::Session;
use crate::test_region::TestRegion;
use crate::timed::timed_read;
use crate::verdict::{self, MapSpan};
use crate::{Budget, MethodError};

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

fn run(
    session: &mut Session<'_>,
    test_region: &TestRegion,
    seconds: f64,
) -> Result<(), MethodError> {
    // Reads of a rotational disk show seek times, not its map.
    let drive = session.target().target.drive.as_ref();
    if drive.is_some_and(|drive| drive.rotational == Some(true)) {
        return Ok(());
    }
    let budget = Budget { seconds, ..Budget::default() };
    session.checks.map = Some(Vec::new());
    session.budget("check-map", budget, |session| {
        let begun_ns = session.rig().elapsed_ns();
        let mut clock = Clock { begun_ns, most_ns: (seconds * 1e9) as u64, count: 0 };
        let mut ready = 0;
        for bytes in spans(test_region.bytes) {
            let warm = warm_up(session, ready, bytes, test_region, &mut clock)?;
            let pairs = if warm { pairs(session, bytes, test_region, &mut clock)? } else { None };
            let Some(pairs) = pairs else { break };
            ready = bytes;
            session.checks.map.get_or_insert_default().push(MapSpan { bytes, pairs });
        }
        publish(session);
        Ok(())
    })
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

/// The remaining time. A plan does not use any.
struct Clock {
    begun_ns: u64,
    most_ns: u64,
    count: u64,
}

impl Clock {
    /// Returns whether time remains for another read. Called before every read.
    fn allows(&mut self, session: &mut Session<'_>) -> bool {
        self.count += 1;
        if !self.count.is_multiple_of(32) {
            return true;
        }
        let spent_ns = session.rig().elapsed_ns().saturating_sub(self.begun_ns);
        session.plans() || spent_ns < self.most_ns
    }
}

/// Warms up the map of the part of the span beyond the previous one. Returns whether there was
/// time.
fn warm_up(
    session: &mut Session<'_>,
    from: u64,
    to: u64,
    test_region: &TestRegion,
    clock: &mut Clock,
) -> Result<bool, MethodError> {
    for offset in (from..to).step_by(STRIDE as usize) {
        if !clock.allows(session) {
            return Ok(false);
        }
        timed_read(session, offset, u64::from(test_region.small))?;
    }
    Ok(true)
}

/// Times of the pairs, nanoseconds; `None` if there was no time for all of them.
fn pairs(
    session: &mut Session<'_>,
    bytes: u64,
    test_region: &TestRegion,
    clock: &mut Clock,
) -> Result<Option<Vec<[f64; 2]>>, MethodError> {
    let small = u64::from(test_region.small);
    let each = AREA / small;
    let order = Permutation::new(bytes / AREA * each, test_region.seed_of(31) ^ bytes);
    // The second read is a quarter to three quarters of an area after the first, with wraparound.
    let beside = Permutation::new(each / 2, test_region.seed_of(32) ^ bytes);
    let mut pairs = Vec::new();
    for index in 0..PAIRS.min(order.len()) {
        if !clock.allows(session) {
            return Ok(None);
        }
        let first = order.get(index);
        let (area, place) = (first / each, first % each);
        let second = area * each + (place + each / 4 + beside.get(index % beside.len())) % each;
        pairs.push([
            timed_read(session, first * small, small)?,
            timed_read(session, second * small, small)?,
        ]);
    }
    Ok(Some(pairs))
}

fn publish(session: &mut Session<'_>) {
    if session.plans() {
        return;
    }
    let spans = session.checks.map.clone().unwrap_or_default();
    for (bytes, share) in verdict::map_misses(&spans) {
        let key = MetricKey::of_words(&[&"check-map-within", &binary_tight(bytes)]);
        session.put(key, Unit::Share, Some(share.max(0.0)));
    }
    if let Some(held) = verdict::map_held(&spans) {
        let metric = Metric::single("check-map-held", Unit::Bytes, held.bytes);
        session.put_metric(metric.between(held.low, held.high, Covers::Resolution));
        session.put(MetricKey::parse("check-map-miss"), Unit::Nanoseconds, Some(held.miss_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_double_and_end_with_the_region() {
        const MIB: u64 = 1 << 20;
        assert_eq!(spans(48 * MIB), [8 * MIB, 16 * MIB, 48 * MIB]);
        assert_eq!(spans(5 * MIB), [5 * MIB]);
        assert_eq!(spans(64 << 40).last(), Some(&LARGEST));
    }
}
