//! Opening the file: ownership, journal mode, and read-only fallback.
//!
//! The normal mode is the write-ahead log (WAL): readers and a writer do not block each other, and
//! a commit needs no fsync. It requires memory shared by all processes, which network file systems
//! lack; on those, the rollback journal is used, which is slower but equally safe. The same applies
//! to file systems with blocks smaller than a page of that memory: SQLite reserves space by one
//! byte per page, and touching a page with a missing block on a full file system kills the process
//! (SIGBUS).
//!
//! A power cut leaves a readable store. The log has a checksum per frame and is read up to the
//! first incomplete one, and it is fsynced before its content moves to the main file. With
//! `synchronous=NORMAL`, the last transactions before the cut may be lost; with `EXTRA`, none are:
//! see [`Fsync`].
//!
//! The header is checked before SQLite opens the file, because opening a foreign file, or one of a
//! newer ssdyno, must not change a byte of it. The path of its directory has no symbolic links when it
//! comes here, the file itself must not be one, and SQLite refuses those made since.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

use emit::directory_of;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::StoreError;
use crate::error::{BUSY_TIMEOUT, ROOM_BYTES, cannot_grow, sibling};
use crate::schema::{self, APPLICATION_ID, STEPS, VERSION};
use crate::system;

/// Size of the log, in pages of 4 KiB, at which it is checkpointed into the main file with two
/// fsyncs. A second of measurement adds three pages, so this happens every twenty minutes; with
/// SQLite's default of 1,000 it would be every five. The log is emptied when the last process
/// closes the store.
const LOG_PAGES: u32 = 4096;

/// The unit in which SQLite reserves a log's shared memory.
const PAGE_BYTES: u64 = 4096;

/// Number of cached statements: enough for reading and writing a run.
const STATEMENTS: usize = 32;

/// When a transaction must be durable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fsync {
    /// Before the call returns.
    Now,
    /// Later, to avoid an fsync in the middle of a measurement.
    Later,
}

/// How transactions are made atomic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Journal {
    /// Write-ahead log.
    Log,
    /// Rollback journal.
    Rollback,
}

/// An open store.
pub(crate) struct Opened {
    pub conn: Connection,
    pub journal: Journal,
    /// Reason for read-only access.
    pub read_only: Option<String>,
}

/// Opens the file, creates it if missing, and migrates it.
pub(crate) fn open(path: &Path, journal: Journal) -> Result<Opened, StoreError> {
    let exists = inspect(path)?.is_some();
    match open_to_write(path, journal) {
        Err(e) if exists && cannot_write(&e) => open_to_read(path, e),
        Err(e) => Err(StoreError::sql(path, e)),
        Ok(opened) => {
            let version = schema::version(&opened.conn).map_err(|e| StoreError::sql(path, e))?;
            if version > VERSION { Err(newer(path, version)) } else { Ok(opened) }
        }
    }
}

/// The journal supported by the file system of `path`.
pub(crate) fn journal_for(path: &Path) -> Journal {
    let dir = directory_of(path);
    let has_small_blocks = system::space(dir).is_some_and(|space| space.block < PAGE_BYTES);
    if system::is_shared(dir) || has_small_blocks { Journal::Rollback } else { Journal::Log }
}

/// Whether reading a store with a log would map memory for which space may be missing.
fn cannot_map(path: &Path) -> bool {
    let space = system::space(directory_of(path));
    let is_short = space.is_some_and(|space| space.block < PAGE_BYTES && space.free < ROOM_BYTES);
    is_short && has_log(path)
}

/// Whether a store uses the log, according to the version in its header.
fn has_log(path: &Path) -> bool {
    let mut header = [0; 20];
    let reading = fs::File::open(path).and_then(|mut file| file.read_exact(&mut header));
    reading.is_ok() && header[19] == 2
}

/// Returns an error if opening the store would migrate it. Only its header is read.
pub(crate) fn check_current(path: &Path) -> Result<(), StoreError> {
    match inspect(path)? {
        Some(found) if found < VERSION => {
            let reason = "this command only reads the store".into();
            Err(StoreError::NotMigrated { path: path.to_path_buf(), found, why: reason })
        }
        _ => Ok(()),
    }
}

