//! Everything unsafe of the engine: the processor's counter, memory the kernel writes to, system
//! calls without a safe wrapper. Small modules, each with its reasons; the rest of the crate is safe.
#![allow(unsafe_code)]

pub(crate) mod aio;
pub(crate) mod arena;
pub(crate) mod counter;
pub(crate) mod file;
pub(crate) mod map;
pub(crate) mod pci;
pub(crate) mod process;
pub(crate) mod ring;
pub(crate) mod thread;
