//! Errors of the store. Each is one line; an error about the file names it.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use emit::directory_of;
use rusqlite::ErrorCode;

use crate::{RECORD_BYTES_MAX, system};

/// How long a process waits for another writer. A write takes milliseconds, so a process that holds
/// the store longer is stopped or on a dead network.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No path was given and the environment does not define one.
    #[error(
        "no location for the store: neither XDG_DATA_HOME nor HOME names one, and this user's \
         account has no home"
    )]
    NoHome,
    /// There is no file at the path.
    #[error("{}: there is no store here", .path.display())]
    Missing {
        /// The expected path.
        path: PathBuf,
    },
    /// The file is not a store. It was not changed.
    #[error("{}: not an ssdyno store; the file was not changed", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The path is not a regular file. Nothing was opened.
    #[error("{}: {what}; a store must be a regular file", .path.display())]
    NotAFile {
        path: PathBuf,
        /// Type of the file.
        what: &'static str,
    },
    /// A newer ssdyno wrote the file. It was not changed.
    #[error(
        "{}: written by a newer ssdyno (store version {found}; this version supports up to {known})",
        .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Version of the file.
        found: u32,
        /// Latest supported version.
        known: u32,
    },
    /// The file is a store, but its content is unreadable. SQLite also reports a failed read
    /// (`EIO`) as malformed content.
    #[error("{}: the store is damaged or a read of it failed: {detail}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// SQLite's message.
        detail: String,
    },
    /// The store can be read but not written.
    #[error("{}: the store is read-only: {why}", .path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// The file system is full. Earlier runs remain readable.
    #[error("{}: no space left for the store", .path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file size limit keeps the store from growing. Earlier runs remain readable.
    #[error(
        "{}: the store cannot grow: the file size limit is {limit_bytes} bytes",
        .path.display()
    )]
    Limited {
        /// The file.
        path: PathBuf,
        limit_bytes: u64,
    },
    /// The file system failed to carry out an operation.
    #[error("{}: the file system failed to {operation} the store: I/O error", .path.display())]
    Failing {
        /// The file.
        path: PathBuf,
        /// The operation: `read`, `write`, ...
        operation: &'static str,
    },
    /// Another process held the lock for the whole timeout.
    #[error(
        "{}: another process has kept the store locked for {} s",
        .path.display(), BUSY_TIMEOUT.as_secs()
    )]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The system refused access.
    #[error("{}: cannot open the store: {source}", .path.display())]
    Io {
        /// The file or its directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Any other SQLite error.
    #[error("{}: {source}", .path.display())]
    Sql {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// No run has that number or id.
    #[error("no run '{0}' in the store")]
    NoSuchRun(String),
    /// The store contains no runs yet.
    #[error("no runs in the store yet")]
    NoRuns,
    /// Several ids start with this prefix.
    #[error("'{prefix}' is ambiguous: {}", .ids.join(", "))]
    Ambiguous {
        prefix: String,
        /// The first matching ids.
        ids: Vec<String>,
    },
    /// A run in progress cannot be removed.
    #[error("run {0} is still running")]
    Running(i64),
    /// A record exceeds the size limit.
    #[error("cannot store this record: more than {} MiB", RECORD_BYTES_MAX >> 20)]
    TooLarge,
    /// A store of an earlier version cannot be migrated. It was not changed.
    #[error(
        "{}: this store of version {found} must be migrated first, which failed: {why}; it is unchanged",
        .path.display()
    )]
    NotMigrated {
        /// The file.
        path: PathBuf,
        /// Version of the file.
        found: u32,
        /// Reason.
        why: String,
    },
    /// A record that cannot be stored, such as one without a date.
    #[error("cannot store this record: {0}")]
    Unfit(String),
    /// An unreadable date.
    #[error("'{0}' is not a date: write 2026-11-21 or 2026-11-21T14:30")]
    Date(String),
    /// The system provided no random numbers.
    #[error("no random numbers from the system: {0}")]
    Random(std::io::Error),
}

