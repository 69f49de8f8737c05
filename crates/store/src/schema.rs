//! The schema and its migrations.
//!
//! `PRAGMA user_version` counts the migration steps of a store. Each step is SQL that never changes
//! after its release, a function, or both. No migration crate is used: a few lines suffice, and the
//! available crates need their own tables or a build step.

use rusqlite::Connection;
use rusqlite::TransactionBehavior::{Deferred, Immediate};

use crate::{labels, migrate};

/// Application id in the header: "ssdy".
pub(crate) const APPLICATION_ID: u32 = u32::from_be_bytes(*b"ssdy");

/// One step of the schema.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    /// Executed before the rows are moved.
    pub sql: &'static str,
    /// Moves the rows and drops the old tables, or adds columns.
    pub rows: fn(&Connection) -> rusqlite::Result<()>,
}

impl Step {
    const fn sql(sql: &'static str) -> Step {
        Step { sql, rows: |_| Ok(()) }
    }
}

/// Step N migrates version N to N + 1.
pub(crate) const STEPS: &[Step] = &[
    Step::sql(include_str!("schema_1.sql")),
    Step { sql: migrate::TO_2, rows: migrate::rows_to_2 },
    Step { sql: "", rows: migrate::columns_of_3 },
    Step { sql: "", rows: labels::rows_to_4 },
];

/// Version of a fully migrated store.
pub(crate) const VERSION: u32 = STEPS.len() as u32;

/// Current version of the store.
pub(crate) fn version(conn: &Connection) -> rusqlite::Result<u32> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Migrates the store to the last of `steps`, in one transaction. Returns whether an existing store
/// was migrated, rather than a new one created.
pub(crate) fn migrate(conn: &mut Connection, steps: &[Step]) -> rusqlite::Result<bool> {
    let last_version = steps.len() as u32;
    let old_version = version(conn)?;
    if old_version >= last_version {
        return Ok(false);
    }
    let is_new = old_version == 0;
    let tx = conn.transaction_with_behavior(if is_new { Deferred } else { Immediate })?;
    if is_new {
        // Lets `remove` free space. It must be set before the file has its first page, so this
        // statement takes the lock instead of BEGIN. It must also be in the same transaction as the
        // rest: otherwise a kill could leave a file not marked as ours.
        tx.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    // Another process may have migrated while this one waited for the lock.
    let current = version(&tx)? as usize;
    for step in steps.iter().skip(current) {
        tx.execute_batch(step.sql)?;
        (step.rows)(&tx)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", last_version.max(current as u32))?;
    tx.commit()?;
    Ok(!is_new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_run_once_and_in_order() {
        let mut conn = Connection::open_in_memory().expect("memory");
        migrate(&mut conn, &STEPS[..1]).expect("version 1");
        let body = r#"{"id": "x"}"#;
        conn.execute("INSERT INTO run (started_ms, body) VALUES (0, ?)", [body]).expect("a run");
        let then = [
            STEPS[0],
            Step::sql("ALTER TABLE run ADD COLUMN a TEXT"),
            Step::sql("ALTER TABLE run RENAME COLUMN a TO b"),
        ];
        for _ in 0..2 {
            migrate(&mut conn, &then).expect("version 3");
            assert_eq!(version(&conn).ok(), Some(3));
        }
        let id: String = conn
            .query_row("SELECT id FROM run WHERE b IS NULL", [], |r| r.get(0))
            .expect("the run");
        assert_eq!(id, "x");
    }

    #[test]
    fn a_failing_step_leaves_the_store_unchanged() {
        let mut conn = Connection::open_in_memory().expect("memory");
        migrate(&mut conn, &STEPS[..1]).expect("version 1");
        let broken = [STEPS[0], Step::sql("CREATE TABLE extra (a)"), Step::sql("nonsense")];
        migrate(&mut conn, &broken).expect_err("the third step fails");
        assert_eq!(version(&conn).ok(), Some(1));
        conn.prepare("SELECT * FROM extra").expect_err("the second step was rolled back");
    }

    #[test]
    fn without_space_the_store_stays_unchanged() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("s");
        let before = include_bytes!("../tests/stores/version-1.sqlite");
        std::fs::write(&path, before).expect("a copy");
        let mut conn = Connection::open(&path).expect("opened");
        let pages: u32 =
            conn.pragma_query_value(None, "page_count", |row| row.get(0)).expect("counted");
        conn.pragma_update(None, "max_page_count", pages + 3).expect("limited");
        let error = migrate(&mut conn, STEPS).expect_err("no space");
        assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DiskFull), "{error}");
        assert_eq!(version(&conn).ok(), Some(1));
        drop(conn);
        assert!(std::fs::read(&path).expect("read") == before, "a byte was changed");
        let conn = Connection::open(&path).expect("opened");
        let runs: i64 =
            conn.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).expect("listed");
        assert_eq!(runs, 9);
    }
}
