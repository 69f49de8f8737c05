//! Finding runs by number, id prefix, `last`, or target.

use std::collections::BTreeMap;

use jiff::Timestamp;
use record::{Metric, RecordHash};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use crate::summary::Provenance;
use crate::{StoreError, labels, rows};

/// Filter for runs; unset fields match everything.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Part of the drive's manufacturer, model, serial number or device name, or of the target's
    /// path; case-insensitive.
    pub drive: Option<String>,
    /// Key of the drive, as in [`crate::StoredDrive`].
    pub drive_key: Option<String>,
    /// Model of the drive, complete.
    pub model: Option<String>,
    pub method: Option<String>,
    /// Name of the machine that measured it.
    pub host: Option<String>,
    /// Part of its title; case-insensitive.
    pub title: Option<String>,
    /// Tags that it has, names and values.
    pub tags: Vec<(String, String)>,
    /// Started at this time or later.
    pub since: Option<Timestamp>,
    /// Started before this time.
    pub until: Option<Timestamp>,
    /// Maximum number of runs, latest first.
    pub limit: Option<u32>,
    /// Only runs before this number: the next page of a list.
    pub before: Option<i64>,
}

/// One line in the list of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// Number in this store.
    pub number: i64,
    /// Unique over all machines.
    pub id: String,
    /// Hash of its content; `None` while it is written, or if its writer was killed.
    pub hash: Option<RecordHash>,
    /// How it came into the store.
    pub kind: Provenance,
    /// Id of the machine that measured it.
    pub machine: Option<String>,
    /// Name of that machine.
    pub host: Option<String>,
    /// The user's title, or that of another tool's result.
    pub title: Option<String>,
    /// The user's tags.
    pub tags: BTreeMap<String, String>,
    /// Whether another record in the store has the same id but different content.
    pub conflict: bool,
    /// RFC 3339.
    pub started: String,
    /// Whether `started` is the start of the measurement; for an imported record it may be the time
    /// of the import.
    pub start_known: bool,
    pub method: String,
    /// The target, as typed by the user.
    pub target: String,
    /// Model of the drive, or its name if the model is unknown.
    pub drive: Option<String>,
    /// Key of the drive, as in [`crate::StoredDrive`]; `None` without a drive.
    pub drive_key: Option<String>,
    /// Serial number of the drive.
    pub serial: Option<String>,
    /// Firmware of the drive.
    pub firmware: Option<String>,
    /// Whether it ran to its end.
    pub complete: bool,
    /// Whether it is still being written.
    pub running: bool,
    /// Reason for an early end, if any, as in the record returned by [`crate::Store::load`].
    pub cut_short: Option<String>,
    /// The first metric of each kind, at most four, without replicates.
    pub headline: Vec<Metric>,
    /// The headline of its answer, if any.
    pub answer: Option<String>,
}

/// Whether an unfinished run is still being written, or else the reason for its end.
pub(crate) fn standing(
    complete: bool,
    cut_short: Option<String>,
    writer: Option<&crate::writer::Writer>,
) -> (bool, Option<String>) {
    let is_running = !complete && writer.is_some_and(|w| w.is_alive());
    (
        is_running,
        cut_short.or_else(|| (!complete && !is_running).then(|| record::KILLED.to_string())),
    )
}

/// The ended runs of a machine, or of none, that ssdyno measured, with their hashes.
pub(crate) fn ended(
    conn: &Connection,
    machine: Option<&str>,
) -> rusqlite::Result<Vec<(i64, Option<RecordHash>)>> {
    let sql = "SELECT number, hash, complete, writer_pid, writer_start, writer_boot FROM run
               WHERE kind <> 'imported' AND (machine IS NULL OR machine = ?) ORDER BY number";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([machine])?;
    let mut ended = Vec::new();
    while let Some(row) = rows.next()? {
        let (is_running, _) = standing(row.get(2)?, None, rows::writer(row, 3)?.as_ref());
        if !is_running {
            ended.push((row.get(0)?, row.get::<_, Option<[u8; 32]>>(1)?.map(RecordHash)));
        }
    }
    Ok(ended)
}

/// A filter's conditions and their values.
fn conditions(filter: &Filter) -> (String, Vec<Value>) {
    let [start, end] = [filter.since, filter.until]
        .map(|time| time.map(|time| Value::from(time.as_millisecond())));
    let drive = filter.drive.as_ref().map(|text| Value::from(text.to_lowercase()));
    let method = filter.method.clone().map(Value::from);
    let title = filter.title.as_ref().map(|text| Value::from(text.to_lowercase()));
    let conditions = [
        ("run.place IN (SELECT id FROM place WHERE instr(search, ?))", drive),
        (
            "run.place IN (SELECT id FROM place WHERE drive_key = ?)",
            filter.drive_key.clone().map(Value::from),
        ),
        (
            "run.place IN (SELECT id FROM place WHERE model = ?)",
            filter.model.clone().map(Value::from),
        ),
        ("run.method = ?", method),
        ("run.host = ?", filter.host.clone().map(Value::from)),
        ("instr(lower(run.title), ?)", title),
        ("run.number < ?", filter.before.map(Value::from)),
        ("run.started_ms >= ?", start),
        ("run.started_ms < ?", end),
    ];
    let (mut words, mut values) = (vec!["true"], Vec::new());
    for (condition, value) in conditions {
        if let Some(value) = value {
            words.push(condition);
            values.push(value);
        }
    }
    for (name, value) in &filter.tags {
        words.push("run.number IN (SELECT run FROM tag WHERE name = ? AND value = ?)");
        values.extend([Value::from(name.clone()), Value::from(value.clone())]);
    }
    (words.join(" AND "), values)
}

