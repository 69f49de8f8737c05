//! Conversion between a run and its rows.
//!
//! Most of a record is JSON text, read and written whole. Metrics are rows, because they are
//! searched and compared over many runs. Series are packed (`series.rs`), because they are long.

use record::{Metric, Run, Series};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::StoreError;
use crate::dates::milliseconds;
use crate::series::{pack, pack_values, text_unit, unit_text, unpack_onto, unpack_values};
use crate::writer::Writer;

/// A run without its metrics and series.
pub(crate) struct Body {
    pub id: String,
    started_ms: i64,
    json: String,
}

impl Body {
    /// Splits the record; fails if it could not be found or read again.
    pub fn of(run: &Run) -> Result<Body, StoreError> {
        if run.id.is_empty() {
            return Err(StoreError::Unfit("it has no id".into()));
        }
        let started_ms = milliseconds(&run.started)?;
        let json = serde_json::to_string(&without_bulk(run));
        let json = json.map_err(|e| StoreError::Unfit(e.to_string()))?;
        Ok(Body { id: run.id.clone(), started_ms, json })
    }
}

/// The run without the parts that have their own tables. Field by field, so that the compiler asks
/// about each new field and long series are not copied.
fn without_bulk(run: &Run) -> Run {
    Run {
        schema: run.schema.clone(),
        id: run.id.clone(),
        number: None,
        started: run.started.clone(),
        seconds: run.seconds,
        method: run.method.clone(),
        target: run.target.clone(),
        environment: run.environment.clone(),
        plan: run.plan.clone(),
        state_before: run.state_before,
        state_after: run.state_after,
        state_as_of: run.state_as_of.clone(),
        health_after: run.health_after.clone(),
        answer: run.answer.clone(),
        metrics: Vec::new(),
        series: Vec::new(),
        latencies: run.latencies.clone(),
        verdicts: run.verdicts.clone(),
        warnings: run.warnings.clone(),
        errors: run.errors.clone(),
        complete: run.complete,
        cut_short: run.cut_short.clone(),
        origin: run.origin.clone(),
    }
}

/// Inserts a new run and returns its number.
pub(crate) fn insert(
    conn: &Connection,
    body: &Body,
    writer: Option<&Writer>,
) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO run (started_ms, body, writer_pid, writer_start, writer_boot)
               VALUES (?, ?, ?, ?, ?)";
    let (pid, start, boot) = writer_columns(writer);
    conn.execute(sql, params![body.started_ms, body.json, pid, start, boot])?;
    Ok(conn.last_insert_rowid())
}

/// Replaces the stored data of a run.
pub(crate) fn update(conn: &Connection, number: i64, body: &Body) -> rusqlite::Result<()> {
    let sql = "UPDATE run SET started_ms = ?, body = ? WHERE number = ?";
    conn.execute(sql, params![body.started_ms, body.json, number]).map(drop)
}

/// Marks a run as no longer being written.
pub(crate) fn release(conn: &Connection, number: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE run SET writer_pid = NULL, writer_start = NULL, writer_boot = NULL
               WHERE number = ?";
    conn.execute(sql, [number]).map(drop)
}

fn writer_columns(writer: Option<&Writer>) -> (Option<i64>, Option<i64>, Option<&str>) {
    (writer.map(|w| w.pid), writer.map(|w| w.start), writer.map(|w| w.boot.as_str()))
}

/// Replaces the metrics of a run.
pub(crate) fn put_metrics(
    conn: &Connection,
    number: i64,
    metrics: &[Metric],
) -> rusqlite::Result<()> {
    conn.execute("DELETE FROM metric WHERE run = ?", [number])?;
    let sql = "INSERT INTO metric (run, position, name, unit, value, low, high, n, samples)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let mut statement = conn.prepare_cached(sql)?;
    for (position, m) in metrics.iter().enumerate() {
        let (unit, samples) = (unit_text(m.unit), pack_values(&m.samples));
        let position = position as i64;
        statement.execute(params![
            number, position, m.name, unit, m.value, m.low, m.high, m.n, samples
        ])?;
    }
    Ok(())
}

