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

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rig::Kinds;

use crate::time::asleep_ns;

/// Shortest delay that counts as a standstill, nanoseconds. A busy machine delays a thread by tens
/// of milliseconds.
pub(crate) const LATE_NS: u64 = 500_000_000;

/// Shortest delay of the sampler that may be a pause of the whole process, nanoseconds. A pause as
/// long as a stall delays it by at least this much, because half of the pause may be within its
/// sleep ([`SLEEP_NS`]). The workers may have run meanwhile, so the time stays in the rates. But an
/// interval without a completion has no rate, and operations in flight have no latency: neither can
/// be blamed on the drive.
const DOUBTFUL_NS: u64 = rig::STALL_NS_MIN - SLEEP_NS;

/// The sampler's longest sleep, nanoseconds. An overdue sleep reveals a standstill.
pub(crate) const SLEEP_NS: u64 = rig::STALL_NS_MIN / 2;

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

/// Pauses kept: workers report an interval at most a few seconds after its end.
const PAUSES_MAX: usize = 1024;

/// An overdue sleep of the sampler. Times are nanoseconds since the start.
#[derive(Debug)]
struct Pause {
    /// When the sleep began: the earliest start.
    begun: u64,
    ended: u64,
    /// The delay.
    late: u64,
    /// The intervals in which the sleep began and ended.
    intervals: [u64; 2],
    /// A standstill, not a doubtful delay.
    still: bool,
}

impl Pause {
    /// Whether the operations that were in flight may be in this interval: a worker may have woken
    /// earlier than the sampler, or slightly later.
    fn is_near(&self, interval: u64) -> bool {
        (self.intervals[0]..=self.intervals[1] + 1).contains(&interval)
    }

    /// The least time of an operation that was in flight. After a standstill, the sampler may have
    /// woken later than the worker.
    fn least_ns(&self) -> u64 {
        if self.still { self.late - LATE_NS / 2 } else { self.late }
    }
}

/// The standstills of a performance.
#[derive(Debug)]
pub(crate) struct Standstills {
    /// Total time, nanoseconds.
    pub total_ns: u64,
    /// Total time of the delays too short to count as standstills, nanoseconds.
    pub doubtful_ns: u64,
    /// Operations that were in flight during a standstill and therefore have no latency.
    pub ops: u64,
    /// The latest standstills and doubtful delays, oldest first.
    pauses: VecDeque<Pause>,
    /// Time the machine was suspended before the performance began.
    asleep_before_ns: u64,
}

impl Standstills {
    pub(crate) fn new() -> Standstills {
        let asleep_before_ns = asleep_ns();
        Standstills {
            total_ns: 0,
            doubtful_ns: 0,
            ops: 0,
            pauses: VecDeque::new(),
            asleep_before_ns,
        }
    }

    /// Records that the thread went to sleep at `begun`, was due to wake at `due` at the latest,
    /// and woke at `now`. Returns the length of a standstill, if there was one.
    pub(crate) fn record(
        &mut self,
        begun: u64,
        due: u64,
        now: u64,
        interval_ns: u64,
    ) -> Option<u64> {
        let late = now.saturating_sub(due);
        if late < DOUBTFUL_NS {
            return None;
        }
        let is_standstill = late >= LATE_NS;
        *(if is_standstill { &mut self.total_ns } else { &mut self.doubtful_ns }) += late;
        if self.pauses.len() == PAUSES_MAX {
            self.pauses.pop_front();
        }
        self.pauses.push_back(Pause {
            begun,
            ended: now,
            late,
            intervals: [begun, now].map(|ns| ns / interval_ns),
            still: is_standstill,
        });
        is_standstill.then_some(late)
    }

    /// Whether the process stood still during part of this time, so that rates over it are not the
    /// drive's. Of an interval in which nothing completed (`silent`), a doubtful pause is enough.
    pub(crate) fn overlap(&self, start_ns: u64, end_ns: u64, silent: bool) -> bool {
        let mut counted = self.pauses.iter().filter(|pause| pause.still || silent);
        counted.any(|pause| pause.begun < end_ns && start_ns < pause.ended)
    }