/// The number of matching runs, regardless of the limit.
pub(crate) fn count(conn: &Connection, filter: &Filter) -> rusqlite::Result<u64> {
    let (conditions, values) = conditions(filter);
    let sql = format!("SELECT count(*) FROM run WHERE {conditions}");
    let count: i64 = conn.query_row(&sql, params_from_iter(values), |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

/// Newest first, by number, because a machine without a battery-backed clock may have any time.
/// Numbers are found first, from an index alone, so that only the rows of the list are read.
pub(crate) fn list(conn: &Connection, filter: &Filter) -> rusqlite::Result<Vec<RunSummary>> {
    let (conditions, mut values) = conditions(filter);
    let sql = format!(
        "SELECT number, writer_pid, writer_start, writer_boot, run.id, started, method,
                target, coalesce(model, drive), serial, complete, cut_short, start_known, answer,
                hash, kind, machine, headline,
                EXISTS (SELECT 1 FROM run AS other
                        WHERE other.id = run.id COLLATE NOCASE AND other.id = run.id
                          AND other.number <> run.number),
                host, title, firmware, drive_key
         FROM run JOIN place ON place.id = run.place
         WHERE number IN (SELECT number FROM run WHERE {conditions} ORDER BY number DESC LIMIT ?)
         ORDER BY number DESC"
    );
    values.push(filter.limit.map_or(-1, i64::from).into());
    let mut statement = conn.prepare(&sql)?;
    let rows = statement.query_map(params_from_iter(values), |row| summary(conn, row))?;
    rows.collect()
}

fn summary(conn: &Connection, row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    let (number, complete) = (row.get(0)?, row.get(10)?);
    let (running, cut_short) = standing(complete, row.get(11)?, rows::writer(row, 1)?.as_ref());
    Ok(RunSummary {
        number,
        id: row.get(4)?,
        hash: row.get::<_, Option<[u8; 32]>>(14)?.map(RecordHash),
        kind: Provenance::named(row.get_ref(15)?.as_str()?),
        machine: row.get(16)?,
        conflict: row.get(18)?,
        started: row.get(5)?,
        start_known: row.get(12)?,
        method: row.get(6)?,
        target: row.get(7)?,
        drive: row.get(8)?,
        serial: row.get(9)?,
        drive_key: row.get(22)?,
        host: row.get(19)?,
        title: row.get(20)?,
        tags: labels::tags(conn, number)?,
        firmware: row.get(21)?,
        complete,
        running,
        cut_short,
        headline: rows::metrics_at(conn, number, row.get_ref(17)?.as_blob()?)?,
        answer: row.get(13)?,
    })
}

/// The number of the selected run: `last`, a number, or the prefix of an id. Numbers never start
/// with 0; ids do for several thousand years to come.
pub(crate) fn find(conn: &Connection, selector: &str) -> rusqlite::Result<Result<i64, StoreError>> {
    let missing = || StoreError::NoSuchRun(selector.to_string());
    if selector == "last" {
        let number: Option<i64> =
            conn.query_row("SELECT max(number) FROM run", [], |r| r.get(0))?;
        return Ok(number.ok_or(StoreError::NoRuns));
    }
    if let Some(number) = selector.parse::<i64>().ok().filter(|_| !selector.starts_with('0')) {
        let sql = "SELECT number FROM run WHERE number = ?";
        let known_number = conn.query_row(sql, [number], |row| row.get(0)).optional()?;
        return Ok(known_number.ok_or_else(missing));
    }
    let candidates = by_id(conn, selector)?;
    Ok(match candidates.as_slice() {
        _ if selector.is_empty() => Err(missing()),
        [] => Err(missing()),
        [(number, _)] => Ok(*number),
        [(_, first), (_, second), ..] if first == second => {
            let runs = candidates.iter().filter(|(_, id)| id == first);
            let runs = runs.map(|(number, _)| format!("run {number}")).collect();
            Err(StoreError::Ambiguous { prefix: selector.to_string(), ids: runs })
        }
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
               WHERE id >= ?1 COLLATE NOCASE AND id < ?1 || char(0x10FFFF) COLLATE NOCASE
                 AND substr(id, 1, length(?1)) = ?1 COLLATE NOCASE
               ORDER BY length(id), id, number LIMIT 4";
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map([prefix], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// The numbers of the runs with this id.
pub(crate) fn with_id(conn: &Connection, id: &str) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT number FROM run WHERE id = ?1 COLLATE NOCASE AND id = ?1 ORDER BY number";
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map([id], |row| row.get(0))?;
    rows.collect()
}
