//! Content of logical blocks, stored as the number of each block's last write. Used for drives with
//! content checks.
//!
//! Recorded only on request ([`crate::Drive::remember`]), in pieces of 2,048 blocks. A write
//! changes the content as soon as it is acknowledged; loss of data that are not yet in flash is not
//! modelled.

use std::collections::BTreeMap;
use std::ops::Range;

const PIECE: u64 = 2048;

/// The result of reading a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockContent {
    /// Zeros: never written, or discarded on a drive that returns zeros after a discard.
    Zeros,
    /// The data of the write with this number; the first is 1.
    Write(u64),
    /// Indeterminate: discarded, on a drive that guarantees nothing.
    Anything,
}

#[derive(Debug, Default)]
pub struct ContentMap {
    pieces: BTreeMap<u64, Vec<u64>>,
    writes: u64,
    /// Ranges that hold anything, as start and end: disjoint and not adjacent. They were written
    /// without recording their content, or discarded on a drive that guarantees nothing, and take
    /// precedence over the pieces.
    unkept: BTreeMap<u64, u64>,
}

impl ContentMap {
    /// Content of a block.
    pub fn held(&self, block: u64) -> BlockContent {
        if self.is_unkept(block) {
            return BlockContent::Anything;
        }
        let piece = self.pieces.get(&(block / PIECE));
        match piece.map_or(0, |p| p[(block % PIECE) as usize]) {
            0 => BlockContent::Zeros,
            write => BlockContent::Write(write),
        }
    }

    fn is_unkept(&self, block: u64) -> bool {
        self.unkept.range(..=block).next_back().is_some_and(|(_, end)| block < *end)
    }

    /// Number of writes so far.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// Records a write that is stored in these ranges of blocks.
    pub fn write(&mut self, places: &[Range<u64>]) {
        self.writes += 1;
        for blocks in places {
            self.carve(blocks);
            for block in blocks.clone() {
                self.replace(block, self.writes);
            }
        }
    }

    /// Records a write, stored in these ranges of blocks, without its content: the blocks then hold
    /// anything.
    pub fn write_unkept(&mut self, places: &[Range<u64>]) {
        self.writes += 1;
        places.iter().for_each(|blocks| self.lose(blocks));
    }

    /// Makes the blocks hold anything. Adjacent ranges are merged, so sequential ranges of any
    /// length take no memory.
    fn lose(&mut self, blocks: &Range<u64>) {
        self.carve(blocks);
        let before = self.unkept.range(..blocks.start).next_back().map(|(a, b)| (*a, *b));
        let start = before.filter(|(_, b)| *b == blocks.start).map_or(blocks.start, |(a, _)| a);
        let end = self.unkept.remove(&blocks.end).unwrap_or(blocks.end);
        self.unkept.insert(start, end);
    }

    /// Removes a range from the unkept ones.
    fn carve(&mut self, blocks: &Range<u64>) {
        while let Some((a, b)) = self.unkept.range(..blocks.end).next_back().map(|(a, b)| (*a, *b))
            && b > blocks.start
        {
            self.unkept.remove(&a);
            if a < blocks.start {
                self.unkept.insert(a, blocks.start);
            }
            if b > blocks.end {
                self.unkept.insert(blocks.end, b);
            }
        }
    }

    /// Records a discard of `blocks`.
    pub fn discard(&mut self, blocks: Range<u64>, zeros: bool) {
        if !zeros {
            return self.lose(&blocks);
        }
        self.carve(&blocks);
        let mut block = blocks.start;
        while block < blocks.end {
            let stop = blocks.end.min((block / PIECE + 1) * PIECE);
            if stop - block == PIECE {
                self.pieces.remove(&(block / PIECE));
            } else {
                (block..stop).for_each(|b| self.replace(b, 0));
            }
            block = stop;
        }
    }

    fn replace(&mut self, block: u64, value: u64) {
        let piece = self.pieces.entry(block / PIECE).or_insert_with(|| vec![0; PIECE as usize]);
        piece[(block % PIECE) as usize] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_remembered_holds_anything_until_it_is_written_or_discarded() {
        let mut content = ContentMap::default();
        content.write(&[Range { start: 10, end: 20 }]);
        for start in [100, 0, 50, 150] {
            content.write_unkept(&[Range { start, end: start + 50 }]);
        }
        assert_eq!(content.unkept, BTreeMap::from([(0, 200)]), "one range");
        assert_eq!(
            (content.held(15), content.held(199)),
            (BlockContent::Anything, BlockContent::Anything)
        );
        assert_eq!(content.held(200), BlockContent::Zeros);
        content.write(&[Range { start: 90, end: 110 }]);
        let number = content.writes();
        assert_eq!(
            (content.held(89), content.held(90)),
            (BlockContent::Anything, BlockContent::Write(number))
        );
        content.discard(0..12, true);
        assert_eq!(
            (content.held(11), content.held(12)),
            (BlockContent::Zeros, BlockContent::Anything)
        );
        content.write_unkept(&[Range { start: 12, end: 14 }]);
        assert_eq!(content.unkept, BTreeMap::from([(12, 90), (110, 200)]));
    }

    #[test]
    fn an_unkept_write_counts_once_wherever_it_is_stored() {
        let mut content = ContentMap::default();
        content.write_unkept(&[95..100, 0..5]);
        content.write_unkept(&[]);
        assert_eq!(content.writes(), 2);
        assert_eq!(content.unkept, BTreeMap::from([(0, 5), (95, 100)]));
    }

    #[test]
    fn a_discard_that_guarantees_nothing_takes_no_memory() {
        let mut content = ContentMap::default();
        content.discard(0..1 << 40, false);
        assert!(content.pieces.is_empty());
        assert_eq!((content.held(1 << 39), content.writes()), (BlockContent::Anything, 0));
        content.write(&[Range { start: 10, end: 20 }]);
        let held = [9, 10, 20].map(|block| content.held(block));
        assert_eq!(held, [BlockContent::Anything, BlockContent::Write(1), BlockContent::Anything]);
    }
}
