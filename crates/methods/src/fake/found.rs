//! The content read back from the tested regions, and the capacity derived from it.

use std::collections::BTreeMap;

use workload::Region;
use workload::stamp::{Layout, SECTOR, Stamp, read_sector};
use workload::units::gcd;

use super::layout::PLACE;

/// Bytes in which reads that differ are counted, as in a journal.
const BLOCK: usize = 64 << 10;

/// Maximum number of distances stored; more would not change the result.
const DISTANCES_MAX: usize = 4096;

/// The content of one region of [`PLACE`] bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Held {
    /// Bytes read back as written.
    pub kept: u64,
    /// Bytes that this run wrote to another address.
    pub misplaced: u64,
    /// Bytes with any other content, or unreadable.
    pub lost: u64,
}

impl Held {
    fn is_bad(&self) -> bool {
        self.misplaced + self.lost > 0
    }
    fn add(&mut self, other: &Held) {
        self.kept += other.kept;
        self.misplaced += other.misplaced;
        self.lost += other.lost;
    }

    /// The shares of the three kinds of content; 0 without content.
    pub fn shares(&self) -> [f64; 3] {
        let sum = (self.kept + self.misplaced + self.lost).max(1) as f64;
        [self.kept, self.misplaced, self.lost].map(|bytes| bytes as f64 / sum)
    }
}

/// All content read back, by address.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    places: BTreeMap<u64, Held>,
    /// Distances between the address in a misplaced stamp and the address where it was found.
    distances: Vec<u64>,
}

/// The conclusion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Capacity {
    /// All content is kept.
    Real,
    /// Some addresses return content written elsewhere: addresses repeat, after this many bytes if
    /// that is clear.
    Wrapped(Option<u64>),
    /// Nothing is kept beyond some address. The real capacity is at least the first and at most the
    /// second number of bytes.
    Ends(u64, u64),
    /// Content is lost at some addresses, with kept content beyond them.
    Holes,
}

/// Places whose content suggests a cache: those that lost it, and those above that kept it, which
/// were written later.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CacheSuspicion {
    /// Starts of the places that lost their content, without a kept place between them.
    pub lost: Vec<u64>,
    /// Starts of the places above.
    pub kept: Vec<u64>,
}

impl Found {
    /// Adds bytes read at an offset; `seed` is the seed of the stamps.
    pub fn add(&mut self, offset: u64, bytes: &[u8], seed: u64) {
        for (i, sector) in bytes.chunks_exact(SECTOR).enumerate() {
            let address = offset + (i * SECTOR) as u64;
            let content = self.places.entry(address / PLACE * PLACE).or_default();
            match read_sector(sector, Layout::default().at) {
                Some(stamp) if stamp.seed == seed && stamp.offset == address => {
                    content.kept += SECTOR as u64
                }
                Some(stamp) if stamp.seed == seed => {
                    content.misplaced += SECTOR as u64;
                    if self.distances.len() < DISTANCES_MAX {
                        self.distances.push(stamp.offset.abs_diff(address));
                    }
                }
                _ => content.lost += SECTOR as u64,
            }
        }
    }

    /// Adds a region that could not be read.
    pub fn unreadable(&mut self, region: Region) {
        for at in (region.start..region.end()).step_by(SECTOR) {
            self.places.entry(at / PLACE * PLACE).or_default().lost += SECTOR as u64;
        }
    }

    /// The sum over all regions.
    pub fn sum(&self) -> Held {
        let mut sum = Held::default();
        self.places.values().for_each(|held| sum.add(held));
        sum
    }

    /// The content by parts of the addresses: the sum of each part, with its start; without the parts
    /// that were not written.
    pub fn by_part(&self, part_bytes: u64) -> BTreeMap<u64, Held> {
        let mut sums: BTreeMap<u64, Held> = BTreeMap::new();
        for (start, held) in &self.places {
            sums.entry(start / part_bytes * part_bytes).or_default().add(held);
        }
        sums
    }

