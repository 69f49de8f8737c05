//! Releases the blocks of a scratch file and reads them on the drive below its file system.
//!
//! The file system's extent map locates the blocks on the device. Punching a hole frees them (to
//! the file system, the same as deleting the file), and a trim follows. The map is checked first:
//! the device must contain the file's content at those places.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use drive::DriveError;
use rig::Released;
use rustix::fs::{FallocateFlags, fallocate};
use workload::Region;

use super::{Able, DeviceError};
use crate::release::{Look, STRETCH, STRETCHES, Stretch, look};
use crate::sys::file::{Piece, pieces, trim_free};

/// The blocks of a file, located on the device below its file system.
pub(super) struct FoundBlocks {
    device: File,
    places: Vec<Stretch>,
    before: Look,
}

impl FoundBlocks {
    /// Locates the blocks of a region of `file` on `device`. `file` bypasses the cache. The error
    /// text gives the reason for a failure; missing rights are a refusal.
    pub(super) fn find(file: &File, region: Region, device: &Path) -> Able<FoundBlocks> {
        file.sync_data().map_err(|e| absent(format!("the file cannot be flushed: {e}")))?;
        let extents = pieces(file, region.start, region.bytes)
            .map_err(|_| absent("the file system hides where its blocks are".into()))?;
        if extents.is_empty() || extents.iter().any(|piece| !piece.plain) {
            return Err(absent("the drive does not store the file's blocks unchanged".into()));
        }
        let (logical, places) = stretches(&extents);
        let mut options = OpenOptions::new();
        let raw = options.read(true).custom_flags(libc::O_DIRECT).open(device);
        let name = device.display();
        let raw = raw.map_err(|e| unread(device, &e))?;
        let before = look(exactly(&raw), &places).map_err(|e| unread(device, &e))?;
        let content = look(exactly(file), &logical)
            .map_err(|e| absent(format!("the file cannot be read: {e}")))?;
        if before != content {
            return Err(absent(format!("the blocks on {name} differ from the file's content")));
        }
        Ok(FoundBlocks { device: raw, places, before })
    }

    /// Reads the blocks again.
    pub(super) fn look_again(&self) -> io::Result<Released> {
        Ok(self.before.until(&look(exactly(&self.device), &self.places)?))
    }
}

fn absent(why: String) -> DeviceError {
    DeviceError::Absent(why)
}

/// The blocks cannot be read on the device below the file system.
fn unread(device: &Path, error: &io::Error) -> DeviceError {
    let name = device.display();
    let is_root = rustix::process::geteuid().is_root();
    if error.kind() == io::ErrorKind::PermissionDenied && !is_root {
        let text = format!("only root can read {name}");
        return DeviceError::Drive(DriveError::Refused { text, hint: None });
    }
    absent(format!("{name} cannot be read directly: {error}"))
}

/// The first stretches of the pieces: their places in the file and on the device.
fn stretches(pieces: &[Piece]) -> (Vec<Stretch>, Vec<Stretch>) {
    let (mut logical, mut physical) = (Vec::new(), Vec::new());
    for piece in pieces {
        for offset in (0..piece.bytes).step_by(STRETCH as usize) {
            if logical.len() == STRETCHES as usize {
                break;
            }
            let bytes = STRETCH.min(piece.bytes - offset) as u32;
            logical.push(Stretch { at: piece.logical + offset, bytes });
            physical.push(Stretch { at: piece.physical + offset, bytes });
        }
    }
    (logical, physical)
}

/// Frees a region of a file and makes the file system trim all its free space. Returns the number
/// of bytes reported as trimmed, or `None` if trimming is unsupported.
pub(super) fn free(file: &File, region: Region) -> io::Result<Option<u64>> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(file, flags, region.start, region.bytes)?;
    // Blocks are not free until the file system has committed the change.
    file.sync_all()?;
    match trim_free(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if matches!(e.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY)) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Returns a function that fills a buffer from a file.
fn exactly(file: &File) -> impl Fn(u64, &mut [u8]) -> io::Result<()> {
    |offset, buffer| file.read_exact_at(buffer, offset)
}
