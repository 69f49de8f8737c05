//! Errors in borrowing and restoring blocks.

use std::io;
use std::path::{Path, PathBuf};

use drive::{DriveError, user_name};
use emit::shell_word;
use rig::ErrorClass;
use thiserror::Error;

use crate::elsewhere::ElsewhereLeft;

/// Why blocks cannot be borrowed or restored.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JournalError {
    /// No directory was given, and no default exists.
    #[error(
        "no directory for journals of borrowed blocks: neither XDG_STATE_HOME nor HOME names one, \
         and this user's account has no home"
    )]
    NoHome,
    /// The directory is on the borrowed drive.
    #[error("the journal in {} would be on {drive} itself, and lost with it", dir.display())]
    SameDrive {
        dir: PathBuf,
        /// The drive's device node.
        drive: String,
    },
    /// The directory is in memory.
    #[error("the journal in {} would be in memory, and lost on power loss", dir.display())]
    Memory { dir: PathBuf },
    /// The drive of the directory is unknown, and may be the borrowed one.
    #[error("the journal in {} could be on {drive} itself: its drive is unknown", dir.display())]
    PlaceUnknown {
        dir: PathBuf,
        /// The drive's device node.
        drive: String,
    },
    /// The file system of the journal is full, or a quota on it is exhausted.
    #[error("no room for the journal in {}: it needs {bytes} bytes; nothing was overwritten", dir.display())]
    Full {
        dir: PathBuf,
        /// Bytes to keep.
        bytes: u64,
    },
    /// An earlier run did not restore its borrowed blocks.
    #[error("an earlier run left blocks of {drive} in {}", path.display())]
    Unfinished {
        /// The drive's device node.
        drive: String,
        id: String,
        path: PathBuf,
    },
    /// An earlier run left a journal that is damaged, so that its drive is unknown.
    #[error("{} is damaged, and may contain blocks of {drive}", path.display())]
    DriveUnknown {
        /// The device node of the drive to be borrowed from.
        drive: String,
        id: String,
        path: PathBuf,
    },
    /// As [`JournalError::Unfinished`], but the journal was removed or its file system is
    /// unmounted.
    #[error(
        "an earlier run left blocks of {drive} in {}, which is not reachable now", path.display()
    )]
    OutOfReach {
        /// The drive's device node.
        drive: String,
        id: String,
        path: PathBuf,
    },
    /// As [`JournalError::Unfinished`], but the run had another home directory.
    #[error(
        "an earlier run with another home directory left blocks of {drive} in {}", left.path.display()
    )]
    OtherHome {
        /// The drive's device node.
        drive: String,
        left: Box<ElsewhereLeft>,
    },
    /// Others could replace the files in the directory.
    #[error("a journal in {} is not safe: {rival} could replace it", dir.display())]
    Shared {
        dir: PathBuf,
        /// Who could, in words.
        rival: String,
    },
    /// The journal belongs to another user, who may have written anything into it.
    #[error(
        "{} belongs to user {}: nothing was restored from it", path.display(), user_name(*uid)
    )]
    Foreign { path: PathBuf, uid: u32 },
    /// The file is not a journal, or is damaged.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        path: PathBuf,
        /// The damage, in words.
        what: String,
    },
    /// A run in progress holds the journal.
    #[error("{} belongs to a run in progress", path.display())]
    Held { path: PathBuf },
    /// A system call failed.
    #[error("{context}: {source}")]
    Io {
        /// The action and its object.
        context: String,
        source: io::Error,
    },
    /// The drive or the directory could not be inspected.
    #[error(transparent)]
    Drive(#[from] DriveError),
}

impl JournalError {
    /// Who has to act on it.
    pub fn fault(&self) -> ErrorClass {
        match self {
            JournalError::Io { .. } | JournalError::Damaged { .. } => ErrorClass::Io,
            JournalError::Drive(error) => error.fault(),
            _ => ErrorClass::Refused,
        }
    }

    /// Advice for a `try:` line.
    pub fn advice(&self) -> Option<String> {
        use JournalError::*;
        match self {
            NoHome => Some("XDG_STATE_HOME=DIR, a directory that every run uses".into()),
            SameDrive { .. } | Memory { .. } | PlaceUnknown { .. } | Full { .. } => {
                Some("--journal DIR, a directory on another drive".into())
            }
            Unfinished { id, path, .. } => {
                let dir = path.parent().unwrap_or(Path::new(".")).display().to_string();
                let dir = shell_word(&dir);
                Some(format!(
                    "ssdyno recover --journal {dir}; with --discard {id} to give up its blocks"
                ))
            }
            DriveUnknown { id, .. } => {
                Some(format!("ssdyno recover --discard {id}, if no drive needs its blocks"))
            }
            OutOfReach { id, .. } => Some(format!(
                "mount its file system, then ssdyno recover; or ssdyno recover --discard {id}"
            )),
            OtherHome { left, .. } => {
                let (command, id) = (left.command(), left.id());
                Some(format!("{command}; with --discard {id} to give up its blocks"))
            }
            Shared { dir, .. } => {
                let dir = dir.display().to_string();
                Some(format!(
                    "chmod go-w {}; or --journal DIR, which only you can write to",
                    shell_word(&dir)
                ))
            }
            Foreign { uid, .. } => {
                Some(format!("ssdyno recover --journal-of {}", shell_word(&user_name(*uid))))
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
