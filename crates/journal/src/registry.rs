//! The registry of journals kept elsewhere than in the default place: an entry per journal, so that
//! no later run overlooks one.
//!
//! An entry is written when its journal is complete and before the first borrowed block is
//! overwritten. Its name tells how far the end of the journal has come: `.elsewhere` while the journal
//! is needed, `.closing` once its blocks are verified on the drive. Only then is the journal removed,
//! and after it the entry. A journal that is missing behind an `.elsewhere` entry is therefore
//! needed and out of reach, never done with.

use std::fs::File;
use std::path::{Path, PathBuf};

use drive::DriveKey;
use serde::{Deserialize, Serialize};

use crate::{Disk, JournalError};

/// Extension of an entry whose journal is needed.
const NEEDED: &str = "elsewhere";

/// Extension of an entry whose blocks are verified.
const CLOSING: &str = "closing";

/// Longest entry accepted, bytes.
const ENTRY_MAX: u64 = 64 << 10;

/// Where a journal is, and whose blocks it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Path of the journal.
    pub path: PathBuf,
    /// The drive the bytes were borrowed from.
    pub drive: DriveKey,
    /// Time of writing, seconds since 1970.
    pub made_s: u64,
}

/// An entry in its directory.
#[derive(Debug)]
pub(crate) enum Registered {
    /// Its journal is needed.
    Needed(Entry),
    /// Its journal can be removed.
    Closing(Entry),
    /// It cannot be read, for this reason.
    Damaged(String),
}

/// Enters a journal. After it returns the entry survives a loss of power.
pub(crate) fn enter(disk: &dyn Disk, dir: &Path, entry: &Entry) -> Result<(), JournalError> {
    let path = of(dir, &entry.path).with_extension(NEEDED);
    let part = path.with_extension("entry-part");
    let text = serde_json::to_vec(entry).map_err(|e| JournalError::io("write", &part, e))?;
    let written = disk
        .create(&part)
        .and_then(|mut file| {
            disk.append(&mut file, &part, &text).and_then(|()| disk.sync(&file, &part))
        })
        .and_then(|()| disk.rename(&part, &path))
        .and_then(|()| disk.sync_names(dir));
    written.map_err(|e| {
        let _ = disk.remove(&part);
        JournalError::io("write", &path, e)
    })
}

/// Notes that the blocks of a journal are verified, if it is registered.
pub(crate) fn begin_closing(
    disk: &dyn Disk,
    dir: &Path,
    journal: &Path,
) -> Result<(), JournalError> {
    let entry = of(dir, journal);
    let (needed, closing) = (entry.with_extension(NEEDED), entry.with_extension(CLOSING));
    if !needed.exists() {
        return Ok(());
    }
    let moved = disk.rename(&needed, &closing).and_then(|()| disk.sync_names(dir));
    moved.map_err(|e| JournalError::io("rename", &needed, e))
}

/// Removes the entry of a journal, in either state.
pub(crate) fn leave(disk: &dyn Disk, dir: &Path, journal: &Path) -> Result<(), JournalError> {
    for extension in [NEEDED, CLOSING] {
        let entry = of(dir, journal).with_extension(extension);
        if entry.exists() {
            let gone = disk.remove(&entry).and_then(|()| disk.sync_names(dir));
            gone.map_err(|e| JournalError::io("remove", &entry, e))?;
        }
    }
    Ok(())
}

/// Reads a file of the registry's directory; `None` if it is no entry.
pub(crate) fn read(path: &Path) -> Option<Registered> {
    let make = match path.extension()?.to_str()? {
        NEEDED => Registered::Needed,
        CLOSING => Registered::Closing,
        _ => return None,
    };
    Some(parse(path).map_or_else(Registered::Damaged, make))
}

fn parse(path: &Path) -> Result<Entry, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let length = file.metadata().map_err(|e| e.to_string())?.len();
    if length > ENTRY_MAX {
        return Err(format!("{length} bytes are no entry"));
    }
    serde_json::from_reader(file).map_err(|e| e.to_string())
}

/// Path of the entry of a journal, without its extension: they share a name.
fn of(dir: &Path, journal: &Path) -> PathBuf {
    dir.join(journal.file_name().unwrap_or_default())
}
