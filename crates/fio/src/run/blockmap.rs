//! The map of visited blocks of random work: fio's rule for blocks of several sizes.
//!
//! A block is drawn uniformly; if it has been visited, the next free one is taken, around the end.
//! An operation also takes the blocks that it covers, up to the first visited one. The map is a
//! tree of words: a bit of a level is set if the word below it is full.

/// One bit per block, and the summaries above.
#[derive(Clone, Debug)]
pub(super) struct BlockMap {
    blocks: u64,
    levels: Vec<Vec<u64>>,
}

impl BlockMap {
    pub(super) fn new(blocks: u64) -> BlockMap {
        let mut map = BlockMap { blocks, levels: Vec::new() };
        map.clear();
        map
    }

    /// Makes all blocks free.
    pub(super) fn clear(&mut self) {
        self.levels.clear();
        let mut bits = self.blocks;
        loop {
            let words = bits.div_ceil(64).max(1);
            let mut level = vec![0; words as usize];
            // What is beyond the end is never free.
            if let Some(last) = level.last_mut() {
                let rest = bits - (words - 1) * 64;
                *last = if rest < 64 { u64::MAX << rest } else { 0 };
            }
            self.levels.push(level);
            if words == 1 {
                return;
            }
            bits = words;
        }
    }

    /// Whether a block has been visited; those beyond the end never are.
    pub(super) fn is_taken(&self, block: u64) -> bool {
        block < self.blocks && self.levels[0][(block / 64) as usize] >> (block % 64) & 1 == 1
    }

    /// The first free block after `block`, around the end; `None` if all are taken.
    pub(super) fn next_free(&self, block: u64) -> Option<u64> {
        self.free_from(block + 1).or_else(|| self.free_from(0))
    }

    fn free_from(&self, first: u64) -> Option<u64> {
        let (mut level, mut bit) = (0, first);
        loop {
            let word = *self.levels.get(level)?.get((bit / 64) as usize)?;
            let free = !word & (u64::MAX << (bit % 64));
            if free != 0 {
                bit = bit / 64 * 64 + u64::from(free.trailing_zeros());
                break;
            }
            (level, bit) = (level + 1, bit / 64 + 1);
        }
        for level in (0..level).rev() {
            bit = bit * 64 + u64::from((!self.levels[level][bit as usize]).trailing_zeros());
        }
        Some(bit)
    }

    /// Takes up to `wanted` consecutive free blocks from `block` on; returns their number.
    pub(super) fn take(&mut self, block: u64, wanted: u64) -> u64 {
        (block..block + wanted).take_while(|block| self.take_one(*block)).count() as u64
    }

    /// Takes a block; returns whether it was free.
    fn take_one(&mut self, block: u64) -> bool {
        if self.is_taken(block) {
            return false;
        }
        let mut bit = block;
        for level in &mut self.levels {
            let Some(word) = level.get_mut((bit / 64) as usize) else { break };
            *word |= 1 << (bit % 64);
            if *word != u64::MAX {
                break;
            }
            bit /= 64;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_taken_once_and_the_next_free_one_is_the_nearest() {
        for blocks in [1, 63, 64, 65, 4096, 4097, 10_000] {
            let mut map = BlockMap::new(blocks);
            let mut random = fuzz::Random::new(blocks);
            let mut free: std::collections::BTreeSet<u64> = (0..blocks).collect();
            while !free.is_empty() {
                let drawn = random.below(blocks as usize) as u64;
                let after = free.range(drawn + 1..).next().or(free.first()).copied();
                assert_eq!(map.next_free(drawn), after, "{blocks}");
                let block = if map.is_taken(drawn) { after.expect("one") } else { drawn };
                let wanted = 1 + random.below(100) as u64;
                let got = map.take(block, wanted);
                assert!((1..=wanted).contains(&got));
                let gone = (block..(block + got).min(blocks)).filter(|taken| free.remove(taken));
                assert_eq!(gone.count() as u64, got.min(blocks - block));
            }
            assert_eq!(map.next_free(0), None);
            map.clear();
            assert_eq!(map.next_free(blocks - 1), Some(0));
        }
    }
}