/// Adds a piece to the series at `position`.
pub(crate) fn put_piece(
    conn: &Connection,
    number: i64,
    position: usize,
    piece: &Series,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO piece (run, position, name, replicate, start_ns, points, data)
               VALUES (?, ?, ?, ?, ?, ?, ?)";
    // SQLite's integers are signed; a start beyond 292 years survives the cast in both directions.
    let (start, points) = (piece.start_ns as i64, piece.t_ns.len() as i64);
    conn.prepare_cached(sql)?
        .execute(params![
            number,
            position as i64,
            piece.name,
            piece.replicate,
            start,
            points,
            pack(piece)
        ])
        .map(drop)
}

/// Replaces the pieces written during the run by the series of the finished record. Series that
/// exist only as pieces stay, after the others.
pub(crate) fn put_series(conn: &Connection, number: i64, all: &[Series]) -> rusqlite::Result<()> {
    for series in all {
        let sql = "DELETE FROM piece WHERE run = ? AND name = ? AND replicate = ?";
        conn.prepare_cached(sql)?.execute(params![number, series.name, series.replicate])?;
    }
    let sql = "UPDATE piece SET position = position + ? WHERE run = ?";
    conn.execute(sql, params![all.len() as i64, number])?;
    let mut pieces = all.iter().enumerate();
    pieces.try_for_each(|(position, series)| put_piece(conn, number, position, series))
}

/// The whole record and its writer.
pub(crate) fn read(
    conn: &Connection,
    number: i64,
) -> rusqlite::Result<Option<(Run, Option<Writer>)>> {
    let sql = "SELECT body, writer_pid, writer_start, writer_boot FROM run WHERE number = ?";
    let found = conn.query_row(sql, [number], |row| Ok((parse_body(row)?, writer(row, 1)?)));
    let Some((mut run, writer)) = found.optional()? else { return Ok(None) };
    run.number = Some(number);
    run.metrics = metrics(conn, number)?;
    run.series = series(conn, number)?;
    Ok(Some((run, writer)))
}

fn parse_body(row: &Row<'_>) -> rusqlite::Result<Run> {
    let text = row.get_ref(0)?.as_str()?;
    serde_json::from_str(text).map_err(|e| torn(0, Type::Text, e))
}

/// The writer in three columns of a row, the first at `at`.
pub(crate) fn writer(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Writer>> {
    let Some(pid) = row.get(at)? else { return Ok(None) };
    Ok(Some(Writer { pid, start: row.get(at + 1)?, boot: row.get(at + 2)? }))
}

/// The metrics of a run, in order.
pub(crate) fn metrics(conn: &Connection, number: i64) -> rusqlite::Result<Vec<Metric>> {
    let sql = "SELECT name, unit, value, low, high, n, samples FROM metric
               WHERE run = ? ORDER BY position";
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map([number], metric)?;
    rows.collect()
}

fn metric(row: &Row<'_>) -> rusqlite::Result<Metric> {
    let unit = row.get_ref(1)?.as_str()?;
    let unit = text_unit(unit).ok_or_else(|| torn(1, Type::Text, format!("unit '{unit}'")))?;
    let samples = unpack_values(row.get_ref(6)?.as_blob()?).map_err(|e| torn(6, Type::Blob, e))?;
    Ok(Metric {
        name: row.get(0)?,
        unit,
        value: row.get(2)?,
        low: row.get(3)?,
        high: row.get(4)?,
        n: row.get(5)?,
        samples,
    })
}

fn series(conn: &Connection, number: i64) -> rusqlite::Result<Vec<Series>> {
    let sql = "SELECT position, name, replicate, start_ns, points, data FROM piece
               WHERE run = ? ORDER BY position, number";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([number])?;
    let (mut all, mut last) = (Vec::<Series>::new(), None);
    while let Some(row) = rows.next()? {
        let position: i64 = row.get(0)?;
        if last.replace(position) != Some(position) {
            let start: i64 = row.get(3)?;
            all.push(Series::new(row.get::<_, String>(1)?, row.get(2)?, start as u64));
        }
        if let Some(series) = all.last_mut() {
            let data = row.get_ref(5)?.as_blob()?;
            let points: u32 = row.get(4)?;
            let unpacked = unpack_onto(series, points as usize, data);
            unpacked.map_err(|e| torn(5, Type::Blob, e))?;
        }
    }
    Ok(all)
}

fn torn(
    column: usize,
    kind: Type,
    why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, kind, why.into())
}
