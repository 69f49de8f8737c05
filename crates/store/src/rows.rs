//! Conversion between a run and its rows.
//!
//! A record is a body of JSON text, read and written whole, with the long parts packed separately:
//! metrics in rows, because they are searched and compared over many runs, histograms in one blob,
//! series in pieces (`series.rs`). A part with fields unknown to [`Run`], because a later version
//! wrote it, is also in the body and is read from there.

use std::fmt::Display;

use record::{Covers, Document, Metric, RecordHash, Run, Series, Unit};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, Rows, params};

use crate::pack::{Torn, expand, squeeze};
use crate::series::{pack, pack_values, unpack_onto, unpack_values};
use crate::summary::{Provenance, Summary};
use crate::writer::Writer;
use crate::{RECORD_BYTES_MAX, StoreError, latencies, words};

/// Maximum number of points in a piece, which keeps it far below the limit of `expand`.
const PIECE_POINTS: usize = 1 << 16;

/// A run ready to be written, except its metrics and series.
pub(crate) struct Entry {
    pub summary: Summary,
    body: Vec<u8>,
    latencies: Vec<u8>,
}

impl Entry {
    /// The entry of a local run; fails if it could not be found or read again.
    pub fn from_run(run: &Run) -> Result<Entry, StoreError> {
        let json = serde_json::to_string(&without_bulk(run));
        Entry::with_body(run, &json.map_err(|e| StoreError::Unfit(e.to_string()))?)
    }

    /// The entry of a record from elsewhere.
    pub fn from_document(document: &Document) -> Result<Entry, StoreError> {
        let json = document.body().map_err(|e| StoreError::Unfit(e.to_string()))?;
        Entry::with_body(document.run(), &json)
    }

    /// The entry of an unreadable record; its body is already compressed.
    pub fn torn(summary: Summary, body: Vec<u8>) -> Entry {
        Entry { summary, body, latencies: squeeze(&[]) }
    }

    fn with_body(run: &Run, json: &str) -> Result<Entry, StoreError> {
        let latencies = latencies::pack(&run.latencies);
        if json.len().max(latencies.len()) > RECORD_BYTES_MAX {
            return Err(StoreError::TooLarge);
        }
        let summary = Summary::from_run(run)?;
        Ok(Entry { summary, body: squeeze(json.as_bytes()), latencies: squeeze(&latencies) })
    }
}

/// The run without the packed parts. Written field by field, so that the compiler asks about each
/// new field and long series are not copied.
fn without_bulk(run: &Run) -> Run {
    Run {
        schema: run.schema.clone(),
        id: run.id.clone(),
        number: None,
        started: run.started.clone(),
        seconds: run.seconds,
        simulated_seconds: run.simulated_seconds,
        method: run.method.clone(),
        protocol: run.protocol,
        part_of: run.part_of.clone(),
        labels: run.labels.clone(),
        options: run.options.clone(),
        seed: run.seed,
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
        latencies: Vec::new(),
        verdicts: run.verdicts.clone(),
        warnings: run.warnings.clone(),
        errors: run.errors.clone(),
        complete: run.complete,
        cut_short: run.cut_short.clone(),
        origin: run.origin.clone(),
    }
}

/// Inserts a run and returns its number: the given or the next number.
pub(crate) fn insert(
    conn: &Connection,
    number: Option<i64>,
    kind: Provenance,
    entry: &Entry,
) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO run (number, id, kind, started_ms, started, start_known, method, place,
                                complete, headline, state_after, reads_only, whole_drive)
               VALUES (?, ?, ?, 0, '', 0, '', ?, 0, x'', '', 0, 0)";
    let Summary { id, place, .. } = &entry.summary;
    let place = place.put(conn)?;
    conn.prepare_cached(sql)?.execute(params![number, id, kind.name(), place])?;
    let number = conn.last_insert_rowid();
    update(conn, number, entry)?;
    Ok(number)
}