    /// The number of regions, and the number of those that lost content.
    pub fn counts(&self) -> (usize, usize) {
        let bad = self.places.values().filter(|held| held.is_bad());
        (self.places.len(), bad.count())
    }

    /// The places that a cache of the latest writes may explain: all places from the first lost one
    /// on lost their content, up to the first that kept it, and none above lost any. `None` if
    /// content is lost elsewhere, too.
    pub fn suspicion(&self, top: u64) -> Option<CacheSuspicion> {
        let mut upper = self.places.range(..top).skip_while(|(_, held)| !held.is_bad()).peekable();
        let mut emptied = Vec::new();
        while let Some((start, _)) = upper.next_if(|(_, held)| held.is_bad()) {
            emptied.push(*start);
        }
        let higher: Vec<(&u64, &Held)> = upper.collect();
        let top_is_kept = self.places.range(top..).all(|(_, held)| !held.is_bad());
        let is_cache = !emptied.is_empty()
            && !higher.is_empty()
            && top_is_kept
            && higher.iter().all(|(_, held)| !held.is_bad());
        is_cache.then(|| CacheSuspicion {
            lost: emptied,
            kept: higher.into_iter().map(|(start, _)| *start).collect(),
        })
    }

    /// Whether all content in a range of addresses is lost, and none of it misplaced.
    pub fn is_lost(&self, range: std::ops::Range<u64>) -> bool {
        let mut places = self.places.range(range).map(|(_, held)| held).peekable();
        places.peek().is_some()
            && places.all(|held| held.kept == 0 && held.misplaced == 0 && held.lost > 0)
    }

    /// Replaces the content of places by what a later reading returned.
    pub fn renew(&mut self, again: Found) {
        self.places.extend(again.places);
    }

    /// Marks places as lost: their content was in a cache.
    pub fn lose(&mut self, starts: &[u64]) {
        for start in starts {
            self.places.insert(*start, Held { lost: PLACE, ..Held::default() });
        }
    }

    /// The starts of the places that lost content.
    pub fn bad_places(&self) -> Vec<u64> {
        let bad = self.places.iter().filter(|(_, held)| held.is_bad());
        bad.map(|(start, _)| *start).collect()
    }

    /// Derives the capacity. `top` is the start of the last region; a cache may hold the end of
    /// that region.
    pub fn capacity(&self, top: u64) -> Capacity {
        let sum = self.sum();
        if sum.misplaced > 0 {
            let step = self.distances.iter().copied().fold(0, gcd);
            return Capacity::Wrapped((step >= PLACE).then_some(step));
        }
        if sum.lost == 0 {
            return Capacity::Real;
        }
        let first_bad = self.places.iter().find(|(_, held)| held.lost > 0).map_or(0, |(at, _)| *at);
        let last_good = self.places.range(..first_bad).next_back();
        let kept_to = last_good.map_or(0, |(at, _)| at + PLACE);
        let mut places_above = self.places.range(first_bad..top.max(first_bad));
        if places_above.all(|(_, held)| held.lost > 0) {
            Capacity::Ends(kept_to, first_bad + self.places[&first_bad].kept)
        } else {
            Capacity::Holes
        }
    }
}

/// Whether every sector read at an offset has its stamp.
pub(super) fn is_right(offset: u64, bytes: &[u8], seed: u64) -> bool {
    (offset..)
        .step_by(SECTOR)
        .zip(bytes.chunks_exact(SECTOR))
        .all(|(at, sector)| has_stamp(sector, at, seed))
}

/// Replaces wrong sectors by those that are right in another read.
pub(super) fn take_right(offset: u64, bytes: &mut [u8], other: &[u8], seed: u64) {
    let pairs = bytes.chunks_exact_mut(SECTOR).zip(other.chunks_exact(SECTOR));
    for (at, (sector, other)) in (offset..).step_by(SECTOR).zip(pairs) {
        if !has_stamp(sector, at, seed) && has_stamp(other, at, seed) {
            sector.copy_from_slice(other);
        }
    }
}

