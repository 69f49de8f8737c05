//! Default location of the store: the XDG data directory.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use emit::directory_of;

use crate::StoreError;

/// `$XDG_DATA_HOME/ssdyno/runs.sqlite`, or the same below `~/.local/share`.
pub fn default_path() -> Result<PathBuf, StoreError> {
    let data = emit::user_directory("XDG_DATA_HOME", ".local/share").ok_or(StoreError::NoHome)?;
    Ok(data.join("ssdyno").join("runs.sqlite"))
}

/// Creates the file's directory, accessible only to this user, as the XDG specification requires.
/// Each new directory is made durable in its parent first, because SQLite syncs only the directory
/// of the store itself.
pub(crate) fn make_directory(file: &Path) -> Result<(), StoreError> {
    let dir = directory_of(file);
    let missing: Vec<&Path> = dir.ancestors().take_while(|level| !level.exists()).collect();
    let make = |level: &Path| match fs::DirBuilder::new().mode(0o700).create(level) {
        // Another process was faster.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && level.is_dir() => Ok(()),
        made => made,
    };
    for level in missing.into_iter().rev().filter(|level| !level.as_os_str().is_empty()) {
        make(level).map_err(|source| StoreError::Io { path: dir.to_path_buf(), source })?;
        // Not every file system can sync a directory; on those, nothing more can be done.
        let _ = fs::File::open(directory_of(level)).and_then(|dir| dir.sync_all());
    }
    Ok(())
}
