//! How the content of a file looks to a drive that compresses or dedupes: shares of zeros, of
//! distinct sectors and of repeated words.

use std::collections::HashSet;

use super::tools::SECTOR;

/// Sectors below which shares are not compared.
const SECTORS_MIN: usize = 32;

/// Shares may differ by this much: chunks and copies are drawn at random.
const SHARE_TOLERANCE: f64 = 0.12;

/// Shares of the sectors of a file.
pub struct Look {
    sectors: usize,
    pub zeros: f64,
    /// Distinct sectors among those that are not zeros.
    distinct: f64,
    /// 8-byte words that repeat one of the 8 before them.
    repeated: f64,
}

impl Look {
    pub fn of_bytes(bytes: &[u8]) -> Look {
        let sectors: Vec<&[u8]> = bytes.chunks_exact(SECTOR).collect();
        let rest: Vec<_> =
            sectors.iter().filter(|sector| sector.iter().any(|byte| *byte != 0)).collect();
        let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        let words: Vec<&[u8]> = bytes.chunks_exact(8).collect();
        let repeats = |at: &usize| words[at.saturating_sub(8)..*at].contains(&words[*at]);
        let repeated = (0..words.len()).filter(repeats).count();
        Look {
            sectors: sectors.len(),
            zeros: share(sectors.len() - rest.len(), sectors.len()),
            distinct: share(rest.iter().collect::<HashSet<_>>().len(), rest.len()),
            repeated: share(repeated, words.len()),
        }
    }

    /// Bytes in whole sectors.
    pub fn bytes(&self) -> usize {
        self.sectors * SECTOR
    }

    /// Share of sectors that repeat another.
    pub fn copies(&self) -> f64 {
        (1.0 - self.zeros) * (1.0 - self.distinct)
    }

    /// The shares that are not near each other, if chance has decided on so many `blocks`.
    pub fn differs_from(&self, other: &Look, blocks: f64) -> Vec<Share> {
        if self.sectors < SECTORS_MIN {
            return Vec::new();
        }
        // Four deviations of the difference of two shares of one half.
        let tolerance = SHARE_TOLERANCE.max(4.0 * (0.5 / blocks).sqrt());
        let shares = |look: &Look| {
            let distinct = look.distinct * (1.0 - look.zeros);
            [
                (Share::Zeros, look.zeros),
                (Share::Distinct, distinct),
                (Share::Repeated, look.repeated),
            ]
        };
        let pairs = shares(self).into_iter().zip(shares(other));
        let differing = pairs.filter(|((_, a), (_, b))| (a - b).abs() > tolerance);
        differing.map(|((share, _), _)| share).collect()
    }
}

/// What a share is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Sectors of zeros.
    Zeros,
    /// Sectors that are not zeros, each different.
    Distinct,
    /// Words that repeat one near by.
    Repeated,
}

pub fn describe(look: &Look) -> String {
    let percent = |share: f64| (share * 100.0).round();
    format!(
        "{}% zeros, {}% distinct, {}% repeated",
        percent(look.zeros),
        percent(look.distinct),
        percent(look.repeated)
    )
}

#[test]
fn zeros_copies_and_repeats_are_told_apart() {
    let mut random = fuzz::Random::new(1);
    let noise: Vec<u8> = (0..64 * SECTOR).map(|_| random.below(256) as u8).collect();
    let zeros = vec![0; 64 * SECTOR];
    let copies = noise[..SECTOR].repeat(64);
    let looks = [&noise, &zeros, &copies].map(|bytes| Look::of_bytes(bytes));
    for (i, look) in looks.iter().enumerate() {
        for (k, other) in looks.iter().enumerate() {
            assert_eq!(look.differs_from(other, f64::INFINITY).is_empty(), i == k, "{i} {k}");
        }
    }
}
