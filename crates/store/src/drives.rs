//! The drives of a store, from the indexed columns alone.

use rusqlite::Connection;

/// A drive with runs in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDrive {
    /// Its key: [`crate::Filter::drive_key`] selects its runs.
    pub key: String,
    /// Whether the key names a slot rather than a drive.
    pub weak: bool,
    pub vendor: Option<String>,
    /// Its model, or its name if the model is unknown.
    pub model: Option<String>,
    pub serial: Option<String>,
    /// Number of its runs.
    pub runs: u64,
    /// Number of its latest run.
    pub latest: i64,
}

/// Runs are counted in the index of places; `place` is small.
const DRIVES: &str = "
SELECT drive_key, max(weak), max(vendor), max(coalesce(model, drive)), max(serial),
       sum(counted.runs), max(counted.latest) AS latest
FROM (SELECT place, count(*) AS runs, max(number) AS latest FROM run GROUP BY place) AS counted
JOIN place ON place.id = counted.place
WHERE drive_key IS NOT NULL
GROUP BY drive_key
ORDER BY latest DESC";

/// See [`crate::Store::drives`].
pub(crate) fn drives(conn: &Connection) -> rusqlite::Result<Vec<StoredDrive>> {
    let mut statement = conn.prepare(DRIVES)?;
    let drives = statement.query_map([], |row| {
        Ok(StoredDrive {
            key: row.get(0)?,
            weak: row.get(1)?,
            vendor: row.get(2)?,
            model: row.get(3)?,
            serial: row.get(4)?,
            runs: row.get::<_, i64>(5)?.unsigned_abs(),
            latest: row.get(6)?,
        })
    })?;
    drives.collect()
}
