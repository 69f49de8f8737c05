//! All unsafe code of the engine: the processor's counter, memory to which the kernel writes, and
//! system calls without a safe wrapper. Each module is small and justifies its unsafe code; the
//! rest of the crate is safe.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
pub(crate) mod aio;
#[cfg_attr(not(target_os = "linux"), path = "../elsewhere/arena.rs")]
pub(crate) mod arena;
#[cfg(target_os = "linux")]
pub(crate) mod bpf;
pub(crate) mod counter;
#[cfg(target_os = "linux")]
pub(crate) mod file;
#[cfg(target_os = "linux")]
pub(crate) mod map;
#[cfg(target_os = "linux")]
pub(crate) mod pci;
#[cfg(target_os = "linux")]
pub(crate) mod posixaio;
#[cfg(target_os = "linux")]
pub(crate) mod process;
#[cfg(target_os = "linux")]
pub(crate) mod ring;
#[cfg_attr(not(target_os = "linux"), path = "../elsewhere/thread.rs")]
pub(crate) mod thread;

/// The result of a call of libc: an error, by `errno`, if it is negative.
fn check<T: Default + PartialOrd>(result: T) -> std::io::Result<T> {
    if result < T::default() { Err(std::io::Error::last_os_error()) } else { Ok(result) }
}