/// The version of the store, `None` without one; an error if the file must not be touched. The
/// fields are in the header of every SQLite file (sqlite.org/fileformat.html, section 1.3).
fn inspect(path: &Path) -> Result<Option<u32>, StoreError> {
    let io_error = |source| StoreError::Io { path: path.to_path_buf(), source };
    let kind = match path.symlink_metadata() {
        Ok(meta) => meta.file_type(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(io_error(e)),
    };
    if !kind.is_file() {
        let kind_found = if kind.is_symlink() {
            // SQLite would create a store at its target.
            "a symbolic link"
        } else if kind.is_dir() {
            "a directory"
        } else {
            // Opening it would wait for its other end.
            "a pipe or a device"
        };
        return Err(StoreError::NotAFile { path: path.to_path_buf(), what: kind_found });
    }
    let mut header = Vec::new();
    let file = system::open_to_read(path).map_err(io_error)?;
    file.take(100).read_to_end(&mut header).map_err(io_error)?;
    // A process was killed after creating the file and before writing to it.
    if header.is_empty() {
        return Ok(None);
    }
    // The power was cut while the first transaction was written; SQLite rolls it back.
    if header.iter().all(|&byte| byte == 0) && has_rollback_journal(path) {
        return Ok(None);
    }
    let u32_at = |at: usize| header[at..at + 4].iter().fold(0, |n, &b| n << 8 | u32::from(b));
    let is_ours = header.len() == 100
        && header.starts_with(b"SQLite format 3\0")
        && u32_at(68) == APPLICATION_ID;
    if !is_ours {
        return Err(StoreError::Foreign { path: path.to_path_buf() });
    }
    if u32_at(60) > VERSION { Err(newer(path, u32_at(60))) } else { Ok(Some(u32_at(60))) }
}

fn newer(path: &Path, found: u32) -> StoreError {
    StoreError::Newer { path: path.to_path_buf(), found, known: VERSION }
}

fn open_to_write(path: &Path, journal: Journal) -> rusqlite::Result<Opened> {
    // It refuses symbolic links, even one that has just been made.
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    set_up(Connection::open_with_flags(path, flags)?, journal)
}

/// Prepares a connection for writing: busy timeout, schema and journal.
pub(crate) fn set_up(mut conn: Connection, journal: Journal) -> rusqlite::Result<Opened> {
    conn.busy_timeout(BUSY_TIMEOUT)?;
    keep_plans(&conn)?;
    if conn.is_readonly(rusqlite::MAIN_DB)? {
        // SQLite silently falls back to this for a file without write permission.
        return Err(error_of(ErrorCode::ReadOnly, rusqlite::ffi::SQLITE_READONLY));
    }
    let alone = journal == Journal::Rollback && conn.path().is_some_and(|p| has_log(Path::new(p)));
    if alone {
        // Exclusive until it no longer has a log, so that no memory is shared.
        conn.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    }
    // The schema comes first, under the rollback journal of a new file, so the file is always
    // either empty or marked as ours.
    let migrated = schema::migrate(&mut conn, STEPS)?;
    let journal = set_journal(&conn, journal)?;
    if alone {
        conn.pragma_update(None, "locking_mode", "NORMAL")?;
        // The next statement that reads releases the lock.
        schema::version(&conn)?;
    }
    conn.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
    conn.pragma_update(None, "foreign_keys", true)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    if migrated {
        // Optional: otherwise the space is reused later.
        let _ = return_free_pages(&conn);
    }
    Ok(Opened { conn, journal, read_only: None })
}

/// Returns free pages to the file system: one per requested row.
pub(crate) fn return_free_pages(conn: &Connection) -> rusqlite::Result<()> {
    let mut statement = conn.prepare("PRAGMA incremental_vacuum")?;
    let mut pages = statement.query([])?;
    while pages.next()?.is_some() {}
    Ok(())
}

/// Sets the journal mode. If the log is refused, or another process is switching to it, the
/// rollback journal is also acceptable. It is an error to get the log where only the rollback
/// journal is safe, because another process has opened the store with it.
fn set_journal(conn: &Connection, wanted: Journal) -> rusqlite::Result<Journal> {
    let word = if wanted == Journal::Log { "WAL" } else { "DELETE" };
    let mode = conn.pragma_update_and_check(None, "journal_mode", word, |r| r.get::<_, String>(0));
    let log = mode.as_ref().is_ok_and(|word| word == "wal");
    match (wanted, mode) {
        (Journal::Log, Ok(_)) if log => Ok(Journal::Log),
        (Journal::Rollback, Ok(_)) if log => {
            Err(error_of(ErrorCode::DatabaseBusy, rusqlite::ffi::SQLITE_BUSY))
        }
        (_, Ok(_)) => Ok(Journal::Rollback),
        (Journal::Log, Err(e)) if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
            Ok(Journal::Rollback)
        }
        (_, Err(e)) => Err(e),
    }
}

/// Whether the error means that the location is not writable, rather than that the file is bad.
/// The log needs a file next to the store even for reading, so a full disk counts, which SQLite may
/// report as an I/O error.
fn cannot_write(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, DiskFull, ReadOnly, SystemIoFailure};
    matches!(
        error.sqlite_error_code(),
        Some(CannotOpen | ReadOnly | DiskFull | SystemIoFailure | ErrorCode::PermissionDenied)
    )
}

