//! Counterfeit capacity: a drive that announces more blocks than it has.
//!
//! The kinds are those that the author of f3 found in counterfeit cards and sticks: a drive that
//! ignores the high bits of an address (wrap), and one that acknowledges writes beyond its memory and
//! forgets them (black hole), perhaps with a small cache in which the latest of them can still be
//! read, so that a check right after a write passes. Only content is affected: such a drive takes
//! the time of a good one.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use workload::Op;

use crate::figure::{Figure, Size};

/// The fate of blocks beyond the real capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AliasKind {
    /// There are none: the capacity is real.
    #[default]
    None,
    /// They are the blocks at the start again.
    Wrap,
    /// Writes are acknowledged and forgotten.
    BlackHole,
}

/// A capacity that is not real.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AliasSpec {
    /// The fate of blocks beyond the real capacity.
    pub kind: Figure<AliasKind>,
    /// Real capacity.
    pub real: Figure<Size>,
    /// Bytes of the latest writes beyond the real capacity that can still be read from a black hole.
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

/// Where the content of a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In this block.
    At(u64),
    /// Nowhere.
    Lost,
}

/// The false part of a drive. A default one has none.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Alias {
    kind: AliasKind,
    /// Real blocks, and bytes of a block.
    blocks: u64,
    block_bytes: u64,
    /// Most blocks in the cache of a black hole, and those in it, the oldest first.
    room: usize,
    latest: VecDeque<u64>,
    cached: HashSet<u64>,
}

impl Alias {
    /// The false part of a description, if it has one.
    pub fn new(spec: &AliasSpec, block_bytes: u32, capacity: u64) -> Alias {
        let block_bytes = u64::from(block_bytes);
        let blocks = (spec.real.0 / block_bytes).max(1);
        if *spec.kind == AliasKind::None || blocks * block_bytes >= capacity {
            return Alias::default();
        }
        let room = (spec.cache.0 / block_bytes) as usize;
        Alias { kind: *spec.kind, blocks, block_bytes, room, ..Alias::default() }
    }

    /// The operation as the memory behind the address sees it: what is beyond takes the time of its
    /// place at the start.
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

    /// Whether a discard of this byte reaches no memory.
    pub fn is_beyond(&self, byte: u64) -> bool {
        self.kind == AliasKind::BlackHole && byte >= self.blocks * self.block_bytes
    }

    /// Where the content of a block is.
    pub fn place(&self, block: u64) -> Place {
        match self.kind {
            AliasKind::Wrap => Place::At(block % self.blocks),
            AliasKind::BlackHole if block >= self.blocks && !self.cached.contains(&block) => {
                Place::Lost
            }
            _ => Place::At(block),
        }
    }

    /// The ranges of blocks in which the content of written blocks is kept.
    pub fn written(&mut self, blocks: Range<u64>) -> Vec<Range<u64>> {
        match self.kind {
            AliasKind::None => vec![blocks],
            AliasKind::Wrap => {
                let (mut from, mut ranges) = (blocks.start, Vec::new());
                while from < blocks.end {
                    let place = from % self.blocks;
                    let count = (self.blocks - place).min(blocks.end - from);
                    ranges.push(place..place + count);
                    from += count;
                }
                ranges
            }
            AliasKind::BlackHole => {
                let real = blocks.start.min(self.blocks)..blocks.end.min(self.blocks);
                let beyond = blocks.start.max(self.blocks)..blocks.end;
                let beyond = if beyond.start < beyond.end { beyond } else { 0..0 };
                self.remember(beyond.clone());
                // Of a write larger than the cache only the end is in it.
                let kept =
                    beyond.start.max(beyond.end.saturating_sub(self.room as u64))..beyond.end;
                [real, kept].into_iter().filter(|range| range.start < range.end).collect()
            }
        }
    }

    /// Puts blocks into the cache, and drops the oldest.
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
        assert_eq!(wrap.place(130), Place::At(30));
        assert_eq!(wrap.written(95..105), [95..100, 0..5]);
        let op = Op { kind: workload::OpKind::Write, offset: 130 * 512, bytes: 512 };
        assert_eq!(wrap.seen_by_memory(&op).offset, 30 * 512);
    }

    #[test]
    fn a_black_hole_keeps_its_latest_writes_for_a_while() {
        let mut hole = alias(AliasKind::BlackHole, 4);
        assert_eq!(hole.written(98..102), [98..100, 100..102]);
        assert_eq!((hole.place(99), hole.place(101)), (Place::At(99), Place::At(101)));
        assert_eq!(hole.written(200..206), vec![Range { start: 202, end: 206 }]);
        assert_eq!((hole.place(101), hole.place(203)), (Place::Lost, Place::At(203)));
        assert_eq!(alias(AliasKind::BlackHole, 0).written(200..206), []);
    }

    #[test]
    fn a_drive_whose_real_capacity_is_not_smaller_is_genuine() {
        let real = Figure::guess(Size(250 * 512));
        let spec = AliasSpec { kind: Figure::guess(AliasKind::Wrap), real, ..AliasSpec::default() };
        assert_eq!(Alias::new(&spec, 512, 250 * 512).place(249), Place::At(249));
    }
}
