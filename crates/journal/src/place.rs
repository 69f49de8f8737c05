//! The directory of journals: creates, lists and removes them.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use drive::{DriveKey, Separation, separation};

use crate::file::{self, Header, Kept};
use crate::{Borrowed, JournalError};

/// Extension of a journal that is being written: no block has been overwritten yet.
const PART: &str = "part";

/// Extension of a complete journal.
const WHOLE: &str = "journal";

/// A directory for journals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    dir: PathBuf,
}

/// A complete journal of this run.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

/// A file that an earlier run left in a place.
#[derive(Debug)]
pub struct Leftover {
    /// Its path.
    pub path: PathBuf,
    /// Its condition.
    pub state: State,
}

/// The condition of a leftover.
#[derive(Debug)]
pub enum State {
    /// Incomplete: no block had been overwritten when the run ended.
    Torn,
    /// Complete: blocks may have been overwritten.
    Whole(Box<Header>),
    /// It was complete; its header is no longer readable, for this reason.
    Damaged(String),
}

impl Place {
    /// A directory, or the default: `ssdyno/journal` in the XDG state directory. It need not exist.
    pub fn at(dir: Option<&Path>) -> Result<Place, JournalError> {
        if let Some(dir) = dir {
            return Ok(Place { dir: dir.to_path_buf() });
        }
        let (state, home) = (std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"));
        let dir = default_dir(state, home).ok_or(JournalError::NoHome)?;
        Ok(Place { dir })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Checks that blocks of this device may be kept here: on another drive, not in memory, and with
    /// no earlier blocks left to restore. Touches nothing.
    pub fn check(&self, device: &Path) -> Result<(), JournalError> {
        let there = self.dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(Path::new("."));
        let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
        let drive = device.display().to_string();
        let key = DriveKey::at(device);
        if let Some(path) = key.map(|key| self.still_kept(&key)).transpose()?.flatten() {
            return Err(JournalError::Unfinished { drive, path });
        }
        match separation(there, device)? {
            Separation::Elsewhere => Ok(()),
            Separation::SameDrive => Err(JournalError::SameDrive { dir: self.dir.clone(), drive }),
            Separation::Memory => Err(JournalError::Memory { dir: self.dir.clone() }),
        }
    }

    /// Keeps borrowed blocks. After it returns they survive a loss of power.
    pub fn keep(&self, drive: &DriveKey, borrowed: &Borrowed) -> Result<Journal, JournalError> {
        if let Some(path) = self.still_kept(drive)? {
            return Err(JournalError::Unfinished { drive: drive.path.clone(), path });
        }
        make_durably(&self.dir).map_err(|e| JournalError::io("make", &self.dir, e))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let device = drive.path.trim_start_matches("/dev/").replace('/', "-");
        let name = format!("{device}-{}-{}", now.as_nanos(), std::process::id());
        let part = self.dir.join(&name).with_extension(PART);
        let header = Header::new(drive, borrowed, now.as_secs());
        let journal = self.write(&part, &header, borrowed);
        if journal.is_err() {
            // No block was overwritten, so nothing depends on this file.
            let _ = fs::remove_file(&part);
        }
        journal
    }

    fn write(
        &self,
        part: &Path,
        header: &Header,
        borrowed: &Borrowed,
    ) -> Result<Journal, JournalError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                JournalError::Full { dir: self.dir.clone(), bytes: header.region.bytes }
            }
            _ => JournalError::io("write", part, source),
        };
        // The bytes may be private: only the owner may read them.
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(part)
            .map_err(failed)?;
        if !file::lock(&file, part)? {
            return Err(JournalError::Held { path: part.to_path_buf() });
        }
        file::write(&mut file, header, borrowed.bytes()).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        let path = part.with_extension(WHOLE);
        fs::rename(part, &path).and_then(|()| sync(&self.dir)).map_err(failed)?;
        Ok(Journal { path, _file: file })
    }

    /// A complete journal of this drive whose run has ended.
    fn still_kept(&self, drive: &DriveKey) -> Result<Option<PathBuf>, JournalError> {
        let found = self.unfinished()?.into_iter().find(|left| match &left.state {
            State::Whole(header) => header.drive.is(drive),
            State::Torn | State::Damaged(_) => false,
        });
        Ok(found.map(|left| left.path))
    }

    /// Files that ended runs left here, by name; without those that a run still holds.
    pub fn unfinished(&self) -> Result<Vec<Leftover>, JournalError> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|e| JournalError::io("read", &self.dir, e))?,
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort_unstable();
        paths.iter().filter_map(|path| look(path).transpose()).collect()
    }

    /// Removes a journal whose blocks are restored, or were never overwritten.
    pub fn remove(&self, path: &Path) -> Result<(), JournalError> {
        fs::remove_file(path)
            .and_then(|()| sync(&self.dir))
            .map_err(|e| JournalError::io("remove", path, e))
    }

    /// Removes a journal that this run has read and locked.
    pub fn close(&self, kept: Kept) -> Result<(), JournalError> {
        self.remove(&kept.path)
    }
}

impl Journal {
    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it after its blocks have been compared with the drive.
    pub fn close(self) -> Result<(), JournalError> {
        let place = Place { dir: self.path.parent().unwrap_or(Path::new(".")).to_path_buf() };
        place.remove(&self.path)
    }
}

/// The condition of a file in the directory; `None` for other files and for those a run holds.
fn look(path: &Path) -> Result<Option<Leftover>, JournalError> {
    let part = match path.extension().and_then(|e| e.to_str()) {
        Some(PART) => true,
        Some(WHOLE) => false,
        _ => return Ok(None),
    };
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|e| JournalError::io("read", path, e))?,
    };
    if !file::lock(&file, path)? {
        return Ok(None);
    }
    // A run may have renamed or removed it before the lock was taken.
    if !path.exists() {
        return Ok(None);
    }
    let state = match part {
        true => State::Torn,
        false => match file::read_header(&mut file, path) {
            Ok(header) => State::Whole(Box::new(header)),
            Err(error) => State::Damaged(error.to_string()),
        },
    };
    Ok(Some(Leftover { path: path.to_path_buf(), state }))
}

/// Makes a directory and its missing parents, and syncs the directories that list them.
fn make_durably(dir: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|dir| !dir.exists()).collect();
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let above = missing.iter().filter_map(|dir| dir.parent());
    above
        .map(|dir| if dir.as_os_str().is_empty() { Path::new(".") } else { dir })
        .try_for_each(sync)
}

fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// The default by the XDG specification, which says to ignore relative paths.
fn default_dir(state: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |dir: OsString| Some(PathBuf::from(dir)).filter(|dir| dir.is_absolute());
    let home = || home.and_then(absolute).map(|home| home.join(".local/state"));
    Some(state.and_then(absolute).or_else(home)?.join("ssdyno/journal"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xdg_first_then_home_and_nothing_relative() {
        let dir = |state: &str, home: &str| default_dir(Some(state.into()), Some(home.into()));
        assert_eq!(dir("/s", "/h"), Some("/s/ssdyno/journal".into()));
        assert_eq!(dir("s", "/h"), Some("/h/.local/state/ssdyno/journal".into()));
        assert_eq!(dir("", "h"), None);
        assert_eq!(default_dir(None, None), None);
    }
}
