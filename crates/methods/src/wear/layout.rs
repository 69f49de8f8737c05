//! The mapping of writes to blocks: static data first, then the two halves of the rest in turn.
//!
//! Every write of a block has a number, starting at 1. The first numbers fill the static blocks
//! sequentially; the others write the two halves of the remaining blocks in turn. The half that is
//! not being written holds the previous pass, so the drive itself always records the amount
//! written: the greatest number found is the total, however the run ended.
//!
//! The last static block is the marker. It is written after the first pass is durable: a drive with
//! the marker and no stamp in its cycled blocks has lost them.

use record::TargetKind;
use rig::TargetInfo;
use workload::Region;
use workload::stamp::Stamp;

use script::{BYTES_MIN, MethodError, Options, Result};

/// Block size, bytes: the unit of writing, stamping, checking and counting.
pub(super) const BLOCK: u64 = 128 << 10;

/// Default size of the file in a directory, bytes.
const FILE_BYTES: u64 = 1 << 30;

/// The part of the drive that is cycled: 1/n of its bytes, within these limits.
const FREE_SHARE: u64 = 64;
const FREE_MIN: u64 = 1 << 20;
const FREE_MAX: u64 = 32 << 20;

/// The drive as blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// All blocks.
    pub blocks: u64,
    /// Blocks of static data, from the first; the last one is the marker.
    pub fixed: u64,
    /// Blocks of each half.
    pub half: u64,
}

impl Layout {
    pub fn new(target: &TargetInfo, options: &Options) -> Result<Layout> {
        let usual = match target.target.kind {
            TargetKind::Directory => FILE_BYTES,
            _ => u64::MAX,
        };
        let bytes = options.size.unwrap_or(usual).min(target.bytes);
        if bytes < BYTES_MIN {
            return Err(MethodError::TooSmall { bytes: target.bytes, least: BYTES_MIN });
        }
        let blocks = bytes / BLOCK;
        let half = (bytes / FREE_SHARE).clamp(FREE_MIN, FREE_MAX) / BLOCK / 2;
        Ok(Layout { blocks, fixed: blocks - 2 * half, half })
    }

    /// Bytes in use.
    pub fn bytes(&self) -> u64 {
        self.blocks * BLOCK
    }

    /// The number of the marker, the last static block.
    pub fn marker(&self) -> u64 {
        self.fixed
    }

    /// Bytes of the shortest test: the static data and the first pass.
    pub fn least_bytes(&self) -> u64 {
        (self.fixed + self.half) * BLOCK
    }

    /// Offset of the block of this write.
    pub fn offset(&self, number: u64) -> u64 {
        let index = number - 1;
        let block = match index.checked_sub(self.fixed) {
            None => index,
            Some(cycled) => self.fixed + cycled % (2 * self.half),
        };
        block * BLOCK
    }

    /// The pass of a number, from 0; `None` for static data.
    pub fn pass(&self, number: u64) -> Option<u64> {
        (number - 1).checked_sub(self.fixed).map(|cycled| cycled / self.half)
    }

    /// The numbers of a pass.
    pub fn numbers(&self, pass: u64) -> std::ops::Range<u64> {
        let first = self.fixed + pass * self.half + 1;
        first..first + self.half
    }

    /// The region that a pass writes.
    pub fn region(&self, pass: u64) -> Region {
        let start = self.offset(self.numbers(pass).start);
        Region { start, bytes: self.half * BLOCK }
    }

    /// The region of the static data before the marker.
    pub fn fixed_region(&self) -> Region {
        Region::first((self.marker() - 1) * BLOCK)
    }

    /// The region of the cycled blocks.
    pub fn cycled_region(&self) -> Region {
        Region { start: self.fixed * BLOCK, bytes: 2 * self.half * BLOCK }
    }

    /// The seed of a run's stamps. Its lower half identifies the layout, so that a run is resumed
    /// only with the same layout.
    pub fn seed(&self, run: u64) -> u64 {
        mixed(run) << 32 | self.check()
    }

    /// Whether stamps with this seed belong to a run with this layout.
    pub fn is_of(&self, seed: u64) -> bool {
        seed & u64::from(u32::MAX) == self.check()
    }

    fn check(&self) -> u64 {
        let word = self.blocks.rotate_left(32) ^ self.half ^ SALT;
        mixed(word) & u64::from(u32::MAX)
    }
}

/// Distinguishes the stamps of this method from those of others.
const SALT: u64 = 0x7765_6172_2d6f_6c70;

/// The stamp of a write.
pub(super) fn stamp(layout: &Layout, number: u64, seed: u64) -> Stamp {
    Stamp { offset: layout.offset(number), sequence: number, seed }
}

/// Mixes a word so that all bits depend on all input bits (MurmurHash3's finalizer).
pub(super) fn mixed(word: u64) -> u64 {
    let word = (word ^ word >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let word = (word ^ word >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ word >> 33
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::testing::target;

    #[test]
    fn static_data_are_all_but_a_little_and_the_halves_take_turns() {
        for (bytes, free) in [(4u64 << 20, 1u64 << 20), (256 << 20, 4 << 20), (64 << 30, 32 << 20)]
        {
            let mut info = target();
            (info.bytes, info.target.kind) = (bytes, TargetKind::Device);
            let layout = Layout::new(&info, &Options::default()).expect("room");
            assert_eq!((layout.blocks - layout.fixed) * BLOCK, free, "{bytes}");
            let after = layout.fixed + 1;
            assert_eq!((layout.offset(1), layout.pass(layout.fixed)), (0, None));
            assert_eq!((layout.offset(after), layout.pass(after)), (bytes - free, Some(0)));
            let regions = [0, 1, 2].map(|pass| layout.region(pass));
            assert_eq!((regions[0], regions[1].end()), (regions[2], bytes));
            assert_eq!(regions[0].end(), regions[1].start);
            for number in [after, after + layout.half, after + 2 * layout.half] {
                let pass = layout.pass(number).expect("cycled");
                assert_eq!(layout.numbers(pass).start, number);
            }
        }
    }

    #[test]
    fn a_seed_says_its_layout() {
        let mut info = target();
        let of = |info: &TargetInfo| Layout::new(info, &Options::default()).expect("room");
        let one = of(&info);
        info.bytes /= 2;
        let other = of(&info);
        assert!(one.is_of(one.seed(1)) && one.is_of(one.seed(2)) && !one.is_of(other.seed(1)));
        assert_ne!(one.seed(1), one.seed(2));
    }
}
