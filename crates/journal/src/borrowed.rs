//! The original bytes of a region, compared with the drive and restored.
//!
//! Each block has a checksum, which shows that a drive is unchanged even if the kept bytes are
//! damaged. Reads bypass the page cache: only the drive's own content counts.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{Advice, fadvise};
use workload::Region;
use xxhash_rust::xxh3::xxh3_64;

/// Unit of comparison and restoration, bytes; the last block of a region may be shorter. Larger
/// than a flash page and smaller than the maximum transfer of most drives (arbitrary within these
/// limits).
pub const BLOCK: usize = 64 << 10;

/// Maximum bytes borrowed at once: they are also kept in memory.
pub const BYTES_MAX: u64 = 1 << 30;

/// A drive whose blocks are borrowed: a kernel block device, or other storage.
pub trait Storage {
    /// Fills the buffer with the bytes at `offset`.
    fn read_exact(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Writes all bytes at `offset`.
    fn write_all(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes everything written durable.
    fn sync(&self) -> io::Result<()>;

    /// Drops a region from any cache, so that the next read reaches the drive.
    fn forget(&self, region: Region) -> io::Result<()>;
}

impl Storage for File {
    fn read_exact(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }

    fn write_all(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_all()
    }

    fn forget(&self, region: Region) -> io::Result<()> {
        self.sync_data()?;
        let bytes = std::num::NonZeroU64::new(region.bytes);
        Ok(fadvise(self, region.start, bytes, Advice::DontNeed)?)
    }
}

impl Storage for drive::Opened {
    fn read_exact(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file().read_exact(offset, buffer)
    }

    fn write_all(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file().write_all(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file().sync()
    }

    fn forget(&self, region: Region) -> io::Result<()> {
        self.file().forget(region)
    }
}

/// The original bytes of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Borrowed {
    region: Region,
    bytes: Vec<u8>,
    checksums: Vec<u64>,
}

impl Borrowed {
    /// Reads a region of a drive, bypassing the page cache.
    pub fn read(drive: &dyn Storage, region: Region) -> io::Result<Borrowed> {
        drive.forget(region)?;
        let mut bytes = vec![0; region.bytes as usize];
        for (index, block) in bytes.chunks_mut(BLOCK).enumerate() {
            drive.read_exact(offset(region, index), block)?;
        }
        let checksums = bytes.chunks(BLOCK).map(xxh3_64).collect();
        Ok(Borrowed { region, bytes, checksums })
    }

    /// From kept bytes and their original checksums.
    pub(crate) fn of(region: Region, bytes: Vec<u8>, checksums: Vec<u64>) -> Borrowed {
        Borrowed { region, bytes, checksums }
    }

    /// The region on the drive.
    pub fn region(&self) -> Region {
        self.region
    }

    /// All bytes in order.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The checksum of each block, in order.
    pub(crate) fn checksums(&self) -> &[u64] {
        &self.checksums
    }

    /// Copies original bytes from `offset` of the drive; returns `false` unless all are borrowed.
    pub fn copy_to(&self, offset: u64, buffer: &mut [u8]) -> bool {
        let from =
            offset.checked_sub(self.region.start).and_then(|from| usize::try_from(from).ok());
        let part = from.and_then(|from| self.bytes.get(from..from.checked_add(buffer.len())?));
        part.map(|part| buffer.copy_from_slice(part)).is_some()
    }

    /// Indices of blocks that differ from the original or cannot be read. `moved` is called with
    /// the size of each block compared.
    pub fn differing(
        &self,
        drive: &dyn Storage,
        moved: &mut dyn FnMut(u64),
    ) -> io::Result<Vec<usize>> {
        self.differing_of(drive, 0..self.checksums.len(), moved)
    }

    fn differing_of(
        &self,
        drive: &dyn Storage,
        blocks: impl Iterator<Item = usize>,
        moved: &mut dyn FnMut(u64),
    ) -> io::Result<Vec<usize>> {
        drive.forget(self.region)?;
        let mut buffer = vec![0; BLOCK];
        let mut same = |index: &usize| {
            let there = &mut buffer[..self.block(*index).len()];
            let read = drive.read_exact(offset(self.region, *index), there);
            moved(there.len() as u64);
            read.is_ok() && xxh3_64(there) == self.checksums[*index]
        };
        Ok(blocks.filter(|index| !same(index)).collect())
    }

    /// Indices of blocks whose kept bytes are damaged and therefore cannot be restored.
    pub fn damaged(&self) -> Vec<usize> {
        (0..self.checksums.len()).filter(|index| !self.is_good(*index)).collect()
    }

    /// Restores these blocks, syncs the drive and verifies them. Skips damaged blocks. `moved` is
    /// called twice with the size of each block: once when written, once when read back.
    pub fn put_back(
        &self,
        drive: &dyn Storage,
        blocks: &[usize],
        moved: &mut dyn FnMut(u64),
    ) -> io::Result<()> {
        let good = || blocks.iter().copied().filter(|index| self.is_good(*index));
        for index in good() {
            drive.write_all(offset(self.region, index), self.block(index))?;
            moved(self.block(index).len() as u64);
        }
        drive.sync()?;
        match self.differing_of(drive, good(), moved)?.len() {
            0 => Ok(()),
            n => Err(io::Error::other(format!("blocks that read back differently: {n}"))),
        }
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.checksums.len()
    }

    /// Total bytes of these blocks.
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
