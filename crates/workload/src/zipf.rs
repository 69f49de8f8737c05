//! Zipf-distributed ranks by rejection-inversion (Hoermann and Derflinger, "Rejection-inversion to
//! generate variates from monotone discrete distributions", 1996). It needs no tables, so a 16 TiB
//! drive costs no more than a 32 MiB card. It is exact for every exponent above 0.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Ranks `0..n` with probability proportional to `1 / (rank + 1)^theta`.
#[derive(Debug, Clone, Copy)]
pub struct Zipf {
    n: u64,
    theta: f64,
    top: f64,
    bottom: f64,
    shortcut: f64,
}

impl Zipf {
    /// Ranks of `n` places (at least 1) with exponent `theta` (above 0).
    pub fn new(n: u64, theta: f64) -> Zipf {
        let mut zipf = Zipf { n: n.max(1), theta, top: 0.0, bottom: 0.0, shortcut: 0.0 };
        zipf.top = zipf.integral(zipf.n as f64 + 0.5);
        zipf.bottom = zipf.integral(1.5) - 1.0;
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// The next rank.
    pub fn sample(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        loop {
            let u = self.bottom + unit(rng) * (self.top - self.bottom);
            let x = self.inverse(u);
            let k = libm::round(x).clamp(1.0, self.n as f64);
            if k - x <= self.shortcut || u >= self.integral(k + 0.5) - self.density(k) {
                return k as u64 - 1;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// Integral of the density, up to a constant chosen so that theta = 1 is not a special case.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        expm1_over((1.0 - self.theta) * log) * log
    }

    fn inverse(&self, u: f64) -> f64 {
        let t = (u * (1.0 - self.theta)).max(-1.0);
        libm::exp(log1p_over(t) * u)
    }
}

/// A number in [0, 1) from the upper 53 bits of a random number.
pub(crate) fn unit(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// `(e^x - 1) / x`, and its limit at 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::expm1(x) / x } else { 1.0 + x / 2.0 }
}

/// `ln(1 + x) / x`, and its limit at 0.
fn log1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::log1p(x) / x } else { 1.0 - x / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    /// Compares the shares of the first ranks with the definition, for exponents below, at and
    /// above 1.
    #[test]
    fn shares_match_the_definition() {
        for theta in [0.5, 0.99, 1.0, 1.1, 2.0] {
            let (n, draws) = (1000u64, 400_000);
            let zipf = Zipf::new(n, theta);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
            let mut counts = vec![0u32; n as usize];
            (0..draws).for_each(|_| counts[zipf.sample(&mut rng) as usize] += 1);
            let weight = |k: u64| libm::pow(k as f64, -theta);
            let sum: f64 = (1..=n).map(weight).sum();
            for k in [1, 2, 3, 10, 100] {
                let expected = weight(k) / sum * f64::from(draws);
                let found = f64::from(counts[k as usize - 1]);
                let sigma = expected.sqrt();
                assert!(
                    (found - expected).abs() < 5.0 * sigma,
                    "theta {theta} rank {k}: {found} for {expected}"
                );
            }
        }
    }

    #[test]
    fn one_place_is_always_rank_zero() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        assert!((0..100).all(|_| Zipf::new(1, 1.1).sample(&mut rng) == 0));
    }
}
