//! The fate of released blocks, which are read before and after, bypassing all caches.
//!
//! This module selects the places and defines fingerprints and canaries. The device reads and
//! writes them.

use std::io;

use rig::Released;
use workload::Region;
use xxhash_rust::xxh3::xxh3_64;

use crate::sys::arena::Arena;

/// Bytes per read.
pub(crate) const STRETCH: u64 = 1 << 20;

/// Maximum number of stretches, spread over the region: enough for a conclusion, and few enough
/// that even a memory card reads them in seconds.
pub(crate) const STRETCHES: u64 = 64;

/// Unit of comparison, bytes: no drive has smaller blocks.
const SECTOR: usize = 512;

/// Seed and increment of the canaries' content: arbitrary, the latter odd.
const CANARY_SEED: u64 = 0x5d1a_9c3e_7b20_64f1;
const CANARY_STEP: u64 = 1_442_695_040_888_963_407;

/// A range of bytes to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// First byte.
    pub at: u64,
    /// Bytes, at most [`STRETCH`].
    pub bytes: u32,
}

/// A fingerprint of every sector of the places, in order.
#[derive(PartialEq, Eq)]
pub(crate) struct Look(Vec<u64>);

/// The places of a device to read, spread over a region.
pub(crate) fn places(region: Region) -> Vec<Stretch> {
    let stretches = region.bytes.div_ceil(STRETCH);
    let step = stretches.div_ceil(STRETCHES).max(1);
    let numbers = (0..STRETCHES).map(|i| i * step).take_while(|number| *number < stretches);
    let mut places = Vec::new();
    for offset in numbers.map(|number| number * STRETCH) {
        let bytes = STRETCH.min(region.bytes - offset) as u32;
        places.push(Stretch { at: region.start + offset, bytes });
    }
    places
}

/// Writes unique, incompressible content with `write`, so that changes are visible. The buffer is
/// page-aligned.
pub(crate) fn put_canaries<E: From<io::Error>>(
    write: impl Fn(u64, &[u8]) -> Result<(), E>,
    places: &[Stretch],
) -> Result<(), E> {
    let mut arena = Arena::new(1, STRETCH as usize)?;
    let mut state = CANARY_SEED;
    for place in places {
        let buffer = arena.slot(0, place.bytes);
        for word in buffer.chunks_exact_mut(8) {
            // A linear congruential generator; any bytes other than zeros would do.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(CANARY_STEP);
            word.copy_from_slice(&state.to_le_bytes());
        }
        write(place.at, buffer)?;
    }
    Ok(())
}

/// Reads the places with `read`, which bypasses all caches. The buffer is page-aligned.
pub(crate) fn look<E: From<io::Error>>(
    read: impl Fn(u64, &mut [u8]) -> Result<(), E>,
    places: &[Stretch],
) -> Result<Look, E> {
    let mut arena = Arena::new(1, STRETCH as usize)?;
    let mut prints = Vec::new();
    for place in places {
        let buffer = arena.slot(0, place.bytes);
        read(place.at, buffer)?;
        prints.extend(buffer.chunks(SECTOR).map(xxh3_64));
    }
    Ok(Look(prints))
}

impl Look {
    /// Compares this with a later look at the same places.
    pub fn until(&self, after: &Look) -> Released {
        let zero = xxh3_64(&[0; SECTOR]);
        let count = |is: &dyn Fn(u64, u64) -> bool| {
            let pairs = self.0.iter().zip(&after.0);
            (pairs.filter(|(before, after)| is(**before, **after)).count() * SECTOR) as u64
        };
        Released {
            looked_bytes: (self.0.len() * SECTOR) as u64,
            zero_bytes: count(&|before, after| after == zero && before != zero),
            kept_bytes: count(&|before, after| after == before),
            trimmed_bytes: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_spread_over_the_region() {
        let few = places(Region { start: 512, bytes: (3 << 20) + 512 });
        assert_eq!(few.len(), 4);
        assert_eq!(few[3], Stretch { at: 512 + (3 << 20), bytes: 512 });
        let many = places(Region::first(1 << 40));
        assert_eq!(many.len(), STRETCHES as usize);
        assert!(many[63].at > 1_000_000_000_000 && many[63].at < 1 << 40);
    }

    #[test]
    fn zeros_and_unchanged_blocks_are_distinguished() {
        let mut content: Vec<u8> = (0..4096u32).flat_map(|i| i.to_le_bytes()).collect();
        let places = [Stretch { at: 0, bytes: 16384 }];
        let look_at = |content: &[u8]| {
            let read = |at: u64, buffer: &mut [u8]| {
                buffer.copy_from_slice(&content[at as usize..][..buffer.len()]);
                Ok::<(), io::Error>(())
            };
            look(read, &places).expect("read")
        };
        let before = look_at(&content);
        content[..4096].fill(0);
        content[4096..4096 + 512].fill(7);
        let released = before.until(&look_at(&content));
        assert_eq!(released.looked_bytes, 16384);
        assert_eq!(released.zero_bytes, 4096);
        assert_eq!(released.kept_bytes, 16384 - 4096 - 512);
    }
}
