//! Stamped sectors: content that tells where, when and by whom it was written.
//!
//! Every 512 bytes carry a header of their address, the sequence number of the write, the run's
//! seed and a checksum over the whole sector. Read back, that tells a *stale* sector (an older
//! write), a *misplaced* one (somebody else's address), a *torn* block (sectors of different
//! writes) and *flipped* bits (a checksum that fails) apart. Sectors of 512 bytes, because a drive
//! may tear anywhere on its smallest unit.

use xxhash_rust::xxh3::xxh3_64;

/// Bytes in a stamped sector.
pub const SECTOR: usize = 512;

const MAGIC: u64 = u64::from_le_bytes(*b"ssdyno/1");
const HEADER: usize = 40;

/// What a stamp says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Byte offset of the sector on the target.
    pub offset: u64,
    /// Number of the write that wrote it, counted from 1 per run.
    pub sequence: u64,
    /// Seed of the run.
    pub seed: u64,
}

/// What is wrong with a block that was read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Right place, an older write than the last acknowledged one.
    Stale,
    /// The content of another address.
    Misplaced,
    /// Sectors of one block come from different writes.
    Torn,
    /// A checksum fails, or the stamp is gone.
    Flipped,
    /// A good stamp of another run: this run never wrote here.
    Foreign,
}

impl Fault {
    /// The word used in records and on screens.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Stale => "stale",
            Fault::Misplaced => "misplaced",
            Fault::Torn => "torn",
            Fault::Flipped => "flipped",
            Fault::Foreign => "foreign",
        }
    }
}

/// Stamps every whole sector of a block that begins at `offset`.
pub fn write(block: &mut [u8], offset: u64, sequence: u64, seed: u64) {
    for (i, sector) in block.chunks_exact_mut(SECTOR).enumerate() {
        let stamp = Stamp { offset: offset + (i * SECTOR) as u64, sequence, seed };
        write_sector(sector, stamp);
    }
}

fn write_sector(sector: &mut [u8], stamp: Stamp) {
    // The payload is derived from the stamp, so that a sector is incompressible and unique.
    let mut state = stamp.offset ^ stamp.sequence.rotate_left(40) ^ stamp.seed.rotate_left(20);
    for word in sector[HEADER..].chunks_exact_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word.copy_from_slice(&(mixed ^ mixed >> 32).to_le_bytes());
    }
    let fields = [MAGIC, stamp.offset, stamp.sequence, stamp.seed];
    for (word, value) in sector[8..HEADER].chunks_exact_mut(8).zip(fields) {
        word.copy_from_slice(&value.to_le_bytes());
    }
    let sum = xxh3_64(&sector[8..]);
    sector[..8].copy_from_slice(&sum.to_le_bytes());
}

/// Reads the stamp of one sector; `None` when its checksum fails or it never had one.
pub fn read_sector(sector: &[u8]) -> Option<Stamp> {
    let word = |i: usize| sector.get(i * 8..i * 8 + 8)?.try_into().ok().map(u64::from_le_bytes);
    if word(1)? != MAGIC || word(0)? != xxh3_64(&sector[8..]) {
        return None;
    }
    Some(Stamp { offset: word(2)?, sequence: word(3)?, seed: word(4)? })
}

/// Checks a block that was read at `offset`. `sequence` is the last acknowledged write of the block,
/// or `None` when this run has not written it (then any good stamp in its place will do).
pub fn check(block: &[u8], offset: u64, sequence: Option<u64>, seed: u64) -> Result<(), Fault> {
    let mut first = None;
    for (i, sector) in block.chunks_exact(SECTOR).enumerate() {
        let stamp = read_sector(sector).ok_or(Fault::Flipped)?;
        if stamp.seed != seed {
            return Err(Fault::Foreign);
        }
        if stamp.offset != offset + (i * SECTOR) as u64 {
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

    fn block(offset: u64, sequence: u64) -> Vec<u8> {
        let mut block = vec![0; 8 * SECTOR];
        write(&mut block, offset, sequence, SEED);
        block
    }

    #[test]
    fn the_four_faults_are_told_apart() {
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
        assert_eq!(check(&[0; 4096], 4096, Some(7), SEED), Err(Fault::Flipped));
    }

    proptest! {
        #[test]
        fn any_flipped_bit_is_found(bit in 0usize..8 * 8 * SECTOR) {
            let mut bad = block(0, 1);
            bad[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(check(&bad, 0, Some(1), SEED), Err(Fault::Flipped));
        }

        #[test]
        fn foreign_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let _ = check(&bytes, 0, None, SEED);
            let _ = read_sector(&bytes);
        }
    }
}
