//! File descriptors as a device: one target, or the files of a job as one address space.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use drive::{DriveError, DriveKey, Guard, OpenRequest, Opened, Sample, Sentry, Watch};
use journal::Storage;
use record::{Finding, FindingKind, Level, Safety};
use rig::{BackendKind, Erase, Released, RingFeatures, TargetInfo};
use workload::{Caching, Calls, Region, Workload};

use super::freed::{self, FoundBlocks};
use super::{Able, Device, Handles, IoAsk, UseBackend, arena, space, wrapped};
use crate::backend::{Aio, ByBytes, Files, Mmap, Null, Posixaio, Psync, Uring, discard};
use crate::clock::Clock;
use crate::priority::SlotPriorities;
use crate::sys;
use crate::sys::arena::Arena;

/// Open files or devices, with the drive under them.
pub(crate) struct FdDevice {
    list: Vec<Handles>,
    /// Address bits for the offset within a file.
    place_bits: u32,
    /// The counters of the drive, locked briefly for each sample, ten times a second.
    watch: Mutex<Watch>,
    guard: Guard,
    /// Block device of the file system that contains the file.
    below: PathBuf,
    /// The name and request with which it was opened, to reopen it after a format.
    request: Option<(String, OpenRequest)>,
}

impl FdDevice {
    /// The device of an opened target.
    pub(super) fn from_opened(opened: Opened) -> io::Result<FdDevice> {
        let file = opened.file().try_clone()?;
        let Opened { info, watch, guard, request, .. } = opened;
        let handles = Handles::new(file, info.allowed > Safety::Reads)?;
        let source = info.target.filesystem.and_then(|fs| fs.source);
        Ok(FdDevice {
            list: vec![handles],
            place_bits: u64::BITS - 1,
            watch: Mutex::new(watch),
            guard,
            below: source.unwrap_or_default().into(),
            request: Some((info.target.spec, request)),
        })
    }

    /// The files of a job, already opened with their final flags; `direct` if they bypass the page
    /// cache.
    pub(crate) fn of_files(files: Vec<File>, direct: bool, place_bits: u32) -> FdDevice {
        let list = files.into_iter().map(|file| Handles::opened(file, direct)).collect();
        FdDevice { list, place_bits, ..FdDevice::watching(Watch::nothing()) }
    }

    /// A device without files, with the counters of the drive under them.
    pub(crate) fn watching(watch: Watch) -> FdDevice {
        FdDevice {
            list: Vec::new(),
            place_bits: u64::BITS - 1,
            watch: Mutex::new(watch),
            guard: Guard::none(),
            below: PathBuf::new(),
            request: None,
        }
    }

    pub(super) fn io<U: UseBackend>(
        &self,
        ask: &IoAsk<'_>,
        placed: io::Result<()>,
        user: U,
    ) -> U::Out {
        let synchronous = match placed.and_then(|()| self.synchronous(ask.workload)) {
            Ok(files) => files,
            Err(e) => return user.with::<Null>(Err(e)),
        };
        let list: Vec<&File> = if synchronous.is_empty() {
            self.list.iter().map(|handles| handles.pick(ask.workload.caching).0).collect()
        } else {
            synchronous.iter().collect()
        };
        let files = Files::new(&list, self.place_bits, ask.issue.fsync);
        files.keep_times();
        issue(ask, files, user)
    }

    /// New descriptors with durable writes; empty unless requested.
    fn synchronous(&self, workload: &Workload) -> io::Result<Vec<File>> {
        let list = self.list.iter().filter(|_| workload.sync_writes);
        list.map(|handles| handles.synchronous(workload.caching)).collect()
    }

    fn first(&self) -> io::Result<&Handles> {
        self.list.first().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// The descriptor that uses the page cache.
    fn buffered(&self) -> io::Result<&File> {
        self.first().map(Handles::buffered)
    }

    /// The descriptor that bypasses the page cache, if there is one; otherwise the cached one.
    fn direct(&self) -> io::Result<&File> {
        Ok(self.first()?.pick(Caching::Bypass).0)
    }
}

/// The best backend that works for a file, with a finding if it is not io_uring.
fn best_backend(file: &File, clock: Clock) -> (BackendKind, Option<Finding>) {
    let Err(error) = sys::ring::make(1, RingFeatures::default()) else {
        return (BackendKind::Uring, None);
    };
    let arena = Arena::new(1, 4096);
    let context = arena
        .and_then(|arena| Aio::new(clock, Files::new(&[file], 63, false), arena, None).map(drop));
    let kind = if context.is_ok() { BackendKind::Aio } else { BackendKind::Psync };
    let text = format!("io_uring is not available ({error}): {} is used", kind.name());
    (kind, Some(Finding::new(FindingKind::BackendFallback, Level::Note, text)))
}

impl Device for FdDevice {
    fn best_backend(&self, clock: Clock) -> (BackendKind, Option<Finding>) {
        match self.list.first() {
            Some(handles) => best_backend(handles.buffered(), clock),
            None => (BackendKind::Psync, None),
        }
    }

    fn bypasses_cache(&self, caching: Caching) -> bool {
        self.list.iter().all(|handles| handles.pick(caching).1)
    }

    /// Of several files, each taken as a whole, the smallest written share counts.
    fn written_share(&self, region: Region) -> Option<f64> {
        if let [handles] = &self.list[..] {
            return space::written_share(handles.buffered(), region);
        }
        let shares = self.list.iter().filter_map(|handles| {
            let file = handles.buffered();
            space::written_share(file, Region::first(file.metadata().ok()?.len()))
        });
        shares.min_by(f64::total_cmp)
    }

