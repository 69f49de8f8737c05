//! The machine's clock in nanoseconds, with the cheapest available reading.
//!
//! It reads the processor's counter if that is invariant and trusted by the kernel (8 ns per read),
//! otherwise `CLOCK_MONOTONIC` (20 to 40 ns). Each new clock calibrates the counter against the
//! kernel's clock; both ends of the calibration use the tightest of several readings, which limits
//! the error to about ten parts per million.

use std::fs;

use crate::sys::counter;
use crate::time::monotonic_ns;

/// Length of the calibration, nanoseconds; short, because it delays the first I/O.
const CALIBRATION_NS: u64 = 3_000_000;

/// A clock shared by all threads of a run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    base: u64,
    /// Nanoseconds per tick, times 2^32; 0: the kernel's clock is used.
    scale: u64,
}

impl Clock {
    /// The best clock of this machine; its time 0 is now.
    pub fn new() -> Clock {
        if counter::AVAILABLE && kernel_trusts_counter() {
            Clock::calibrated()
        } else {
            Clock::kernels()
        }
    }

    /// The kernel's clock, which needs no calibration; its time 0 is now.
    pub fn kernels() -> Clock {
        Clock { base: monotonic_ns(), scale: 0 }
    }

    fn calibrated() -> Clock {
        let (ticks_start, ns_start) = paired_reading();
        while monotonic_ns() - ns_start < CALIBRATION_NS {
            std::hint::spin_loop();
        }
        let (ticks_end, ns_end) = paired_reading();
        let ticks = u128::from(ticks_end - ticks_start).max(1);
        let scale = (u128::from(ns_end - ns_start) << 32) / ticks;
        Clock { base: ticks_end, scale: scale as u64 }
    }

    /// Nanoseconds since the clock was made.
    #[inline]
    pub fn now(&self) -> u64 {
        if self.scale == 0 {
            return monotonic_ns() - self.base;
        }
        let ticks = counter::read().wrapping_sub(self.base);
        ((u128::from(ticks) * u128::from(self.scale)) >> 32) as u64
    }

    /// Name for the record: `tsc`, `cntvct` or `monotonic`.
    pub fn name(&self) -> &'static str {
        if self.scale == 0 { "monotonic" } else { counter::NAME }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock::new()
    }
}

/// Counter and kernel clock at the same moment: of five pairs, the one that took the fewest ticks
/// to read.
fn paired_reading() -> (u64, u64) {
    let readings = [(); 5].map(|()| {
        let before = counter::read();
        let ns = monotonic_ns();
        let after = counter::read();
        (after.wrapping_sub(before), before.wrapping_add(after.wrapping_sub(before) / 2), ns)
    });
    let (_, count, ns) = readings.into_iter().min().unwrap_or_default();
    (count, ns)
}

/// Whether the kernel uses the same counter as its clock source, directly or through kvm-clock.
fn kernel_trusts_counter() -> bool {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = fs::read_to_string(path).unwrap_or_default();
    if matches!(source.trim(), "tsc" | "arch_sys_counter") {
        return true;
    }
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|l| l.starts_with("flags")).unwrap_or_default();
    // In a guest the clock source is often kvm-clock, which reads the TSC; the flags show that it
    // is invariant.
    source.trim() == "kvm-clock"
        && flags.contains(" constant_tsc")
        && flags.contains(" nonstop_tsc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_kernel_and_never_runs_back() {
        let clock = Clock::new();
        let (ours, theirs) = (clock.now(), monotonic_ns());
        let mut last = ours;
        while monotonic_ns() - theirs < 20_000_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
        let (ours, theirs) = ((clock.now() - ours) as f64, (monotonic_ns() - theirs) as f64);
        // Either end of the comparison can be preempted; half a percent is 100 us here.
        assert!((ours / theirs - 1.0).abs() < 0.005, "{ours} against {theirs} ns");
    }
}
