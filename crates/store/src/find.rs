//! Finding runs: by number, by prefix of an id, as `last`, or by their target.

use jiff::Timestamp;
use record::Metric;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{StoreError, rows};

/// Maximum metrics in a summary.
const HEADLINE: usize = 4;

/// Filter for runs; unset fields match everything.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Part of the drive's manufacturer, model, serial number or device name, or of the target's
    /// path; case-insensitive.
    pub drive: Option<String>,
    /// Name of the method.
    pub method: Option<String>,
    /// Started at this time or later.
    pub since: Option<Timestamp>,
    /// Started before this time.
    pub until: Option<Timestamp>,
    /// At most this many, the latest.
    pub limit: Option<u32>,
}

/// One line in the list of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// Number in this store.
    pub number: i64,
    /// Unique over all machines.
    pub id: String,
    /// RFC 3339.
    pub started: String,
    /// Whether `started` is the start of the measurement; for an imported record it may be the time
    /// of the import.
    pub start_known: bool,
    /// Name of the method.
    pub method: String,
    /// The target as the user typed it.
    pub target: String,
    /// Model of the drive, or its name if the model is unknown.
    pub drive: Option<String>,
    /// Serial number of the drive.
    pub serial: Option<String>,
    /// Whether it ran to its end.
    pub complete: bool,
    /// Whether it is still being written.
    pub running: bool,
    /// Reason for ending early, if it did, as in the record returned by [`crate::Store::load`].
    pub cut_short: Option<String>,
    /// The first metrics of different kinds, at most four, without their replicates.
    pub headline: Vec<Metric>,
    /// The headline of its answer, where it has one.
    pub answer: Option<String>,
}

/// `cut_short` of a run whose writer disappeared.
const KILLED: &str = "killed";

/// Whether an unfinished run is still being written, and otherwise the reason for its end.
pub(crate) fn standing(
    complete: bool,
    cut_short: Option<String>,
    writer: Option<&crate::writer::Writer>,
) -> (bool, Option<String>) {
    let running = !complete && writer.is_some_and(|w| w.is_alive());
    let killed = || (!complete && !running).then(|| KILLED.to_string());
    (running, cut_short.or_else(killed))
}

/// Newest first, by number, because a machine without a battery-backed clock may have any time.
pub(crate) fn list(conn: &Connection, filter: &Filter) -> rusqlite::Result<Vec<RunSummary>> {
    let sql = "SELECT number, writer_pid, writer_start, writer_boot, id, started, method,
                      target, coalesce(model, drive), serial, complete, cut_short,
                      coalesce(json_extract(body, '$.origin.start_known'), 1),
                      json_extract(body, '$.answer.headline')
               FROM run
               WHERE (?1 IS NULL
                      OR instr(lower(concat_ws(char(10), vendor || ' ' || model, vendor, model,
                                               serial, drive, target, path)), lower(?1)))
                 AND (?2 IS NULL OR method = ?2)
                 AND (?3 IS NULL OR started_ms >= ?3)
                 AND (?4 IS NULL OR started_ms < ?4)
               ORDER BY number DESC LIMIT ?5";
    let ms = |time: Option<Timestamp>| time.map(|t| t.as_millisecond());
    let limit = filter.limit.map_or(-1, i64::from);
    let values = params![filter.drive, filter.method, ms(filter.since), ms(filter.until), limit];
    let mut statement = conn.prepare(sql)?;
    let mut runs: Vec<_> = statement.query_map(values, summary)?.collect::<Result<_, _>>()?;
    for run in &mut runs {
        run.headline = headline(rows::metrics(conn, run.number)?);
    }
    Ok(runs)
}

fn summary(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    let complete = row.get(10)?;
    let (running, cut_short) = standing(complete, row.get(11)?, rows::writer(row, 1)?.as_ref());
    Ok(RunSummary {
        number: row.get(0)?,
        id: row.get(4)?,
        started: row.get(5)?,
        start_known: row.get(12)?,
        method: row.get(6)?,
        target: row.get(7)?,
        drive: row.get(8)?,
        serial: row.get(9)?,
        complete,
        running,
        cut_short,
        headline: Vec::new(),
        answer: row.get(13)?,
    })
}

/// The first metric of each kind: `seq-read-1MiB-q8` stands for all `seq-read`. Latencies
/// (`rand-read-4KiB-q1.p99`) belong to a metric and do not count.
fn headline(metrics: Vec<Metric>) -> Vec<Metric> {
    let mut kinds = Vec::new();
    let mut first = metrics;
    first.retain(|m| {
        let key = m.key();
        let kind = key.kind();
        let new = key.is_main() && !kinds.contains(&kind);
        if new {
            kinds.push(kind);
        }
        new
    });
    first.truncate(HEADLINE);
    first.iter_mut().for_each(|m| m.samples.clear());
    first
}

/// The number of the selected run: `last`, a number, or the prefix of an id. A number never begins
/// with 0, whereas an id does for some thousand years to come.
pub(crate) fn find(conn: &Connection, selector: &str) -> rusqlite::Result<Result<i64, StoreError>> {
    let missing = || StoreError::NoSuchRun(selector.to_string());
    if selector == "last" {
        let last: Option<i64> = conn.query_row("SELECT max(number) FROM run", [], |r| r.get(0))?;
        return Ok(last.ok_or(StoreError::NoRuns));
    }
    if let Some(number) = selector.parse::<i64>().ok().filter(|_| !selector.starts_with('0')) {
        let sql = "SELECT number FROM run WHERE number = ?";
        let found = conn.query_row(sql, [number], |row| row.get(0)).optional()?;
        return Ok(found.ok_or_else(missing));
    }
    let candidates = by_id(conn, selector)?;
    Ok(match candidates.as_slice() {
        _ if selector.is_empty() => Err(missing()),
        [] => Err(missing()),
        [(number, _)] => Ok(*number),
        [(number, id), ..] if id.eq_ignore_ascii_case(selector) => Ok(*number),
        several => {
            let ids = several.iter().map(|(_, id)| id.clone()).collect();
            Err(StoreError::Ambiguous { prefix: selector.to_string(), ids })
        }
    })
}

/// The first runs whose ids have this prefix, sorted.
fn by_id(conn: &Connection, prefix: &str) -> rusqlite::Result<Vec<(i64, String)>> {
    let sql = "SELECT number, id FROM run
               WHERE substr(id, 1, length(?1)) = ?1 COLLATE NOCASE
               ORDER BY length(id), id LIMIT 4";
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map([prefix], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}