/// For each block, whether two reads of it differ.
pub(super) fn differing_blocks(first: &[u8], second: &[u8]) -> Vec<bool> {
    let seconds = second.chunks(BLOCK).map(Some).chain(std::iter::repeat(None));
    first.chunks(BLOCK).zip(seconds).map(|(a, b)| b.is_some_and(|b| a != b)).collect()
}

fn has_stamp(sector: &[u8], at: u64, seed: u64) -> bool {
    read_sector(sector, Layout::default().at).is_some_and(|s| (s.seed, s.offset) == (seed, at))
}

/// The stamp of the sector at an offset.
pub(super) fn stamp(offset: u64, seed: u64) -> Stamp {
    Stamp { offset, sequence: 1, seed }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: u64 = 5;

    fn written(offset: u64) -> Vec<u8> {
        let mut bytes = vec![0; PLACE as usize];
        workload::stamp::write(&mut bytes, stamp(offset, SEED), Layout::default());
        bytes
    }

    /// Reads regions with the content written at the given offset, or with foreign content.
    fn found(places: &[(u64, Option<u64>)]) -> Found {
        let mut found = Found::default();
        for (at, holds) in places {
            let bytes = holds.map_or(vec![0xaa; PLACE as usize], written);
            found.add(*at, &bytes, SEED);
        }
        found
    }

    #[test]
    fn the_four_conclusions() {
        let p = PLACE;
        let real = found(&[(0, Some(0)), (8 * p, Some(8 * p))]);
        assert_eq!((real.capacity(99 * p), real.counts()), (Capacity::Real, (2, 0)));
        let wrapped = [(0, Some(0)), (8 * p, Some(0)), (20 * p, Some(4 * p))];
        assert_eq!(found(&wrapped).capacity(99 * p), Capacity::Wrapped(Some(8 * p)));
        let ends = [(0, Some(0)), (2 * p, Some(2 * p)), (4 * p, None), (9 * p, None)];
        assert_eq!(found(&ends).capacity(99 * p), Capacity::Ends(3 * p, 4 * p));
        // A cache may still hold the end of the last region.
        let cached = [(0, Some(0)), (4 * p, None), (9 * p, None), (10 * p, Some(10 * p))];
        assert_eq!(found(&cached).capacity(9 * p), Capacity::Ends(p, 4 * p));
        let holes = [(0, Some(0)), (4 * p, None), (8 * p, Some(8 * p))];
        assert_eq!(found(&holes).capacity(99 * p), Capacity::Holes);
    }

    /// A cache holds the latest writes: the top, and the places before it.
    #[test]
    fn kept_places_above_lost_ones_may_be_in_a_cache() {
        let p = PLACE;
        let cached = [(0, Some(0)), (4 * p, None), (9 * p, None), (12 * p, Some(12 * p))];
        let mut content = found(&cached);
        content.add(99 * p, &written(99 * p), SEED);
        let suspicion = CacheSuspicion { lost: vec![4 * p, 9 * p], kept: vec![12 * p] };
        assert_eq!(content.suspicion(99 * p), Some(suspicion));
        assert_eq!(content.capacity(99 * p), Capacity::Holes);
        // Written again, the lost places push the others out of the cache.
        content.lose(&[12 * p]);
        assert_eq!(content.capacity(99 * p), Capacity::Ends(p, 4 * p));
        let scattered = [(0, Some(0)), (4 * p, None), (9 * p, Some(9 * p)), (12 * p, None)];
        assert_eq!(found(&scattered).suspicion(99 * p), None);
    }

    #[test]
    fn the_stamps_of_another_run_are_no_content() {
        let mut found = Found::default();
        found.add(0, &written(0), SEED + 1);
        found.unreadable(Region { start: PLACE, bytes: 4096 });
        assert_eq!(found.sum(), Held { kept: 0, misplaced: 0, lost: PLACE + 4096 });
    }
}
