//! Classification of blocks by the content read, and the counts by fault.
//!
//! The classes extend those of f3. A block is good only if all of its sectors are from the expected
//! write: an older or newer write to the same address is a fault.

use workload::stamp::{Layout, SECTOR, Stamp, read_sector, write};

use super::layout::BLOCK;

/// Maximum number of 64-bit words that differ in a sector with flipped bits, which f3 calls
/// changed. A sector with more has other content.
const FLIPPED_WORDS_MAX: usize = 2;

/// Maximum number of offsets kept of each class.
const PLACES_MAX: u64 = 16;

/// The content of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// As written.
    Good,
    /// A few bits differ.
    Flipped,
    /// Content of another address (f3: overwritten).
    Misplaced,
    /// An older write to this address.
    Stale,
    /// Part of the write; the rest has older content or none.
    Torn,
    /// Any other content, or none (f3: corrupted).
    Lost,
    /// The block could not be read.
    Unreadable,
}

impl Class {
    /// The faults.
    pub const BAD: [Class; 6] = [
        Class::Flipped,
        Class::Misplaced,
        Class::Stale,
        Class::Torn,
        Class::Lost,
        Class::Unreadable,
    ];

    /// The name in metrics and on screen.
    pub fn name(self) -> &'static str {
        match self {
            Class::Good => "good",
            Class::Flipped => "flipped",
            Class::Misplaced => "misplaced",
            Class::Stale => "stale",
            Class::Torn => "torn",
            Class::Lost => "lost",
            Class::Unreadable => "unreadable",
        }
    }

    /// Classifies a block read where `expected` was written.
    pub fn from_bytes(bytes: &[u8], expected: Stamp) -> Class {
        let sectors = bytes.chunks_exact(SECTOR).enumerate().map(|(i, sector)| {
            let offset = expected.offset + (i * SECTOR) as u64;
            sector_class(sector, Stamp { offset, ..expected })
        });
        let sectors: Vec<Class> = sectors.collect();
        let count = |class| sectors.iter().filter(|s| **s == class).count();
        let (good, stale, lost) = (count(Class::Good), count(Class::Stale), count(Class::Lost));
        let total = sectors.len();
        let is_torn =
            good > 0 && (good + stale == total || good + lost == total && is_cut(&sectors, bytes));
        if good == total {
            Class::Good
        } else if count(Class::Misplaced) > 0 {
            Class::Misplaced
        } else if good + count(Class::Flipped) == total {
            Class::Flipped
        } else if is_torn {
            Class::Torn
        } else if stale == total {
            Class::Stale
        } else {
            Class::Lost
        }
    }
}

/// Whether one end of the block is good and the rest is empty: each sector repeats one word.
fn is_cut(sectors: &[Class], bytes: &[u8]) -> bool {
    let changes = sectors.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let mut empty = sectors.iter().zip(bytes.chunks_exact(SECTOR));
    changes == 1
        && empty.all(|(class, sector)| {
            *class == Class::Good || sector.chunks_exact(8).all(|word| word == &sector[..8])
        })
}

fn sector_class(sector: &[u8], expected: Stamp) -> Class {
    match read_sector(sector, Layout::default().at) {
        Some(stamp) if stamp == expected => Class::Good,
        Some(stamp) if stamp.offset == expected.offset => Class::Stale,
        Some(stamp) if stamp.seed == expected.seed => Class::Misplaced,
        Some(_) => Class::Lost,
        None => {
            let mut written_sector = [0; SECTOR];
            write(&mut written_sector, expected, Layout::default());
            let pairs = written_sector.chunks_exact(8).zip(sector.chunks_exact(8));
            let differ = pairs.filter(|(written_sector, found)| written_sector != found).count();
            if differ <= FLIPPED_WORDS_MAX { Class::Flipped } else { Class::Lost }
        }
    }
}

/// Counts of blocks by class. A block with a fault counts once, with the first fault found, and is
/// not good again if a later read succeeds.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    good: u64,
    /// Blocks of each class of [`Class::BAD`].
    bad: [u64; Class::BAD.len()],
    /// A bit for each block with a fault, so that a drive that died is counted in little memory.
    faulty: Vec<u64>,
    /// Offsets of the first blocks of each class, in the order found.
    places: Vec<(Class, u64)>,
}

impl Tally {
    pub fn add(&mut self, class: Class, offset: u64) {
        let (word, bit) = ((offset / BLOCK / 64) as usize, 1 << (offset / BLOCK % 64));
        if self.faulty.get(word).is_some_and(|bits| bits & bit != 0) {
            return;
        }
        let Some(index) = Class::BAD.iter().position(|bad| *bad == class) else {
            self.good += 1;
            return;
        };
        if self.faulty.len() <= word {
            self.faulty.resize(word + 1, 0);
        }
        self.faulty[word] |= bit;
        self.bad[index] += 1;
        if self.bad[index] <= PLACES_MAX {
            self.places.push((class, offset));
        }
    }

    /// The same faults, without good blocks: the tally of another check of the same blocks.
    pub fn faults(&self) -> Tally {
        Tally { good: 0, ..self.clone() }
    }

    /// Good blocks, counted at every read.
    pub fn good(&self) -> u64 {
        self.good
    }

    /// Blocks with this fault.
    pub fn count(&self, class: Class) -> u64 {
        let index = Class::BAD.iter().position(|bad| *bad == class);
        index.map_or(self.good, |index| self.bad[index])
    }

    /// Blocks with any fault.
    pub fn bad(&self) -> u64 {
        self.bad.iter().sum()
    }

    /// Offsets of the first blocks with this fault.
    pub fn places(&self, class: Class) -> Vec<u64> {
        let places = self.places.iter().filter(|(found, _)| *found == class);
        places.map(|(_, offset)| *offset).collect()
    }

