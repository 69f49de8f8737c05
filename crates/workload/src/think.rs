//! Think time: pauses after a number of operations or a period.
//!
//! A pause begins when the next operation could be issued; operations in flight continue. With a
//! schedule of due times, a pause either makes operations late, which their response times show, or
//! moves the schedule.

use crate::pace::Pace;

/// When and how long a job pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Think {
    /// Operations between two pauses, at least 1; `None`: no limit.
    pub every: Option<u32>,
    /// Time between two pauses, in nanoseconds; with `every`, the first limit reached applies.
    pub period_ns: Option<u64>,
    /// Length of a pause, nanoseconds.
    pub pause_ns: u64,
    /// Initial part of the pause that keeps the processor busy, in nanoseconds.
    pub spin_ns: u64,
    /// Whether pauses postpone the due times.
    pub moves_schedule: bool,
}

/// A pace with pauses.
#[derive(Clone, Debug)]
pub struct Thinking<P> {
    inner: P,
    think: Think,
    /// Operations until the next pause.
    left: u32,
    /// End of the last pause.
    since: u64,
    /// Start and end of the current pause.
    pause: Option<(u64, u64)>,
    /// Whether the current pause is in its busy part.
    spins: bool,
    /// Total shift of the due times.
    moved: u64,
}

impl<P: Pace> Thinking<P> {
    /// Adds pauses to a pace.
    pub fn new(think: Think, inner: P) -> Thinking<P> {
        let left = think.every.unwrap_or(u32::MAX);
        Thinking { inner, think, left, since: 0, pause: None, spins: false, moved: 0 }
    }

    fn pause_is_due(&self, now: u64) -> bool {
        let by_time = self.think.period_ns.is_some_and(|period| now - self.since >= period);
        by_time || (self.left == 0 && self.think.every.is_some())
    }

    fn end_pause(&mut self, began: u64, now: u64) {
        (self.pause, self.since) = (None, now);
        self.left = self.think.every.unwrap_or(u32::MAX);
        if self.think.moves_schedule {
            self.moved += now - began;
        }
    }
}

impl<P: Pace> Pace for Thinking<P> {
    fn is_open(&self) -> bool {
        self.inner.is_open()
    }

    #[inline]
    fn next_due(&mut self, now: u64) -> Option<u64> {
        if self.pause.is_none() && self.pause_is_due(now) {
            self.pause = Some((now, now + self.think.pause_ns));
        }
        if let Some((start, end)) = self.pause {
            self.spins = now < start + self.think.spin_ns;
            if now < end {
                return None;
            }
            self.end_pause(start, now);
        }
        let due = self.inner.next_due(now - self.moved)?;
        self.left = self.left.saturating_sub(1);
        Some(due + self.moved)
    }

    #[inline]
    fn wake_at(&self) -> Option<u64> {
        match self.pause {
            // A time in the past: the caller does not sleep.
            Some((began, _)) if self.spins => Some(began),
            Some((_, end)) => Some(end),
            None => self.inner.wake_at().map(|due| due + self.moved),
        }
    }

    fn postpone(&mut self, ns: u64) {
        self.inner.postpone(ns);
    }

    fn pause(&mut self, now: u64, ns: u64) {
        self.pause = Some((now, now.saturating_add(ns)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Closed, Open, Pacing};

    const NONE: Think =
        Think { every: None, period_ns: None, pause_ns: 100, spin_ns: 0, moves_schedule: false };

    #[test]
    fn a_pause_follows_every_nth_operation() {
        let mut pace = Thinking::new(Think { every: Some(2), ..NONE }, Closed);
        assert_eq!([pace.next_due(0), pace.next_due(5)], [Some(0), Some(5)]);
        assert_eq!((pace.next_due(7), pace.wake_at()), (None, Some(107)));
        assert_eq!((pace.next_due(106), pace.next_due(110)), (None, Some(110)));
        assert_eq!(pace.wake_at(), None);
    }

    #[test]
    fn a_pause_of_the_source_is_kept_as_any_other() {
        let mut pace = Thinking::new(Think { every: None, ..NONE }, Closed);
        assert_eq!(pace.next_due(5), Some(5));
        pace.pause(7, 30);
        assert_eq!((pace.next_due(36), pace.wake_at()), (None, Some(37)));
        assert_eq!((pace.next_due(37), pace.wake_at()), (Some(37), None));
    }

    #[test]
    fn a_pause_follows_every_period() {
        let mut pace = Thinking::new(Think { period_ns: Some(50), ..NONE }, Closed);
        assert!((0..50).all(|now| pace.next_due(now).is_some()));
        assert_eq!((pace.next_due(50), pace.wake_at()), (None, Some(150)));
        assert!((150..200).all(|now| pace.next_due(now).is_some()));
        assert_eq!((pace.next_due(200), pace.wake_at()), (None, Some(300)));
        // Whichever comes first.
        let both = Think { every: Some(3), period_ns: Some(50), ..NONE };
        let mut pace = Thinking::new(both, Closed);
        assert!((0..3).all(|now| pace.next_due(now).is_some()) && pace.next_due(3).is_none());
        assert!(pace.next_due(103).is_some() && pace.next_due(153).is_none());
    }

    #[test]
    fn a_pause_spins_before_it_sleeps() {
        let mut pace = Thinking::new(Think { every: Some(1), spin_ns: 40, ..NONE }, Closed);
        assert_eq!(pace.next_due(0), Some(0));
        for (now, wake) in [(10, 10), (49, 10), (50, 110), (109, 110)] {
            assert_eq!((pace.next_due(now), pace.wake_at()), (None, Some(wake)), "at {now}");
        }
        assert_eq!(pace.next_due(110), Some(110));
    }

    /// Issue and due times until `end`, polled every nanosecond.
    fn issued(think: Think, end: u64) -> Vec<(u64, u64)> {
        // One operation every 10 ns.
        let mut pace = Thinking::new(think, Open::new(&Pacing::Fixed { rate: 1e8 }, 0, 1, 1));
        (0..end).filter_map(|now| Some((now, pace.next_due(now)?))).collect()
    }

    #[test]
    fn a_schedule_is_caught_up_with_or_moved() {
        let think = Think { every: Some(2), pause_ns: 15, ..NONE };
        // Paused from 11 to 26: the operation due at 20 is late, and the one due at 30 is on time.
        assert_eq!(issued(think, 31), [(0, 0), (10, 10), (26, 20), (30, 30)]);
        let moved = issued(Think { moves_schedule: true, ..think }, 60);
        assert_eq!(moved, [(0, 0), (10, 10), (35, 35), (45, 45)]);
    }
}
