//! Write content that blends random bytes, a pattern and copies in exact shares.
//!
//! Every write has a number. Its content depends only on that number and the seed, so using an
//! earlier number again makes a copy without storing anything.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use crate::WorkloadError;
use crate::pattern::below;

/// Shares of the content of writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Blend {
    /// Percent of each chunk filled with the pattern, 0 to 100. The random part comes first.
    pub plain_percent: u32,
    /// Chunk size in bytes, at least 1.
    pub chunk: u32,
    /// Bytes repeated over the pattern part of each chunk, or over the whole write if there is no
    /// random part. Empty: zeros.
    pub pattern: Vec<u8>,
    /// Percent of writes that repeat the content of another write, 0 to 100.
    pub copy_percent: u32,
    /// Pool from which copies are drawn; `None`: a copy repeats the previous write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<Shared>,
    /// Whether to refill the buffer for every write, because reads overwrite it too.
    pub anew: bool,
}

/// A pool of contents, from which copies are drawn uniformly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shared {
    /// Number of contents, at least 1.
    pub contents: u64,
    /// Seeds of the writers that supply the contents, starting with the writer's own; at least one.
    /// Each writer supplies an equal part of the pool.
    pub seeds: Vec<u64>,
}

impl Blend {
    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        for (what, value) in
            [("plain share", self.plain_percent), ("share of copies", self.copy_percent)]
        {
            if value > 100 {
                let value = f64::from(value);
                return Err(WorkloadError::OutOfRange { what, value, range: "0 to 100" });
            }
        }
        if self.shared.as_ref().is_some_and(|s| s.contents == 0 || s.seeds.is_empty()) {
            return Err(WorkloadError::Zero("number of shared contents"));
        }
        if self.chunk == 0 { Err(WorkloadError::Zero("bytes of a chunk")) } else { Ok(()) }
    }

    /// Whether each write is generated in full. Otherwise a buffer is filled once and each write
    /// changes a few bytes.
    pub(crate) fn refills(&self) -> bool {
        self.anew || self.copy_percent > 0
    }

    /// Whether every write carries the same bytes.
    pub(crate) fn is_constant(&self) -> bool {
        self.plain_percent == 100
    }

    /// Fills `buffer` with the content of write `number` by the writer with `seed`.
    pub(crate) fn make(&self, buffer: &mut [u8], seed: u64, number: u64) {
        if self.is_constant() {
            return repeat(&self.pattern, buffer);
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ number.rotate_left(32));
        for chunk in buffer.chunks_mut(self.chunk as usize) {
            let random = chunk.len() as u64 * u64::from(100 - self.plain_percent) / 100;
            let (random, plain) = chunk.split_at_mut(random as usize);
            rng.fill_bytes(random);
            repeat(&self.pattern, plain);
        }
    }
}

/// Repeats the pattern over the buffer, starting with its first byte.
fn repeat(pattern: &[u8], buffer: &mut [u8]) {
    match pattern {
        [] => buffer.fill(0),
        [byte] => buffer.fill(*byte),
        _ => {
            for part in buffer.chunks_mut(pattern.len()) {
                part.copy_from_slice(&pattern[..part.len()]);
            }
        }
    }
}

/// Assigns a number to each write of one writer.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    seed: u64,
    /// The highest number used so far; the first is 1.
    last: u64,
    rng: Xoshiro256PlusPlus,
}

impl Numbers {
    pub(crate) fn new(seed: u64) -> Numbers {
        // A stream independent of the one that generates the content.
        let rng = Xoshiro256PlusPlus::seed_from_u64(!seed);
        Numbers { seed, last: 0, rng }
    }

    /// Fills `buffer` with the content of the next write.
    #[inline(never)]
    pub(crate) fn make_next(&mut self, blend: &Blend, buffer: &mut [u8]) {
        let (seed, number) = self.next(blend);
        blend.make(buffer, seed, number);
    }

