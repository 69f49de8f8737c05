//! Faulty writes: acknowledged like any other, but not stored correctly.
//!
//! Every nth write has the fault given in the description, so a test knows the number of faults.
//! Only content is affected: a faulty write takes as long as a good one. The faults are those that
//! block stamps can distinguish: flipped bits, a lost write (the old content is stale), a write
//! that stops in the middle (torn), and one stored at another address (misplaced).

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    #[default]
    None,
    /// A bit in the middle of the write is inverted.
    Flipped,
    /// The write is acknowledged and lost: its blocks keep their old content.
    Stale,
    /// The second half of the write is lost. Blocks are stored whole or not at all, so a write of
    /// one block is lost, as with `Stale`.
    Torn,
    /// The write lands half the capacity away.
    Misplaced,
}

/// Parameters of faulty writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FaultSpec {
    pub kind: Figure<FaultKind>,
    /// One in this many writes has it.
    pub every: Figure<u32>,
    /// Number of initial writes that have no fault and do not count towards `every`.
    pub after: Figure<u32>,
}

impl Default for FaultSpec {
    fn default() -> Self {
        FaultSpec {
            kind: Figure::guess(FaultKind::None),
            every: Figure::guess(1000),
            after: Figure::guess(0),
        }
    }
}

/// The faults of a drive, and the location of its last write.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    kind: FaultKind,
    every: u64,
    after: u64,
    writes: u64,
    blocks: u64,
    last: Landing,
}

/// Where the blocks of a write are actually stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Landing {
    /// First block of the write.
    from: u64,
    /// Exclusive end of the stored blocks.
    end: u64,
    /// First block in which they are stored.
    to: u64,
    flipped: bool,
}

impl Landing {
    /// The block that stores a block of the write; `None` if it is lost.
    pub fn target(&self, block: u64) -> Option<u64> {
        let is_written = (self.from..self.end).contains(&block);
        is_written.then(|| block - self.from + self.to)
    }

    /// Whether all blocks of a write are stored unchanged in their own place.
    pub fn is_whole(&self, blocks: Range<u64>) -> bool {
        (self.from, self.end, self.to, self.flipped)
            == (blocks.start, blocks.end, blocks.start, false)
    }

    /// Whether a bit in the middle of the write is inverted.
    pub fn is_flipped(&self) -> bool {
        self.flipped
    }

    /// The blocks that store the write.
    pub(crate) fn places(&self) -> Range<u64> {
        self.to..self.to + (self.end - self.from)
    }
}

impl Faults {
    /// Creates the faults of a description for a drive with `blocks` blocks.
    pub fn new(spec: &FaultSpec, blocks: u64) -> Faults {
        let (every, after) = (u64::from(*spec.every).max(1), u64::from(*spec.after));
        Faults { kind: *spec.kind, every, after, blocks, ..Faults::default() }
    }

    /// Decides where a write is stored.
    pub fn land(&mut self, blocks: Range<u64>) -> Landing {
        self.writes += 1;
        let Range { start, end } = blocks;
        let usual = Landing { from: start, end, to: start, flipped: false };
        let counted = self.writes.saturating_sub(self.after);
        let due = counted > 0 && counted.is_multiple_of(self.every);
        self.last = match self.kind {
            FaultKind::Flipped if due => Landing { flipped: true, ..usual },
            FaultKind::Stale if due => Landing { end: start, ..usual },
            FaultKind::Torn if due => Landing { end: start + (end - start) / 2, ..usual },
            FaultKind::Misplaced if due => {
                let half = self.blocks / 2;
                let place = if start < half { start + half } else { start - half };
                Landing { to: place.min(self.blocks.saturating_sub(end - start)), ..usual }
            }
            _ => usual,
        };
        self.last
    }

    /// Where the last write was stored.
    pub fn last(&self) -> Landing {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(kind: FaultKind) -> Vec<Landing> {
        let spec = FaultSpec {
            kind: Figure::guess(kind),
            every: Figure::guess(3),
            after: Figure::guess(2),
        };
        let mut faults = Faults::new(&spec, 100);
        (0..8).map(|_| faults.land(10..14)).collect()
    }

    #[test]
    fn every_nth_write_has_the_fault_and_the_others_have_none() {
        for kind in [FaultKind::Flipped, FaultKind::Stale, FaultKind::Torn, FaultKind::Misplaced] {
            let whole: Vec<bool> = fates(kind).iter().map(|f| f.is_whole(10..14)).collect();
            assert_eq!(whole, [true, true, true, true, false, true, true, false], "{kind:?}");
        }
        assert!(fates(FaultKind::None).iter().all(|fate| fate.is_whole(10..14)));
    }

    #[test]
    fn each_fault_does_what_its_name_says() {
        let fate = |kind| fates(kind)[4];
        let places = |fate: Landing| (10..14).map(|block| fate.target(block)).collect::<Vec<_>>();
        let all = [10, 11, 12, 13].map(Some);
        assert_eq!(places(fate(FaultKind::Flipped)), all);
        assert!(fate(FaultKind::Flipped).is_flipped());
        assert_eq!(places(fate(FaultKind::Stale)), [None; 4]);
        assert_eq!(places(fate(FaultKind::Torn)), [Some(10), Some(11), None, None]);
        assert_eq!(places(fate(FaultKind::Misplaced)), [60, 61, 62, 63].map(Some));
        assert_eq!(fate(FaultKind::Misplaced).places(), 60..64);
        let torn = FaultSpec {
            kind: Figure::guess(FaultKind::Torn),
            every: Figure::guess(1),
            ..FaultSpec::default()
        };
        assert_eq!(Faults::new(&torn, 100).land(10..11).target(10), None, "a block is never torn");
    }
}
