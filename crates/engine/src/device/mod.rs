//! Devices under the engine: a file descriptor, nothing at all, or (one more variant) a queue pair of
//! a drive without a kernel between.
//!
//! A device opens a way to issue I/O, a [`Backend`], for one worker at a time, and performs the
//! rare operations around a run. No module above this one mentions a file. A new backend touches
//! its own file, [`AnyDevice`] and the probe; the worker is generic and stays unchanged.

mod fd;
mod handles;
#[cfg(test)]
mod memory;

pub(crate) use fd::FdDevice;
pub(crate) use handles::Handles;
#[cfg(test)]
pub(crate) use memory::Memory;

use std::io;

use rig::{BackendKind, Issue};
use workload::{Region, Workload};

use crate::backend::{Backend, Null};
use crate::clock::Clock;
use crate::sys::arena::Arena;

/// A worker's request for a backend.
pub(crate) struct IoAsk<'a> {
    /// Backend.
    pub kind: BackendKind,
    /// Depth, block sizes, caching and durability.
    pub workload: &'a Workload,
    /// Priorities, overlap, advice.
    pub issue: &'a Issue,
    /// The clock of the run.
    pub clock: Clock,
}

/// Code that works with any backend.
pub(crate) trait UseBackend {
    type Out;

    /// Called with the backend, or with the reason why there is none.
    fn with<B: Backend>(self, backend: io::Result<B>) -> Self::Out;
}

/// A device under the engine.
pub(crate) trait Device {
    /// Opens a way to issue I/O on the thread that will use it. `placed` is the result of placing
    /// that thread.
    fn io<U: UseBackend>(&self, ask: &IoAsk<'_>, placed: io::Result<()>, user: U) -> U::Out;

    /// Whether I/O of that kind of caching really bypasses the page cache.
    fn bypasses_cache(&self, workload: &Workload) -> bool;

    /// Share of a region that was written before, where that is known.
    fn written_share(&self, region: Region) -> Option<f64>;

    /// Makes everything written durable.
    fn flush(&self) -> io::Result<()>;

    /// Discards a region.
    fn discard(&self, region: Region) -> io::Result<()>;
}

/// The available devices.
pub(crate) enum AnyDevice {
    /// Files and block devices of this machine.
    Fd(FdDevice),
    /// Nothing: measures the instrument.
    Null,
    /// Memory with its own backend: shows in tests that a new one fits.
    #[cfg(test)]
    Memory(Memory),
}

impl AnyDevice {
    /// The descriptors, if there are any.
    pub(crate) fn handles(&self) -> Option<&Handles> {
        match self {
            AnyDevice::Fd(fd) => fd.first(),
            _ => None,
        }
    }
}

impl Device for AnyDevice {
    fn io<U: UseBackend>(&self, ask: &IoAsk<'_>, placed: io::Result<()>, user: U) -> U::Out {
        match self {
            AnyDevice::Fd(fd) => fd.io(ask, placed, user),
            AnyDevice::Null => {
                let arena = placed.and_then(|()| arena(ask, ask.workload.depth));
                user.with(arena.map(|arena| Null::new(ask.clock, arena)))
            }
            #[cfg(test)]
            AnyDevice::Memory(memory) => memory.io(ask, placed, user),
        }
    }

    fn bypasses_cache(&self, workload: &Workload) -> bool {
        match self {
            AnyDevice::Fd(fd) => fd.bypasses_cache(workload),
            AnyDevice::Null => false,
            #[cfg(test)]
            AnyDevice::Memory(memory) => memory.bypasses_cache(workload),
        }
    }

    fn written_share(&self, region: Region) -> Option<f64> {
        match self {
            AnyDevice::Fd(fd) => fd.written_share(region),
            AnyDevice::Null => None,
            #[cfg(test)]
            AnyDevice::Memory(memory) => memory.written_share(region),
        }
    }

    fn flush(&self) -> io::Result<()> {
        match self {
            AnyDevice::Fd(fd) => fd.flush(),
            AnyDevice::Null => Ok(()),
            #[cfg(test)]
            AnyDevice::Memory(memory) => memory.flush(),
        }
    }

    fn discard(&self, region: Region) -> io::Result<()> {
        match self {
            AnyDevice::Fd(fd) => fd.discard(region),
            AnyDevice::Null => Ok(()),
            #[cfg(test)]
            AnyDevice::Memory(memory) => memory.discard(region),
        }
    }
}

/// Memory for the slots of a worker.
fn arena(ask: &IoAsk<'_>, depth: u32) -> io::Result<Arena> {
    Arena::new(depth as usize, ask.workload.blocks.max() as usize)
}
