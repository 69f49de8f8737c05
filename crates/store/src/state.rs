//! The state of a drive according to its stored runs.
//!
//! The latest run that could have changed the state decides. Runs that only read are skipped. There
//! is no state if that run wrote without leaving a known state, was cut short, or used only part of
//! the drive (a partition, a file system on it). Changes by other programs since then are unknown,
//! but the drive's own counter of bytes written may reveal them (see
//! [`LastState::was_written_since`]).

use record::{DriveIdentity, State};
use rusqlite::{Connection, Row, params};

/// Maximum runs examined: after that many read-only runs a state is not worth knowing.
const RUNS: i64 = 100;

/// Tolerated writes since then, as a share of the drive: access times of a mount, and coarse
/// counter units. One thousandth is arbitrary.
const SHARE: f64 = 0.001;

/// The last known state of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct LastState {
    /// The state.
    pub state: State,
    /// Start of the run that left this state, RFC 3339.
    pub as_of: String,
    /// Lifetime bytes written at that time, if the drive reports them.
    pub written_bytes: Option<u64>,
}

impl LastState {
    /// Whether the drive reports more bytes written now than after that run.
    pub fn was_written_since(&self, drive: &DriveIdentity) -> bool {
        let now = drive.health.written_bytes.zip(self.written_bytes);
        let more = now.map(|(now, then)| now.saturating_sub(then));
        let most = SHARE * drive.bytes.unwrap_or(0) as f64;
        more.is_some_and(|more| more as f64 > most)
    }
}

/// A run that involved the drive.
struct Trace {
    state: State,
    as_of: String,
    complete: bool,
    reads_only: bool,
    whole: bool,
    written_bytes: Option<u64>,
}

/// The state of `drive` before run `number`.
pub(crate) fn last(
    conn: &Connection,
    drive: &DriveIdentity,
    number: i64,
) -> rusqlite::Result<Option<LastState>> {
    let Some(serial) = &drive.serial else { return Ok(None) };
    let sql = "SELECT body ->> '$.state_after', body ->> '$.started', complete,
                      body ->> '$.plan.write_bytes_max' = 0
                          AND body ->> '$.plan.destroys' IS NULL,
                      body ->> '$.target.kind' = 'device'
                          AND body ->> '$.target.bytes' = body ->> '$.target.drive.bytes',
                      body ->> '$.health_after.written_bytes'
               FROM run
               WHERE serial = ?1 AND body ->> '$.target.drive.hardware_id' IS ?2
                 AND body ->> '$.target.drive.bytes' IS ?3
                 AND number < ?4
               ORDER BY number DESC LIMIT ?5";
    let bytes = drive.bytes.map(|bytes| bytes as i64);
    let mut statement = conn.prepare(sql)?;
    let mut rows = statement.query(params![serial, drive.hardware_id, bytes, number, RUNS])?;
    while let Some(row) = rows.next()? {
        let trace = trace(row)?;
        if trace.reads_only {
            continue;
        }
        let known = trace.complete && trace.whole && trace.state != State::Unknown;
        let Trace { state, as_of, written_bytes, .. } = trace;
        return Ok(known.then_some(LastState { state, as_of, written_bytes }));
    }
    Ok(None)
}

fn trace(row: &Row<'_>) -> rusqlite::Result<Trace> {
    let word: Option<String> = row.get(0)?;
    let written: Option<i64> = row.get(5)?;
    Ok(Trace {
        state: state(word.as_deref().unwrap_or_default()),
        as_of: row.get::<_, Option<String>>(1)?.unwrap_or_default(),
        complete: row.get(2)?,
        reads_only: row.get::<_, Option<bool>>(3)?.unwrap_or(false),
        whole: row.get::<_, Option<bool>>(4)?.unwrap_or(false),
        written_bytes: written.and_then(|bytes| u64::try_from(bytes).ok()),
    })
}

fn state(word: &str) -> State {
    serde_json::from_value(word.into()).unwrap_or_default()
}