/// Replaces the stored data of a run.
pub(crate) fn update(conn: &Connection, number: i64, entry: &Entry) -> rusqlite::Result<()> {
    let sql =
        "UPDATE run SET machine = ?, started_ms = ?, started = ?, start_known = ?, method = ?,
                 place = ?, complete = ?, cut_short = ?, answer = ?, headline = ?, state_after = ?,
                 reads_only = ?, whole_drive = ?, written_bytes = ?
               WHERE number = ?";
    let s = &entry.summary;
    conn.prepare_cached(sql)?.execute(params![
        s.machine,
        s.started_ms,
        s.started,
        s.start_known,
        s.method,
        s.place.put(conn)?,
        s.complete,
        s.cut_short,
        s.answer,
        s.headline,
        s.state_after,
        s.reads_only,
        s.whole_drive,
        // SQLite's integers are signed; no drive has written 9 exabytes.
        s.written_bytes.and_then(|bytes| i64::try_from(bytes).ok()),
        number
    ])?;
    s.labels.put(conn, number)?;
    put_record(conn, number, &entry.body, &entry.latencies)
}

/// Replaces the record of a run; both parts are compressed.
pub(crate) fn put_record(
    conn: &Connection,
    number: i64,
    body: &[u8],
    latencies: &[u8],
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO record (run, body, latencies) VALUES (?, ?, ?)";
    conn.prepare_cached(sql)?.execute(params![number, body, latencies]).map(drop)
}

/// Marks a run as being written by a process.
pub(crate) fn claim(conn: &Connection, number: i64, writer: &Writer) -> rusqlite::Result<()> {
    let sql = "UPDATE run SET writer_pid = ?, writer_start = ?, writer_boot = ? WHERE number = ?";
    conn.execute(sql, params![writer.pid, writer.start, writer.boot, number]).map(drop)
}

/// Marks a run as no longer being written.
pub(crate) fn release(conn: &Connection, number: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE run SET writer_pid = NULL, writer_start = NULL, writer_boot = NULL
               WHERE number = ?";
    conn.execute(sql, [number]).map(drop)
}

/// Stores the hash of a finished run, computed from the record as it will be read.
pub(crate) fn seal(conn: &Connection, number: i64) -> rusqlite::Result<()> {
    let Some(stored) = read(conn, number)? else { return Ok(()) };
    let hash = stored.document().and_then(|document| document.hash());
    let hash = hash.map_err(torn)?;
    let sql = "UPDATE run SET hash = ? WHERE number = ?";
    conn.prepare_cached(sql)?.execute(params![hash.0, number]).map(drop)
}

/// Replaces the metrics of a run.
pub(crate) fn put_metrics(
    conn: &Connection,
    number: i64,
    metrics: &[Metric],
) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM metric WHERE run = ?")?.execute([number])?;
    let sql = "INSERT INTO metric
                 (run, position, name, unit, value, low, high, n, samples, covers, runs)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let mut statement = conn.prepare_cached(sql)?;
    for (position, m) in (0i64..).zip(metrics) {
        // Like JSON, SQLite stores only finite numbers.
        let [value, low, high] =
            [m.value, m.low, m.high].map(|value| value.filter(|v| v.is_finite()));
        let alone = value.is_some_and(|value| m.samples == [value]);
        let samples = (!alone).then(|| pack_values(&m.samples));
        let name = words::put(conn, &m.name)?;
        let unit = words::put(conn, m.unit.name())?;
        let covers = m.covers.as_ref().map(Covers::name);
        let Metric { n, runs, .. } = m;
        statement.execute(params![
            number, position, name, unit, value, low, high, n, samples, covers, runs
        ])?;
    }
    Ok(())
}

/// Adds a piece to the series at `position`, or several if it is long.
pub(crate) fn put_piece(
    conn: &Connection,
    number: i64,
    position: usize,
    piece: &Series,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO piece (run, position, name, replicate, start_ns, points, data)
               VALUES (?, ?, ?, ?, ?, ?, ?)";
    let name = words::put(conn, &piece.name)?;
    let mut statement = conn.prepare_cached(sql)?;
    let points = piece.t_ns.len();
    let starts = (0..points).step_by(PIECE_POINTS).chain((points == 0).then_some(0));
    for from in starts {
        let range = from..points.min(from + PIECE_POINTS);
        let count = range.len() as i64;
        let data = squeeze(&pack(piece, range));
        // SQLite's integers are signed; a start beyond 292 years survives the cast in both
        // directions.
        let (position, start) = (position as i64, piece.start_ns as i64);
        statement.execute(params![number, position, name, piece.replicate, start, count, data])?;
    }
    Ok(())
}

