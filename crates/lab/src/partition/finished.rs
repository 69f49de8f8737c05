//! Partitions a virtual drive end to end: a table whose numbers are out of order, as partitioning
//! tools leave it, is brought into the order of the drive, each partition gets its file system, and
//! everything is read back.

use std::cell::RefCell;
use std::io;

use drive::partitions::{self, PartitionLayout, PartitionTable};
use journal::Storage;
use rig::{BlockRequest, BlockWay};
use script::Session;
use workload::Region;

use super::format::{self, FileSystem};
use crate::error::{ErrorKind, LabError, Result};

/// Disk signature: arbitrary, but constant, so that a replication is deterministic.
const SIGNATURE: u32 = 0x5d1a_0000;

/// Limit of the bytes written for tables and empty file systems: 1/`SHARE` of the drive, but at
/// least `LEAST` bytes.
const SHARE: u64 = 16;
const LEAST: u64 = 4 << 20;

/// Maximum bytes that [`finish`] writes to a drive of `bytes`.
pub(crate) fn written_max(bytes: u64) -> u64 {
    (bytes / SHARE).max(LEAST)
}

/// Partitions a drive of `bytes` bytes with sectors of `sector` bytes. Returns the purpose and
/// capacity in bytes of every file system made.
pub(crate) fn finish(
    session: &mut Session<'_>,
    layout: &str,
    (bytes, sector): (u64, u32),
) -> Result<Vec<(&'static str, u64)>> {
    let io_error = |e: io::Error| LabError::new(ErrorKind::Io, format!("partitioning: {e}"));
    let drive = OnBlocks(RefCell::new(session));
    let places = PartitionLayout::parse(layout)?.plan(bytes, sector)?;
    // The last partition was made first.
    let mut as_made = places.clone();
    as_made.rotate_right(1);
    let record = partitions::boot_record(&as_made, sector, SIGNATURE);
    drive.write_all(0, &record).and_then(|()| drive.sync()).map_err(io_error)?;
    let mut block = vec![0; record.len()];
    drive.read_exact(0, &mut block).map_err(io_error)?;
    if partitions::bring_into_order(&mut block).is_some() {
        drive.write_all(0, &block).and_then(|()| drive.sync()).map_err(io_error)?;
    }
    for place in &places {
        if let Some(system) = FileSystem::choose(place, sector, None).map_err(LabError::usage)? {
            system.make(&drive, place, sector).map_err(io_error)?;
        }
    }
    drive.read_exact(0, &mut block).map_err(io_error)?;
    let table = PartitionTable::parse(&block, bytes)
        .ok_or_else(|| LabError::new(ErrorKind::Check, "the drive has no table"))?;
    let entries = table.entries.iter().map(|e| (e.number, e.start, e.bytes, e.kind));
    if !entries.eq(places.iter().map(|p| (p.number, p.start, p.bytes, p.kind))) {
        let text = "the table is not in the order of the drive";
        return Err(LabError::new(ErrorKind::Check, text));
    }
    let mut volumes = Vec::new();
    for place in &places {
        if FileSystem::choose(place, sector, None).is_ok_and(|system| system.is_some()) {
            let bytes = format::read_back(&drive, place, sector).map_err(io_error)?;
            volumes.push((place.purpose, bytes));
        }
    }
    Ok(volumes)
}

/// The blocks of a drive, one request at a time.
struct OnBlocks<'a, 's>(RefCell<&'a mut Session<'s>>);

impl Storage for OnBlocks<'_, '_> {
    fn read_exact(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.borrow_mut().read(offset, buffer).map_err(io::Error::other)
    }

    fn write_all(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut session = self.0.borrow_mut();
        let request = BlockRequest { tag: 0, way: BlockWay::Write, offset, bytes: bytes.into() };
        session.submit(request).map_err(io::Error::other)?;
        let mut results = Vec::new();
        while results.is_empty() {
            session.poll(true, &mut results).map_err(io::Error::other)?;
        }
        results.into_iter().try_for_each(|result| result.result)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.borrow_mut().flush().map_err(io::Error::other)
    }

    fn forget(&self, _region: Region) -> io::Result<()> {
        Ok(())
    }
}