fn open_to_read(path: &Path, why: rusqlite::Error) -> Result<Opened, StoreError> {
    let sql_error = |e| StoreError::sql(path, e);
    let conn = read_connection(path).map_err(sql_error)?;
    let version = schema::version(&conn).map_err(sql_error)?;
    let reason = reason(path, &why);
    if version < VERSION {
        let path = path.to_path_buf();
        return Err(StoreError::NotMigrated { path, found: version, why: reason });
    }
    Ok(Opened { conn, journal: Journal::Rollback, read_only: Some(reason) })
}

/// The reason why a store cannot be written, in a few words.
fn reason(path: &Path, error: &rusqlite::Error) -> String {
    let problem = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Some(StoreError::Full { path: path.to_path_buf() }),
        Some(ErrorCode::SystemIoFailure) => cannot_grow(path),
        _ => return "no write permission for it or its directory".into(),
    };
    match problem {
        Some(StoreError::Full { .. }) => "no space left next to it".into(),
        Some(StoreError::Limited { limit_bytes, .. }) => {
            format!("the file size limit is {limit_bytes} bytes")
        }
        _ => "I/O error of the file system next to it".into(),
    }
}

fn read_connection(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = if cannot_map(path) {
        Err(error_of(ErrorCode::DiskFull, rusqlite::ffi::SQLITE_FULL))
    } else {
        connect(path, flags)
    };
    match connection {
        // Without a log, the main file is complete and needs no lock file.
        Err(_) if log_is_empty(path) => {
            Connection::open_with_flags(uri(path, "?immutable=1"), flags)
        }
        opened => opened,
    }
}

fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let plain = Connection::open_with_flags(uri(path, ""), flags)?;
    plain.busy_timeout(BUSY_TIMEOUT)?;
    keep_plans(&plain)?;
    schema::version(&plain)?;
    Ok(plain)
}

/// Compiles a cached statement once. Otherwise SQLite compiles it again for every new value that its
/// planner has looked at, which took a sixth of the time of a list (sqlite.org/c3ref,
/// SQLITE_DBCONFIG_ENABLE_QPSG).
fn keep_plans(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

fn log_is_empty(path: &Path) -> bool {
    fs::metadata(sibling(path, "-wal")).map_or(true, |meta| meta.len() == 0)
}

/// Whether the file has an unfinished transaction (sqlite.org/fileformat.html, section 3).
fn has_rollback_journal(path: &Path) -> bool {
    let mut magic = [0; 8];
    let reading =
        fs::File::open(sibling(path, "-journal")).and_then(|mut f| f.read_exact(&mut magic));
    reading.is_ok() && magic == [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
}

/// The path as an SQLite URI with an option.
fn uri(path: &Path, option: &str) -> PathBuf {
    let mut uri = b"file:".to_vec();
    for byte in system::uri_path(path) {
        match byte {
            b'%' | b'?' | b'#' => uri.extend(format!("%{byte:02X}").bytes()),
            _ => uri.push(byte),
        }
    }
    uri.extend(option.bytes());
    system::uri(uri)
}

fn error_of(code: ErrorCode, extended_code: i32) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error { code, extended_code }, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_shared_file_systems_the_log_is_replaced_or_the_store_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("s");
        let with_log = open(&path, Journal::Log).map_err(|e| e.to_string()).expect("a new store");
        assert_eq!(with_log.journal, Journal::Log);
        let busy = open(&path, Journal::Rollback).map(|opened| opened.journal);
        assert!(matches!(busy, Err(StoreError::Busy { .. })), "{busy:?}");
        drop(with_log);
        let without = open(&path, Journal::Rollback).map(|opened| opened.journal);
        assert_eq!(without.ok(), Some(Journal::Rollback));
    }

    #[test]
    fn an_io_error_is_no_lack_of_space() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("s");
        let table = [
            (ErrorCode::SystemIoFailure, rusqlite::ffi::SQLITE_IOERR_SHMOPEN, "I/O error"),
            (ErrorCode::DiskFull, rusqlite::ffi::SQLITE_FULL, "no space left next to it"),
            (ErrorCode::ReadOnly, rusqlite::ffi::SQLITE_READONLY, "no write permission"),
        ];
        for (code, extended, words) in table {
            let reason = reason(&path, &error_of(code, extended));
            assert!(reason.starts_with(words), "{reason}");
        }
    }

    #[test]
    fn a_bare_name_has_the_journal_of_its_directory() {
        assert_eq!(journal_for(Path::new("runs.sqlite")), journal_for(Path::new("./x")));
    }
}
