//! Files mapped into memory. An operation is a copy, and the kernel does the I/O when the copy
//! touches a missing page or when pages are written back. As in fio, bypassing the cache means that
//! each operation's pages are written and released immediately.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};

use workload::{Caching, Op, OpKind, Pattern, Workload};

use super::Files;
use super::negative;
use super::serial::{Serial, Transfer};
use crate::clock::Clock;
use crate::sys::arena::Arena;
use crate::sys::map::Mapping;

pub(crate) struct Mmap<'f> {
    files: Files<'f>,
    maps: Vec<Mapping>,
    evicts: bool,
}

impl<'f> Mmap<'f> {
    /// Maps every file, with advice on the access order if requested.
    pub(crate) fn serial(
        clock: Clock,
        files: Files<'f>,
        workload: &Workload,
        advised: bool,
        arena: Arena,
    ) -> io::Result<Serial<Mmap<'f>>> {
        let writable = workload.mix.write > 0;
        let maps = files.list().iter().map(|file| {
            let mapping = Mapping::new(file, length(file)?, writable)?;
            if advised {
                mapping.advise(workload.pattern != Pattern::Sequential);
            }
            Ok(mapping)
        });
        let maps = maps.collect::<io::Result<_>>()?;
        let evicts = workload.caching == Caching::Bypass;
        Ok(Serial::new(Mmap { files, maps, evicts }, clock, arena))
    }
}

impl Transfer for Mmap<'_> {
    fn files(&self) -> &Files<'_> {
        &self.files
    }

    fn transfer(&self, op: Op, buffer: &mut [u8]) -> io::Result<usize> {
        let (number, offset) = self.files.split(op.offset);
        let map = &self.maps[number];
        match op.kind {
            OpKind::Write => map.write(offset, buffer)?,
            _ => map.read(offset, buffer)?,
        }
        if self.evicts {
            map.evict(offset, buffer.len())?;
        }
        Ok(buffer.len())
    }

    fn flush(&self, op: Op) -> i64 {
        let (number, _) = self.files.split(op.offset);
        self.maps[number].sync().map_or_else(|e| negative(&e), |()| 0)
    }
}

/// The size of a file or device in bytes.
fn length(mut file: &File) -> io::Result<u64> {
    file.seek(SeekFrom::End(0))
}
