//! Room for the tests: stated first and checked before anything is built.
//!
//! A scratch file leaves a part of its file system free (rule 5 of safety), so on a full disk many
//! tests would fail, none of them saying why.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::statvfs;

use crate::run::root;

const GIB: u64 = 1 << 30;

/// Free space that the tests use at most at one moment, bytes. Measured: their directories on a
/// file system of their own, four tests at a time, its used space read every 0.3 s: 0.43 GB. The rest
/// is for the guest's images and for more threads.
const PEAK_BYTES: u64 = 2 * GIB;

/// Size of `target` after all checks, bytes, rounded up.
const BUILD_BYTES: u64 = 8 * GIB;

/// The most that a scratch file leaves free: `drive::kept_free`.
const KEPT_BYTES_MAX: u64 = 8 * GIB;

/// Free and needed space of a directory's file system, bytes.
struct Room {
    directory: PathBuf,
    free_bytes: u64,
    needed_bytes: u64,
}

/// Checks the file systems that the tests use; returns a line with the amounts.
pub fn check() -> Result<String> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    std::fs::create_dir_all(&target).with_context(|| target.display().to_string())?;
    let temporary = std::env::temp_dir();
    let mut rooms = vec![Room::look(&target, BUILD_BYTES.saturating_sub(used_bytes(&target)))?];
    if device(&temporary)? != device(&target)? {
        rooms.push(Room::look(&temporary, 0)?);
    }
    if let Some(small) = rooms.iter().find(|room| room.free_bytes < room.needed_bytes) {
        bail!(
            "no room for the tests: {small}\n   try: free some space, or set CARGO_TARGET_DIR and \
             TMPDIR to directories on a larger disk"
        );
    }
    Ok(rooms.iter().map(Room::to_string).collect::<Vec<_>>().join("; "))
}

impl Room {
    /// The room of a directory for the tests and `more_bytes`.
    fn look(directory: &Path, more_bytes: u64) -> Result<Room> {
        let space = statvfs(directory).with_context(|| directory.display().to_string())?;
        let bytes = |blocks: u64| blocks.saturating_mul(space.f_frsize);
        let kept_bytes = KEPT_BYTES_MAX.min(bytes(space.f_blocks).div_ceil(10));
        let needed_bytes = kept_bytes + PEAK_BYTES + more_bytes;
        Ok(Room { directory: directory.into(), free_bytes: bytes(space.f_bavail), needed_bytes })
    }
}

impl std::fmt::Display for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let gib = |bytes: u64| bytes as f64 / GIB as f64;
        let (needed, free) = (gib(self.needed_bytes), gib(self.free_bytes));
        write!(f, "{}: {needed:.1} GiB needed, {free:.1} GiB free", self.directory.display())
    }
}

fn device(directory: &Path) -> Result<u64> {
    let meta = std::fs::metadata(directory).with_context(|| directory.display().to_string())?;
    Ok(meta.dev())
}

/// Bytes on the disk in a directory and below it.
fn used_bytes(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => used_bytes(&entry.path()),
        Ok(meta) => meta.blocks() * 512,
        Err(_) => 0,
    });
    bytes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_amount_does_not_depend_on_the_size_of_a_large_disk() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("file"), vec![1; 100_000]).expect("written");
        assert!(used_bytes(directory.path()) >= 100_000);
        let room = Room::look(directory.path(), GIB).expect("seen");
        assert!((3 * GIB..=11 * GIB).contains(&room.needed_bytes), "{room}");
        assert!(room.to_string().contains("GiB needed, "), "{room}");
    }
}
