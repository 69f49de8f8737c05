//! The places of `sprandom`: a file is written once, at random, and a share of its blocks again at a
//! distance, so that the drive ends in the state of one that has been written at random for long.
//!
//! The flash is seen as regions of equal size, written one after the other. In that state, a region
//! with a share v of valid blocks occupies space in proportion to 1/v (Desnoyers, ACM Transactions on
//! Storage 8/2, 2012), from full ones down to the one that garbage collection takes next. The share
//! of that one follows from the write amplification, which is close to 0.5/s + 0.7 for a spare share
//! s. The blocks of a region that shall be invalid are written again with the next region; with a
//! cache, at its end, so that they are no longer in it.

use std::collections::VecDeque;

use workload::Permutation;

use crate::Sprandom;

/// Draws the places of a file with overwrites.
#[derive(Clone, Debug)]
pub(super) struct Overwrites {
    /// The order of new blocks, and its seed.
    order: Permutation,
    seed: u64,
    /// Number of new blocks so far.
    new: u64,
    /// Share of each region's blocks that are written again, in the order of writing.
    shares: Vec<f64>,
    /// Writes in a region.
    region_writes: u64,
    /// Whether what is written again comes at the end of the next region.
    is_deferred: bool,
    region: usize,
    /// Writes of new blocks left in this region.
    left: u64,
    /// Blocks of the last region that are written again in this one.
    due: VecDeque<u64>,
    /// Blocks of this region that will be written again.
    later: VecDeque<u64>,
}

impl Overwrites {
    /// The places in a file of `bytes` bytes, in `count` blocks of `block` bytes.
    pub(super) fn new(
        model: &Sprandom,
        bytes: u64,
        (block, count): (u64, u64),
        seed: u64,
    ) -> Overwrites {
        let region_writes = flash_bytes(model, bytes, block) / u64::from(model.regions) / block;
        Overwrites {
            order: Permutation::new(count.max(1), seed),
            seed,
            new: 0,
            shares: shares(model),
            region_writes,
            is_deferred: model.cache_bytes > 0,
            region: 0,
            left: region_writes,
            due: VecDeque::new(),
            later: VecDeque::new(),
        }
    }

    /// Starts over, in another order.
    pub(super) fn restart(&mut self) {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.order = Permutation::new(self.order.len(), self.seed);
        self.new = 0;
        (self.region, self.left) = (0, self.region_writes);
        self.due.clear();
        self.later.clear();
    }

    /// The next place; `None` at the end. A uniform draw in [0, 1) decides whether it will be written
    /// again.
    pub(super) fn next(&mut self, draw: f64) -> Option<u64> {
        if (!self.is_deferred || self.left == 0)
            && let Some(place) = self.due.pop_front()
        {
            return Some(self.written(place, draw));
        }
        if self.left == 0 {
            self.region += 1;
            if self.region > self.shares.len() {
                return None;
            }
            std::mem::swap(&mut self.due, &mut self.later);
            self.left = self.region_writes.saturating_sub(self.due.len() as u64);
            if !self.is_deferred {
                return self.next(draw);
            }
        }
        if self.new >= self.order.len() {
            return self.due.pop_front();
        }
        let place = self.order.get(self.new);
        self.new += 1;
        self.left = self.left.saturating_sub(1);
        Some(self.written(place, draw))
    }

    /// Decides whether a place that is written in this region will be written again.
    fn written(&mut self, place: u64, draw: f64) -> u64 {
        let share = self.shares.get(self.region).or(self.shares.last());
        if share.is_some_and(|share| draw < *share) {
            self.later.push_back(place);
        }
        place
    }
}

/// Bytes of the flash, and so of all writes: those of the file and the spare ones, in whole blocks.
pub(super) fn flash_bytes(model: &Sprandom, bytes: u64, block: u64) -> u64 {
    let spare = libm::ceil(bytes as f64 * model.spare) as u64;
    let flash = bytes.saturating_add(spare);
    flash - flash % block.max(1)
}

