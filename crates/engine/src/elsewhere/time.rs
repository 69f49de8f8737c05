//! The clock of systems other than Linux. It times no drive there, only the work of the process.

use std::sync::OnceLock;
use std::time::Instant;

/// Time since the first call, nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Time that the machine has spent suspended: not known. It matters to no virtual drive.
pub(crate) fn asleep_ns() -> u64 {
    0
}

/// Processor time of this process so far, nanoseconds: all its time, because simulations do not wait.
pub fn processor_ns() -> u64 {
    monotonic_ns()
}
