//! The state of a drive according to its stored runs.
//!
//! The latest run that could have changed the state decides; read-only runs are skipped. Runs are in
//! the order of their numbers, but the number of an imported record gives only the time of its
//! import: such a record counts only if no other run of the drive started later.
//!
//! There is no state if that run wrote without leaving a known state, was cut short, or used only
//! part of the drive (a partition, a file system on it). Later changes by other programs are
//! unknown, but the drive's counter of bytes written may reveal them (see
//! [`LastState::was_written_since`]).

use record::{DriveIdentity, HistoryKey, State};
use rusqlite::{Connection, OptionalExtension, params};

/// Tolerated writes since then, as a fraction of the drive: a mount updates access times, and
/// counters have coarse units. One thousandth is arbitrary.
const SHARE: f64 = 0.001;

/// The last known state of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct LastState {
    pub state: State,
    /// Start of the run that left this state, RFC 3339.
    pub as_of: String,
    /// Lifetime bytes written at that time, if the drive reports them.
    pub written_bytes: Option<u64>,
}

impl LastState {
    /// Whether the drive reports more bytes written now than after that run, beyond the tolerance.
    pub fn was_written_since(&self, drive: &DriveIdentity) -> bool {
        let amounts = drive.health.written_bytes.zip(self.written_bytes);
        let increase = amounts.map(|(amounts, then)| amounts.saturating_sub(then));
        let tolerance = SHARE * drive.bytes.unwrap_or(0) as f64;
        increase.is_some_and(|increase| increase as f64 > tolerance)
    }
}

/// The state of the drive with this key before run `number`. A weak key has no history, because it
/// may now be another drive.
pub(crate) fn last(
    conn: &Connection,
    key: &HistoryKey,
    number: i64,
) -> rusqlite::Result<Option<LastState>> {
    if key.weak {
        return Ok(None);
    }
    let sql = "WITH change AS (SELECT * FROM run WHERE NOT reads_only AND number < ?2 AND place IN
                               (SELECT id FROM place WHERE drive_key = ?1))
               SELECT state_after, started, complete, whole_drive, written_bytes FROM change
               WHERE kind = 'measured' OR started_ms = (SELECT max(started_ms) FROM change)
               ORDER BY number DESC LIMIT 1";
    let mut statement = conn.prepare(sql)?;
    Ok(statement
        .query_row(params![key.text, number], |row| {
            let state = state(row.get_ref(0)?.as_str()?);
            let is_whole = row.get::<_, bool>(2)? && row.get::<_, bool>(3)?;
            let bytes: Option<i64> = row.get(4)?;
            let written_bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
            Ok((is_whole && state != State::Unknown).then_some(LastState {
                state,
                as_of: row.get(1)?,
                written_bytes,
            }))
        })
        .optional()?
        .flatten())
}

fn state(word: &str) -> State {
    match State::named(word) {
        // This version does not understand states of later ones.
        State::Other(_) => State::Unknown,
        state => state,
    }
}
