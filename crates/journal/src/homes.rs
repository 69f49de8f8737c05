//! Journals in the default places of this machine's other accounts: `sudo` may leave one in the
//! caller's home, while `sudo -i` looks in root's.
//!
//! Other users can write to these places. A journal there is therefore only reported, and its drive
//! is not overwritten: nothing is restored from it or removed, and no path that it contains is
//! opened. Recovery is left to a run with that home directory.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use drive::DriveKey;
use rustix::fs::OFlags;

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
    match registry::read(path, open_regular) {
        Some(Registered::Needed(entry)) => Some((entry.path, entry.drive)),
        Some(_) => None,
        None => match look(path, open_regular).ok()??.state {
            State::Whole(header) => Some((path.to_path_buf(), header.drive)),
            _ => None,
        },
    }
}

/// Opens a regular file without following links; opening a pipe does not block. The open file is
/// checked, not its path, because another account may replace the file at any moment.
fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_a_pipe_does_not_block() {
        let dir = TempDir::new().expect("a directory");
        let [file, link, pipe] =
            ["a.journal", "b.journal", "c.journal"].map(|n| dir.path().join(n));
        fs::write(&file, "x").expect("written");
        symlink(&file, &link).expect("linked");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        assert!(open_regular(&file).is_ok());
        for path in [&link, &pipe, &dir.path().to_path_buf()] {
            assert!(open_regular(path).is_err(), "{}", path.display());
        }
    }
}
