//! Content of writes.
//!
//! Some controllers compress and deduplicate, so the speed of their drives depends on content.
//! Buffers are filled once, before the timed part. Each write then changes eight bytes of every
//! sector, which makes it unique to a deduplicating drive, whatever its unit, at almost no cost in
//! the hot loop. Repeating content stays as it is, and a blend with copies fills the buffer again
//! for each write.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use crate::WorkloadError;
use crate::blend::{Blend, Numbers};

/// Unit of compressibility, in bytes.
const PAGE: usize = 4096;

/// Unit of uniqueness, in bytes: no drive dedupes smaller ones.
const SECTOR: usize = 512;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Random and unique: neither compressible nor deduplicable.
    #[default]
    Random,
    /// Unique, with this share (0 to 1) of every 4 KiB filled with zeros.
    Compressible(f64),
    /// This share (0 to 1) of every write, rounded to a multiple of 4 KiB, repeats the same random
    /// 4 KiB. It comes last; the rest is unique.
    Duplicate(f64),
    /// The same random 4 KiB repeated: deduplicable, not compressible.
    Repeated,
    Zeros,
    /// The current content of the blocks, which must have been borrowed.
    Original,
    /// Shares of random bytes, a pattern and copies.
    Blend(Blend),
}

impl Content {
    /// Parses `random`, `zeros`, `repeated` or a compressible share such as `50%`.
    pub fn parse(text: &str) -> Result<Content, String> {
        match text {
            "random" => return Ok(Content::Random),
            "zeros" | "zero" => return Ok(Content::Zeros),
            "repeated" => return Ok(Content::Repeated),
            _ => {}
        }
        let percent = text.strip_suffix('%').and_then(|p| p.parse::<f64>().ok());
        let share = percent.map(|p| p / 100.0).filter(|s| (0.0..=1.0).contains(s));
        share.map(Content::Compressible).ok_or_else(|| {
            format!("content '{text}' is not random, zeros, repeated or a share such as 50%")
        })
    }

    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        match self {
            Content::Compressible(share) if !(0.0..=1.0).contains(share) => {
                Err(WorkloadError::OutOfRange {
                    what: "compressible share",
                    value: *share,
                    range: "0 to 1",
                })
            }
            Content::Duplicate(share) if !(0.0..=1.0).contains(share) => {
                Err(WorkloadError::OutOfRange {
                    what: "duplicate share",
                    value: *share,
                    range: "0 to 1",
                })
            }
            Content::Blend(blend) => blend.check(),
            _ => Ok(()),
        }
    }
}

/// Fills buffers with content and makes each write unique unless the content is meant to repeat.
#[derive(Debug, Clone)]
pub struct Filler {
    content: Content,
    seed: u64,
    numbers: Numbers,
}

impl Filler {
    /// Creates a filler; equal seeds give equal content.
    pub fn new(content: Content, seed: u64) -> Filler {
        Filler { content, seed, numbers: Numbers::new(seed) }
    }

