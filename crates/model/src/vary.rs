//! Variation between drives of a model, between sessions of a drive, and between operations.
//!
//! There are three levels. The **specimen** is the drive: the speed of its flash, of each die and
//! of each erase block, drawn from the drive's seed. The **session** is the run: one draw for the
//! whole run, and a slow drift. Per **operation**, some reads are retried, and the host's delay
//! varies. Factors are fixed-point numbers in tables, so an operation costs two multiplications and
//! a lookup, or only a branch if `vary.amount` is 0.
//!
//! A fitted program time is that of a whole stripe and is set by the stripe's slowest die. Dies and
//! blocks are therefore never slower than the fitted time. Read times vary around the mean.

use crate::ftl::superblock::mix;
use crate::spec::DriveSpec;

/// Fixed-point one.
const ONE: f64 = 65_536.0;

/// Number of entries in a table of factors.
const ENTRIES: usize = 256;

/// Drift steps per time constant; the correlation of neighbouring steps is exp(-1 / 10).
const DRIFT_STEPS: f64 = 10.0;
const DRIFT_KEPT: f64 = 0.904_837;
const DRIFT_NEW: f64 = 0.425_758;

/// Maximum number of drift steps simulated for a gap; by then, the earlier drift has decayed.
const DRIFT_STEPS_MAX: u64 = 64;

/// Time factors of a die or an erase block, for reads and for programs.
type Factors = [u32; 2];

/// The variation of a drive.
#[derive(Debug)]
pub(crate) struct Vary {
    on: bool,
    /// Factors of this specimen's dies.
    specimen: Vec<[f64; 2]>,
    /// The same, including session and drift.
    dies: Vec<Factors>,
    blocks: Vec<Factors>,
    retry_below: u32,
    /// Host delays in ascending order, and their mean, ns.
    host: Vec<u32>,
    host_mean: u64,
    session: f64,
    drift: f64,
    drift_share: f64,
    step_ns: u64,
    next_ns: u64,
    /// The current factor for all times.
    pace: f64,
    dice: u64,
}

impl Vary {
    pub fn new(spec: &DriveSpec, dies: usize) -> Vary {
        let vary = &spec.vary;
        let amount = *vary.amount;
        let seed = mix(*spec.seed ^ 0x5bec_1e55);
        let specimen = 1.0 + amount * *vary.specimen * normal(seed);
        let specimens = (0..dies).map(|i| {
            pair(amount * *vary.die, mix(seed ^ (i as u64 + 1))).map(|factor| factor * specimen)
        });
        let blocks = (0..ENTRIES)
            .map(|i| pair(amount * *vary.block, mix(seed ^ ((i as u64) << 32))).map(fixed));
        let mut dice = mix(*vary.session_seed ^ 0xd1ce);
        let session = amount * *vary.session * normal(next(&mut dice));
        let least_us = *spec.command.latency_us + *spec.host.command_us;
        let host_us = (amount * *vary.jitter_us).min(least_us);
        let host = (0..ENTRIES).map(|i| (host_us * 1e3 * waiting(i)) as u32).collect::<Vec<_>>();
        // Worn flash needs more read retries. This is not variation, so `amount` does not scale it.
        let retry = amount * *vary.retry + *spec.wear.retry * spec.wear.used.powi(2);
        let mut vary = Vary {
            on: amount > 0.0,
            specimen: specimens.collect(),
            dies: vec![[ONE as u32; 2]; dies],
            blocks: blocks.collect(),
            retry_below: (retry.min(1.0) * f64::from(u32::MAX)) as u32,
            host_mean: host.iter().map(|&ns| u64::from(ns)).sum::<u64>() / ENTRIES as u64,
            host,
            session,
            drift: normal(next(&mut dice)),
            drift_share: amount * *vary.drift,
            step_ns: (*vary.drift_s * 1e9 / DRIFT_STEPS).max(1.0) as u64,
            next_ns: 0,
            pace: 1.0,
            dice,
        };
        vary.set_pace();
        vary
    }

    /// Whether a new pace is due.
    #[inline]
    pub fn is_due(&self, now: u64) -> bool {
        self.on && now >= self.next_ns
    }

    /// Draws the pace at `now` and returns it, the factor for all times.
    #[cold]
    pub fn drift(&mut self, now: u64) -> f64 {
        let steps = ((now - self.next_ns.min(now)) / self.step_ns + 1).min(DRIFT_STEPS_MAX);
        for _ in 0..steps {
            let new = normal(next(&mut self.dice));
            self.drift = DRIFT_KEPT * self.drift + DRIFT_NEW * new;
        }
        self.next_ns = now - now % self.step_ns + self.step_ns;
        self.set_pace();
        self.pace
    }

    fn set_pace(&mut self) {
        self.pace = (1.0 + self.session + self.drift_share * self.drift).clamp(0.5, 2.0);
        if self.on {
            for (die, own) in self.dies.iter_mut().zip(&self.specimen) {
                *die = own.map(|factor| fixed(factor * self.pace));
            }
        }
    }

    /// Returns the duration of a read (`kind` 0) or a program (1) on this block of this die, given
    /// the nominal `time`.
    #[inline]
    pub fn flash(&self, time: u64, sb: u32, die: usize, kind: usize) -> u64 {
        if !self.on {
            return time;
        }
        let hash = sb.wrapping_mul(0x9e37_79b1) ^ (die as u32).wrapping_mul(0x85eb_ca6b);
        let block = self.blocks[(hash >> 24) as usize][kind];
        let time = (time * u64::from(self.dies[die][kind])) >> 16;
        (time * u64::from(block)) >> 16
    }

