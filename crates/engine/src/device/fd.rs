//! File descriptors as a device: one target, or the files of a job as one address space.

use std::fs::File;
use std::io;

use rig::{BackendKind, Issue};
use workload::{Calls, Region, Workload};

use super::{Device, Handles, IoAsk, UseBackend, arena};
use crate::backend::{
    Aio, Backend, ByBytes, Files, Mmap, Null, Psync, SerializeOverlap, Uring, discard,
};
use crate::prepare;
use crate::priority::SlotPriorities;
use crate::sys;

/// One or several open files or devices.
pub(crate) struct FdDevice {
    list: Vec<Handles>,
    /// Bits of an address that give the offset within a file.
    place_bits: u32,
}

impl FdDevice {
    /// The descriptors of a target.
    pub(crate) fn new(handles: Handles) -> FdDevice {
        FdDevice { list: vec![handles], place_bits: u64::BITS - 1 }
    }

    /// The files of a job, opened in their final mode, bypassing the page cache or not.
    pub(crate) fn of_files(files: Vec<File>, direct: bool, place_bits: u32) -> FdDevice {
        let list = files.into_iter().map(|file| Handles::opened(file, direct)).collect();
        FdDevice { list, place_bits }
    }

    /// The descriptors of its first file.
    pub(crate) fn first(&self) -> Option<&Handles> {
        self.list.first()
    }

    /// New descriptors whose writes return when durable; empty unless requested.
    fn synchronous(&self, workload: &Workload) -> io::Result<Vec<File>> {
        let asked = self.list.iter().filter(|_| workload.sync_writes);
        asked.map(|handles| handles.synchronous(workload.caching)).collect()
    }
}

impl Device for FdDevice {
    fn io<U: UseBackend>(&self, ask: &IoAsk<'_>, placed: io::Result<()>, user: U) -> U::Out {
        let synchronous = match placed.and_then(|()| self.synchronous(ask.workload)) {
            Ok(files) => files,
            Err(e) => return user.with::<Null>(Err(e)),
        };
        let list: Vec<&File> = match synchronous.is_empty() {
            true => self.list.iter().map(|handles| handles.pick(ask.workload.caching).0).collect(),
            false => synchronous.iter().collect(),
        };
        let files = Files::new(&list, self.place_bits, ask.issue.fsync);
        files.keep_times();
        issue(ask, files, user)
    }

    fn bypasses_cache(&self, workload: &Workload) -> bool {
        self.list.iter().all(|handles| handles.pick(workload.caching).1)
    }

    /// Of several files, the one with the smallest written share counts, each taken as a whole.
    fn written_share(&self, region: Region) -> Option<f64> {
        if let [handles] = &self.list[..] {
            return prepare::written_share(handles.buffered(), region);
        }
        let shares = self.list.iter().filter_map(|handles| {
            let file = handles.buffered();
            prepare::written_share(file, Region::first(file.metadata().ok()?.len()))
        });
        shares.min_by(f64::total_cmp)
    }

    fn flush(&self) -> io::Result<()> {
        self.list.iter().try_for_each(|handles| handles.buffered().sync_data())
    }

    fn discard(&self, region: Region) -> io::Result<()> {
        let handles = self.list.first().ok_or(io::ErrorKind::NotFound)?;
        discard(handles.buffered(), region.start, region.bytes)
    }
}

/// Creates the requested backend.
fn issue<U: UseBackend>(ask: &IoAsk<'_>, files: Files<'_>, user: U) -> U::Out {
    let IoAsk { kind, workload, issue, clock } = *ask;
    let depth = if kind.is_synchronous() { 1 } else { workload.depth };
    let arena = arena(ask, depth);
    let priorities = || issue.priorities.clone().map(SlotPriorities::new);
    match kind {
        BackendKind::Null => user.with(arena.map(|arena| Null::new(clock, arena))),
        BackendKind::Uring => {
            let mut ring = sys::ring::make(depth);
            let ring = ring.as_mut().map_err(|e| io::Error::new(e.kind(), e.to_string()));
            let uring = ring.and_then(|r| Ok(Uring::new(r, clock, files, arena?, priorities())));
            serialized(issue, uring, user)
        }
        BackendKind::Aio => {
            let aio = arena.and_then(|arena| Aio::new(clock, files, arena, priorities()));
            serialized(issue, aio, user)
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

/// The backend, with overlapping operations serialized if requested.
fn serialized<B: Backend, U: UseBackend>(issue: &Issue, backend: io::Result<B>, user: U) -> U::Out {
    match issue.serialize_overlap {
        true => user.with(backend.map(SerializeOverlap::new)),
        false => user.with(backend),
    }
}
