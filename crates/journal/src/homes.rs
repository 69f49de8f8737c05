//! Journals of other users, and those in the default places of this machine's other accounts:
//! `sudo` may leave one in the caller's home, while `sudo -i` looks in root's.
//!
//! Other users can write anything to these places. A journal there is therefore only reported:
//! nothing is restored from it or removed, and no path that it contains is opened, unless the user
//! names its owner. One whose file belongs to another user stops no run: anybody could stop every
//! run with such a file, and it protects no one. Whoever overwrites a drive by its serial number
//! gives its content away, and borrowed blocks are put back as they were.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use drive::{Account, DriveKey};

use crate::elsewhere::ElsewhereLeft;
use crate::file::{self, Lock, WHOLE};
use crate::owner::{Owner, open_regular};
use crate::registry::{self, Registered};

/// The directory of journals in an XDG state directory.
const JOURNALS: &str = "ssdyno/journal";

/// The default place in this XDG state directory.
pub(crate) fn place(state: &Path) -> PathBuf {
    state.join(JOURNALS)
}

/// Journals in these directories that this user may read and no run in progress holds.
pub(crate) fn left_in(dirs: &[PathBuf], owner: Owner, accounts: &[Account]) -> Vec<ElsewhereLeft> {
    let mut journals = Vec::new();
    for dir in dirs {
        let Ok(entries) = fs::read_dir(dir) else { continue };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort_unstable();
        journals.extend(paths.iter().filter_map(|file| {
            let (path, drive, uid) = read(file)?;
            let is_ours = owner.trusts(uid);
            let uid = if is_ours { fs::metadata(dir).ok()?.uid() } else { uid };
            let uid = (!owner.trusts(uid)).then_some(uid);
            let account = accounts.iter().find(|account| Some(account.uid) == uid);
            let state = account.and_then(|account| account.state());
            let is_default = state.is_some_and(|state| place(&state) == *dir);
            let dir = (!is_default).then(|| dir.clone());
            Some(ElsewhereLeft { path, drive, uid, is_ours, dir })
        }));
    }
    journals
}

/// The journal that a file contains or registers, the drive of its blocks, and the owner of the
/// file. Opens only regular files, and none that they name.
fn read(path: &Path) -> Option<(PathBuf, DriveKey, u32)> {
    let (mut file, metadata) = open_regular(path).ok()?;
    let uid = metadata.uid();
    match registry::read(path, Owner(uid)) {
        Some(Registered::Needed(entry)) => return Some((entry.path, entry.drive, uid)),
        Some(_) => return None,
        None => {}
    }
    let is_whole = path.extension().is_some_and(|extension| extension == WHOLE);
    if !is_whole {
        return None;
    }
    let _lock = Lock::take(&file, path).ok()??;
    let header = file::read_header(&mut file, path).ok()?;
    Some((path.to_path_buf(), header.drive, uid))
}
