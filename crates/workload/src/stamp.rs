//! Stamped sectors: content that identifies its address, its write and its run.
//!
//! Each sector carries a header with its address, the sequence number of the write, the seed of the
//! run and a checksum of the whole sector. When the sector is read back, the header distinguishes a
//! *stale* sector (an older write), a *misplaced* one (another address), a *torn* block (sectors of
//! different writes), *flipped* bits (a bad checksum) and an *unwritten* sector (no stamp). Sectors
//! are 512 bytes by default, because a drive may tear at its smallest unit.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::Motif;

/// Size of a stamped sector, in bytes.
pub const SECTOR: usize = 512;

/// How written blocks are marked for verification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// A stamp in every sector.
    Stamps {
        /// Positions of the stamps.
        layout: Layout,
        /// Content around the stamps; `None` for bytes derived from the stamp.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        around: Option<Motif>,
    },
    /// A pattern without stamps. It cannot distinguish an older write from the last.
    Motif(Motif),
}

impl Default for Proof {
    fn default() -> Proof {
        Proof::Stamps { layout: Layout::default(), around: None }
    }
}

/// Positions of stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Distance between stamps in bytes, at least `at` + [`HEADER`].
    pub sector: usize,
    /// Offset of the stamp in its sector, in bytes.
    pub at: usize,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout { sector: SECTOR, at: 0 }
    }
}

const MAGIC: u64 = u64::from_le_bytes(*b"ssdyno/1");
/// Size of a stamp, in bytes.
pub const HEADER: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Byte offset of the sector on the target.
    pub offset: u64,
    /// Sequence number of the write, counted from 1 per run.
    pub sequence: u64,
    pub seed: u64,
}

/// A fault in a block that was read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Content of the right address, but older than the last acknowledged write.
    Stale,
    /// Content written to another address.
    Misplaced,
    /// Sectors of different writes in one block.
    Torn,
    /// A bad checksum or a missing stamp.
    Flipped,
    /// A valid stamp of another run.
    Foreign,
    /// No stamp, where an earlier run should have left one.
    Unwritten,
}

impl Fault {
    /// The word used in records and on screen.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Stale => "stale",
            Fault::Misplaced => "misplaced",
            Fault::Torn => "torn",
            Fault::Flipped => "flipped",
            Fault::Foreign => "foreign",
            Fault::Unwritten => "unwritten",
        }
    }
}

/// Fills a block that begins at `offset` and stamps each whole sector. The remaining bytes are
/// derived from the stamp, so each sector is incompressible and unique.
pub fn write(block: &mut [u8], stamp: Stamp, layout: Layout) {
    for (i, sector) in block.chunks_exact_mut(layout.sector).enumerate() {
        let offset = stamp.offset + (i * layout.sector) as u64;
        let mut state = offset ^ stamp.sequence.rotate_left(40) ^ stamp.seed.rotate_left(20);
        for word in sector.chunks_mut(8) {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word.copy_from_slice(&(mixed ^ mixed >> 32).to_le_bytes()[..word.len()]);
        }
        seal_sector(sector, Stamp { offset, ..stamp }, layout.at);
    }
}

/// Stamps each whole sector of a block and leaves the other bytes unchanged. `stamp` belongs to the
/// first sector.
pub fn seal(block: &mut [u8], stamp: Stamp, layout: Layout) {
    for (i, sector) in block.chunks_exact_mut(layout.sector).enumerate() {
        let offset = stamp.offset + (i * layout.sector) as u64;
        seal_sector(sector, Stamp { offset, ..stamp }, layout.at);
    }
}

fn seal_sector(sector: &mut [u8], stamp: Stamp, at: usize) {
    let fields = [MAGIC, stamp.offset, stamp.sequence, stamp.seed];
    for (word, value) in sector[at + 8..at + HEADER].chunks_exact_mut(8).zip(fields) {
        word.copy_from_slice(&value.to_le_bytes());
    }
    let sum = sum(sector, at);
    sector[at..at + 8].copy_from_slice(&sum.to_le_bytes());
}

/// Checksum of a sector, excluding the checksum field at `at`.
fn sum(sector: &[u8], at: usize) -> u64 {
    let before = if at == 0 { 0 } else { xxh3_64(&sector[..at]) };
    xxh3_64_with_seed(&sector[at + 8..], before)
}

/// Reads the stamp at `at` of one sector; `None` if there is none or its checksum fails.
pub fn read_sector(sector: &[u8], at: usize) -> Option<Stamp> {
    let [checksum, magic, offset, sequence, seed] = words(sector, at)?;
    let valid = magic == MAGIC && checksum == sum(sector, at);
    valid.then_some(Stamp { offset, sequence, seed })
}

