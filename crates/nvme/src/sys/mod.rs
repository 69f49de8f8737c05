//! Memory barriers between the processor and a device on its bus: the driver's only `unsafe` code.
//!
//! Rust's fences order memory between processors. On Arm they cover the inner shareable domain,
//! which excludes devices, so these barriers use the outer domain. On x86, loads and stores to
//! memory keep their order; only a store followed by a load needs an instruction.

/// Makes earlier writes to memory visible to the device before later writes to its registers.
#[inline(always)]
pub(crate) fn before_doorbell() {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a barrier changes neither memory nor registers.
    unsafe {
        core::arch::asm!("dmb oshst", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "aarch64"))]
    core::sync::atomic::fence(core::sync::atomic::Ordering::Release);
}

/// Orders later reads of memory after the word just read, so that they see everything the device
/// wrote before it.
#[inline(always)]
pub(crate) fn after_phase() {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("dmb oshld", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "aarch64"))]
    core::sync::atomic::fence(core::sync::atomic::Ordering::Acquire);
}

/// Makes earlier writes visible to the device before later reads, as shadow doorbells require.
#[inline(always)]
pub(crate) fn full() {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("dmb osh", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "aarch64"))]
    core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
}
