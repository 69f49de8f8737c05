//! The files mapped into memory: an operation is a copy, and the kernel does its I/O when a page is
//! touched that is not there, or when it writes back. One operation at a time. Bypassing the cache
//! means here, as in fio, that each operation's pages are written and given back at once.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::time::Duration;

use workload::{Caching, Op, OpKind, Pattern, Workload};

use super::cold::{self, negative};
use super::{Backend, Completion, Wait};
use crate::clock::Clock;
use crate::files::Files;
use crate::sys::arena::Arena;
use crate::sys::map::Mapping;

pub(crate) struct Mmap<'f> {
    clock: Clock,
    files: Files<'f>,
    maps: Vec<Mapping>,
    expels: bool,
    arena: Arena,
    queued: Option<(u32, Op)>,
}

impl<'f> Mmap<'f> {
    /// Maps every file, with advice on the order of use if that is wanted.
    pub(crate) fn new(
        clock: Clock,
        files: Files<'f>,
        workload: &Workload,
        advised: bool,
        arena: Arena,
    ) -> io::Result<Mmap<'f>> {
        let writable = workload.mix.write > 0;
        let map = |file: &File| {
            let mapping = Mapping::new(file, length(file)?, writable)?;
            if advised {
                mapping.advise(workload.pattern != Pattern::Sequential);
            }
            Ok(mapping)
        };
        let maps = files.list().iter().map(map).collect::<io::Result<_>>()?;
        let expels = workload.caching == Caching::Bypass;
        Ok(Mmap { clock, files, maps, expels, arena, queued: None })
    }

    fn perform(&mut self, slot: u32, op: Op) -> i64 {
        let (number, offset) = self.files.split(op.offset);
        let map = &self.maps[number];
        let moved = match op.kind {
            OpKind::Read => map.read(offset, self.arena.slot(slot, op.bytes)),
            OpKind::Write => map.write(offset, self.arena.slot(slot, op.bytes)),
            OpKind::Flush => return map.sync().map_or_else(|e| negative(&e), |()| 0),
            OpKind::Discard => return cold::perform(&self.files, op),
        };
        let expelled = moved.and_then(|()| match self.expels {
            true => map.expel(offset, op.bytes as usize),
            false => Ok(()),
        });
        expelled.map_or_else(|e| negative(&e), |()| i64::from(op.bytes))
    }
}

/// Bytes of a file or device.
fn length(mut file: &File) -> io::Result<u64> {
    file.seek(SeekFrom::End(0))
}

impl Backend for Mmap<'_> {
    #[inline]
    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn depth_max(&self) -> u32 {
        1
    }

    #[inline]
    fn buffer(&mut self, slot: u32, bytes: u32) -> &mut [u8] {
        self.arena.slot(slot, bytes)
    }

    #[inline]
    fn push(&mut self, slot: u32, op: Op) {
        self.queued = Some((slot, op));
    }

    #[inline]
    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        if let Some((slot, op)) = self.queued.take() {
            let result = self.perform(slot, op);
            done.push(Completion { slot, result });
        } else if let Wait::Until(time) = wait {
            std::thread::sleep(Duration::from_nanos(time.saturating_sub(self.clock.now())));
        }
        Ok(())
    }
}
