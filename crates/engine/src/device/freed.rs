//! Blocks of a scratch file, released on the drive below its file system.
//!
//! They are found on the device by the file system's own map, freed by punching a hole (the same to
//! the file system as deleting the file), and trimmed. The map is checked first: the device must hold
//! the file's content there.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rig::Released;
use rustix::fs::{FallocateFlags, fallocate};
use workload::Region;

use crate::release::{Look, STRETCH, STRETCHES, Stretch, look};
use crate::sys::file::{Piece, pieces, trim_free};

/// Blocks of a file, located on the device below its file system.
pub(super) struct Found {
    device: File,
    places: Vec<Stretch>,
    before: Look,
}

impl Found {
    /// Locates the blocks of a region of `file`, which bypasses the cache, on `device`; the error
    /// is the reason for a failure.
    pub(super) fn find(file: &File, region: Region, device: &Path) -> Result<Found, String> {
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
        let before = look(exactly(&raw), &places).map_err(unread)?;
        let held =
            look(exactly(file), &logical).map_err(|e| format!("the file cannot be read: {e}"))?;
        if before != held {
            return Err(format!("what {name} holds there is not what the file holds"));
        }
        Ok(Found { device: raw, places, before })
    }

    /// Reads the blocks again.
    pub(super) fn look_again(&self) -> io::Result<Released> {
        Ok(self.before.until(&look(exactly(&self.device), &self.places)?))
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
pub(super) fn free(file: &File, region: Region) -> io::Result<Option<u64>> {
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

/// Reads from a file.
fn exactly(file: &File) -> impl Fn(u64, &mut [u8]) -> io::Result<()> {
    |offset, buffer| file.read_exact_at(buffer, offset)
}
