//! Why nothing can be borrowed, or put back.

use std::io;
use std::path::{Path, PathBuf};

use drive::{DriveError, ErrorKind};
use thiserror::Error;

/// Why nothing can be borrowed, or put back.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JournalError {
    /// No directory was named, and none can be guessed.
    #[error("there is no place for the journal: neither XDG_STATE_HOME nor HOME is set")]
    NoHome,
    /// The directory lies on the drive that is borrowed from.
    #[error("the journal in {} would lie on {drive} itself, and be lost with it", dir.display())]
    SameDrive {
        /// The directory.
        dir: PathBuf,
        /// The drive's device node.
        drive: String,
    },
    /// The directory lies in memory.
    #[error("the journal in {} would lie in memory, and not outlast a loss of power", dir.display())]
    Memory {
        /// The directory.
        dir: PathBuf,
    },
    /// The file system of the journal is full.
    #[error("no room for the journal in {}, which takes {bytes} bytes: nothing was overwritten", dir.display())]
    Full {
        /// The directory.
        dir: PathBuf,
        /// Bytes that were to be kept.
        bytes: u64,
    },
    /// An earlier run did not put back what it had borrowed.
    #[error("an earlier run left blocks of {drive} in {}", path.display())]
    Unfinished {
        /// The drive's device node.
        drive: String,
        /// The journal.
        path: PathBuf,
    },
    /// The file is no journal any more.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A run that goes on has it.
    #[error("{} belongs to a run that goes on", path.display())]
    Held {
        /// The journal.
        path: PathBuf,
    },
    /// The system failed.
    #[error("{context}: {source}")]
    Io {
        /// What was tried, on what.
        context: String,
        /// The system's word.
        source: io::Error,
    },
    /// The drive or the directory could not be looked at.
    #[error(transparent)]
    Drive(#[from] DriveError),
}

impl JournalError {
    /// Who has to do something about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            JournalError::Io { .. } | JournalError::Damaged { .. } => ErrorKind::Io,
            JournalError::Drive(error) => error.kind(),
            _ => ErrorKind::Refused,
        }
    }

    /// What to try, for a line that begins with `try:`.
    pub fn advice(&self) -> Option<String> {
        use JournalError::*;
        match self {
            NoHome | SameDrive { .. } | Memory { .. } | Full { .. } => {
                Some("--journal DIR, a directory on another drive".into())
            }
            Unfinished { path, .. } => {
                let dir = path.parent().unwrap_or(Path::new("."));
                Some(format!("ssdyno recover --journal {}", dir.display()))
            }
            Drive(error) => error.advice(),
            Damaged { .. } | Held { .. } | Io { .. } => None,
        }
    }

    pub(crate) fn io(action: &str, path: &Path, source: impl Into<io::Error>) -> JournalError {
        let context = format!("cannot {action} {}", path.display());
        JournalError::Io { context, source: source.into() }
    }
}