/// The share of each region's blocks that are invalid in the end, in the order of writing: the first
/// written has most.
fn shares(model: &Sprandom) -> Vec<f64> {
    let count = model.regions as usize;
    let amplification = 0.5 / model.spare + 0.7;
    let least_valid = 1.0 - 1.0 / amplification;
    // The space up to each level of validity, on a curve whose levels are equally far apart.
    let step = (1.0 - least_valid) / (count.max(2) - 1) as f64;
    let levels: Vec<f64> = (0..count).map(|level| 1.0 - level as f64 * step).collect();
    let spaces = levels.iter().scan(0.0, |space, valid| {
        *space += 1.0 / valid;
        Some(*space)
    });
    let spaces: Vec<f64> = spaces.collect();
    let (first, last) = (spaces[0], spaces[count - 1]);
    let valid = (0..count).rev().map(|region| {
        let space = first + (last - first) * region as f64 / (count.max(2) - 1) as f64;
        interpolated(space, &spaces, &levels)
    });
    valid.map(|valid| 1.0 - valid).collect()
}

/// The value at `x` of a line through points with ascending `xs`.
fn interpolated(x: f64, xs: &[f64], ys: &[f64]) -> f64 {
    let after = xs.partition_point(|other| *other < x).clamp(1, xs.len().max(2) - 1);
    let (Some(x1), Some(y1)) = (xs.get(after), ys.get(after)) else { return ys[0] };
    let (x0, y0) = (xs[after - 1], ys[after - 1]);
    y0 + (y1 - y0) * (x - x0) / (x1 - x0)
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn drawn(model: &Sprandom, blocks: u64) -> Vec<u64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut places = Overwrites::new(model, blocks * 4096, (4096, blocks), 1);
        std::iter::from_fn(|| places.next(rng.next_u64() as f64 / u64::MAX as f64)).collect()
    }

    #[test]
    fn every_block_is_written_and_some_again_in_the_next_region() {
        for cache_bytes in [0, 32768] {
            let model = Sprandom { spare: 0.1, regions: 50, cache_bytes };
            let places = drawn(&model, 8192);
            let mut last = std::collections::HashMap::new();
            let mut distances = Vec::new();
            for (number, place) in (0usize..).zip(&places) {
                distances.extend(last.insert(*place, number).map(|before| number - before));
            }
            assert!(last.len() > 8000, "{}", last.len());
            let rewritten = distances.len() as f64 / places.len() as f64;
            assert!((0.06..0.12).contains(&rewritten), "{rewritten}");
            let region = 8192.0 * 1.1 / 50.0;
            assert!(distances.iter().all(|distance| (*distance as f64) < 2.1 * region));
            // With a cache, they are at least as far apart as the blocks that it holds.
            assert!(cache_bytes == 0 || distances.iter().all(|distance| *distance > 8));
        }
    }

    #[test]
    fn the_regions_written_first_have_most_invalid_blocks() {
        let invalid = shares(&Sprandom { spare: 0.15, regions: 100, cache_bytes: 0 });
        assert!(invalid.windows(2).all(|two| two[0] >= two[1]), "{invalid:?}");
        // 1 / (0.5 / 0.15 + 0.7) of the first, none of the last.
        assert!((invalid[0] - 1.0 / (0.5 / 0.15 + 0.7)).abs() < 1e-9 && invalid[99].abs() < 1e-9);
        assert_eq!(shares(&Sprandom { spare: 0.15, regions: 1, cache_bytes: 0 }).len(), 1);
    }

    #[test]
    fn the_flash_is_the_file_and_its_spare_share() {
        let model = Sprandom { spare: 0.1, regions: 50, cache_bytes: 0 };
        assert_eq!(flash_bytes(&model, 32 << 20, 4096), (32 << 20) * 11 / 10 / 4096 * 4096);
    }
}
