//! Stamped content of a virtual drive, stored as the stamps that generate it.
//!
//! The bytes of a stamped block are a function of its stamp, so a drive full of them takes only a
//! few bytes per write. Each run records the number of its write. The model knows which write a
//! block contains, which shows whether a run was overwritten.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use workload::stamp::{Layout, SECTOR, Stamp, read_sector, write};

/// Consecutive blocks of one write.
#[derive(Clone, Copy)]
struct StampedRun {
    blocks: u64,
    /// Number of the write.
    write: u64,
    /// Stamp of the first sector.
    stamp: Stamp,
}

impl StampedRun {
    /// The part beyond its first `blocks` blocks, if it is longer.
    fn beyond(self, blocks: u64, block_bytes: u64) -> Option<StampedRun> {
        let rest = self.blocks.checked_sub(blocks).filter(|rest| *rest > 0)?;
        let offset = self.stamp.offset + blocks * block_bytes;
        Some(StampedRun { blocks: rest, stamp: Stamp { offset, ..self.stamp }, ..self })
    }
}

/// Runs by their first block.
#[derive(Default)]
pub(super) struct Stamped {
    runs: BTreeMap<u64, StampedRun>,
    /// Number of blocks of the longest run ever stored.
    longest: u64,
}

impl Stamped {
    /// Stores a write that begins at this block if it consists entirely of stamped sectors; returns
    /// whether it does.
    pub fn keep(&mut self, first: u64, block_bytes: u64, write_number: u64, bytes: &[u8]) -> bool {
        let Some(stamp) = bytes.get(..SECTOR).and_then(|s| read_sector(s, Layout::default().at))
        else {
            return false;
        };
        let mut expected = vec![0; bytes.len()];
        write(&mut expected, stamp, Layout::default());
        if expected != bytes {
            return false;
        }
        let run =
            StampedRun { blocks: bytes.len() as u64 / block_bytes, write: write_number, stamp };
        self.longest = self.longest.max(run.blocks);
        let (mut first, mut next) = (first, Some(run));
        while let Some(run) = next {
            next = match self.runs.entry(first) {
                Entry::Vacant(place) => {
                    place.insert(run);
                    None
                }
                Entry::Occupied(mut place) => {
                    let is_newer = run.write >= place.get().write;
                    let older = if is_newer { place.insert(run) } else { run };
                    // The rest of a longer older run remains.
                    let covered = place.get().blocks;
                    first += covered;
                    older.beyond(covered, block_bytes)
                }
            };
        }
        true
    }

    /// Fills `bytes` with the content that this write stored in a block; returns whether it is
    /// known.
    pub fn read(&self, block: u64, write_number: u64, bytes: &mut [u8]) -> bool {
        let runs = self.runs.range(..=block).rev();
        let runs = runs.take_while(|(first, _)| block - **first < self.longest);
        let mut covering = runs.filter(|(first, run)| block - **first < run.blocks);
        let Some((first, run)) = covering.find(|(_, run)| run.write == write_number) else {
            return false;
        };
        let offset = run.stamp.offset + (block - first) * bytes.len() as u64;
        write(bytes, Stamp { offset, ..run.stamp }, Layout::default());
        true
    }

    /// Drops everything, because the drive has a new format.
    pub fn clear(&mut self) {
        self.runs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamped(offset: u64, blocks: u64) -> Vec<u8> {
        let mut bytes = vec![0; (blocks * 4096) as usize];
        write(&mut bytes, Stamp { offset, sequence: 3, seed: 7 }, Layout::default());
        bytes
    }

    #[test]
    fn blocks_come_back_as_written_also_beside_a_shorter_overwrite() {
        let mut kept = Stamped::default();
        let bytes = stamped(4096 * 100, 8);
        assert!(kept.keep(100, 4096, 1, &bytes));
        assert!(kept.keep(100, 4096, 2, &stamped(0, 2)));
        assert!(kept.keep(104, 4096, 3, &stamped(4096, 1)));
        for (block, write, known) in
            [(100, 2, true), (100, 1, false), (102, 1, true), (104, 3, true), (106, 1, true)]
        {
            let mut found = vec![0; 4096];
            assert_eq!(kept.read(block, write, &mut found), known, "{block} {write}");
            let at = ((block - 100) * 4096) as usize;
            assert!(!known || write != 1 || found == bytes[at..at + 4096], "{block}");
        }
        // The rest of the longer run continues beyond a newer run, and replaces an older one.
        assert!(kept.keep(203, 4096, 5, &stamped(0, 3)));
        assert!(kept.keep(200, 4096, 6, &bytes));
        assert!(kept.keep(202, 4096, 7, &stamped(0, 1)));
        assert!(kept.keep(200, 4096, 8, &stamped(0, 2)));
        for block in 203..208 {
            let mut found = vec![0; 4096];
            assert!(kept.read(block, 6, &mut found), "{block}");
            let at = ((block - 200) * 4096) as usize;
            assert!(found == bytes[at..at + 4096], "{block}");
        }
        let mut other = bytes;
        other[5000] ^= 1;
        assert!(!kept.keep(300, 4096, 4, &other) && !kept.keep(300, 4096, 4, &[0; 4096]));
    }
}
