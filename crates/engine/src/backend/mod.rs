//! Backends, which carry operations to the target. A backend owns its slots' memory and its clock.
//! Each worker drives its own backend, and they share nothing.
//!
//! `uring` is the fast path; `aio`, `posixaio`, `psync` and `mmap` are used if the kernel or the
//! user requires them. `null` moves no data and so measures the instrument itself; `sim` is a virtual
//! drive in virtual time. `bytes` wraps another backend in a program's stream calls, `overlap`
//! serializes overlapping operations, and `apart` times submissions. They hold any backend behind a
//! pointer, so that the worker's loop is compiled once for each of them. `serial` is the common part of
//! backends with one operation at a time. The backend that polls a queue pair of a drive belongs to
//! its device (`device/pci/backend.rs`).

/// In a backend that wraps `inner`: everything but its depth, its operations and its turns is the
/// inner one's.
macro_rules! pass_on {
    () => {
        fn spin_ns(&self) -> u64 {
            self.inner.spin_ns()
        }

        fn carries_data(&self) -> bool {
            self.inner.carries_data()
        }

        fn is_virtual(&self) -> bool {
            self.inner.is_virtual()
        }

        fn now(&self) -> u64 {
            self.inner.now()
        }

        fn temperature(&mut self) -> Option<f64> {
            self.inner.temperature()
        }

        fn buffer(&mut self, slot: u32, bytes: u32) -> &mut [u8] {
            self.inner.buffer(slot, bytes)
        }

        fn read_zeros(&mut self, slot: u32, op: &Op) -> bool {
            self.inner.read_zeros(slot, op)
        }

        fn priority(&self, slot: u32) -> u16 {
            self.inner.priority(slot)
        }

        fn split(&self, slot: u32) -> rig::TimeSplit {
            self.inner.split(slot)
        }

        fn returns_at(&self, wait: Wait) -> Option<u64> {
            self.inner.returns_at(wait)
        }

        fn files(&self) -> Option<&super::Files<'_>> {
            self.inner.files()
        }

        fn starts(&self) -> Vec<u64> {
            self.inner.starts()
        }

        fn sync(&mut self, address: u64) -> io::Result<()> {
            self.inner.sync(address)
        }

        fn empty(&mut self) -> io::Result<()> {
            self.inner.empty()
        }

        fn read_back(&mut self, address: u64, buffer: &mut [u8]) -> io::Result<bool> {
            self.inner.read_back(address, buffer)
        }

        fn missing(&self) -> Vec<&'static str> {
            self.inner.missing()
        }
    };
}

#[cfg(target_os = "linux")]
mod aio;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod apart;
#[cfg(target_os = "linux")]
mod bytes;
#[cfg(target_os = "linux")]
mod cold;
#[cfg_attr(not(target_os = "linux"), path = "../elsewhere/files.rs")]
mod files;
#[cfg(target_os = "linux")]
mod mmap;
#[cfg(target_os = "linux")]
mod null;
mod overlap;
#[cfg(target_os = "linux")]
mod posixaio;
#[cfg(target_os = "linux")]
mod psync;
#[cfg(target_os = "linux")]
mod serial;
mod sim;
#[cfg(target_os = "linux")]
mod uring;

#[cfg(target_os = "linux")]
pub(crate) use apart::SubmitApart;
pub(crate) use files::Files;
pub(crate) use overlap::SerializeOverlap;
pub(crate) use sim::{FileMap, Sim};
#[cfg(target_os = "linux")]
pub(crate) use {
    aio::Aio, bytes::ByBytes, cold::discard, mmap::Mmap, null::Null, posixaio::Posixaio,
    psync::Psync, uring::Uring,
};

use std::io;

use rig::TimeSplit;
use workload::Op;

/// A finished operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    /// The slot of the operation.
    pub slot: u32,
    /// Bytes moved, or a negative error number. 0 is success for flush and discard.
    pub result: i64,
}

/// The negative number of an error; EIO if it has none.
pub(crate) fn negative(error: &io::Error) -> i64 {
    -i64::from(error.raw_os_error().unwrap_or(rig::errno::EIO))
}

/// How long a turn waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Not at all.
    No,
    /// Until this many operations have completed, at least one.
    For(u32),
    /// Until an operation completes or the backend's clock reaches this time.
    Until(u64),
}

