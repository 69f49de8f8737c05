//! Words that repeat in every run (names of metrics, units, workloads), each stored once.

use rusqlite::{Connection, OptionalExtension};

/// The id of a word, which is inserted if new.
pub(crate) fn put(conn: &Connection, text: &str) -> rusqlite::Result<i64> {
    let sql = "SELECT id FROM word WHERE text = ?";
    if let Some(id) = conn.prepare_cached(sql)?.query_row([text], |row| row.get(0)).optional()? {
        return Ok(id);
    }
    conn.prepare_cached("INSERT INTO word (text) VALUES (?)")?.execute([text])?;
    Ok(conn.last_insert_rowid())
}
