//! Journals in the default places of this machine's other accounts: `sudo` may leave one in the
//! caller's home, while `sudo -i` looks in root's.
//!
//! Other users can write to these places. A journal there is therefore only reported, and its drive
//! is not overwritten: nothing is restored from it or removed, and no path that it contains is
//! opened. Recovery is left to a run with that home directory.

use std::fs;
use std::path::{Path, PathBuf};

use drive::DriveKey;

use crate::elsewhere::ElsewhereLeft;
use crate::leftover::{State, look};
use crate::registry::{self, Registered};

/// The directory of journals in an XDG state directory.
const JOURNALS: &str = "ssdyno/journal";

/// The default place in this XDG state directory.
pub(crate) fn place(state: &Path) -> PathBuf {
    state.join(JOURNALS)
}

/// Journals in these state directories that this user may read and no run in progress holds.
pub(crate) fn left_in(states: &[PathBuf]) -> Vec<ElsewhereLeft> {
    let mut all = Vec::new();
    for state in states {
        let Ok(entries) = fs::read_dir(place(state)) else { continue };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort_unstable();
        let known = paths.iter().filter_map(|path| read(path));
        all.extend(known.map(|(path, drive)| ElsewhereLeft { path, drive, state: state.clone() }));
    }
    all
}

/// The journal that a file contains or registers, and the drive of its blocks. Opens only regular
/// files, and none that they name.
fn read(path: &Path) -> Option<(PathBuf, DriveKey)> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    match registry::read(path) {
        Some(Registered::Needed(entry)) => Some((entry.path, entry.drive)),
        Some(_) => None,
        None => match look(path).ok()??.state {
            State::Whole(header) => Some((path.to_path_buf(), header.drive)),
            _ => None,
        },
    }
}