/// A worker's path to a target.
pub(crate) trait Backend {
    /// A sleep ends this long before the next due time, and the worker spins for the rest, because
    /// timers of real machines are inexact; nanoseconds.
    fn spin_ns(&self) -> u64 {
        60_000
    }

    /// Whether buffers hold the data of operations. A virtual drive has none and computes only
    /// times.
    fn carries_data(&self) -> bool {
        true
    }

    /// Whether its clock is virtual and waits for the worker. [`Backend::returns_at`] is known only
    /// then.
    fn is_virtual(&self) -> bool {
        false
    }

    /// The time on this backend's clock, nanoseconds.
    fn now(&self) -> u64;

    /// Temperature of the drive, if the backend knows it, degrees Celsius.
    fn temperature(&mut self) -> Option<f64> {
        None
    }

    /// Maximum operations in flight; 1 for a synchronous path.
    fn depth_max(&self) -> u32 {
        u32::MAX
    }

    /// The memory of a slot that is not in flight.
    fn buffer(&mut self, slot: u32, bytes: u32) -> &mut [u8];

    /// Whether a completed read returned only zeros.
    fn read_zeros(&mut self, slot: u32, op: &Op) -> bool {
        self.buffer(slot, op.bytes).iter().all(|b| *b == 0)
    }

    /// Queues an operation on a free slot.
    fn push(&mut self, slot: u32, op: Op);

    /// The priority of the operation in a slot; 0 for none.
    fn priority(&self, _slot: u32) -> u16 {
        0
    }

    /// The time at which the operation of a slot had been submitted, if that is timed.
    fn submitted(&self, _slot: u32) -> Option<u64> {
        None
    }

    /// Where the time of the completed operation of a slot went, on a virtual drive.
    fn split(&self, _slot: u32) -> TimeSplit {
        TimeSplit::default()
    }

    /// The virtual time at which a turn with this wait would return; `None`: immediately.
    fn returns_at(&self, _wait: Wait) -> Option<u64> {
        None
    }

    /// Longest time that [`Backend::leap`] may skip, nanoseconds, in a load that writes or only reads, in
    /// which the dies complete `work` nanoseconds in a second.
    fn longest_leap(&self, _writes: bool, _work: f64) -> u64 {
        0
    }

    /// Work of the drive's dies so far.
    fn work_of_dies(&self) -> model::WorkOfDies {
        model::WorkOfDies::default()
    }

    /// Begins a stretch whose traffic [`Backend::stretch_traffic`] tells.
    fn begin_stretch(&mut self) {}

    /// Mean flash traffic of `ns` since the stretch began.
    fn stretch_traffic(&self, _ns: u64) -> model::Traffic {
        model::Traffic::default()
    }

    /// Skips a stretch of virtual time with writes to these offsets. Returns whether the next one
    /// may be skipped, too.
    fn leap(&mut self, _leap: &model::Leap, _offsets: &mut dyn Iterator<Item = u64>) -> bool {
        false
    }

    /// Ends a leap of `ns`: operations in flight complete so much later.
    fn end_leap(&mut self, _ns: u64) {}

    /// Submits the queued operations, waits, and adds completed operations to `done`.
    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()>;

    /// The files it works on, if any.
    fn files(&self) -> Option<&Files<'_>> {
        None
    }

    /// The first address of every file, in order; 0 without files.
    fn starts(&self) -> Vec<u64> {
        self.files().map_or_else(|| vec![0], |files| files.starts().collect())
    }

    /// Makes the file at an address durable, outside the queue.
    fn sync(&mut self, address: u64) -> io::Result<()> {
        self.files().map_or(Ok(()), |files| files.sync(address))
    }

    /// Truncates all regular files. Devices are left alone.
    fn empty(&mut self) -> io::Result<()> {
        self.files().map_or(Ok(()), Files::empty)
    }

    /// Reads from an address, outside the queue. Returns `false` if the target keeps no data.
    fn read_back(&mut self, address: u64, buffer: &mut [u8]) -> io::Result<bool> {
        let Some(files) = self.files() else { return Ok(false) };
        files.read_exact(address, buffer).map(|()| true)
    }

    /// Features not granted by the kernel.
    fn missing(&self) -> Vec<&'static str> {
        Vec::new()
    }
}
