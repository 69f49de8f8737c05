//! Due times of operations.
//!
//! A schedule is kept in nanoseconds with a 64-bit fraction, so 300,000/s stays 300,000/s for
//! hours. A late drive never moves a due time, because response times are measured from it.
//! Truncating the mean gap and each gap to whole microseconds would give 32% too many Poisson
//! arrivals at that rate.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use crate::WorkloadError;
use crate::zipf::unit;

/// How operations are paced. Rates are operations per second over all jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Pacing {
    /// A new operation as soon as one of the `depth` in flight completes.
    #[default]
    Closed,
    Fixed {
        /// Operations per second.
        rate: f64,
    },
    /// Poisson arrivals at a mean rate.
    Poisson {
        /// Operations per second.
        rate: f64,
    },
    /// Bursts at a rate or in a closed loop, separated by silence.
    OnOff {
        /// Length of a burst, nanoseconds.
        on_ns: u64,
        /// Length of a silence, nanoseconds.
        off_ns: u64,
        /// Operations per second within a burst; `None`: closed loop.
        rate: Option<f64>,
    },
    /// A closed loop with pauses (think time).
    Pauses {
        /// Operations between two pauses.
        every: u32,
        /// Length of a pause, nanoseconds.
        pause_ns: u64,
    },
    /// A closed loop with the pauses of its source ([`crate::Source::pause_ns`]).
    Source,
}

impl Pacing {
    /// Whether operations have due times (an open loop).
    pub fn is_open(&self) -> bool {
        match self {
            Pacing::Closed | Pacing::Pauses { .. } | Pacing::Source => false,
            Pacing::OnOff { rate, .. } => rate.is_some(),
            Pacing::Fixed { .. } | Pacing::Poisson { .. } => true,
        }
    }

    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        let rate = match *self {
            Pacing::Fixed { rate } | Pacing::Poisson { rate } => rate,
            Pacing::OnOff { rate: Some(rate), .. } => rate,
            _ => 1.0,
        };
        // 1e9 per second is one per nanosecond, the resolution of the clock.
        if !(0.001..=1e9).contains(&rate) {
            let range = "0.001 to 1,000,000,000 operations per second";
            return Err(WorkloadError::OutOfRange { what: "rate", value: rate, range });
        }
        if matches!(self, Pacing::OnOff { on_ns: 0, .. }) {
            return Err(WorkloadError::Zero("the length of a burst"));
        }
        if matches!(self, Pacing::Pauses { every: 0, .. }) {
            return Err(WorkloadError::Zero("the number of operations between pauses"));
        }
        Ok(())
    }
}

/// A source of due times, in nanoseconds since the workload began.
pub trait Pace {
    /// Whether due times come from a schedule. In a closed loop they do not, and response time
    /// equals service time.
    fn is_open(&self) -> bool;

    /// Removes and returns the next due time if it is at or before `now`.
    fn next_due(&mut self, now: u64) -> Option<u64>;

    /// When to wake up for the next operation; `None` or a time in the past if it is already due.
    fn wake_at(&self) -> Option<u64>;

    /// Moves all future due times by `ns`, a time in which no worker could run. A closed loop has
    /// no due times.
    fn postpone(&mut self, _ns: u64) {}

    /// Begins a pause of `ns` that the source requested. Only [`crate::Thinking`] pauses.
    fn pause(&mut self, _now: u64, _ns: u64) {}
}

impl<P: Pace + ?Sized> Pace for Box<P> {
    fn is_open(&self) -> bool {
        (**self).is_open()
    }

    fn next_due(&mut self, now: u64) -> Option<u64> {
        (**self).next_due(now)
    }

    fn wake_at(&self) -> Option<u64> {
        (**self).wake_at()
    }

    fn postpone(&mut self, ns: u64) {
        (**self).postpone(ns);
    }

    fn pause(&mut self, now: u64, ns: u64) {
        (**self).pause(now, ns);
    }
}

/// A closed loop: always due.
#[derive(Clone, Copy, Debug)]
pub struct Closed;

impl Pace for Closed {
    #[inline]
    fn is_open(&self) -> bool {
        false
    }

    #[inline]
    fn next_due(&mut self, now: u64) -> Option<u64> {
        Some(now)
    }

    #[inline]
    fn wake_at(&self) -> Option<u64> {
        None
    }
}

