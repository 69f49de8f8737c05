//! Counterfeit capacity: a drive that reports more blocks than it has.
//!
//! Models the kinds that the author of f3 found in counterfeit cards and sticks: a drive that
//! ignores the high bits of an address (wrap), and one that acknowledges writes beyond its memory
//! and drops them (black hole). A black hole can have a small cache of the latest dropped writes,
//! so a check right after a write passes. Only content is affected: a counterfeit drive takes as
//! long as a genuine one.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use workload::Op;

use crate::figure::{Figure, Size};

/// The fate of blocks beyond the real capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AliasKind {
    /// No such blocks: the capacity is real.
    #[default]
    None,
    /// They alias the blocks at the start.
    Wrap,
    /// Writes are acknowledged and dropped.
    BlackHole,
}

/// Parameters of a counterfeit capacity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AliasSpec {
    /// The fate of blocks beyond the real capacity.
    pub kind: Figure<AliasKind>,
    pub real: Figure<Size>,
    /// Cache of a black hole: bytes of the latest writes beyond the real capacity that can still be
    /// read.
    pub cache: Figure<Size>,
}

impl Default for AliasSpec {
    fn default() -> Self {
        AliasSpec {
            kind: Figure::guess(AliasKind::None),
            real: Figure::guess(Size(0)),
            cache: Figure::guess(Size(0)),
        }
    }
}

/// Location of a block's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapped {
    /// In this block.
    At(u64),
    /// Nowhere.
    Lost,
}

/// The counterfeit part of a drive; none by default.
#[derive(Debug, Default)]
pub(crate) struct Alias {
    kind: AliasKind,
    /// Number of real blocks, and their size in bytes.
    blocks: u64,
    block_bytes: u64,
    /// Capacity of a black hole's cache in blocks, and its content, oldest first.
    room: usize,
    latest: VecDeque<u64>,
    cached: HashSet<u64>,
}

impl Alias {
    /// Creates the counterfeit part from its description.
    pub fn new(spec: &AliasSpec, block_bytes: u32, capacity: u64) -> Alias {
        let block_bytes = u64::from(block_bytes);
        let blocks = (spec.real.0 / block_bytes).max(1);
        if *spec.kind == AliasKind::None || blocks * block_bytes >= capacity {
            return Alias::default();
        }
        let room = (spec.cache.0 / block_bytes) as usize;
        Alias { kind: *spec.kind, blocks, block_bytes, room, ..Alias::default() }
    }

    /// Translates the operation to real memory: an operation beyond the real capacity takes as long
    /// as one at its aliased address.
    pub fn seen_by_memory(&self, op: &Op) -> Op {
        match self.kind {
            AliasKind::None => *op,
            _ => Op { offset: op.offset % (self.blocks * self.block_bytes), ..*op },
        }
    }

    /// Whether the capacity is real.
    pub fn is_genuine(&self) -> bool {
        self.kind == AliasKind::None
    }

    /// Whether a discard of this byte affects no memory.
    pub fn is_dropped(&self, byte: u64) -> bool {
        self.kind == AliasKind::BlackHole && byte >= self.blocks * self.block_bytes
    }

    /// Returns the location of a block's content.
    pub fn place(&self, block: u64) -> Mapped {
        match self.kind {
            AliasKind::Wrap => Mapped::At(block % self.blocks),
            AliasKind::BlackHole if block >= self.blocks && !self.cached.contains(&block) => {
                Mapped::Lost
            }
            _ => Mapped::At(block),
        }
    }

    /// Records a write. Returns the ranges of blocks that store its content.
    pub fn written(&mut self, blocks: Range<u64>) -> Vec<Range<u64>> {
        match self.kind {
            AliasKind::None => vec![blocks],
            AliasKind::Wrap => {
                let (mut block, mut ranges) = (blocks.start, Vec::new());
                while block < blocks.end {
                    let place = block % self.blocks;
                    let count = (self.blocks - place).min(blocks.end - block);
                    ranges.push(place..place + count);
                    block += count;
                }
                ranges
            }
            AliasKind::BlackHole => {
                let real = blocks.start.min(self.blocks)..blocks.end.min(self.blocks);
                let outside = blocks.start.max(self.blocks)..blocks.end;
                let outside = if outside.start < outside.end { outside } else { 0..0 };
                self.remember(outside.clone());
                // Only the end of a write larger than the cache stays in it.
                let cached =
                    outside.start.max(outside.end.saturating_sub(self.room as u64))..outside.end;
                [real, cached].into_iter().filter(|range| range.start < range.end).collect()
            }
        }
    }

    /// Adds blocks to the cache and evicts the oldest.
    fn remember(&mut self, blocks: Range<u64>) {
        for block in blocks {
            if self.cached.insert(block) {
                self.latest.push_back(block);
            }
            while self.latest.len() > self.room {
                let oldest = self.latest.pop_front();
                oldest.map(|oldest| self.cached.remove(&oldest));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alias(kind: AliasKind, cache: u64) -> Alias {
        let spec = AliasSpec {
            kind: Figure::guess(kind),
            real: Figure::guess(Size(100 * 512)),
            cache: Figure::guess(Size(cache * 512)),
        };
        Alias::new(&spec, 512, 250 * 512)
    }

    #[test]
    fn a_wrapped_write_lands_at_the_start() {
        let mut wrap = alias(AliasKind::Wrap, 0);
        assert_eq!(wrap.place(130), Mapped::At(30));
        assert_eq!(wrap.written(95..105), [95..100, 0..5]);
        let op = Op { kind: workload::OpKind::Write, offset: 130 * 512, bytes: 512 };
        assert_eq!(wrap.seen_by_memory(&op).offset, 30 * 512);
    }

    #[test]
    fn a_black_hole_keeps_its_latest_writes_for_a_while() {
        let mut hole = alias(AliasKind::BlackHole, 4);
        assert_eq!(hole.written(98..102), [98..100, 100..102]);
        assert_eq!((hole.place(99), hole.place(101)), (Mapped::At(99), Mapped::At(101)));
        assert_eq!(hole.written(200..206), vec![Range { start: 202, end: 206 }]);
        assert_eq!((hole.place(101), hole.place(203)), (Mapped::Lost, Mapped::At(203)));
        assert_eq!(alias(AliasKind::BlackHole, 0).written(200..206), []);
    }

    #[test]
    fn a_drive_whose_real_capacity_is_not_smaller_is_genuine() {
        let real = Figure::guess(Size(250 * 512));
        let spec = AliasSpec { kind: Figure::guess(AliasKind::Wrap), real, ..AliasSpec::default() };
        assert_eq!(Alias::new(&spec, 512, 250 * 512).place(249), Mapped::At(249));
    }
}