/// Replaces the pieces written during the run with the series of the finished record. Series that
/// exist only as pieces are kept, after the others.
pub(crate) fn put_series(conn: &Connection, number: i64, all: &[Series]) -> rusqlite::Result<()> {
    for series in all {
        let sql = "DELETE FROM piece WHERE run = ? AND replicate = ?
                     AND name = (SELECT id FROM word WHERE text = ?)";
        conn.prepare_cached(sql)?.execute(params![number, series.replicate, series.name])?;
    }
    let sql = "UPDATE piece SET position = position + ? WHERE run = ?";
    conn.prepare_cached(sql)?.execute(params![all.len() as i64, number])?;
    let mut pieces = all.iter().enumerate();
    pieces.try_for_each(|(position, series)| put_piece(conn, number, position, series))
}

/// A run as stored.
pub(crate) struct Stored {
    /// The whole record.
    pub run: Run,
    /// Its text without the long parts.
    pub body: String,
    pub writer: Option<Writer>,
    pub kind: Provenance,
    pub hash: Option<RecordHash>,
}

impl Stored {
    /// The record with fields unknown to this version.
    pub fn document(self) -> serde_json::Result<Document> {
        Document::join(&self.body, self.run)
    }
}

/// The whole record and its writer. If it is damaged, the error names the run and the part.
pub(crate) fn read(conn: &Connection, number: i64) -> rusqlite::Result<Option<Stored>> {
    let in_part = |name: &'static str| move |e| named(number, name, e);
    let sql = "SELECT writer_pid, writer_start, writer_boot, kind, hash, body, latencies
               FROM run JOIN record ON record.run = run.number WHERE number = ?";
    let mut statement = conn.prepare_cached(sql)?;
    let row = statement.query_row([number], |row| stored(row, number)).optional();
    let Some(mut stored) = row.map_err(in_part("record"))? else { return Ok(None) };
    let run = &mut stored.run;
    run.number = Some(number);
    if run.metrics.is_empty() {
        run.metrics = metrics(conn, number).map_err(in_part("metrics"))?;
    }
    if run.series.is_empty() {
        run.series = series(conn, number).map_err(in_part("series"))?;
    }
    Ok(Some(stored))
}

fn stored(row: &Row<'_>, number: i64) -> rusqlite::Result<Stored> {
    let expanded = |column| expand(row.get_ref(column)?.as_blob()?).map_err(torn);
    let body = String::from_utf8(expanded(5)?).map_err(torn)?;
    let mut run = Run::parse(&body).map_err(torn)?;
    if run.latencies.is_empty() {
        let unpacked = expanded(6).and_then(|data| latencies::unpack(&data).map_err(torn));
        run.latencies = unpacked.map_err(|e| named(number, "latencies", e))?;
    }
    let kind = Provenance::named(row.get_ref(3)?.as_str()?);
    let hash = row.get::<_, Option<[u8; 32]>>(4)?.map(RecordHash);
    Ok(Stored { run, body, writer: writer(row, 0)?, kind, hash })
}

/// The writer of a run, if any; the outer `None` means that there is no such run.
pub(crate) fn writer_of(
    conn: &Connection,
    number: i64,
) -> rusqlite::Result<Option<Option<Writer>>> {
    let sql = "SELECT writer_pid, writer_start, writer_boot FROM run WHERE number = ?";
    conn.query_row(sql, [number], |row| writer(row, 0)).optional()
}