/// A schedule of due times: fixed rate, Poisson, or bursts.
#[derive(Clone, Debug)]
pub struct Open {
    /// Next due time in nanoseconds on a clock that runs only during bursts, or on the normal clock
    /// if bursts are closed loops; `fraction` is in units of 2^-64 ns.
    due: u64,
    fraction: u64,
    step: Step,
    bursts: Option<(u64, u64)>,
    /// Sum of [`Pace::postpone`], nanoseconds.
    moved: u64,
}

#[derive(Clone, Debug)]
enum Step {
    Fixed {
        ns: u64,
        fraction: u64,
    },
    Poisson {
        mean_ns: f64,
        rng: Box<Xoshiro256PlusPlus>,
    },
    /// Bursts in a closed loop.
    Asap,
}

impl Open {
    /// The schedule of job `job` of `jobs`. Each job gets an equal share of the rate. Fixed
    /// schedules are staggered, so that the jobs together keep the fixed rate.
    pub fn new(pacing: &Pacing, job: u32, jobs: u32, seed: u64) -> Open {
        let jobs = jobs.max(1);
        let (rate, bursts) = match *pacing {
            Pacing::Closed | Pacing::Pauses { .. } | Pacing::Source => (None, None),
            Pacing::Fixed { rate } | Pacing::Poisson { rate } => (Some(rate), None),
            Pacing::OnOff { on_ns, off_ns, rate } => (rate, Some((on_ns, off_ns))),
        };
        let Some(rate) = rate else {
            return Open { due: 0, fraction: 0, step: Step::Asap, bursts, moved: 0 };
        };
        if matches!(pacing, Pacing::Poisson { .. }) {
            let rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ u64::from(job) << 32 ^ 0x706f_6973);
            let mean_ns = 1e9 * f64::from(jobs) / rate;
            let step = Step::Poisson { mean_ns, rng: Box::new(rng) };
            let mut open = Open { due: 0, fraction: 0, step, bursts, moved: 0 };
            open.advance();
            return open;
        }
        // Exact to a thousandth of an operation per second.
        let millirate = (rate * 1000.0).round().max(1.0) as u128;
        let whole = |jobs: u128| ((1_000_000_000_000u128 * jobs) << 64) / millirate;
        let (period, first) = (whole(u128::from(jobs)), whole(1) * u128::from(job));
        let [(ns, fraction), (due, due_fraction)] =
            [period, first].map(|fixed| ((fixed >> 64) as u64, fixed as u64));
        Open { due, fraction: due_fraction, step: Step::Fixed { ns, fraction }, bursts, moved: 0 }
    }

    fn advance(&mut self) {
        let (ns, fraction) = match &mut self.step {
            Step::Asap => return,
            Step::Fixed { ns, fraction } => (*ns, *fraction),
            Step::Poisson { mean_ns, rng } => {
                // 1 - u is in (0, 1], so the logarithm is finite.
                let gap = -libm::log(1.0 - unit(rng)) * *mean_ns;
                (gap as u64, ((gap - libm::floor(gap)) * 18_446_744_073_709_551_616.0) as u64)
            }
        };
        let (sum, carry) = self.fraction.overflowing_add(fraction);
        self.fraction = sum;
        self.due = self.due.saturating_add(ns).saturating_add(u64::from(carry));
    }

    /// Converts time within bursts to time since the start.
    fn wall(&self, due: u64) -> u64 {
        match self.bursts {
            Some((on, off)) => due.saturating_add((due / on).saturating_mul(off)),
            None => due,
        }
    }
}

impl Pace for Open {
    #[inline]
    fn is_open(&self) -> bool {
        true
    }

    #[inline]
    fn next_due(&mut self, now: u64) -> Option<u64> {
        let now = now.saturating_sub(self.moved);
        if let (Step::Asap, Some((on_ns, off_ns))) = (&self.step, self.bursts) {
            let phase = now % on_ns.saturating_add(off_ns);
            self.due =
                if phase < on_ns { now } else { (now - phase + on_ns).saturating_add(off_ns) };
            return (phase < on_ns).then_some(now + self.moved);
        }
        let due = self.wall(self.due);
        if due > now {
            return None;
        }
        self.advance();
        Some(due + self.moved)
    }

    #[inline]
    fn wake_at(&self) -> Option<u64> {
        let due = match self.step {
            Step::Asap => self.due,
            _ => self.wall(self.due),
        };
        Some(due.saturating_add(self.moved))
    }

