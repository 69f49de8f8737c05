//! All unsafe code of the engine: the processor's counter, memory to which the kernel writes, and
//! system calls without a safe wrapper. Each module is small and justifies its unsafe code; the
//! rest of the crate is safe.
#![allow(unsafe_code)]

use std::io;

pub(crate) mod aio;
pub(crate) mod arena;
pub(crate) mod counter;
pub(crate) mod file;
pub(crate) mod map;
pub(crate) mod pci;
pub(crate) mod process;
pub(crate) mod ring;
pub(crate) mod thread;

/// The result of a call of libc: an error, by `errno`, if it is negative.
fn check<T: Default + PartialOrd>(result: T) -> io::Result<T> {
    if result < T::default() { Err(io::Error::last_os_error()) } else { Ok(result) }
}