    /// Seed and number of the next write.
    fn next(&mut self, blend: &Blend) -> (u64, u64) {
        let copies = blend.copy_percent;
        if copies == 0 || (copies < 100 && below(self.rng.next_u64(), 100) >= u64::from(copies)) {
            self.last += 1;
            return (self.seed, self.last);
        }
        let Some(shared) = &blend.shared else { return (self.seed, self.last) };
        let per_seed = (shared.contents / shared.seeds.len() as u64).max(1);
        let number = below(self.rng.next_u64(), shared.contents);
        let writer = (number / per_seed) as usize % shared.seeds.len();
        (shared.seeds[writer], number % per_seed + 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{Content, Filler};

    const PLAIN: Blend = Blend {
        plain_percent: 0,
        chunk: 512,
        pattern: Vec::new(),
        copy_percent: 0,
        shared: None,
        anew: false,
    };

    fn writes(blend: Blend, seed: u64, count: u64) -> Vec<Vec<u8>> {
        let mut filler = Filler::new(Content::Blend(blend), seed);
        let mut buffer = vec![0; 4096];
        filler.fill(&mut buffer, 0);
        let write = |nonce| {
            filler.touch(&mut buffer, nonce);
            buffer.clone()
        };
        (1..=count).map(write).collect()
    }

    fn different(writes: &[Vec<u8>]) -> usize {
        writes.iter().collect::<HashSet<_>>().len()
    }

    #[test]
    fn every_write_starts_with_the_pattern() {
        let blend = Blend { plain_percent: 100, pattern: b"abc".to_vec(), ..PLAIN };
        for write in writes(blend, 1, 3) {
            assert!(write.iter().enumerate().all(|(i, byte)| *byte == b"abc"[i % 3]));
        }
    }

    #[test]
    fn a_chunk_is_random_bytes_followed_by_the_pattern() {
        let blend = Blend { plain_percent: 25, pattern: vec![7, 9], ..PLAIN };
        let writes = writes(blend, 1, 2);
        for chunk in writes[0].chunks(512) {
            assert!(chunk[384..].chunks(2).all(|pair| pair == [7, 9]));
            assert!(chunk[..384].iter().collect::<HashSet<_>>().len() > 100);
        }
        assert_ne!(writes[0], writes[1]);
    }

    #[test]
    fn the_share_of_copies_is_as_configured() {
        for percent in [1, 30, 80, 99, 100] {
            let blend = Blend { copy_percent: percent, ..PLAIN };
            let copies = 2000 - different(&writes(blend, 5, 2000));
            let expected = f64::from(percent) * 20.0;
            // Five standard deviations of a binomial. The first write can be drawn as a copy
            // although none precedes it.
            let deviation = (expected * (1.0 - f64::from(percent) / 100.0)).sqrt();
            assert!(
                (copies as f64 - expected).abs() <= 5.0 * deviation + 1.0,
                "{percent}%: {copies}"
            );
        }
    }

    #[test]
    fn writers_share_contents_of_a_pool() {
        let shared = |seeds: [u64; 2]| Shared { contents: 100, seeds: seeds.to_vec() };
        let half = |seeds| Blend { copy_percent: 50, shared: Some(shared(seeds)), ..PLAIN };
        let a = writes(half([1, 2]), 1, 1000);
        let b = writes(half([2, 1]), 2, 1000);
        let alone = different(&a) + different(&b);
        let both = different(&[a, b].concat());
        assert!(alone - both > 80, "{alone} alone, {both} together");
    }

    #[test]
    fn a_buffer_filled_once_still_gives_unique_writes() {
        let blend = Blend { plain_percent: 50, ..PLAIN };
        assert_eq!(different(&writes(blend, 3, 100)), 100);
    }

    #[test]
    fn shares_above_100_percent_are_refused() {
        assert!(Blend { copy_percent: 101, ..PLAIN }.check().is_err());
        assert!(Blend { chunk: 0, ..PLAIN }.check().is_err());
        let none = Some(Shared { contents: 0, seeds: vec![1] });
        assert!(Blend { shared: none, ..PLAIN }.check().is_err());
    }
}