    /// Fills a buffer outside the measured time. `index` distinguishes buffers.
    pub fn fill(&self, buffer: &mut [u8], index: u64) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed ^ index.rotate_left(32));
        match &self.content {
            Content::Zeros => buffer.fill(0),
            // The owner supplies it with each operation.
            Content::Original => {}
            Content::Random => rng.fill_bytes(buffer),
            Content::Repeated => self.repeat(buffer),
            Content::Duplicate(share) => {
                let (unique, repeated) = buffer.split_at_mut(unique_bytes(buffer.len(), *share));
                rng.fill_bytes(unique);
                self.repeat(repeated);
            }
            // No write uses these numbers.
            Content::Blend(blend) => blend.make(buffer, self.seed, !index),
            Content::Compressible(share) => {
                for part in buffer.chunks_mut(PAGE) {
                    let random = (part.len() as f64 * (1.0 - share)).round() as usize;
                    rng.fill_bytes(&mut part[..random]);
                    part[random..].fill(0);
                }
            }
        }
    }

    /// Repeats the same random 4 KiB over the buffer.
    fn repeat(&self, buffer: &mut [u8]) {
        let mut page = [0; PAGE];
        Xoshiro256PlusPlus::seed_from_u64(self.seed).fill_bytes(&mut page);
        for part in buffer.chunks_mut(PAGE) {
            part.copy_from_slice(&page[..part.len()]);
        }
    }

    /// Makes a write unique, unless its content is meant to repeat. Call it before each write, with
    /// a different `nonce` each time.
    #[inline]
    pub fn touch(&mut self, buffer: &mut [u8], nonce: u64) {
        let (mut bytes, mut unit) = (buffer.len(), SECTOR);
        match &self.content {
            Content::Random => {}
            // Its zeros are at the end of each page.
            Content::Compressible(_) => unit = PAGE,
            Content::Duplicate(share) => bytes = unique_bytes(bytes, *share),
            Content::Zeros | Content::Repeated | Content::Original => return,
            Content::Blend(blend) if blend.refills() => {
                return self.numbers.make_next(blend, buffer);
            }
            Content::Blend(blend) if blend.is_constant() => return,
            Content::Blend(_) => {}
        }
        let unique = nonce.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.seed;
        for (i, part) in buffer[..bytes].chunks_mut(unit).enumerate() {
            if let Some(head) = part.first_chunk_mut() {
                *head = (unique ^ (i as u64) << 48).to_le_bytes();
            }
        }
    }
}

/// The number of unique bytes in a write with this duplicate share.
fn unique_bytes(bytes: usize, share: f64) -> usize {
    let duplicate_bytes = (share * (bytes / PAGE) as f64).round() as usize * PAGE;
    bytes - duplicate_bytes.min(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_words() {
        assert_eq!(Content::parse("50%"), Ok(Content::Compressible(0.5)));
        assert_eq!(Content::parse("zeros"), Ok(Content::Zeros));
        assert!(Content::parse("150%").is_err());
        assert!(Content::parse("noise").is_err());
    }

    #[test]
    fn half_compressible_is_half_zeros() {
        let mut buffer = vec![1; 2 * PAGE];
        Filler::new(Content::Compressible(0.5), 3).fill(&mut buffer, 0);
        let zeros = buffer.iter().filter(|b| **b == 0).count();
        assert!((PAGE..PAGE + 64).contains(&zeros), "{zeros} zeros");
    }

    #[test]
    fn two_writes_of_one_buffer_differ_in_every_sector() {
        let mut buffer = vec![0; 4 * PAGE];
        let mut filler = Filler::new(Content::Random, 3);
        filler.fill(&mut buffer, 0);
        let mut sectors = std::collections::HashSet::new();
        for nonce in 1..=8 {
            filler.touch(&mut buffer, nonce);
            sectors.extend(buffer.chunks(SECTOR).map(<[u8]>::to_vec));
        }
        assert_eq!(sectors.len(), 8 * 4 * PAGE / SECTOR);
    }

    #[test]
    fn two_writes_of_one_buffer_differ_in_every_page_unless_repeated() {
        let pages = |content, nonce| {
            let mut buffer = vec![0; 4 * PAGE];
            let mut filler = Filler::new(content, 3);
            filler.fill(&mut buffer, 0);
            filler.touch(&mut buffer, nonce);
            buffer.chunks(PAGE).map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let (a, b) = (pages(Content::Random, 1), pages(Content::Random, 2));
        assert!(a.iter().all(|p| !b.contains(p)));
        assert_eq!(pages(Content::Repeated, 1), pages(Content::Repeated, 2));
        let (a, b) = (pages(Content::Duplicate(0.5), 1), pages(Content::Duplicate(0.5), 2));
        assert!(a[..2].iter().all(|p| !b.contains(p)) && a[0] != a[1]);
        assert!(a[2..].iter().chain(&b[2..]).all(|p| *p == a[2]));
    }

    #[test]
    fn duplicate_content_reaches_from_random_to_repeated() {
        let page = |content| {
            let mut buffer = vec![0; 4 * PAGE];
            Filler::new(content, 3).fill(&mut buffer, 7);
            buffer
        };
        assert_eq!(page(Content::Duplicate(0.0)), page(Content::Random));
        assert_eq!(page(Content::Duplicate(1.0)), page(Content::Repeated));
        assert!(Content::Duplicate(1.5).check().is_err());
    }
}