    fn storage(&self) -> Option<&dyn Storage> {
        self.first().ok().map(|handles| handles as &dyn Storage)
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> Able<()> {
        Ok(self.direct()?.read_exact_at(buffer, offset)?)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> Able<()> {
        Ok(self.direct()?.write_all_at(bytes, offset)?)
    }

    fn flush(&self) -> io::Result<()> {
        self.list.iter().try_for_each(|handles| handles.buffered().sync_data())
    }

    fn discard(&self, region: Region) -> io::Result<()> {
        discard(self.buffered()?, region.start, region.bytes)
    }

    fn disk(&self) -> Option<(u32, u32)> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner).disk()
    }

    fn watch(&self) -> Option<Sample> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner).sample()
    }

    fn identify(&self) -> Option<DriveKey> {
        self.guard.key()
    }

    fn check(&self) -> Result<(), DriveError> {
        self.guard.check_again()
    }

    fn sentry(&self) -> Option<Sentry> {
        Some(self.guard.sentry()).filter(Sentry::has_target)
    }

    fn drop_caches(&self) -> Able<Option<u64>> {
        let Ok(file) = self.buffered() else { return Ok(None) };
        space::drop_caches(file)?;
        Ok(space::cached_bytes(file)?)
    }

    fn reserve(&self, end: u64) -> io::Result<()> {
        self.buffered().map_or(Ok(()), |file| space::reserve(file, end))
    }

    fn empty(&self) -> Able<()> {
        Ok(self.buffered()?.set_len(0)?)
    }

    fn free(&self, region: Region) -> Able<Released> {
        let file = self.direct()?;
        let blocks = FoundBlocks::find(file, region, &self.below)?;
        let trimmed_bytes = freed::free(file, region)?;
        Ok(Released { trimmed_bytes, ..blocks.look_again()? })
    }

    fn trim_free(&self) -> Able<u64> {
        Ok(sys::file::trim_free(self.buffered()?)?)
    }

    fn settle(&self, everywhere: bool) -> Able<()> {
        let file = self.buffered()?;
        if everywhere {
            rustix::fs::sync();
        } else {
            rustix::fs::syncfs(file).map_err(io::Error::from)?;
        }
        Ok(())
    }

    fn can_erase(&self, how: Erase) -> Able<()> {
        match how {
            Erase::Format { block_bytes } => self.guard.can_format(block_bytes)?,
            Erase::Sanitize => self.guard.can_sanitize()?,
            Erase::Discard | Erase::SecureDiscard | Erase::Zero => {}
        }
        Ok(())
    }

    fn erase(&self, region: Region, how: Erase) -> Able<()> {
        let act = if how == Erase::Zero { drive::write_zeroes } else { drive::secure_discard };
        Ok(act(self.buffered()?, region.start, region.bytes)?)
    }

    fn sanitize(&self, progress: &mut dyn FnMut(f64)) -> Able<()> {
        Ok(self.guard.sanitize(progress)?)
    }

    /// The kernel adopts the new block size only once every descriptor of the device is closed.
    fn format(&mut self, block_bytes: u32, _info: &TargetInfo) -> Able<TargetInfo> {
        self.guard.format(block_bytes)?;
        let request = self.request.take().ok_or(io::ErrorKind::NotConnected)?;
        *self = FdDevice::watching(Watch::nothing());
        let opened = drive::open(&request.0, &request.1)?;
        let info = opened.info.clone();
        *self = FdDevice::from_opened(opened)?;
        Ok(info)
    }
}

/// Creates the requested backend.
fn issue<U: UseBackend>(ask: &IoAsk<'_>, files: Files<'_>, user: U) -> U::Out {
    let IoAsk { kind, workload, issue, clock } = *ask;
    let depth = if kind.is_synchronous() { 1 } else { workload.depth };
    let arena = arena(ask, depth);
    if let (Ok(arena), true) = (&arena, kind.is_synchronous()) {
        arena.make_resident();
    }
    let priorities = || issue.priorities.clone().map(SlotPriorities::new);
    match kind {
        BackendKind::Null | BackendKind::Nvme => {
            user.with(arena.map(|arena| Null::new(clock, arena)))
        }
        BackendKind::Uring => {
            let mut ring = sys::ring::make(depth, issue.ring);
            let ring = ring.as_mut().map_err(|e: &mut io::Error| {
                io::Error::new(e.kind(), format!("io_uring is not available: {e}"))
            });
            let uring = ring.and_then(|ring| {
                let uring = Uring::new(ring, clock, files, arena?, priorities());
                Ok(uring.with_features(issue.ring))
            });
            wrapped(issue, uring, user)
        }
        BackendKind::Aio => {
            let aio = arena.and_then(|arena| Aio::new(clock, files, arena, priorities()));
            wrapped(issue, aio, user)
        }
        BackendKind::Posixaio => {
            wrapped(issue, arena.map(|arena| Posixaio::new(clock, files, arena)), user)
        }
        BackendKind::Mmap => {
            let advised = issue.fadvise;
            let mmap = arena.and_then(|arena| Mmap::serial(clock, files, workload, advised, arena));
            user.with(mmap)
        }
        BackendKind::Psync if matches!(workload.calls, Calls::Bytes { .. }) => {
            let block = workload.blocks.max();
            let psync = arena.map(|arena| Psync::serial(clock, files, arena));
            user.with(psync.map(|psync| ByBytes::new(psync, block)))
        }
        BackendKind::Psync => user.with(arena.map(|arena| Psync::serial(clock, files, arena))),
    }
}
