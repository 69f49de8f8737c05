//! The registry of journals outside the default place: one entry per journal, so that no later run
//! overlooks one.
//!
//! An entry is written when its journal is complete and before the first borrowed block is
//! overwritten. Its name shows the state of the journal: `.elsewhere` while it is needed,
//! `.closing` once its blocks are verified on the drive. Only then is the journal removed, and the
//! entry after it. A missing journal with an `.elsewhere` entry is therefore needed but
//! unreachable, never finished.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use drive::DriveKey;
use serde::{Deserialize, Serialize};

use crate::disk::PartFile;
use crate::file::WHOLE;
use crate::owner::{Opened, Owner};
use crate::{Disk, JournalError};

/// Extension of an entry whose journal is needed.
const NEEDED: &str = "elsewhere";

/// Extension of an entry whose blocks are verified.
const CLOSING: &str = "closing";

/// Maximum entry length, bytes.
const ENTRY_MAX: u64 = 64 << 10;

/// The path of a journal and the drive of its blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegistryEntry {
    pub path: PathBuf,
    /// The drive from which the bytes were borrowed.
    pub drive: DriveKey,
    /// Time of writing, seconds since 1970.
    pub made_s: u64,
}

/// An entry in its directory.
#[derive(Debug)]
pub(crate) enum Registered {
    /// Its journal is needed.
    Needed(RegistryEntry),
    /// Its journal can be removed.
    Closing(RegistryEntry),
    /// The entry cannot be read, for this reason.
    Damaged(String),
}

/// Registers a journal. On return, the entry survives a power loss.
pub(crate) fn enter(
    disk: &dyn Disk,
    dir: &Path,
    entry: &RegistryEntry,
) -> Result<(), JournalError> {
    let path = entry_path(dir, &entry.path).with_extension(NEEDED);
    let part = path.with_extension("entry-part");
    let text = serde_json::to_vec(entry).map_err(|e| JournalError::io("write", &part, e))?;
    write(disk, (&part, &path), dir, &text).map_err(|e| {
        let _ = disk.remove(&part);
        JournalError::io("write", &path, e)
    })
}

fn write(disk: &dyn Disk, (part, path): (&Path, &Path), dir: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = PartFile::new(disk, part, disk.create(part)?);
    file.append(text)?;
    file.sync()?;
    file.publish(path, dir)
}

/// Records that the blocks of a journal are verified, if it is registered.
pub(crate) fn begin_closing(
    disk: &dyn Disk,
    dir: &Path,
    journal: &Path,
) -> Result<(), JournalError> {
    let entry = entry_path(dir, journal);
    let (needed_path, closing) = (entry.with_extension(NEEDED), entry.with_extension(CLOSING));
    if !needed_path.exists() {
        return Ok(());
    }
    let renamed = disk.rename(&needed_path, &closing).and_then(|()| disk.sync_names(dir));
    renamed.map_err(|e| JournalError::io("rename", &needed_path, e))
}

/// Removes the entry of a journal, in either state.
pub(crate) fn leave(disk: &dyn Disk, dir: &Path, journal: &Path) -> Result<(), JournalError> {
    for extension in [NEEDED, CLOSING] {
        let entry = entry_path(dir, journal).with_extension(extension);
        if entry.exists() {
            let result = disk.remove(&entry).and_then(|()| disk.sync_names(dir));
            result.map_err(|e| JournalError::io("remove", &entry, e))?;
        }
    }
    Ok(())
}

/// Whether the blocks of a journal are verified, so that it can be removed.
pub(crate) fn is_closing(dir: &Path, journal: &Path, owner: Owner) -> bool {
    let path = entry_path(dir, journal).with_extension(CLOSING);
    matches!(read(&path, owner), Some(Registered::Closing(entry)) if entry.path == journal)
}

/// Reads a file in the registry's directory; `None` if it is not an entry of this owner.
pub(crate) fn read(path: &Path, owner: Owner) -> Option<Registered> {
    let make = match path.extension()?.to_str()? {
        NEEDED => Registered::Needed,
        CLOSING => Registered::Closing,
        _ => return None,
    };
    let entry = match owner.open(path) {
        Ok(Opened::File(file)) => parse(file),
        Ok(Opened::Missing | Opened::Foreign(_)) => return None,
        Ok(Opened::Irregular) => Err("not a regular file".into()),
        Err(error) => Err(error.to_string()),
    };
    Some(entry.map_or_else(Registered::Damaged, make))
}

fn parse(file: File) -> Result<RegistryEntry, String> {
    let length = file.metadata().map_err(|e| e.to_string())?.len();
    if length > ENTRY_MAX {
        return Err(format!("{length} bytes are too long for an entry"));
    }
    let entry: RegistryEntry = serde_json::from_reader(file).map_err(|e| e.to_string())?;
    let is_journal = entry.path.extension().is_some_and(|extension| extension == WHOLE);
    if is_journal { Ok(entry) } else { Err("it names no journal".into()) }
}

/// Path of a journal's entry, except for the extension, which is still that of the journal.
fn entry_path(dir: &Path, journal: &Path) -> PathBuf {
    dir.join(journal.file_name().unwrap_or_default())
}
