//! The original bytes of a region, compared with the drive and restored.
//!
//! Each block has a checksum, which shows that a drive is unchanged even if the kept bytes are
//! damaged. Reads bypass the page cache: only the drive's own content counts. No single read is
//! believed: a copy counts once a second read returns the same bytes, and a block differs once two
//! reads agree on other bytes. Only a match with the checksum needs no second read.

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

/// Maximum reads of a block that returns other bytes each time. If 5% of the reads are wrong, all
/// of them are for one block in 10^10.
const READS_MAX: usize = 8;

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

    /// Fills the buffer with the bytes at `offset` as the drive returns them now.
    fn read_again(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.forget(Region { start: offset, bytes: buffer.len() as u64 })?;
        self.read_exact(offset, buffer)
    }
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

    /// Reads the region again, from the drive; returns the number of blocks that now have other
    /// bytes.
    pub fn unsteady(&self, drive: &dyn Storage) -> io::Result<usize> {
        let mut buffer = vec![0; BLOCK];
        let mut count = 0;
        for index in 0..self.blocks() {
            let now = &mut buffer[..self.block(index).len()];
            drive.read_again(offset(self.region, index), now)?;
            count += usize::from(now != self.block(index));
        }
        Ok(count)
    }

    /// From kept bytes and their original checksums.
    pub(crate) fn from_kept(region: Region, bytes: Vec<u8>, checksums: Vec<u64>) -> Borrowed {
        Borrowed { region, bytes, checksums }
    }

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
        let start =
            offset.checked_sub(self.region.start).and_then(|from| usize::try_from(from).ok());
        let part = start.and_then(|start| self.bytes.get(start..start.checked_add(buffer.len())?));
        part.map(|part| buffer.copy_from_slice(part)).is_some()
    }

    /// Compares all blocks with the drive. `moved` is called with the size of each block compared.
    pub fn compare(
        &self,
        drive: &dyn Storage,
        rereads: Rereads,
        moved: &mut dyn FnMut(u64),
    ) -> io::Result<Differences> {
        self.compare_blocks(drive, 0..self.checksums.len(), rereads, moved)
    }

    fn compare_blocks(
        &self,
        drive: &dyn Storage,
        blocks: impl Iterator<Item = usize>,
        rereads: Rereads,
        moved: &mut dyn FnMut(u64),
    ) -> io::Result<Differences> {
        drive.forget(self.region)?;
        let mut comparison = Differences::default();
        for index in blocks {
            self.look(drive, index, rereads, &mut comparison);
            moved(self.block(index).len() as u64);
        }
        Ok(comparison)
    }

    /// Reads a block until it has its original content or two reads agree on another.
    fn look(&self, drive: &dyn Storage, index: usize, rereads: Rereads, into: &mut Differences) {
        let (start, mut buffer) = (offset(self.region, index), vec![0; self.block(index).len()]);
        let mut checksums = Vec::new();
        for _ in 0..READS_MAX {
            // A cache may hold what was just written, whatever the drive stored.
            if let Err(error) = drive.read_again(start, &mut buffer) {
                // A second failure would take as long as the first.
                if checksums.is_empty() {
                    into.unreadable.push((index, error));
                    return;
                }
                break;
            }
            let checksum = xxh3_64(&buffer);
            let is_original = checksum == self.checksums[index];
            let is_certain = rereads == Rereads::None || checksums.contains(&checksum);
            checksums.push(checksum);
            if is_original || is_certain {
                into.differing.extend((!is_original).then_some(index));
                let is_unsteady = checksums.iter().any(|one| *one != checksum);
                into.unsteady.extend(is_unsteady.then_some(index));
                return;
            }
        }
        into.unsteady.push(index);
        into.undecided.push(index);
    }

    /// Indices of blocks whose kept bytes are damaged and therefore cannot be restored.
    pub fn damaged(&self) -> Vec<usize> {
        (0..self.checksums.len()).filter(|index| !self.is_good(*index)).collect()
    }

    /// Restores these blocks, syncs the drive and verifies them. Skips damaged blocks. `moved` is
    /// called twice with the size of each block: once when written, once when read back. Returns
    /// the blocks that returned different bytes when verified.
    pub fn put_back(
        &self,
        drive: &dyn Storage,
        blocks: &[usize],
        moved: &mut dyn FnMut(u64),
    ) -> io::Result<Vec<usize>> {
        let good = blocks.iter().copied().filter(|index| self.is_good(*index));
        for index in good.clone() {
            drive.write_all(offset(self.region, index), self.block(index))?;
            moved(self.block(index).len() as u64);
        }
        drive.sync()?;
        let verified = self.compare_blocks(drive, good, Rereads::UntilCertain, moved)?;
        match verified.to_restore().len() {
            0 => Ok(verified.unsteady),
            n => Err(io::Error::other(format!("blocks that read back differently: {n}"))),
        }
    }

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
        let start = index * BLOCK;
        &self.bytes[start..(start + BLOCK).min(self.bytes.len())]
    }
}

/// How a block that does not have its original content is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rereads {
    /// Not at all: it was overwritten with other content, so it is expected to differ.
    None,
    /// Until it has its original content or two reads agree.
    UntilCertain,
}

/// Blocks that do not have their original content, or may not have it: their indices, in order.
#[derive(Debug, Default)]
pub struct Differences {
    /// Blocks with other content.
    pub differing: Vec<usize>,
    /// Blocks that returned different bytes when they were read again, whatever their content.
    pub unsteady: Vec<usize>,
    /// Of these, blocks whose content is unknown, because no two reads agreed.
    pub undecided: Vec<usize>,
    /// Blocks that cannot be read, with the errors.
    pub unreadable: Vec<(usize, io::Error)>,
}

impl Differences {
    /// The blocks that were not found with their original content.
    pub fn to_restore(&self) -> Vec<usize> {
        let unreadable = self.unreadable.iter().map(|(index, _)| index);
        let blocks = self.differing.iter().chain(&self.undecided).chain(unreadable);
        let mut blocks: Vec<usize> = blocks.copied().collect();
        blocks.sort_unstable();
        blocks
    }
}

fn offset(region: Region, index: usize) -> u64 {
    region.start + (index * BLOCK) as u64
}