/// The fields of the stamp at `at`: checksum, magic, offset, sequence, seed.
fn words(sector: &[u8], at: usize) -> Option<[u64; 5]> {
    let header = sector.get(at..at + HEADER)?;
    Some(std::array::from_fn(|i| header[i * 8..i * 8 + 8].try_into().map_or(0, u64::from_le_bytes)))
}

/// Whether any field of an invalid stamp has its expected value: the sector was written and then
/// changed.
fn resembles_stamp(sector: &[u8], offset: u64, seed: u64, at: usize) -> bool {
    let Some([_, magic, place, _, run]) = words(sector, at) else { return false };
    // An offset or a seed of zero also matches a sector of zeros.
    magic == MAGIC || (place == offset && place != 0) || (run == seed && run != 0)
}

/// Checks a block that was read at `offset`. `sequence` is the block's last acknowledged write, or
/// `None` if this run has not written it. In that case any valid stamp with this address and seed
/// passes.
pub fn check(
    block: &[u8],
    offset: u64,
    sequence: Option<u64>,
    seed: u64,
    layout: Layout,
) -> Result<(), Fault> {
    let mut first = None;
    for (i, sector) in block.chunks_exact(layout.sector).enumerate() {
        let position = offset + (i * layout.sector) as u64;
        let Some(stamp) = read_sector(sector, layout.at) else {
            let is_unwritten =
                sequence.is_none() && !resembles_stamp(sector, position, seed, layout.at);
            return Err(if is_unwritten { Fault::Unwritten } else { Fault::Flipped });
        };
        if stamp.seed != seed {
            return Err(Fault::Foreign);
        }
        if stamp.offset != position {
            return Err(Fault::Misplaced);
        }
        if *first.get_or_insert(stamp.sequence) != stamp.sequence {
            return Err(Fault::Torn);
        }
    }
    match (sequence, first) {
        (Some(expected), Some(found)) if found != expected => Err(Fault::Stale),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEED: u64 = 99;

    const DEFAULT: Layout = Layout { sector: SECTOR, at: 0 };

    fn block(offset: u64, sequence: u64) -> Vec<u8> {
        let mut block = vec![0; 8 * SECTOR];
        write(&mut block, Stamp { offset, sequence, seed: SEED }, DEFAULT);
        block
    }

    fn check(block: &[u8], offset: u64, sequence: Option<u64>, seed: u64) -> Result<(), Fault> {
        super::check(block, offset, sequence, seed, DEFAULT)
    }

    #[test]
    fn each_fault_is_identified() {
        let good = block(4096, 7);
        assert_eq!(check(&good, 4096, Some(7), SEED), Ok(()));
        assert_eq!(check(&good, 4096, None, SEED), Ok(()));
        assert_eq!(check(&good, 4096, Some(8), SEED), Err(Fault::Stale));
        assert_eq!(check(&good, 8192, Some(7), SEED), Err(Fault::Misplaced));
        assert_eq!(check(&good, 4096, Some(7), 1), Err(Fault::Foreign));
        let mut torn = good.clone();
        torn[5 * SECTOR..].copy_from_slice(&block(4096, 6)[5 * SECTOR..]);
        assert_eq!(check(&torn, 4096, Some(7), SEED), Err(Fault::Torn));
        assert_eq!(check(&torn, 4096, None, SEED), Err(Fault::Torn));
        assert_eq!(check(&[0; 4096], 4096, None, SEED), Err(Fault::Unwritten));
        assert_eq!(check(&[0; 4096], 4096, Some(7), SEED), Err(Fault::Flipped));
    }

    proptest! {
        #[test]
        fn any_flipped_bit_is_found(bit in 0usize..8 * 8 * SECTOR) {
            let mut bad = block(0, 1);
            bad[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(check(&bad, 0, Some(1), SEED), Err(Fault::Flipped));
            prop_assert_eq!(check(&bad, 0, None, SEED), Err(Fault::Flipped));
        }

        #[test]
        fn foreign_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let _ = check(&bytes, 0, None, SEED);
            let _ = read_sector(&bytes, 0);
            let _ = read_sector(&bytes, 100);
        }

        #[test]
        fn stamps_lie_anywhere_in_sectors_of_any_length(
            at in 0usize..60,
            rest in 0usize..100,
            change in 0usize..600,
        ) {
            let layout = Layout { sector: at + HEADER + rest, at };
            let stamp = Stamp { offset: 700, sequence: 3, seed: SEED };
            let mut block = vec![7; 3 * layout.sector];
            seal(&mut block, stamp, layout);
            prop_assert_eq!(super::check(&block, 700, Some(3), SEED, layout), Ok(()));
            prop_assert!(block[..at].iter().chain(&block[at + HEADER..layout.sector]).all(|b| *b == 7));
            write(&mut block, stamp, layout);
            let changed = change % block.len();
            block[changed] ^= 1;
            prop_assert_eq!(super::check(&block, 700, Some(3), SEED, layout), Err(Fault::Flipped));
        }
    }
}
