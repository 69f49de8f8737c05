//! Detects standstills of the whole process: stopped by a signal, frozen, or in a paused virtual
//! machine. The drive is not responsible for that time.
//!
//! The sampler's thread sleeps until a known time. If it wakes much later, neither it nor the
//! workers ran. Operations in flight seem to have taken that long, so they are removed from the
//! latencies, and the time is removed from the rates.
//!
//! A worker alone cannot detect a standstill, because a system call blocked by the drive looks the
//! same. It asks the [`Witness`]: the sampler does not wait for the drive, so if its sleep is also
//! overdue, no thread ran, and the due times are postponed by that time. Otherwise they stay, and
//! the delay counts against the drive.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rig::Kinds;
use rustix::time::{ClockId, clock_gettime};

/// Shortest delay that counts as a standstill, nanoseconds. A busy machine delays a thread by tens
/// of milliseconds.
pub(crate) const LATE_NS: u64 = 500_000_000;

/// Shortest suspension that counts, nanoseconds.
const SUSPENDED_NS: u64 = 100_000_000;

/// The sampler's sleep, as the workers see it. Times are on their shared clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness(Arc<Sleep>);

#[derive(Debug, Default)]
struct Sleep {
    /// Its latest end; 0 while the sampler is awake.
    until_ns: AtomicU64,
    /// Sum of the sleeps in which the process stood still: an upper bound on the lost time.
    stood_ns: AtomicU64,
}

impl Witness {
    /// Records that the sampler sleeps until this time at the latest.
    pub(crate) fn sleeps(&self, until_ns: u64) {
        self.0.until_ns.store(until_ns, Ordering::Release);
    }

    /// Records that the sampler woke. `stood_ns` is the length of its sleep if the process stood
    /// still in it, otherwise 0.
    pub(crate) fn woke(&self, stood_ns: u64) {
        self.0.stood_ns.fetch_add(stood_ns, Ordering::Release);
        self.0.until_ns.store(0, Ordering::Release);
    }

    /// Sum of the sleeps in which the process stood still; `None` if the sampler has overslept and
    /// not reported it yet.
    pub(crate) fn stood_ns(&self, now_ns: u64) -> Option<u64> {
        let until_ns = self.0.until_ns.load(Ordering::Acquire);
        let overslept = until_ns > 0 && until_ns.saturating_add(LATE_NS) <= now_ns;
        (!overslept).then(|| self.0.stood_ns.load(Ordering::Acquire))
    }
}

/// The standstills of a performance.
#[derive(Debug)]
pub(crate) struct Standstills {
    /// Total time, nanoseconds.
    pub total_ns: u64,
    /// Operations that were in flight during a standstill and therefore have no latency.
    pub ops: u64,
    /// The shortest standstill, nanoseconds: every operation in flight took at least this long.
    shortest_ns: u64,
    /// Intervals in which such operations completed.
    touched: Vec<u64>,
    /// Earliest start and end of each.
    spans: Vec<(u64, u64)>,
    /// Time the machine was suspended before the performance began.
    asleep_before_ns: u64,
}

impl Standstills {
    pub(crate) fn new() -> Standstills {
        let asleep_before_ns = asleep_ns();
        Standstills {
            total_ns: 0,
            ops: 0,
            shortest_ns: u64::MAX,
            touched: Vec::new(),
            spans: Vec::new(),
            asleep_before_ns,
        }
    }

    /// Records that the thread went to sleep at `begun`, was due to wake at `due` at the latest,
    /// and woke at `now`. Returns the length of a standstill, if there was one.
    pub(crate) fn look(&mut self, begun: u64, due: u64, now: u64, interval_ns: u64) -> Option<u64> {
        let late = now.saturating_sub(due);
        if late < LATE_NS {
            return None;
        }
        self.total_ns += late;
        self.spans.push((begun, now));
        self.shortest_ns = self.shortest_ns.min(late);
        // A worker can have woken slightly earlier or later.
        let index = now / interval_ns;
        self.touched.extend(index.saturating_sub(1)..=index + 1);
        Some(late)
    }

    /// Whether the process stood still during part of this time, so that rates over it are not the
    /// drive's.
    pub(crate) fn touch(&self, start_ns: u64, end_ns: u64) -> bool {
        self.spans.iter().any(|&(begun, ended)| begun < end_ns && start_ns < ended)
    }

    /// Removes the latencies of operations that were in flight during a standstill.
    pub(crate) fn clean(&mut self, interval: u64, kinds: &mut Kinds) {
        if !self.touched.contains(&interval) {
            return;
        }
        for stats in kinds.iter_mut().flatten() {
            self.ops += stats.service.remove_from(self.shortest_ns);
            if let Some(response) = &mut stats.response {
                response.remove_from(self.shortest_ns);
            }
        }
    }

    /// Time the machine was suspended since the performance began, nanoseconds; 0 if it is too
    /// short to count.
    pub(crate) fn suspended_ns(&self) -> u64 {
        Some(asleep_ns() - self.asleep_before_ns).filter(|ns| *ns >= SUSPENDED_NS).unwrap_or(0)
    }
}

/// Time that the machine has spent suspended: `Boottime` counts it, `Monotonic` does not.
fn asleep_ns() -> u64 {
    let ns = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    // In this order, a delay between the readings is not mistaken for suspension.
    let with = ns(ClockId::Boottime);
    with.saturating_sub(ns(ClockId::Monotonic))
}

#[cfg(test)]
mod tests {
    use record::Histogram;
    use rig::KindStats;

    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn the_witness_tells_a_standstill_from_a_drive_that_blocks() {
        let witness = Witness::default();
        assert_eq!(witness.stood_ns(9 * S), Some(0), "before the start");
        witness.sleeps(S);
        assert_eq!(witness.stood_ns(S + S / 5), Some(0), "a busy machine");
        assert_eq!(witness.stood_ns(4 * S), None, "nobody ran");
        witness.woke(3 * S + S / 10);
        assert_eq!(witness.stood_ns(4 * S), Some(3 * S + S / 10));
        // The sampler continues to sleep and wake while the drive blocks a worker.
        witness.sleeps(5 * S);
        witness.woke(0);
        witness.sleeps(6 * S);
        assert_eq!(witness.stood_ns(6 * S), Some(3 * S + S / 10));
    }

    #[test]
    fn a_late_waking_is_a_standstill_and_its_operations_have_no_latency() {
        let mut found = Standstills::new();
        assert_eq!(found.look(0, S, S + S / 5, S), None, "a busy machine");
        assert_eq!(found.look(S + S / 2, 2 * S, 5 * S, S), Some(3 * S));
        let touched = [0, 1, 2, 3, 4, 5].map(|second| found.touch(second * S, (second + 1) * S));
        assert_eq!(touched, [false, true, true, true, true, false]);
        let mut service = Histogram::default();
        [1000, 2000, 3 * S + 1000].iter().for_each(|ns| service.record(*ns));
        let stats = KindStats { ops: 3, bytes: 12288, service, response: None };
        let mut kinds = [Some(stats), None, None, None];
        found.clean(3, &mut kinds);
        assert_eq!((found.ops, found.total_ns), (0, 3 * S), "an interval before it");
        found.clean(5, &mut kinds);
        let stats = kinds[0].as_ref().expect("reads");
        assert_eq!((found.ops, stats.ops, stats.service.count()), (1, 3, 2));
        assert!(stats.service.max() < Some(3000), "{stats:?}");
    }
}
