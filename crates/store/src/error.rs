//! What can go wrong with the store, in one line that names the file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ErrorCode;

/// How long a process waits for another one that writes. A write takes milliseconds; whoever holds
/// the store longer is stopped or sits on a dead network.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No path was given and the environment names none.
    #[error("no place for the store: neither XDG_DATA_HOME nor HOME is set")]
    NoHome,
    /// There is no file at the path.
    #[error("{}: there is no store here", .path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file holds something else. It was not touched.
    #[error("{}: this file is not a store of ssdyno; it was left as it is", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer ssdyno wrote it. It was not touched.
    #[error(
        "{}: written by a newer ssdyno (store version {found}, this one knows up to {known})",
        .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Version of the file.
        found: u32,
        /// Latest version that is known here.
        known: u32,
    },
    /// The file is ours, but what is in it cannot be read.
    #[error("{}: the store is damaged: {detail}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        detail: String,
    },
    /// It can be read and not written.
    #[error("{}: the store is read-only: {why}", .path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The file system is full. Earlier runs stay readable.
    #[error("{}: no space left for the store", .path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process held it all the time.
    #[error(
        "{}: another process keeps the store locked for {} s",
        .path.display(), BUSY_TIMEOUT.as_secs()
    )]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{}: cannot open the store: {source}", .path.display())]
    Io {
        /// The file or its directory.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
    /// Anything else that SQLite said.
    #[error("{}: {source}", .path.display())]
    Sql {
        /// The file.
        path: PathBuf,
        /// SQLite's word.
        source: rusqlite::Error,
    },
    /// No run has that number or id.
    #[error("no run '{0}' in the store")]
    NoSuchRun(String),
    /// The store holds no run yet.
    #[error("no runs in the store yet")]
    NoRuns,
    /// Several ids begin like this.
    #[error("'{prefix}' may be any of {}", .ids.join(", "))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// The first ids that begin with it.
        ids: Vec<String>,
    },
    /// A run that is being written cannot be removed.
    #[error("run {0} is still running")]
    Running(i64),
    /// A record that cannot be kept, such as one without a date.
    #[error("cannot keep this record: {0}")]
    Unfit(String),
    /// A date that was not understood.
    #[error("'{0}' is not a date: write 2026-11-21 or 2026-11-21T14:30")]
    Date(String),
    /// The system gave no random numbers.
    #[error("no random numbers from the system: {0}")]
    Random(std::io::Error),
}

impl StoreError {
    /// SQLite's word about the file at `path`, sorted by what the user can do about it.
    pub(crate) fn sql(path: &Path, source: rusqlite::Error) -> StoreError {
        let path = path.to_path_buf();
        if let rusqlite::Error::FromSqlConversionFailure(_, _, inner) = &source {
            return StoreError::Damaged { path, detail: inner.to_string() };
        }
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::Damaged { path, detail: source.to_string() }
            }
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
            Some(ErrorCode::ReadOnly) => {
                StoreError::ReadOnly { path, why: "it may not be written".into() }
            }
            _ => StoreError::Sql { path, source },
        }
    }
}
