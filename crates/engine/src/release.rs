//! The fate of released blocks: read before and after, past all caches.
//!
//! A device is discarded. Blocks of a scratch file are found on the device by the file system's own
//! map, freed by punching a hole (the same to the file system as deleting the file), and trimmed.
//! The map is checked first: the device must hold the file's content there.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rig::Released;
use rustix::fs::{FallocateFlags, fallocate};
use workload::Region;
use xxhash_rust::xxh3::xxh3_64;

use crate::sys::arena::Arena;
use crate::sys::file::{Piece, pieces, trim_free};

/// Read at once, bytes.
const STRETCH: u64 = 1 << 20;

/// Stretches read, spread over the region: enough to tell, and read in a second by any drive.
const STRETCHES: u64 = 64;

/// Unit of comparison, bytes: no drive has smaller blocks.
const SECTOR: usize = 512;

/// Seed and increment of the canaries' content: arbitrary, the latter odd.
const CANARY_SEED: u64 = 0x5d1a_9c3e_7b20_64f1;
const CANARY_STEP: u64 = 1_442_695_040_888_963_407;

/// A stretch that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// First byte.
    pub at: u64,
    /// Bytes, at most [`STRETCH`].
    pub bytes: u32,
}

/// A fingerprint of every sector of the places, in order.
pub(crate) struct Look(Vec<u64>);

/// Places of a device to look at, spread over a region.
pub(crate) fn places(region: Region) -> Vec<Stretch> {
    let all = region.bytes.div_ceil(STRETCH);
    let step = all.div_ceil(STRETCHES).max(1);
    let starts = (0..all).step_by(step as usize).map(|i| i * STRETCH);
    let place =
        |at: u64| Stretch { at: region.start + at, bytes: STRETCH.min(region.bytes - at) as u32 };
    starts.map(place).collect()
}

/// Writes unique, incompressible content, so that its fate can be seen.
pub(crate) fn put_canaries(file: &File, places: &[Stretch]) -> io::Result<()> {
    let mut arena = Arena::new(1, STRETCH as usize)?;
    let mut state = CANARY_SEED;
    for place in places {
        let buffer = arena.slot(0, place.bytes);
        for word in buffer.chunks_exact_mut(8) {
            // A linear congruential generator: any bytes other than zeroes would do.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(CANARY_STEP);
            word.copy_from_slice(&state.to_le_bytes());
        }
        file.write_all_at(buffer, place.at)?;
    }
    file.sync_data()
}

/// Reads the places of a file or device that was opened past the cache.
pub(crate) fn look(file: &File, places: &[Stretch]) -> io::Result<Look> {
    let mut arena = Arena::new(1, STRETCH as usize)?;
    let mut prints = Vec::new();
    for place in places {
        let buffer = arena.slot(0, place.bytes);
        file.read_exact_at(buffer, place.at)?;
        prints.extend(buffer.chunks(SECTOR).map(xxh3_64));
    }
    Ok(Look(prints))
}

impl Look {
    /// Changes up to a later look at the same places.
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

/// Blocks of a file, located on the device below its file system.
pub(crate) struct Found {
    device: File,
    places: Vec<Stretch>,
    before: Look,
}

impl Found {
    /// Locates the blocks of a region of `file`, which bypasses the cache, on `device`; the error
    /// is the reason for a failure.
    pub fn find(file: &File, region: Region, device: &Path) -> Result<Found, String> {
        file.sync_data().map_err(|e| format!("the file cannot be flushed: {e}"))?;
        let all = pieces(file, region.start, region.bytes)
            .map_err(|e| format!("the file system does not tell where its blocks are: {e}"))?;
        if all.is_empty() || all.iter().any(|piece| !piece.plain) {
            return Err("the file's blocks do not stand on the device as they are".into());
        }
        let (logical, places) = stretches(&all);
        let mut options = OpenOptions::new();
        let raw = options.read(true).custom_flags(libc::O_DIRECT).open(device);
        let name = device.display();
        let raw = raw.map_err(|e| format!("{name} cannot be read past its file system: {e}"))?;
        let unread = |e| format!("{name} cannot be read past its file system: {e}");
        let before = look(&raw, &places).map_err(unread)?;
        let held = look(file, &logical).map_err(|e| format!("the file cannot be read: {e}"))?;
        if before.0 != held.0 {
            return Err(format!("what {name} holds there is not what the file holds"));
        }
        Ok(Found { device: raw, places, before })
    }

    /// Reads the blocks again.
    pub fn look_again(&self) -> io::Result<Released> {
        Ok(self.before.until(&look(&self.device, &self.places)?))
    }
}

/// The first stretches of the pieces, in the file and on the device.
fn stretches(pieces: &[Piece]) -> (Vec<Stretch>, Vec<Stretch>) {
    let cut = |piece: &Piece| {
        let piece = *piece;
        (0..piece.bytes).step_by(STRETCH as usize).map(move |at| {
            let bytes = STRETCH.min(piece.bytes - at) as u32;
            let place = |start: u64| Stretch { at: start + at, bytes };
            (place(piece.logical), place(piece.physical))
        })
    };
    pieces.iter().flat_map(cut).take(STRETCHES as usize).unzip()
}

/// Frees a region of a file and makes the file system tell the device: immediately if it discards
/// online, otherwise by trimming all its free space. Returns the bytes reported as trimmed; `None`
/// if unsupported.
pub(crate) fn free(file: &File, region: Region) -> io::Result<Option<u64>> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(file, flags, region.start, region.bytes)?;
    // Blocks in the file system's journal are not free yet.
    file.sync_all()?;
    match trim_free(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if matches!(e.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY)) => Ok(None),
        Err(e) => Err(e),
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
        let file = tempfile::tempfile().expect("a file");
        let content: Vec<u8> = (0..4096u32).flat_map(|i| i.to_le_bytes()).collect();
        file.write_all_at(&content, 0).expect("written");
        let places = [Stretch { at: 0, bytes: 16384 }];
        let before = look(&file, &places).expect("read");
        file.write_all_at(&[0; 4096], 0).expect("written");
        file.write_all_at(&[7; 512], 4096).expect("written");
        let released = before.until(&look(&file, &places).expect("read"));
        assert_eq!(released.looked_bytes, 16384);
        assert_eq!(released.zero_bytes, 4096);
        assert_eq!(released.kept_bytes, 16384 - 4096 - 512);
    }
}
