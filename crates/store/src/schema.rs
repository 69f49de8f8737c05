//! The schema and its migrations.
//!
//! `PRAGMA user_version` counts the migration steps of a store. Each step is a file that never
//! changes after its release. A few lines of own code: the available crates keep their own tables
//! or need a build step.

use rusqlite::Connection;
use rusqlite::TransactionBehavior::{Deferred, Immediate};

/// Application id in the header: "ssdy".
pub(crate) const APPLICATION_ID: u32 = u32::from_be_bytes(*b"ssdy");

/// Step N migrates version N to N + 1.
pub(crate) const STEPS: &[&str] = &[include_str!("schema_1.sql")];

/// Version of a fully migrated store.
pub(crate) const VERSION: u32 = STEPS.len() as u32;

/// Current version of the store.
pub(crate) fn version(conn: &Connection) -> rusqlite::Result<u32> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Migrates the store to the last of `steps`, in one transaction.
pub(crate) fn migrate(conn: &mut Connection, steps: &[&str]) -> rusqlite::Result<()> {
    let known = steps.len() as u32;
    let before = version(conn)?;
    if before >= known {
        return Ok(());
    }
    let new = before == 0;
    let tx = conn.transaction_with_behavior(if new { Deferred } else { Immediate })?;
    if new {
        // Lets `remove` return space. It must come before the first page of the file, so this takes
        // the lock, and in the same transaction, or a kill could leave a file that is not marked as
        // ours.
        tx.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    // Another process may have migrated while this one waited for the lock.
    let done = version(&tx)? as usize;
    for step in steps.iter().skip(done) {
        tx.execute_batch(step)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", known.max(done as u32))?;
    tx.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_taken_once_and_in_order() {
        let mut conn = Connection::open_in_memory().expect("memory");
        let first = [STEPS[0]];
        let then =
            [STEPS[0], "ALTER TABLE run ADD COLUMN a TEXT", "ALTER TABLE run RENAME COLUMN a TO b"];
        migrate(&mut conn, &first).expect("version 1");
        conn.execute("INSERT INTO run (started_ms, body) VALUES (0, '{\"id\": \"x\"}')", [])
            .expect("a run of version 1");
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
    fn a_step_that_fails_leaves_the_store_as_it_was() {
        let mut conn = Connection::open_in_memory().expect("memory");
        migrate(&mut conn, STEPS).expect("version 1");
        let broken = [STEPS[0], "CREATE TABLE extra (a)", "nonsense"];
        migrate(&mut conn, &broken).expect_err("the third step fails");
        assert_eq!(version(&conn).ok(), Some(VERSION));
        conn.prepare("SELECT * FROM extra").expect_err("the second step was rolled back");
    }
}
