//! Limits how long a drive may stay silent.
//!
//! If a drive neither completes nor rejects its operations, they occupy every slot of a job, and
//! the job's thread is blocked in the kernel, where it cannot be killed. The sampler therefore
//! tracks the time since any job last completed an iteration of its loop. Flushes, and writes that
//! wait for room in the page cache, can take long. During those, bytes moved by the device also
//! count as a sign of life; otherwise they do not, because most drives also serve other users. A
//! silence is reported once after a while and again at its limit. The observer decides what
//! follows: [`rig::Event::NoAnswer`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::standstill::Witness;

/// Signs of life of all jobs of a measurement, and of the sampler's thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pulse {
    jobs: Arc<(AtomicU64, AtomicU32)>,
    /// The sleep of the sampler.
    pub witness: Witness,
}

impl Pulse {
    /// Records an iteration of a job's loop, which happens at least once per interval.
    pub(crate) fn beat(&self) {
        self.jobs.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Records the start of a flush, during which nothing completes.
    pub(crate) fn flush_begins(&self) {
        self.jobs.1.fetch_add(1, Ordering::Relaxed);
    }

    /// Records the end of a flush.
    pub(crate) fn flush_ends(&self) {
        self.jobs.1.fetch_sub(1, Ordering::Relaxed);
    }

    /// Number of beats so far.
    pub(crate) fn beats(&self) -> u64 {
        self.jobs.0.load(Ordering::Relaxed)
    }

    /// Whether a job is in a flush.
    pub(crate) fn is_flushing(&self) -> bool {
        self.jobs.1.load(Ordering::Relaxed) > 0
    }
}

/// Default limit on a silence: longer than the kernel's own timeouts for SATA and SCSI drives (30
/// s, five retries).
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// Silence after which the user is informed, nanoseconds. No healthy drive needs this long for any
/// operation.
const REPORTED_NS: u64 = 30_000_000_000;

/// Measures the drive's silence and decides when to report it.
#[derive(Debug)]
pub(crate) struct Patience {
    limit_ns: u64,
    /// Beats and bytes at the last check.
    seen: (u64, u64),
    /// When they last changed, plus the time excused since.
    since_ns: u64,
    /// Silence at which the next report is due; `None` after both reports.
    report_ns: Option<u64>,
}

impl Patience {
    /// The state at the start of a workload.
    pub(crate) fn new(limit_ns: u64) -> Patience {
        Patience { limit_ns, seen: (0, 0), since_ns: 0, report_ns: Some(first_report(limit_ns)) }
    }

    /// Checks for signs of life. Bytes moved by the device count only during a flush, and for
    /// writes that can wait for room in the page cache (`cached`).
    pub(crate) fn check(
        &mut self,
        now_ns: u64,
        pulse: &Pulse,
        cached: bool,
        moved: u64,
    ) -> Option<u64> {
        let counts = cached || pulse.is_flushing();
        self.update(now_ns, pulse.beats(), if counts { moved } else { 0 })
    }

    /// Compares the beats of the jobs and the bytes moved by the device with the last check.
    /// Returns a silence that must be reported: once early, and once at the limit.
    fn update(&mut self, now_ns: u64, beats: u64, bytes: u64) -> Option<u64> {
        if self.seen != (beats, bytes) {
            self.seen = (beats, bytes);
            self.since_ns = now_ns;
            self.report_ns = Some(first_report(self.limit_ns));
            return None;
        }
        let silent = now_ns.saturating_sub(self.since_ns);
        let due = self.report_ns?;
        if silent < due {
            return None;
        }
        self.report_ns = (silent < self.limit_ns).then_some(self.limit_ns);
        Some(silent)
    }

    /// Excludes time for which the drive is not responsible.
    pub(crate) fn excuse(&mut self, ns: u64) {
        self.since_ns += ns;
    }

    /// The limit, nanoseconds.
    pub(crate) fn limit_ns(&self) -> u64 {
        self.limit_ns
    }
}

fn first_report(limit_ns: u64) -> u64 {
    REPORTED_NS.min(limit_ns / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn silence_is_reported_twice() {
        // The default limit, as documented in docs/safety.md.
        let mut patience = Patience::new(PATIENCE.as_nanos() as u64);
        assert_eq!(patience.update(S, 1, 0), None);
        let reported: Vec<u64> =
            (2..1000).filter_map(|s| patience.update(s * S, 1, 0)).map(|ns| ns / S).collect();
        assert_eq!(reported, [30, 300]);
    }

    #[test]
    fn a_job_in_its_loop_and_a_device_that_moves_bytes_are_not_silent() {
        let mut patience = Patience::new(300 * S);
        assert!((0..1000).all(|s| patience.update(s * S, s, 0).is_none()));
        assert!((1000..2000).all(|s| patience.update(s * S, 1000, s).is_none()));
        // After a sign of life, silence is reported again.
        let reported: Vec<u64> =
            (2000..2100).filter_map(|s| patience.update(s * S, 1000, 1999)).collect();
        assert_eq!(reported, [30 * S]);
        assert_eq!(patience.update(2100 * S, 1001, 1999), None);
        assert_eq!(patience.update(2130 * S, 1001, 1999), Some(30 * S));
    }

    #[test]
    fn bytes_of_the_device_count_in_a_flush_and_for_cached_writes_only() {
        // Meanwhile another user keeps the device busy.
        let silent = |cached: bool, flushing: bool| {
            let (mut patience, pulse) = (Patience::new(300 * S), Pulse::default());
            if flushing {
                pulse.flush_begins();
            }
            (1..100).any(|s| patience.check(s * S, &pulse, cached, s).is_some())
        };
        assert!(silent(false, false), "a direct job is silent whatever others do");
        assert!(!silent(true, false) && !silent(false, true));
        let (mut patience, pulse) = (Patience::new(300 * S), Pulse::default());
        pulse.flush_begins();
        pulse.flush_ends();
        assert!((1..100).any(|s| patience.check(s * S, &pulse, false, s).is_some()), "it ended");
    }

    #[test]
    fn a_short_patience_reports_early_and_a_late_look_reports_at_once() {
        let mut patience = Patience::new(2 * S);
        assert_eq!(patience.update(S, 0, 0), Some(S));
        assert_eq!(patience.update(3 * S, 0, 0), Some(3 * S));
        assert_eq!(patience.update(4 * S, 0, 0), None);
        let mut late = Patience::new(2 * S);
        assert_eq!(late.update(9 * S, 0, 0), Some(9 * S));
        assert_eq!(late.update(10 * S, 0, 0), None);
    }
}
