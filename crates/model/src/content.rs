//! Content of logical blocks: the number of the write that wrote each, for drives whose content is
//! checked.
//!
//! Kept on request only ([`crate::Drive::remember`]), in pieces of 2,048 blocks. Until the data of
//! a write are in flash, the content they replaced is kept too, because a power cut restores it.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

const PIECE: u64 = 2048;

/// The result of reading a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Held {
    /// Zeros: never written, or discarded on a drive that returns zeros after a discard.
    Zeros,
    /// The data of this write; the first is 1.
    Write(u64),
    /// Indeterminate: discarded, on a drive that guarantees nothing.
    Anything,
}

#[derive(Debug, Serialize, Deserialize)]
struct Undo {
    block: u64,
    old: u64,
    new: u64,
    /// Host unit that must reach flash.
    unit: u64,
}

/// Marks a discarded block of a drive that guarantees nothing.
const ANYTHING: u64 = u64::MAX;

/// Content of all blocks.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Content {
    pieces: BTreeMap<u64, Vec<u64>>,
    undo: VecDeque<Undo>,
    writes: u64,
}

impl Content {
    /// Content of a block.
    pub fn held(&self, block: u64) -> Held {
        let piece = self.pieces.get(&(block / PIECE));
        match piece.map_or(0, |p| p[(block % PIECE) as usize]) {
            0 => Held::Zeros,
            ANYTHING => Held::Anything,
            write => Held::Write(write),
        }
    }

    /// Number of writes so far.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// Records a write to `blocks`, durable once host unit `unit` is. Returns the number of the
    /// write.
    pub fn write(&mut self, blocks: std::ops::Range<u64>, unit: u64) -> u64 {
        self.writes += 1;
        for block in blocks {
            let old = self.replace(block, self.writes);
            self.undo.push_back(Undo { block, old, new: self.writes, unit });
        }
        self.writes
    }

    /// Records a discard of `blocks`.
    pub fn discard(&mut self, blocks: std::ops::Range<u64>, zeros: bool) {
        let mut block = blocks.start;
        while block < blocks.end {
            let stop = blocks.end.min((block / PIECE + 1) * PIECE);
            if zeros && stop - block == PIECE {
                self.pieces.remove(&(block / PIECE));
            } else {
                (block..stop).for_each(|b| {
                    self.replace(b, if zeros { 0 } else { ANYTHING });
                });
            }
            block = stop;
        }
    }

    fn replace(&mut self, block: u64, value: u64) -> u64 {
        let piece = self.pieces.entry(block / PIECE).or_insert_with(|| vec![0; PIECE as usize]);
        std::mem::replace(&mut piece[(block % PIECE) as usize], value)
    }

    /// Drops the replaced content of writes whose unit is in flash according to `done`. Returns the
    /// oldest unit that is still needed.
    pub fn settle(&mut self, done: impl Fn(u64) -> bool) -> Option<u64> {
        while self.undo.front().is_some_and(|undo| done(undo.unit)) {
            self.undo.pop_front();
        }
        self.undo.front().map(|undo| undo.unit)
    }

    /// Marks everything acknowledged so far as durable.
    pub fn settle_all(&mut self) {
        self.undo.clear();
    }

    /// Cuts the power: undoes writes whose unit is not `done`. Returns the number of blocks that
    /// reverted to older content.
    pub fn cut(&mut self, done: impl Fn(u64) -> bool) -> u64 {
        let mut lost = 0;
        while let Some(undo) = self.undo.pop_back() {
            let place = self.pieces.get_mut(&(undo.block / PIECE));
            let place = place.map(|p| &mut p[(undo.block % PIECE) as usize]);
            if let Some(value) = place
                && *value == undo.new
                && !done(undo.unit)
            {
                *value = undo.old;
                lost += 1;
            }
        }
        lost
    }
}
