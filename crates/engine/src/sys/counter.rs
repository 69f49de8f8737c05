//! The processor's own constant-rate counter.

/// Whether this module can read the counter of this processor family.
pub(crate) const AVAILABLE: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Name of the counter in records.
pub(crate) const NAME: &str = if cfg!(target_arch = "aarch64") { "cntvct" } else { "tsc" };

/// Ticks since some start.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn read() -> u64 {
    // SAFETY: RDTSC reads a register and touches no memory. Linux leaves it enabled for programs.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Ticks since some start.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn read() -> u64 {
    let ticks: u64;
    // SAFETY: reads the virtual counter register, which Linux opens to programs; no memory touched.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

/// Never called: [`AVAILABLE`] is false.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn read() -> u64 {
    0
}
