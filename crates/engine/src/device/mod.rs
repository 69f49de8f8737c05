//! The engine's devices: files and block devices of the kernel, the queue pairs of a drive driven
//! from user space, and the null device.
//!
//! A device creates a [`Backend`] for each thread that issues I/O ([`AnyDevice::io`]), and carries
//! out the rare operations around a run ([`Device`]). Operations that it does not support return
//! [`DeviceError::Absent`]. No module above this one handles file descriptors. A new device
//! requires changes only in its own file, in [`AnyDevice`] and, for a new backend, in that
//! backend's file. The worker is generic over backends and stays unchanged.

mod failure;
mod fd;
mod freed;
mod handles;
pub(crate) mod memory;
mod null;
pub(crate) mod pci;
mod space;

pub(crate) use failure::device_error;
pub(crate) use fd::FdDevice;
use handles::Handles;
pub(crate) use memory::MemoryDevice;
pub(crate) use null::NullDevice;
use pci::simulated::Wire;
use pci::{PciDevice, Wired};
pub(crate) use space::allocate;

pub(crate) use drive::{CpuQuota, Requests, Sample};

use std::io;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use drive::{DriveError, DriveKey, Opened, PciOpened, Sentry};
use journal::Storage;
use record::{Finding, Health};
use rig::{BackendKind, Erase, Issue, Released, TargetInfo};
use workload::{Caching, Region, Workload};

use crate::backend::{Backend, SerializeOverlap, SubmitApart};
use crate::clock::Clock;
use crate::sys::arena::Arena;

/// A thread's request for a backend.
pub(crate) struct IoAsk<'a> {
    /// The backend to create.
    pub kind: BackendKind,
    /// Depth, block sizes, caching and durability.
    pub workload: &'a Workload,
    /// Priorities, overlap and advice.
    pub issue: &'a Issue,
    /// The clock of the run.
    pub clock: Clock,
}

/// Code that runs with any backend.
pub(crate) trait UseBackend {
    type Out;

    /// Called with the backend, or with the error that prevented it.
    fn with<B: Backend>(self, backend: io::Result<B>) -> Self::Out;
}

/// The reason a device did not carry out an operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeviceError {
    /// The device does not support the operation; the text gives the reason.
    #[error("{0}")]
    Absent(String),
    /// The guard, or a command to the drive, refused or failed.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The device failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<io::ErrorKind> for DeviceError {
    fn from(kind: io::ErrorKind) -> DeviceError {
        DeviceError::Io(kind.into())
    }
}

/// The result of an operation that not every device supports.
pub(crate) type Able<T> = Result<T, DeviceError>;

fn absent<T>() -> Able<T> {
    Err(DeviceError::Absent("this device does not support it".into()))
}

/// The rare operations of a device.
pub(crate) trait Device: Send + Sync {
    /// The best available backend, with a finding if it is not the usual one.
    fn best_backend(&self, clock: Clock) -> (BackendKind, Option<Finding>);

    /// The backend to use when this one is requested.
    fn backend(&self, requested: BackendKind) -> BackendKind {
        requested
    }

    /// Whether I/O with this caching mode really bypasses the page cache.
    fn bypasses_cache(&self, caching: Caching) -> bool;

    /// Share of a region that is already written, if known.
    fn written_share(&self, _region: Region) -> Option<f64> {
        None
    }

    /// Its stored bytes, for borrowing; `None` if it stores nothing.
    fn storage(&self) -> Option<&dyn Storage> {
        None
    }

    /// Fills a page-aligned buffer with the bytes at `offset`, bypassing all caches.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Able<()> {
        let storage = self.storage().map_or_else(absent, Ok)?;
        Ok(storage.read_exact(offset, buffer)?)
    }

    /// Writes a page-aligned buffer at `offset`, bypassing all caches.
    fn write(&self, offset: u64, bytes: &[u8]) -> Able<()> {
        let storage = self.storage().map_or_else(absent, Ok)?;
        Ok(storage.write_all(offset, bytes)?)
    }

    /// Makes everything written durable.
    fn flush(&self) -> io::Result<()>;

    /// Discards a region.
    fn discard(&self, region: Region) -> io::Result<()>;

    /// Its counters and temperature, if it can be observed.
    fn watch(&self) -> Option<Sample> {
        None
    }

    /// The device number of the drive, if all I/O goes to one drive of the kernel.
    fn disk(&self) -> Option<(u32, u32)> {
        None
    }

    /// Whether the kernel carries out its reads and so counts them for this process.
    fn is_read_by_kernel(&self) -> bool {
        true
    }

    /// The drive's current wear, errors and temperature, if the device queries the drive itself.
    fn health(&self) -> Option<Health> {
        None
    }

    /// The key that identifies it after a restart, if it is a drive.
    fn identify(&self) -> Option<DriveKey> {
        None
    }

    /// Checks that it is still the device that was opened, and that no one else uses it.
    fn check(&self) -> Result<(), DriveError> {
        Ok(())
    }

    /// The checks for another thread, if there is anything to check.
    fn sentry(&self) -> Option<Sentry> {
        None
    }

    /// Drops its pages from the operating system's cache; returns the bytes still cached, if known.
    fn drop_caches(&self) -> Able<Option<u64>> {
        Ok(None)
    }

    /// Reserves space up to `end`, so that writing does not also grow a file.
    fn reserve(&self, _end: u64) -> io::Result<()> {
        Ok(())
    }

    /// Truncates a file to length 0.
    fn empty(&self) -> Able<()> {
        absent()
    }

    /// Frees the blocks of a region of a file, then reads them on the drive below.
    fn free(&self, _region: Region) -> Able<Released> {
        absent()
    }

    /// Makes the file system discard its free space; returns the number of bytes it reports.
    fn trim_free(&self) -> Able<u64> {
        absent()
    }

    /// Writes back the cached writes of all programs: those on its file system, or with
    /// `everywhere` those of the whole machine.
    fn settle(&self, _everywhere: bool) -> Able<()> {
        absent()
    }

    /// Checks that this erase method is supported, before anything is written.
    fn can_erase(&self, how: Erase) -> Able<()> {
        if how == Erase::Discard { Ok(()) } else { absent() }
    }

    /// Erases a region by a secure discard or by writing zeros.
    fn erase(&self, _region: Region, _how: Erase) -> Able<()> {
        absent()
    }

    /// Makes the drive erase all its flash; `progress` receives the completed share.
    fn sanitize(&self, _progress: &mut dyn FnMut(f64)) -> Able<()> {
        absent()
    }

    /// Formats to another logical block size. `info` describes the drive before the format; returns
    /// the description after it. The caller must compare the two before using the device again.
    fn format(&mut self, _block_bytes: u32, _info: &TargetInfo) -> Able<TargetInfo> {
        absent()
    }
}

