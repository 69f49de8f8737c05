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
pub enum Held {
    /// Zeros: never written, or discarded on a drive that returns zeros after a discard.
    Zeros,
    /// The data of the write with this number; the first is 1.
    Write(u64),
    /// Indeterminate: discarded, on a drive that guarantees nothing.
    Anything,
}

/// Marks a discarded block of a drive that guarantees nothing.
const ANYTHING: u64 = u64::MAX;

/// Content of all blocks.
#[derive(Debug, Default)]
pub struct Content {
    pieces: BTreeMap<u64, Vec<u64>>,
    writes: u64,
    /// Ranges written without recording their content, as start and end: disjoint and not adjacent.
    /// They take precedence over the pieces.
    unkept: BTreeMap<u64, u64>,
}

impl Content {
    /// Content of a block.
    pub fn held(&self, block: u64) -> Held {
        if self.is_unkept(block) {
            return Held::Anything;
        }
        let piece = self.pieces.get(&(block / PIECE));
        match piece.map_or(0, |p| p[(block % PIECE) as usize]) {
            0 => Held::Zeros,
            ANYTHING => Held::Anything,
            write => Held::Write(write),
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
            for block in self.carve(blocks).into_iter().flatten() {
                self.replace(block, ANYTHING);
            }
            for block in blocks.clone() {
                self.replace(block, self.writes);
            }
        }
    }

    /// Records a write without its content: the blocks then hold anything. Adjacent ranges are
    /// merged, so sequential writes of any length take no memory.
    pub fn write_unkept(&mut self, blocks: Range<u64>) {
        self.writes += 1;
        self.carve(&blocks);
        let before = self.unkept.range(..blocks.start).next_back().map(|(a, b)| (*a, *b));
        let start = before.filter(|(_, b)| *b == blocks.start).map_or(blocks.start, |(a, _)| a);
        let end = self.unkept.remove(&blocks.end).unwrap_or(blocks.end);
        self.unkept.insert(start, end);
    }

    /// Removes a range from the unkept ones. Returns the parts that were in them.
    fn carve(&mut self, blocks: &Range<u64>) -> Vec<Range<u64>> {
        let mut parts = Vec::new();
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
            parts.push(a.max(blocks.start)..b.min(blocks.end));
        }
        parts
    }

    /// Records a discard of `blocks`.
    pub fn discard(&mut self, blocks: Range<u64>, zeros: bool) {
        self.carve(&blocks);
        let mut block = blocks.start;
        while block < blocks.end {
            let stop = blocks.end.min((block / PIECE + 1) * PIECE);
            if zeros && stop - block == PIECE {
                self.pieces.remove(&(block / PIECE));
            } else {
                (block..stop).for_each(|b| self.replace(b, if zeros { 0 } else { ANYTHING }));
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
        let mut content = Content::default();
        content.write(&[Range { start: 10, end: 20 }]);
        for start in [100, 0, 50, 150] {
            content.write_unkept(start..start + 50);
        }
        assert_eq!(content.unkept, BTreeMap::from([(0, 200)]), "one range");
        assert_eq!((content.held(15), content.held(199)), (Held::Anything, Held::Anything));
        assert_eq!(content.held(200), Held::Zeros);
        content.write(&[Range { start: 90, end: 110 }]);
        let number = content.writes();
        assert_eq!((content.held(89), content.held(90)), (Held::Anything, Held::Write(number)));
        content.discard(0..12, true);
        assert_eq!((content.held(11), content.held(12)), (Held::Zeros, Held::Anything));
        content.write_unkept(12..14);
        assert_eq!(content.unkept, BTreeMap::from([(12, 90), (110, 200)]));
    }
}
