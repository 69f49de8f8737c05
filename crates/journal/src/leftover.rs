//! Journals left by ended runs.

use std::path::{Path, PathBuf};

use drive::DriveKey;

use crate::JournalError;
use crate::file::{self, Header, Lock, PART, WHOLE};
use crate::owner::{Opened, Owner};
use crate::registry::RegistryEntry;

/// A file left in a journal directory by an earlier run.
#[derive(Debug)]
pub struct Leftover {
    pub path: PathBuf,
    pub state: State,
}

#[derive(Debug)]
pub enum State {
    /// Incomplete: the run ended before any block was overwritten.
    Torn,
    /// Complete: blocks may have been overwritten.
    Whole(Box<Header>),
    /// The journal was complete, but it or its entry is unreadable.
    Damaged {
        /// The damage, in words.
        reason: String,
        /// The drive of its blocks, if the registry knows it.
        drive: Option<Box<DriveKey>>,
    },
    /// Registered as complete, but its directory is unreachable, or the file was removed.
    OutOfReach(Box<RegistryEntry>),
}

impl Leftover {
    /// The name by which users refer to it.
    pub fn id(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The reason for not overwriting blocks of this drive.
    pub(crate) fn refusal(self, drive: String) -> JournalError {
        let id = self.id();
        let path = self.path;
        match self.state {
            State::OutOfReach(_) => JournalError::OutOfReach { drive, id, path },
            State::Damaged { drive: None, .. } => JournalError::DriveUnknown { drive, id, path },
            _ => JournalError::Unfinished { drive, id, path },
        }
    }

    /// Whether it has blocks of this drive, of a partition of it, or of the drive of this
    /// partition.
    pub(crate) fn is_of(&self, drive: &DriveKey) -> bool {
        self.drive().is_some_and(|key| key.overlaps(drive))
    }

    /// Whether its blocks may belong to any drive.
    pub(crate) fn is_of_unknown_drive(&self) -> bool {
        matches!(self.state, State::Damaged { drive: None, .. })
    }

    /// The drive of its blocks, if known.
    pub fn drive(&self) -> Option<&DriveKey> {
        match &self.state {
            State::Whole(header) => Some(&header.drive),
            State::OutOfReach(entry) => Some(&entry.drive),
            State::Damaged { drive, .. } => drive.as_deref(),
            State::Torn => None,
        }
    }
}

/// The state of a file in the directory; `None` for other files, for those of other users, and for
/// journals held by a run.
pub(crate) fn look(path: &Path, owner: Owner) -> Result<Option<Leftover>, JournalError> {
    let part = match path.extension().and_then(|e| e.to_str()) {
        Some(PART) => true,
        Some(WHOLE) => false,
        _ => return Ok(None),
    };
    let leftover = |state| Ok(Some(Leftover { path: path.to_path_buf(), state }));
    let mut file = match owner.open(path).map_err(|e| JournalError::io("read", path, e))? {
        Opened::File(file) => file,
        Opened::Missing | Opened::Foreign(_) => return Ok(None),
        Opened::Irregular => {
            let reason = format!("{} is not a regular file", path.display());
            return leftover(State::Damaged { reason, drive: None });
        }
    };
    let Some(_lock) = Lock::take(&file, path)? else {
        return Ok(None);
    };
    // A run may have renamed or removed the file before the lock was taken.
    if !path.exists() {
        return Ok(None);
    }
    let state = if part {
        State::Torn
    } else {
        match file::read_header(&mut file, path) {
            Ok(header) => State::Whole(Box::new(header)),
            Err(error) => State::Damaged { reason: error.to_string(), drive: None },
        }
    };
    leftover(state)
}
