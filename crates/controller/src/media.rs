//! Namespaces: data blocks with a volatile write cache, and the timing of commands.
//!
//! Blocks that are written but not flushed also keep their old content. A power cut restores the
//! old content of a random subset of them. It never tears a block, as the specification requires.

use std::collections::{BTreeMap, HashMap};

use model::Drive;
use workload::Op;

use crate::faults::Random;

/// Allocation unit of the store, bytes.
const PIECE_BYTES: usize = 64 << 10;

pub enum Timing {
    /// A latency plus a random part of the spread, in nanoseconds.
    Fixed {
        /// Minimum latency.
        ns: u64,
        /// Maximum random addition.
        spread_ns: u64,
    },
    /// The times of a virtual drive.
    Drive(Box<Drive>),
}

impl Timing {
    /// Returns the completion time of a command that starts now and consists of these operations.
    pub(crate) fn done(&mut self, now: u64, ops: &[Op], random: &mut Random) -> u64 {
        match self {
            Timing::Fixed { ns, spread_ns } => now + *ns + random.below(*spread_ns + 1),
            Timing::Drive(drive) => {
                ops.iter().map(|op| drive.submit(now, op).done_ns).max().unwrap_or(now)
            }
        }
    }
}

pub struct SimulatedMedia {
    /// Logical block size, bytes.
    pub block_bytes: u32,
    pub blocks: u64,
    pub(crate) timing: Timing,
    pieces: HashMap<u64, Box<[u8]>>,
    /// Durable content of the blocks in the write cache.
    unflushed: BTreeMap<u64, Vec<u8>>,
    /// Whether it has a volatile write cache.
    cached: bool,
}

impl SimulatedMedia {
    /// Creates an empty namespace.
    pub fn new(block_bytes: u32, blocks: u64, timing: Timing) -> SimulatedMedia {
        let (pieces, unflushed) = (HashMap::new(), BTreeMap::new());
        SimulatedMedia { block_bytes, blocks, timing, pieces, unflushed, cached: true }
    }

    /// Removes the write cache: every write is durable.
    pub fn without_cache(self) -> SimulatedMedia {
        SimulatedMedia { cached: false, ..self }
    }

    /// Creates a namespace with the size and speed of a virtual drive.
    pub fn virtual_drive(drive: Drive) -> SimulatedMedia {
        let (block_bytes, bytes) = (drive.block_bytes(), drive.bytes());
        SimulatedMedia::new(
            block_bytes,
            bytes / u64::from(block_bytes),
            Timing::Drive(Box::new(drive)),
        )
    }

    /// Whether it has a volatile write cache.
    pub(crate) fn is_cached(&self) -> bool {
        self.cached
    }

    pub(crate) fn holds(&self, lba: u64, blocks: u64) -> bool {
        lba.checked_add(blocks).is_some_and(|end| end <= self.blocks)
    }

    fn place(&self, lba: u64) -> (u64, usize) {
        let byte = lba * u64::from(self.block_bytes);
        (byte / PIECE_BYTES as u64, (byte % PIECE_BYTES as u64) as usize)
    }

    pub fn read(&self, lba: u64, out: &mut [u8]) {
        let (piece, offset) = self.place(lba);
        match self.pieces.get(&piece) {
            Some(piece) => out.copy_from_slice(&piece[offset..offset + out.len()]),
            None => out.fill(0),
        }
    }

    fn put(&mut self, lba: u64, data: &[u8]) {
        let (piece, offset) = self.place(lba);
        let piece = self.pieces.entry(piece).or_insert_with(|| vec![0; PIECE_BYTES].into());
        piece[offset..offset + data.len()].copy_from_slice(data);
    }

    /// Writes a block into the cache, or into flash.
    pub fn write(&mut self, lba: u64, data: &[u8], durable: bool) {
        if durable || !self.cached {
            self.unflushed.remove(&lba);
        } else if !self.unflushed.contains_key(&lba) {
            let mut old = vec![0; data.len()];
            self.read(lba, &mut old);
            self.unflushed.insert(lba, old);
        }
        self.put(lba, data);
    }

    /// Zeroes blocks. Without a cache, pieces zeroed in whole take no memory.
    pub(crate) fn zero(&mut self, mut lba: u64, blocks: u64) {
        let (end, zeros) = (lba + blocks, vec![0; self.block_bytes as usize]);
        let in_piece = PIECE_BYTES as u64 / u64::from(self.block_bytes);
        while lba < end {
            let (piece, offset) = self.place(lba);
            if offset == 0 && end - lba >= in_piece && !self.cached {
                self.pieces.remove(&piece);
                lba += in_piece;
            } else {
                self.write(lba, &zeros, false);
                lba += 1;
            }
        }
    }

    pub(crate) fn flush(&mut self) {
        self.unflushed.clear();
    }

    /// Cuts power: about half of the unflushed blocks revert to their old content.
    pub(crate) fn cut(&mut self, random: &mut Random) {
        for (lba, old) in std::mem::take(&mut self.unflushed) {
            if random.coin() {
                self.put(lba, &old);
            }
        }
    }

    pub(crate) fn format(&mut self, block_bytes: u32) {
        self.blocks = self.blocks * u64::from(self.block_bytes) / u64::from(block_bytes);
        self.block_bytes = block_bytes;
        self.pieces.clear();
        self.unflushed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn media() -> SimulatedMedia {
        SimulatedMedia::new(512, 1 << 40, Timing::Fixed { ns: 1, spread_ns: 0 })
    }

    fn first(media: &SimulatedMedia, lba: u64) -> u8 {
        let mut block = [9; 512];
        media.read(lba, &mut block);
        block[0]
    }

    #[test]
    fn a_cut_takes_what_was_not_flushed_and_nothing_else() {
        let mut media = media();
        (0..64).for_each(|lba| media.write(lba, &[1; 512], false));
        media.flush();
        (0..64).for_each(|lba| media.write(lba, &[2; 512], lba < 8));
        media.cut(&mut Random(1));
        let ones = (0..64).filter(|lba| first(&media, *lba) == 1).count();
        assert!((1..56).contains(&ones), "{ones} of the 56 unflushed blocks are old");
        assert!((0..8).all(|lba| first(&media, lba) == 2), "written past the cache");
        assert!((0..64).all(|lba| [1, 2].contains(&first(&media, lba))));
    }

    #[test]
    fn zeros_replace_content_and_free_its_memory() {
        let mut media = media().without_cache();
        (0..100).for_each(|lba| media.write(lba, &[1; 512], false));
        media.zero(3, (1 << 30) - 3);
        let ones = (0..100).filter(|lba| first(&media, *lba) == 1).count();
        assert_eq!((ones, media.pieces.len()), (3, 1));
    }

    #[test]
    fn unwritten_blocks_are_zeros_and_cost_nothing() {
        let mut media = media();
        assert_eq!(first(&media, (1 << 40) - 1), 0);
        media.write((1 << 40) - 1, &[7; 512], true);
        assert_eq!((first(&media, (1 << 40) - 1), media.pieces.len()), (7, 1));
    }
}
