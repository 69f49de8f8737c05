//! Signals held back for a while.

use std::mem::MaybeUninit;

/// Holds the signals of the calling thread back until it is dropped, on that thread.
pub(super) struct Undisturbed {
    /// The signals that were held back before.
    mask: libc::sigset_t,
    /// The mask is that of a thread, so this stays on it.
    _of_thread: std::marker::PhantomData<*const ()>,
}

impl Undisturbed {
    pub(super) fn begin() -> Undisturbed {
        let (mut signals, mut mask) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: the first call fills the first set, which the second reads, and the second call fills
        // the other; neither fails with these arguments.
        let mask = unsafe {
            libc::sigfillset(signals.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_BLOCK, signals.as_ptr(), mask.as_mut_ptr());
            mask.assume_init()
        };
        Undisturbed { mask, _of_thread: std::marker::PhantomData }
    }
}

impl Drop for Undisturbed {
    fn drop(&mut self) {
        // SAFETY: the set is the one that the kernel gave.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.mask, std::ptr::null_mut());
        }
    }
}