    /// Removes the latencies of operations that were in flight during a pause.
    pub(crate) fn remove_latencies(&mut self, interval: u64, kinds: &mut Kinds) {
        let nearby_pauses = self.pauses.iter().filter(|pause| pause.is_near(interval));
        let Some(least) = nearby_pauses.map(Pause::least_ns).min() else { return };
        for stats in kinds.iter_mut().flatten() {
            self.ops += stats.service.remove_from(least);
            if let Some(response) = &mut stats.response {
                response.remove_from(least);
            }
            if let Some(submission) = &mut stats.submission {
                submission.call.remove_from(least);
                submission.rest.remove_from(least);
            }
        }
    }

    /// Time the machine was suspended since the performance began, nanoseconds; 0 if it is too
    /// short to count.
    pub(crate) fn suspended_ns(&self) -> u64 {
        Some(asleep_ns() - self.asleep_before_ns).filter(|ns| *ns >= SUSPENDED_NS).unwrap_or(0)
    }
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
    fn a_short_delay_of_the_sampler_leaves_no_operation_to_blame_on_the_drive() {
        let mut standstills = Standstills::new();
        let stall = rig::STALL_NS_MIN;
        assert_eq!(standstills.record(0, SLEEP_NS, SLEEP_NS + DOUBTFUL_NS - 1, S), None);
        assert!(!standstills.overlap(0, S, true), "a busy machine");
        assert_eq!(standstills.record(S, S + SLEEP_NS, S + stall, S), None);
        assert!(
            standstills.overlap(S, 2 * S, true),
            "a pause as long as a stall, begun with the sleep"
        );
        assert_eq!(
            standstills.record(2 * S, 3 * S, 3 * S + 3 * stall, S),
            None,
            "who paused is unknown"
        );
        assert_eq!(
            (standstills.total_ns, standstills.doubtful_ns),
            (0, 3 * stall + DOUBTFUL_NS),
            "the rate keeps this time"
        );
        assert!(
            standstills.overlap(3 * S, 4 * S, true),
            "a silent interval says nothing of the drive"
        );
        assert!(!standstills.overlap(3 * S, 4 * S, false), "something completed");
        let mut service = Histogram::default();
        [1000, 3 * stall + 1000].iter().for_each(|ns| service.record(*ns));
        let mut kinds = [
            Some(KindStats { ops: 2, bytes: 8192, service, ..KindStats::default() }),
            None,
            None,
            None,
        ];
        standstills.remove_latencies(3, &mut kinds);
        assert_eq!(standstills.ops, 1);
        assert!(kinds[0].as_ref().expect("reads").service.max() < Some(stall));
    }

    #[test]
    fn a_late_waking_is_a_standstill_and_its_operations_have_no_latency() {
        let mut standstills = Standstills::new();
        assert_eq!(standstills.record(0, S, S + S / 20, S), None, "a busy machine");
        assert_eq!(standstills.record(S + S / 2, 2 * S, 5 * S, S), Some(3 * S));
        let touched = [0, 1, 2, 3, 4, 5]
            .map(|second| standstills.overlap(second * S, (second + 1) * S, false));
        assert_eq!(touched, [false, true, true, true, true, false]);
        // The sampler may have woken a little later than the worker, so the operation is shorter.
        for longest in [3 * S + 1000, 3 * S - S / 5] {
            standstills.ops = 0;
            let mut service = Histogram::default();
            [1000, 2000, longest].iter().for_each(|ns| service.record(*ns));
            let stats = KindStats { ops: 3, bytes: 12288, service, ..KindStats::default() };
            let mut kinds = [Some(stats), None, None, None];
            standstills.remove_latencies(7, &mut kinds);
            assert_eq!((standstills.ops, standstills.total_ns), (0, 3 * S), "an interval after it");
            standstills.remove_latencies(4, &mut kinds);
            let stats = kinds[0].as_ref().expect("reads");
            assert_eq!((standstills.ops, stats.ops, stats.service.count()), (1, 3, 2));
            assert!(stats.service.max() < Some(3000), "{stats:?}");
        }
    }
}
