//! The kernel's clocks. Other systems than Linux have `elsewhere/time.rs` instead.

use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC`, nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    reading_ns(ClockId::Monotonic)
}

/// Time that the machine has spent suspended, nanoseconds: `Boottime` counts it, `Monotonic` does
/// not.
pub(crate) fn asleep_ns() -> u64 {
    // In this order, a delay between the readings is not mistaken for suspension.
    let boot_ns = reading_ns(ClockId::Boottime);
    boot_ns.saturating_sub(monotonic_ns())
}

/// Processor time of this process so far, nanoseconds.
pub fn processor_ns() -> u64 {
    reading_ns(ClockId::ProcessCPUTime)
}

fn reading_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
