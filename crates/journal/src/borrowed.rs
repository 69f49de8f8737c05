//! Original bytes of a region, and what of them is no longer on the drive.
//!
//! Each block has its checksum, so that the drive can be told right even where the kept bytes were
//! damaged. Reads go past what the kernel cached: what counts is what the drive has.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{Advice, fadvise};
use workload::Region;
use xxhash_rust::xxh3::xxh3_64;

/// Unit of comparison and of putting back, bytes; the last block of a region may be shorter. Larger
/// than the pages and smaller than the transfers of most drives (arbitrary within that).
pub const BLOCK: usize = 64 << 10;

/// The original bytes of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Borrowed {
    region: Region,
    bytes: Vec<u8>,
    checksums: Vec<u64>,
}

impl Borrowed {
    /// Reads a region of a drive.
    pub fn read(drive: &File, region: Region) -> io::Result<Borrowed> {
        forget(drive, region)?;
        let mut bytes = vec![0; region.bytes as usize];
        for (index, block) in bytes.chunks_mut(BLOCK).enumerate() {
            drive.read_exact_at(block, offset(region, index))?;
        }
        let checksums = bytes.chunks(BLOCK).map(xxh3_64).collect();
        Ok(Borrowed { region, bytes, checksums })
    }

    /// Bytes that were kept, with the checksums they had.
    pub(crate) fn of(region: Region, bytes: Vec<u8>, checksums: Vec<u64>) -> Borrowed {
        Borrowed { region, bytes, checksums }
    }

    /// Where it belongs.
    pub fn region(&self) -> Region {
        self.region
    }

    /// All of it, in order.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A checksum for each block, in order.
    pub(crate) fn checksums(&self) -> &[u64] {
        &self.checksums
    }

    /// Copies what belongs at `offset` of the drive; `false` where that is not all borrowed.
    pub fn copy_to(&self, offset: u64, buffer: &mut [u8]) -> bool {
        let from =
            offset.checked_sub(self.region.start).and_then(|from| usize::try_from(from).ok());
        let part = from.and_then(|from| self.bytes.get(from..from.checked_add(buffer.len())?));
        part.map(|part| buffer.copy_from_slice(part)).is_some()
    }

    /// Blocks of which the drive no longer has the original, or that cannot be read, by index.
    pub fn differing(&self, drive: &File) -> io::Result<Vec<usize>> {
        forget(drive, self.region)?;
        let mut buffer = vec![0; BLOCK];
        let mut same = |index: &usize| {
            let there = &mut buffer[..self.block(*index).len()];
            let read = drive.read_exact_at(there, offset(self.region, *index));
            read.is_ok() && xxh3_64(there) == self.checksums[*index]
        };
        Ok((0..self.checksums.len()).filter(|index| !same(index)).collect())
    }

    /// Blocks whose kept bytes are no longer what they were, by index: nothing can be put back there.
    pub fn damaged(&self) -> Vec<usize> {
        (0..self.checksums.len()).filter(|index| !self.is_good(*index)).collect()
    }

    /// Writes the original of these blocks, makes them durable and reads them again.
    pub fn put_back(&self, drive: &File, blocks: &[usize]) -> io::Result<()> {
        for &index in blocks.iter().filter(|index| self.is_good(**index)) {
            drive.write_all_at(self.block(index), offset(self.region, index))?;
        }
        drive.sync_all()?;
        let still = self.differing(drive)?;
        let failed = still.iter().filter(|index| blocks.contains(index) && self.is_good(**index));
        match failed.count() {
            0 => Ok(()),
            n => Err(io::Error::other(format!(
                "{n} blocks read back otherwise than they were written"
            ))),
        }
    }

    /// How many blocks it is.
    pub fn blocks(&self) -> usize {
        self.checksums.len()
    }

    /// Bytes of some blocks.
    pub fn bytes_of(&self, blocks: &[usize]) -> u64 {
        blocks.iter().map(|index| self.block(*index).len() as u64).sum()
    }

    fn is_good(&self, index: usize) -> bool {
        xxh3_64(self.block(index)) == self.checksums[index]
    }

    fn block(&self, index: usize) -> &[u8] {
        let from = index * BLOCK;
        &self.bytes[from..(from + BLOCK).min(self.bytes.len())]
    }
}

fn offset(region: Region, index: usize) -> u64 {
    region.start + (index * BLOCK) as u64
}

/// Makes the kernel forget what it has of the region, so that a read asks the drive.
fn forget(drive: &File, region: Region) -> io::Result<()> {
    drive.sync_data()?;
    let bytes = std::num::NonZeroU64::new(region.bytes);
    Ok(fadvise(drive, region.start, bytes, Advice::DontNeed)?)
}