    /// The faults in words: `3 stale, 1 torn`.
    pub fn words(&self) -> String {
        let faults = Class::BAD.into_iter().filter(|class| self.count(*class) > 0);
        let words: Vec<String> =
            faults.map(|class| format!("{} {}", self.count(class), class.name())).collect();
        words.join(", ")
    }
}

/// The stamps of a run in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamped {
    /// The greatest number of a write to this address that at least one sound sector contains.
    pub newest: Option<u64>,
    /// Whether a sector has the stamp of another address.
    pub misplaced: bool,
}

impl Stamped {
    /// Reads the stamps of a block.
    pub fn read(bytes: &[u8], offset: u64, seed: u64) -> Stamped {
        let mut stamped = Stamped::default();
        for (at, sector) in (offset..).step_by(SECTOR).zip(bytes.chunks_exact(SECTOR)) {
            let stamp = read_sector(sector, Layout::default().at);
            let Some(stamp) = stamp.filter(|stamp| stamp.seed == seed) else { continue };
            if stamp.offset == at {
                stamped.newest = stamped.newest.max(Some(stamp.sequence))
            } else {
                stamped.misplaced = true
            }
        }
        stamped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: u64 = 9;

    fn block(offset: u64, sequence: u64, seed: u64) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK as usize];
        write(&mut bytes, Stamp { offset, sequence, seed }, Layout::default());
        bytes
    }

    fn class(bytes: &[u8]) -> Class {
        Class::from_bytes(bytes, Stamp { offset: 5 * BLOCK, sequence: 70, seed: SEED })
    }

    fn stamped(bytes: &[u8]) -> Stamped {
        Stamped::read(bytes, 5 * BLOCK, SEED)
    }

    #[test]
    fn every_fault_has_its_class_and_only_the_expected_write_is_good() {
        let good = block(5 * BLOCK, 70, SEED);
        assert_eq!(class(&good), Class::Good);
        for (offset, sequence, seed, expected) in [
            (5 * BLOCK, 60, SEED, Class::Stale),
            (5 * BLOCK, 71, SEED, Class::Stale),
            (5 * BLOCK, 70, SEED + 1, Class::Stale),
            (6 * BLOCK, 70, SEED, Class::Misplaced),
            (6 * BLOCK, 70, SEED + 1, Class::Lost),
        ] {
            assert_eq!(
                class(&block(offset, sequence, seed)),
                expected,
                "{offset} {sequence} {seed}"
            );
        }
        assert_eq!(class(&vec![0; BLOCK as usize]), Class::Lost);
        for bit in [0, 77, 4096 * 8 + 5, BLOCK as usize * 8 - 1] {
            let mut flipped = good.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(class(&flipped), Class::Flipped, "{bit}");
            assert_eq!(stamped(&flipped), Stamped { newest: Some(70), misplaced: false });
        }
        let half = BLOCK as usize / 2;
        let torn = |rest: &[u8]| [&good[..half], rest].concat();
        assert_eq!(class(&torn(&block(5 * BLOCK, 60, SEED)[half..])), Class::Torn);
        assert_eq!(class(&torn(&vec![0; half])), Class::Torn);
        assert_eq!(class(&torn(&good[..half])), Class::Misplaced, "the first half twice");
        let mut hole = good.clone();
        hole[8192..12288].fill(0);
        assert_eq!(class(&hole), Class::Lost, "a page in the middle is no end of a write");
    }

    #[test]
    fn one_sound_sector_is_enough_for_the_number_of_a_write() {
        let mut bytes = vec![0; BLOCK as usize];
        assert_eq!(stamped(&bytes), Stamped::default());
        for (at, sequence) in [(0, 70), (8192, 75)] {
            let sector = &block(5 * BLOCK, sequence, SEED)[at..at + SECTOR];
            bytes[at..at + SECTOR].copy_from_slice(sector);
        }
        assert_eq!(stamped(&bytes), Stamped { newest: Some(75), misplaced: false });
        assert_eq!(Stamped::read(&bytes, 5 * BLOCK, SEED + 1), Stamped::default(), "another run");
        assert_eq!(stamped(&block(6 * BLOCK, 71, SEED)), Stamped { newest: None, misplaced: true });
    }

    #[test]
    fn counts_and_places_are_kept_by_class_and_a_block_counts_once() {
        let mut tally = Tally::default();
        for (class, at) in
            [(Class::Good, 0), (Class::Torn, 1), (Class::Stale, 2), (Class::Stale, 3)]
        {
            tally.add(class, at * BLOCK);
        }
        tally.add(Class::Flipped, 2 * BLOCK);
        tally.add(Class::Good, 3 * BLOCK);
        assert_eq!((tally.faults().good(), tally.faults().bad()), (0, 3));
        assert_eq!((tally.good(), tally.bad(), tally.count(Class::Stale)), (1, 3, 2));
        assert_eq!(tally.places(Class::Stale), [2 * BLOCK, 3 * BLOCK]);
        assert_eq!(tally.words(), "2 stale, 1 torn");
    }

    #[test]
    fn each_faulty_block_counts_once() {
        let mut tally = Tally::default();
        for _ in 0..2 {
            (0..200).for_each(|block| tally.add(Class::Flipped, block * BLOCK));
        }
        let flipped = Class::BAD.iter().position(|bad| *bad == Class::Flipped).expect("bad");
        assert_eq!((tally.bad[flipped], tally.good), (200, 0));
        tally.add(Class::Good, 3 * BLOCK);
        assert_eq!(tally.good, 0, "a faulty block is not good again");
        tally.add(Class::Good, 200 * BLOCK);
        assert_eq!(tally.good, 1);
    }
}
