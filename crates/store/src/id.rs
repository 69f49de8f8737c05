//! Run ids: globally unique, sorted by time, short enough to read aloud.
//!
//! An id is a ULID: 48 bits of milliseconds since 1970 and 80 random bits, as 26 digits of
//! Crockford's base 32. A UUID (version 7) would need 36 characters.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::{StoreError, system};

/// Crockford's digits, without I, L, O and U, which are easily misread.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// A new id for a run that starts now.
pub fn new_id() -> Result<String, StoreError> {
    // A clock before 1970 is not an error: the random bits keep the id unique.
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(id(since_1970.as_millis() as u64, random()?))
}

/// Random bytes from the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut random = [0; N];
    system::fill_randomly(&mut random).map_err(StoreError::Random)?;
    Ok(random)
}

/// The id of an imported record that began at `ms` milliseconds since 1970 (0: unknown). Equal
/// `content` gives equal ids: 80 bits of a hash replace the random ones.
pub fn id_of(ms: i64, content: &[u8]) -> String {
    let hash = xxhash_rust::xxh3::xxh3_128(content).to_be_bytes();
    let mut bits = [0; 10];
    bits.copy_from_slice(&hash[..10]);
    id(ms.clamp(0, (1 << 48) - 1) as u64, bits)
}

fn id(ms: u64, random: [u8; 10]) -> String {
    let random = random.iter().fold(0u128, |bits, &byte| bits << 8 | u128::from(byte));
    let bits = u128::from(ms) << 80 | random;
    (0..26).rev().map(|i| DIGITS[(bits >> (5 * i)) as usize % 32] as char).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn agrees_with_the_example_of_the_ulid_specification() {
        assert_eq!(&id(1_469_918_176_385, [0; 10])[..10], "01ARYZ6S41");
        assert_eq!(id((1 << 48) - 1, [255; 10]), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
    }

    #[test]
    fn the_same_content_has_the_same_id() {
        assert_eq!(id_of(7, b"a"), id_of(7, b"a"));
        assert_ne!(id_of(7, b"a"), id_of(7, b"b"));
        assert!(id_of(-5, b"a") < id_of(1, b"a"));
        assert_eq!(id_of(0, b"a").len(), 26);
    }

    #[test]
    fn sorts_by_time_and_never_repeats() {
        assert!(id(1, [255; 10]) < id(2, [0; 10]));
        let ids: BTreeSet<_> = (0..1000).map(|_| new_id().expect("random numbers")).collect();
        assert_eq!(ids.len(), 1000);
    }
}