    /// Draws whether a read must be retried.
    #[inline]
    pub fn retries(&mut self) -> bool {
        self.retry_below > 0 && ((self.draw() >> 32) as u32) < self.retry_below
    }

    /// Returns the length of a pause with this mean: at least half of it, and an exponential rest.
    pub fn pause(&mut self, mean: u64) -> u64 {
        if !self.on {
            return mean;
        }
        let quantile = (self.draw() >> 56) as usize;
        (mean as f64 * (0.5 + 0.5 * waiting(quantile))) as u64
    }

    /// Returns the completion time that the host sees: `done` plus the deviation of the host's
    /// delay from its mean, which is part of the drive's latency.
    #[inline]
    pub fn seen_by_host(&mut self, done: u64) -> u64 {
        if self.host_mean == 0 {
            return done;
        }
        let index = (self.draw() >> 56) as usize;
        done + u64::from(self.host[index]) - self.host_mean
    }

    /// Returns 64 bits, of which only the upper ones are random (linear congruential generator).
    #[inline]
    fn draw(&mut self) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.dice
    }
}

fn next(dice: &mut u64) -> u64 {
    *dice = mix(*dice);
    *dice
}

/// Draws a factor for reads, around 1, and one for programs, at most 1.
fn pair(deviation: f64, seed: u64) -> [f64; 2] {
    let z = normal(seed);
    [1.0 + deviation * z, 1.0 - deviation * z.abs()].map(|factor| factor.clamp(0.5, 2.0))
}

fn fixed(factor: f64) -> u32 {
    (factor * ONE).round() as u32
}

/// Returns an approximately standard normal number, from the sum of four uniform ones. Avoids C
/// library functions, because their last bits differ between machines.
fn normal(seed: u64) -> f64 {
    let bits = mix(seed);
    let sum: f64 = (0..4).map(|i| ((bits >> (16 * i)) & 0xffff) as f64 / ONE).sum();
    (sum - 2.0) * 3f64.sqrt()
}

/// Returns the `i`th of 256 quantiles of an exponential delay with mean 1. Uses a series, whose
/// result is the same on every machine: -ln(1 - p) = sum of p^k / k, after doubling 1 - p until it
/// is at least 1/2.
fn waiting(i: usize) -> f64 {
    let mut rest = 1.0 - (i as f64 + 0.5) / ENTRIES as f64;
    let mut sum = 0.0;
    while rest < 0.5 {
        rest *= 2.0;
        sum += std::f64::consts::LN_2;
    }
    let p = 1.0 - rest;
    let mut power = 1.0;
    for k in 1..60 {
        power *= p;
        sum += power / f64::from(k);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Vary {
        Vary::new(&DriveSpec::default().with_overrides(pairs).expect("known"), 16)
    }

    #[test]
    fn the_draws_have_the_moments_they_are_named_after() {
        let all: Vec<f64> = (0..40_000).map(normal).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let variance = all.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / all.len() as f64;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        let waits: Vec<f64> = (0..ENTRIES).map(waiting).collect();
        let mean = waits.iter().sum::<f64>() / ENTRIES as f64;
        assert!((mean - 1.0).abs() < 0.01 && waits.is_sorted(), "{mean}");
        assert!((waits[127] - libm::log(2.0)).abs() < 0.01, "{}", waits[127]);
    }

    #[test]
    fn without_variation_every_time_stays_as_it_is() {
        let mut vary = with(&[("vary", "0"), ("seed", "9")]);
        assert!(!vary.is_due(u64::MAX) && !vary.retries());
        assert_eq!((vary.flash(660_000, 7, 3, 1), vary.seen_by_host(5)), (660_000, 5));
    }

    #[test]
    fn the_seed_is_the_specimen_and_the_session_another_one() {
        let times = |pairs: &[(&str, &str)]| {
            let vary = with(pairs);
            (0..16).map(|die| vary.flash(1_000_000, 0, die, 1)).collect::<Vec<_>>()
        };
        let (one, two) = (times(&[("vary", "1")]), times(&[("vary", "1"), ("seed", "2")]));
        assert_ne!(one, two);
        let again = times(&[("vary", "1"), ("vary.session_seed", "2")]);
        let shares: Vec<f64> = one.iter().zip(&again).map(|(a, b)| *a as f64 / *b as f64).collect();
        let (low, high) = (
            shares.iter().fold(9.0, |a: f64, b| a.min(*b)),
            shares.iter().fold(0.0, |a: f64, b| a.max(*b)),
        );
        assert!(high - low < 1e-4 && (low - 1.0).abs() > 1e-5, "one factor for all: {low} {high}");
        assert!(one.iter().any(|t| *t != one[0]), "dies differ");
    }

    #[test]
    fn a_drift_stays_near_its_deviation() {
        let mut vary = with(&[("vary", "1"), ("vary.session", "0"), ("vary.drift", "0.01")]);
        let paces: Vec<f64> = (1..4000).map(|i| vary.drift(i * vary.step_ns)).collect();
        let mean = paces.iter().sum::<f64>() / paces.len() as f64;
        let sd =
            (paces.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / paces.len() as f64).sqrt();
        assert!((0.008..0.012).contains(&sd) && (mean - 1.0).abs() < 0.004, "{sd} {mean}");
        let steps: f64 = paces.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum::<f64>();
        assert!((steps / paces.len() as f64).sqrt() < 0.6 * sd, "neighbours are alike");
    }
}
