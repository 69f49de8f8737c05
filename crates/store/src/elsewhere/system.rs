//! What the store asks of the operating system, on systems other than Linux. What they do not
//! answer through the standard library is unknown, and SQLite's own errors must do.

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// Space of a file system, bytes.
pub(crate) struct Space {
    /// Size of a block.
    pub block: u64,
    /// Free for this user.
    pub free: u64,
}

/// The space of the file system of a directory: unknown.
pub(crate) fn space(_directory: &Path) -> Option<Space> {
    None
}

/// Whether other machines can write to the file system of a directory: a share of Windows, by its
/// name (`\\server\share`).
pub(crate) fn is_shared(directory: &Path) -> bool {
    directory.to_string_lossy().starts_with(r"\\")
}

/// The limit of this process for the size of a file: none.
pub(crate) fn size_limit() -> Option<u64> {
    None
}

/// Opens a file for reading.
pub(crate) fn open_to_read(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Fills a buffer with random bytes. The keys of a new hasher are the system's random numbers.
pub(crate) fn fill_randomly(buffer: &mut [u8]) -> io::Result<()> {
    let state = RandomState::new();
    for (number, word) in (0..).zip(buffer.chunks_mut(8)) {
        let mut hasher = state.build_hasher();
        hasher.write_u64(number);
        word.copy_from_slice(&hasher.finish().to_le_bytes()[..word.len()]);
    }
    Ok(())
}

/// The bytes of a path as in an SQLite URI, before they are escaped. The URI of a drive on Windows
/// is `file:///C:/runs.sqlite`.
pub(crate) fn uri_path(path: &Path) -> Vec<u8> {
    let path = path.to_string_lossy();
    if !cfg!(windows) {
        return path.as_bytes().to_vec();
    }
    let path = path.replace('\\', "/");
    let root = if path.starts_with('/') || !path.contains(':') { "" } else { "///" };
    format!("{root}{path}").into_bytes()
}

/// A URI as SQLite's binding takes it.
pub(crate) fn uri(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}