    fn postpone(&mut self, ns: u64) {
        self.moved = self.moved.saturating_add(ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arrivals(pacing: Pacing, jobs: u32, until_ns: u64) -> Vec<u64> {
        let mut all: Vec<u64> = (0..jobs)
            .flat_map(|job| {
                let mut open = Open::new(&pacing, job, jobs, 11);
                std::iter::from_fn(move || open.next_due(until_ns)).collect::<Vec<_>>()
            })
            .collect();
        all.sort_unstable();
        all
    }

    proptest! {
        #[test]
        fn fixed_rates_are_exact(rate in 1.0f64..500_000.0, jobs in 1u32..5) {
            let n = arrivals(Pacing::Fixed { rate }, jobs, 50_000_000).len() as f64;
            prop_assert!((n - rate * 0.05).abs() <= f64::from(jobs) + 1.0, "{n} arrivals at {rate}/s");
        }
    }

    #[test]
    fn poisson_is_exact_in_the_mean_and_has_the_right_spread() {
        let pacing = Pacing::Poisson { rate: 300_000.0 };
        let times = arrivals(pacing, 3, 2_000_000_000);
        let n = times.len() as f64;
        // One standard deviation of the count is 0.13%.
        assert!((n / 600_000.0 - 1.0).abs() < 0.004, "{n} arrivals");
        let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.01, "cv {}", variance.sqrt() / mean);
    }

    #[test]
    fn a_late_caller_gets_the_missed_due_times_unmoved() {
        let mut open = Open::new(&Pacing::Fixed { rate: 1000.0 }, 0, 1, 1);
        assert_eq!(open.next_due(0), Some(0));
        assert_eq!(open.next_due(0), None);
        assert_eq!(open.wake_at(), Some(1_000_000));
        let late: Vec<u64> = std::iter::from_fn(|| open.next_due(5_500_000)).collect();
        assert_eq!(late, [1, 2, 3, 4, 5].map(|ms| ms * 1_000_000));
    }

    #[test]
    fn a_standstill_moves_the_due_times_to_come() {
        let ms = 1_000_000;
        let mut open = Open::new(&Pacing::Fixed { rate: 1000.0 }, 0, 1, 1);
        assert_eq!(open.next_due(0), Some(0));
        open.postpone(3000 * ms);
        assert_eq!((open.next_due(3000 * ms), open.wake_at()), (None, Some(3001 * ms)));
        assert_eq!(open.next_due(3001 * ms), Some(3001 * ms));
        let bursts = Pacing::OnOff { on_ns: 10 * ms, off_ns: 90 * ms, rate: None };
        let mut open = Open::new(&bursts, 0, 1, 1);
        open.postpone(50 * ms);
        assert_eq!(open.next_due(55 * ms), Some(55 * ms));
        assert_eq!((open.next_due(60 * ms), open.wake_at()), (None, Some(150 * ms)));
    }

    #[test]
    fn a_silence_longer_than_any_clock_does_not_overflow() {
        for rate in [None, Some(0.001)] {
            let pacing = Pacing::OnOff { on_ns: 1000, off_ns: u64::MAX, rate };
            let mut open = Open::new(&pacing, 0, 1, 1);
            assert_eq!(open.next_due(0), Some(0));
            assert_eq!(open.next_due(1 << 62), None);
            assert_eq!(open.wake_at(), Some(u64::MAX));
        }
    }

    #[test]
    fn no_operation_is_due_between_bursts() {
        let ms = 1_000_000;
        let pacing = Pacing::OnOff { on_ns: 10 * ms, off_ns: 90 * ms, rate: Some(1000.0) };
        let times = arrivals(pacing, 1, 1000 * ms - 1);
        assert_eq!(times.len(), 100);
        assert!(times.iter().all(|t| t % (100 * ms) < 10 * ms));
        let closed = Pacing::OnOff { on_ns: 10 * ms, off_ns: 90 * ms, rate: None };
        let mut open = Open::new(&closed, 0, 1, 1);
        assert_eq!(open.next_due(5 * ms), Some(5 * ms));
        assert_eq!(open.next_due(10 * ms), None);
        assert_eq!(open.wake_at(), Some(100 * ms));
        assert!(!closed.is_open());
    }
}