/// The writer, from three columns of a row starting at `at`.
pub(crate) fn writer(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Writer>> {
    let Some(pid) = row.get(at)? else { return Ok(None) };
    Ok(Some(Writer { pid, start: row.get(at + 1)?, boot: row.get(at + 2)? }))
}

const METRIC: &str = "SELECT name.text, unit.text, value, low, high, n, samples, position,
                             covers, runs
                      FROM metric JOIN word AS name ON name.id = metric.name
                                  JOIN word AS unit ON unit.id = metric.unit";

/// The metrics of a run, in order.
pub(crate) fn metrics(conn: &Connection, number: i64) -> rusqlite::Result<Vec<Metric>> {
    let mut statement =
        conn.prepare_cached(&format!("{METRIC} WHERE run = ? ORDER BY position"))?;
    let rows = statement.query_map([number], metric)?;
    rows.collect()
}

/// Some metrics of a run by their positions, two bytes each, without their replicates.
pub(crate) fn metrics_at(
    conn: &Connection,
    number: i64,
    positions: &[u8],
) -> rusqlite::Result<Vec<Metric>> {
    let mut statement = conn.prepare_cached(&format!("{METRIC} WHERE run = ? AND position = ?"))?;
    let mut metrics = Vec::new();
    for position in positions.as_chunks().0 {
        let position = u16::from_le_bytes(*position);
        metrics.extend(
            statement
                .query_row(params![number, position], metric)
                .optional()?
                .map(|metric| Metric { samples: Vec::new(), ..metric }),
        );
    }
    Ok(metrics)
}

fn metric(row: &Row<'_>) -> rusqlite::Result<Metric> {
    let with_position = |torn: Torn| match row.get::<_, i64>(7) {
        Ok(position) => torn.within(format_args!("metric {position}")),
        Err(_) => torn,
    };
    let row_error = |why: String| self::torn(with_position(Torn(why)));
    let unit = Unit::named(row.get_ref(1)?.as_str()?);
    let number_of = |column| -> rusqlite::Result<Option<f64>> {
        let value: Option<f64> = row.get(column)?;
        let finite = value.is_none_or(f64::is_finite);
        if finite { Ok(value) } else { Err(row_error("a non-finite value".into())) }
    };
    let (value, low, high) = (number_of(2)?, number_of(3)?, number_of(4)?);
    let samples = match row.get_ref(6)?.as_blob_or_null()? {
        None => value.into_iter().collect(),
        Some(packed) => unpack_values(packed).map_err(|e| self::torn(with_position(e)))?,
    };
    let covers = row.get_ref(8)?.as_str_or_null()?.map(Covers::named);
    let (name, n, runs) = (row.get(0)?, row.get(5)?, row.get(9)?);
    Ok(Metric { name, unit, value, low, high, n, samples, covers, runs })
}

fn series(conn: &Connection, number: i64) -> rusqlite::Result<Vec<Series>> {
    let sql = "SELECT position, text, replicate, start_ns, points, data
               FROM piece JOIN word ON word.id = piece.name
               WHERE run = ? ORDER BY position, number";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([number])?;
    assembled(
        &mut rows,
        |series, points, data| {
            let unpacked = expand(data).and_then(|data| unpack_onto(series, points, &data));
            unpacked.map_err(|e| torn(e.within(format_args!("'{}'", series.name))))
        },
        Err,
    )
}

/// Assembles series from their pieces: rows of position, name, replicate, start, number of points
/// and data, ordered by position. `append` adds a piece's data to its series. A piece with an error
/// is skipped if `skip` accepts it.
pub(crate) fn assembled(
    rows: &mut Rows<'_>,
    append: impl Fn(&mut Series, usize, &[u8]) -> rusqlite::Result<()>,
    mut skip: impl FnMut(rusqlite::Error) -> rusqlite::Result<()>,
) -> rusqlite::Result<Vec<Series>> {
    let (mut list, mut last) = (Vec::<Series>::new(), None);
    let mut add = |row: &Row<'_>| -> rusqlite::Result<()> {
        let position: i64 = row.get(0)?;
        if last != Some(position) {
            let start: i64 = row.get(3)?;
            list.push(Series::new(row.get::<_, String>(1)?, row.get(2)?, start as u64));
            last = Some(position);
        }
        if let Some(series) = list.last_mut() {
            let points: u32 = row.get(4)?;
            append(series, points as usize, row.get_ref(5)?.as_blob()?)?;
        }
        Ok(())
    };
    while let Some(row) = rows.next()? {
        add(row).or_else(&mut skip)?;
    }
    Ok(list)
}

/// The error for an unreadable value.
pub(crate) fn torn(why: impl Display) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, Box::new(Torn::new(why)))
}

/// Prefixes a read error with the run and the part.
fn named(number: i64, part: &str, error: rusqlite::Error) -> rusqlite::Error {
    use rusqlite::Error::*;
    let reason = match error {
        FromSqlConversionFailure(_, _, why) if why.to_string().starts_with("run ") => {
            return FromSqlConversionFailure(0, Type::Blob, why);
        }
        FromSqlConversionFailure(_, _, why) => why.to_string(),
        why @ (InvalidColumnType(..) | IntegralValueOutOfRange(..) | Utf8Error(..)) => {
            why.to_string()
        }
        other => return other,
    };
    torn(format_args!("run {number}, {part}: {reason}"))
}
