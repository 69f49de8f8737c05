//! The fixed cost of a command: T = t0 + size / B, fitted over transfers of several sizes.
//!
//! Uses least squares on relative errors, because the times of small and large transfers scatter by
//! about the same percentage. With absolute errors, the largest transfer would dominate the fit and
//! leave t0 as a remainder.

/// A line fitted to the times of transfers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// t0: the time of a command independent of its size, in nanoseconds; not negative.
    pub command_ns: f64,
    /// B: the transfer rate of the data alone, in bytes per second.
    pub bytes_per_s: f64,
    /// The largest deviation from the line, as a fraction of the measured time. Far from 0, the
    /// times do not fit a line.
    pub residual: f64,
}

impl Cost {
    /// Fits pairs of a size in bytes and a mean time in nanoseconds. If t0 would be negative, or
    /// all sizes are equal, the line goes through the origin. Returns `None` with fewer than three
    /// pairs, if a time is not positive, or if larger transfers take no longer.
    pub fn fit(times: &[(u32, f64)]) -> Option<Cost> {
        let usable = times.iter().all(|(_, ns)| ns.is_finite() && *ns > 0.0);
        if times.len() < 3 || !usable {
            return None;
        }
        let free = line(times).filter(|(command_ns, _)| *command_ns >= 0.0);
        let (command_ns, ns_per_byte) = free.or_else(|| Some((0.0, proportion(times)?)))?;
        if ns_per_byte.is_nan() || ns_per_byte <= 0.0 {
            return None;
        }
        let residual = times
            .iter()
            .map(|(size, ns)| (command_ns + ns_per_byte * f64::from(*size) - ns).abs() / ns)
            .fold(0.0, f64::max);
        Some(Cost { command_ns, bytes_per_s: 1e9 / ns_per_byte, residual })
    }

    /// Time of a transfer of `bytes`, in nanoseconds.
    pub fn time_ns(&self, bytes: u32) -> f64 {
        self.command_ns + f64::from(bytes) / self.bytes_per_s * 1e9
    }
}

/// Offset and slope of the fitted line; `None` if all sizes are equal.
fn line(times: &[(u32, f64)]) -> Option<(f64, f64)> {
    let mut sums = [0.0; 5];
    for &(size, ns) in times {
        let (x, weight) = (f64::from(size), 1.0 / (ns * ns));
        let terms = [weight, weight * x, weight * x * x, weight * ns, weight * x * ns];
        sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    }
    let [w, wx, wxx, wy, wxy] = sums;
    let scale = w * wxx - wx * wx;
    let is_solvable = scale > 1e-12 * w * wxx;
    is_solvable.then(|| ((wxx * wy - wx * wxy) / scale, (w * wxy - wx * wy) / scale))
}

/// Slope of the line through the origin.
fn proportion(times: &[(u32, f64)]) -> Option<f64> {
    let shares = times.iter().map(|&(size, ns)| f64::from(size) / ns);
    let (x, xx) = shares.fold((0.0, 0.0), |s, share| (s.0 + share, s.1 + share * share));
    (xx > 0.0).then(|| x / xx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Dice;

    const SIZES: [u32; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

    fn times(t0: f64, rate: f64) -> Vec<(u32, f64)> {
        SIZES.iter().map(|&size| (size, t0 + f64::from(size) / rate * 1e9)).collect()
    }

    #[test]
    fn an_exact_line_is_found_exactly() {
        let cost = Cost::fit(&times(2_040_000.0, 31.5e6)).expect("a line");
        assert!((cost.command_ns - 2_040_000.0).abs() < 1.0, "{cost:?}");
        assert!((cost.bytes_per_s / 31.5e6 - 1.0).abs() < 1e-9 && cost.residual < 1e-9);
        assert!((cost.time_ns(16 << 10) - 2_560_127.0).abs() < 1.0, "{cost:?}");
    }

    #[test]
    fn noise_of_five_percent_moves_both_by_about_as_much() {
        let mut dice = Dice::new(7);
        for _ in 0..200 {
            let noisy = |(size, ns): (u32, f64)| (size, dice.log_normal(ns, 0.05, 1)[0]);
            let noisy: Vec<_> = times(100_000.0, 500e6).into_iter().map(noisy).collect();
            let cost = Cost::fit(&noisy).expect("a line");
            assert!((cost.command_ns / 100_000.0 - 1.0).abs() < 0.25, "{cost:?}");
            assert!((cost.bytes_per_s / 500e6 - 1.0).abs() < 0.3, "{cost:?}");
        }
    }

    #[test]
    fn a_command_never_takes_less_than_nothing() {
        let mut steep = times(0.0, 500e6);
        steep[4].1 *= 1.3;
        let cost = Cost::fit(&steep).expect("a line");
        assert_eq!(cost.command_ns, 0.0);
        assert!(cost.residual > 0.1, "{cost:?}");
        // All sizes have the same weight, and one of five is 30% slower.
        assert!((cost.bytes_per_s / 500e6 - 0.95).abs() < 0.02, "{cost:?}");
    }

    #[test]
    fn times_off_a_line_have_no_fit() {
        let flat: Vec<_> = SIZES.iter().map(|&size| (size, 1e9 / f64::from(size))).collect();
        assert!(Cost::fit(&flat).is_none_or(|cost| cost.residual > 0.5));
        assert_eq!(Cost::fit(&times(1.0, 1e6)[..2]), None);
        assert_eq!(Cost::fit(&[(4096, 1e6); 5]).map(|c| c.command_ns), Some(0.0));
        assert_eq!(Cost::fit(&[(4096, 0.0), (8192, 1.0), (16384, 2.0)]), None);
    }
}