/// The available devices.
pub(crate) enum AnyDevice {
    /// Files and block devices of this machine.
    Fd(Box<FdDevice>),
    /// An NVMe drive driven from user space.
    Pci(Box<PciDevice<Wired>>),
    /// The same driver with a simulated controller.
    SimulatedPci(Box<PciDevice<Wire>>),
    /// No device: measures the instrument.
    Null(NullDevice),
    /// Memory with its own backend, for tests.
    Memory(MemoryDevice),
}

impl AnyDevice {
    /// The device of an opened target.
    pub(crate) fn from_opened(opened: Opened) -> io::Result<AnyDevice> {
        FdDevice::from_opened(opened).map(AnyDevice::files)
    }

    /// A drive that is detached from the kernel. Commands to a drive that does not respond fail
    /// before `patience` ends.
    pub(crate) fn pci(opened: PciOpened, patience: Duration) -> Able<AnyDevice> {
        PciDevice::from_opened(opened, patience).map(|device| AnyDevice::Pci(Box::new(device)))
    }

    /// A simulated drive of `bytes` bytes behind the same driver.
    pub(crate) fn null_nvme(spec: String, bytes: u64, patience: Duration) -> Able<AnyDevice> {
        let device = PciDevice::at_once(spec, bytes, patience)?;
        Ok(AnyDevice::SimulatedPci(Box::new(device)))
    }

    /// Files, or the drive under them for its counters.
    pub(crate) fn files(device: FdDevice) -> AnyDevice {
        AnyDevice::Fd(Box::new(device))
    }

    /// No device.
    pub(crate) fn null() -> AnyDevice {
        AnyDevice::Null(NullDevice)
    }

    /// Creates a backend on the thread that will use it. `placed` is the result of placing that
    /// thread.
    pub(crate) fn io<U: UseBackend>(
        &self,
        ask: &IoAsk<'_>,
        placed: io::Result<()>,
        user: U,
    ) -> U::Out {
        match self {
            AnyDevice::Fd(fd) => fd.io(ask, placed, user),
            AnyDevice::Pci(pci) => pci.io(ask, placed, user),
            AnyDevice::SimulatedPci(pci) => pci.io(ask, placed, user),
            AnyDevice::Null(null) => null.io(ask, placed, user),
            AnyDevice::Memory(memory) => memory.io(ask, placed, user),
        }
    }
}

impl Deref for AnyDevice {
    type Target = dyn Device;

    fn deref(&self) -> &Self::Target {
        match self {
            AnyDevice::Fd(fd) => &**fd,
            AnyDevice::Pci(pci) => &**pci,
            AnyDevice::SimulatedPci(pci) => &**pci,
            AnyDevice::Null(null) => null,
            AnyDevice::Memory(memory) => memory,
        }
    }
}

impl DerefMut for AnyDevice {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            AnyDevice::Fd(fd) => &mut **fd,
            AnyDevice::Pci(pci) => &mut **pci,
            AnyDevice::SimulatedPci(pci) => &mut **pci,
            AnyDevice::Null(null) => null,
            AnyDevice::Memory(memory) => memory,
        }
    }
}

/// Memory for the slots of a worker.
fn arena(ask: &IoAsk<'_>, depth: u32) -> io::Result<Arena> {
    let bytes = ask.workload.blocks.max() as usize;
    if ask.issue.small_pages {
        Arena::in_small_pages(depth as usize, bytes)
    } else {
        Arena::new(depth as usize, bytes)
    }
}

/// Runs `user` with the backend, with overlapping operations serialized and submissions timed if
/// requested.
fn wrapped<B: Backend, U: UseBackend>(issue: &Issue, backend: io::Result<B>, user: U) -> U::Out {
    match (issue.serialize_overlap, issue.times_submission) {
        (false, false) => user.with(backend),
        (true, false) => user.with(backend.map(SerializeOverlap::new)),
        (false, true) => user.with(backend.map(SubmitApart::new)),
        (true, true) => user.with(backend.map(SerializeOverlap::new).map(SubmitApart::new)),
    }
}
