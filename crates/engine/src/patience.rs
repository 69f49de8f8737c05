//! The time that a drive may stay silent.
//!
//! A drive that neither completes nor rejects its operations holds every slot of a job, and the
//! job's thread in a system call that cannot be ended from here. The watching thread therefore
//! keeps the time since a job last completed a turn of its loop. Flushes, and writes that wait for
//! room in the page cache, may legitimately take long; during those, bytes moved by the device also
//! count as a sign of life. (Not otherwise, because most drives always have some other traffic.)
//! The silence is reported once after a while, and once more when the patience is exhausted; the
//! response is up to the observer: [`rig::Event::NoAnswer`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Signs of life of all jobs of a measurement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pulse(Arc<(AtomicU64, AtomicU32)>);

impl Pulse {
    /// A job has completed a turn of its loop; at least once per interval.
    pub(crate) fn beat(&self) {
        self.0.0.fetch_add(1, Ordering::Relaxed);
    }

    /// A job begins a flush, in which nothing completes.
    pub(crate) fn flush_begins(&self) {
        self.0.1.fetch_add(1, Ordering::Relaxed);
    }

    /// A flush has ended.
    pub(crate) fn flush_ends(&self) {
        self.0.1.fetch_sub(1, Ordering::Relaxed);
    }

    /// Beats so far.
    pub(crate) fn beats(&self) -> u64 {
        self.0.0.load(Ordering::Relaxed)
    }

    /// Whether a job is in a flush.
    pub(crate) fn flushes(&self) -> bool {
        self.0.1.load(Ordering::Relaxed) > 0
    }
}

/// Default maximum silence: longer than a SATA or SCSI drive has by the kernel's own time-outs (30
/// s, five retries) before it is given up there.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// Silence that is reported to the user, nanoseconds. No healthy drive needs that long for
/// anything.
const WORTH_A_WORD_NS: u64 = 30_000_000_000;

/// Signs of life seen so far.
#[derive(Debug)]
pub(crate) struct Patience {
    limit_ns: u64,
    /// Beats and bytes at the last change, and its time.
    seen: (u64, u64),
    since_ns: u64,
    /// Silence at which the next report is due; `None` after the last.
    word_ns: Option<u64>,
}

impl Patience {
    /// At the start of a workload.
    pub(crate) fn new(limit_ns: u64) -> Patience {
        Patience { limit_ns, seen: (0, 0), since_ns: 0, word_ns: Some(first_word(limit_ns)) }
    }

    /// Checks the beats of the jobs and the bytes moved by the device. Returns the length of a
    /// silence worth reporting, once; the last time it is the limit or more.
    pub(crate) fn look(&mut self, now_ns: u64, beats: u64, bytes: u64) -> Option<u64> {
        if self.seen != (beats, bytes) {
            self.seen = (beats, bytes);
            self.since_ns = now_ns;
            self.word_ns = Some(first_word(self.limit_ns));
            return None;
        }
        let silent = now_ns.saturating_sub(self.since_ns);
        let due = self.word_ns?;
        if silent < due {
            return None;
        }
        self.word_ns = (silent < self.limit_ns).then_some(self.limit_ns);
        Some(silent)
    }

    /// Silence after which the drive is given up, nanoseconds.
    pub(crate) fn limit_ns(&self) -> u64 {
        self.limit_ns
    }
}

fn first_word(limit_ns: u64) -> u64 {
    WORTH_A_WORD_NS.min(limit_ns / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn silence_is_reported_twice() {
        let mut patience = Patience::new(300 * S);
        assert_eq!(patience.look(S, 1, 0), None);
        let reported: Vec<u64> =
            (2..1000).filter_map(|s| patience.look(s * S, 1, 0)).map(|ns| ns / S).collect();
        assert_eq!(reported, [30, 300]);
    }

    #[test]
    fn a_job_that_comes_round_and_a_device_that_moves_are_not_silent() {
        let mut patience = Patience::new(300 * S);
        assert!((0..1000).all(|s| patience.look(s * S, s, 0).is_none()));
        assert!((1000..2000).all(|s| patience.look(s * S, 1000, s).is_none()));
        // After a sign of life, silence is reported again.
        let reported: Vec<u64> =
            (2000..2100).filter_map(|s| patience.look(s * S, 1000, 1999)).collect();
        assert_eq!(reported, [30 * S]);
        assert_eq!(patience.look(2100 * S, 1001, 1999), None);
        assert_eq!(patience.look(2130 * S, 1001, 1999), Some(30 * S));
    }

    #[test]
    fn a_short_patience_has_an_early_word_and_one_that_is_skipped_over_the_last() {
        let mut patience = Patience::new(2 * S);
        assert_eq!(patience.look(S, 0, 0), Some(S));
        assert_eq!(patience.look(3 * S, 0, 0), Some(3 * S));
        assert_eq!(patience.look(4 * S, 0, 0), None);
        let mut late = Patience::new(2 * S);
        assert_eq!(late.look(9 * S, 0, 0), Some(9 * S));
        assert_eq!(late.look(10 * S, 0, 0), None);
    }
}
