//! Default location of the store: the XDG data directory.

use std::path::{Path, PathBuf};

use emit::{Directory, directory_of};

use crate::StoreError;

/// `$XDG_DATA_HOME/ssdyno/runs.sqlite`, or the same below `~/.local/share`.
pub fn default_path() -> Result<PathBuf, StoreError> {
    let data = emit::user_directory("XDG_DATA_HOME", ".local/share").ok_or(StoreError::NoHome)?;
    Ok(data.join("ssdyno").join("runs.sqlite"))
}

/// Opens the file's directory, or creates it, accessible only to this user, as the XDG specification
/// requires. Each new directory is made durable in its parent first, because SQLite syncs only the
/// directory of the store itself.
pub(crate) fn make_directory(file: &Path) -> Result<Directory, StoreError> {
    let dir = directory_of(file);
    Directory::create(dir, 0o700)
        .map_err(|source| StoreError::Io { path: dir.to_path_buf(), source })
}
