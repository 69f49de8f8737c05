//! Seeded noise for tests of statistical claims on simulated drives.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) struct Dice(Xoshiro256PlusPlus);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform in (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Uniform below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    /// Standard normal (Box-Muller). Using the libm crate gives the same draws on every machine.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.unit()));
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// `n` replicates of a drive with the given median and a noise of `cv` (0.02 = 2%).
    pub fn log_normal(&mut self, median: f64, cv: f64, n: usize) -> Vec<f64> {
        (0..n).map(|_| median * libm::exp(cv * self.normal())).collect()
    }
}