impl StoreError {
    /// Classifies a SQLite error on the file at `path` by its remedy.
    pub(crate) fn sql(path: &Path, source: rusqlite::Error) -> StoreError {
        let path = path.to_path_buf();
        use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange};
        use rusqlite::Error::{InvalidColumnType, Utf8Error};
        match &source {
            FromSqlConversionFailure(_, _, inner) => {
                return StoreError::Damaged { path, detail: inner.to_string() };
            }
            InvalidColumnType(..) | IntegralValueOutOfRange(..) | Utf8Error(..) => {
                return StoreError::Damaged { path, detail: source.to_string() };
            }
            _ => {}
        }
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt) if !can_be_read(&path) => {
                StoreError::Failing { path, operation: "read" }
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::Damaged { path, detail: source.to_string() }
            }
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            Some(ErrorCode::SystemIoFailure) => cannot_grow(&path).unwrap_or_else(|| {
                let operation = operation(&source);
                StoreError::Failing { path, operation }
            }),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
            Some(ErrorCode::ReadOnly) => {
                StoreError::ReadOnly { path, why: "it is not writable".into() }
            }
            _ => StoreError::Sql { path, source },
        }
    }
}

/// A file this close to its limit, or a file system with less space, has no room for another page.
pub(crate) const ROOM_BYTES: u64 = 128 << 10;

/// A file beside the store, such as its log: the name of the store with an ending.
pub(crate) fn sibling(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(ending);
    name.into()
}

/// Checks for lack of space: SQLite reports writes beyond the file size limit, and some writes to a
/// full file system, as I/O errors.
pub(crate) fn cannot_grow(path: &Path) -> Option<StoreError> {
    let path = path.to_path_buf();
    if let Some(limit_bytes) = system::size_limit() {
        let sizes = ["", "-wal", "-journal"]
            .map(|end| std::fs::metadata(sibling(&path, end)).map_or(0, |file| file.len()));
        if sizes.iter().any(|bytes| bytes + ROOM_BYTES > limit_bytes) {
            return Some(StoreError::Limited { path, limit_bytes });
        }
    }
    let is_full = system::space(directory_of(&path))?.free < ROOM_BYTES;
    is_full.then_some(StoreError::Full { path })
}

/// Whether the whole file can be read. SQLite reports `EIO` during a statement as a malformed file.
fn can_be_read(path: &Path) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    let mut piece = vec![0; 1 << 20];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

/// The failed operation, from SQLite's extended code.
fn operation(source: &rusqlite::Error) -> &'static str {
    let code = source.sqlite_error().map_or(0, |error| error.extended_code) >> 8;
    match code {
        1 | 2 => "read",
        3 => "write",
        4 | 5 => "sync",
        6 => "shorten",
        10 | 23 => "remove a file next to",
        _ => "use",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mount::Mount;

    #[test]
    fn a_failed_removal_is_named() {
        use rusqlite::ffi;
        let table = [
            (ffi::SQLITE_IOERR_DELETE, "remove a file next to"),
            (ffi::SQLITE_IOERR_DELETE_NOENT, "remove a file next to"),
            (ffi::SQLITE_IOERR_DIR_CLOSE, "use"),
            (ffi::SQLITE_IOERR_FSYNC, "sync"),
        ];
        for (code, named) in table {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(operation(&error), named, "{code}");
        }
    }

    /// SQLite reports an I/O error if a log's index cannot grow, even on a full file system.
    #[test]
    fn an_io_error_on_a_full_file_system_means_lack_of_space() {
        let failed = |path: &Path| {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_WRITE);
            StoreError::sql(path, rusqlite::Error::SqliteFailure(code, None))
        };
        for mount in Mount::all() {
            let path = mount.path().join("runs.sqlite");
            let error = failed(&path);
            let other = matches!(error, StoreError::Failing { operation: "write", .. });
            assert!(other, "{}: {error}", mount.kind);
            mount.fill();
            let error = failed(&path);
            assert!(matches!(error, StoreError::Full { .. }), "{}: {error}", mount.kind);
            let text = format!("{}: no space left for the store", path.display());
            assert_eq!(error.to_string(), text, "{}", mount.kind);
        }
    }
}
