//! Migration from version 1 of the schema to version 2. Each run is read in the old form and
//! written in the new one, in the transaction of the step. A kill, a full disk or a damaged page
//! leaves version 1 unchanged.
//!
//! Version 1 stored a record, except metrics and series, as JSON in `run.body`. An unreadable body is
//! moved as is: as before, its run is listed but cannot be loaded. Of the metrics and series, all
//! that can be read is moved, and a finding counts the rest, which the old tables take with them.

use record::{Finding, FindingKind, Level, Metric, OriginKind, Run, Series, Unit};
use rusqlite::{Connection, Row, params};

use crate::labels::{RowLabels, columns_of_4};
use crate::pack::{Packed, Torn, squeeze};
use crate::progress::MigrationProgress;
use crate::rows::{self, Entry};
use crate::series::unpack_values;
use crate::summary::{Provenance, RunTarget, Summary};
use crate::writer::Writer;

/// Renames the old tables to make room for the new ones. Drops the old indexes first, because the
/// new ones use their names.
pub(crate) const TO_2: &str = concat!(
    "DROP INDEX run_by_start; DROP INDEX run_by_serial;
     DROP INDEX metric_by_name; DROP INDEX piece_by_run;
     ALTER TABLE run RENAME TO run_1;
     ALTER TABLE metric RENAME TO metric_1;
     ALTER TABLE piece RENAME TO piece_1;",
    include_str!("schema_2.sql")
);

/// Moves the runs.
pub(crate) fn rows_to_2(conn: &Connection) -> rusqlite::Result<()> {
    // Rows are written in the latest form.
    columns_of_3(conn)?;
    columns_of_4(conn)?;
    let sql = "SELECT number FROM run_1 ORDER BY number";
    let numbers: Vec<i64> =
        conn.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut progress = MigrationProgress::start(numbers.len());
    for number in &numbers {
        move_run(conn, *number)?;
        progress.step();
    }
    // Numbers of removed runs are not reused.
    conn.execute_batch(
        "DELETE FROM sqlite_sequence WHERE name = 'run';
         UPDATE sqlite_sequence SET name = 'run' WHERE name = 'run_1';
         DROP TABLE metric_1; DROP TABLE piece_1; DROP TABLE run_1;",
    )
}

/// Adds the columns of version 3, which describe a metric's interval, unless the previous step has
/// already added them.
pub(crate) fn columns_of_3(conn: &Connection) -> rusqlite::Result<()> {
    if conn.prepare("SELECT covers FROM metric").is_ok() {
        return Ok(());
    }
    conn.execute_batch(
        "ALTER TABLE metric ADD COLUMN covers TEXT; ALTER TABLE metric ADD COLUMN runs INTEGER;",
    )
}

/// A row of version 1.
struct Old {
    body: String,
    writer: Option<Writer>,
    /// For an unreadable record.
    summary: Summary,
}

fn old(row: &Row<'_>) -> rusqlite::Result<Old> {
    let text_of = |column| row.get::<_, Option<String>>(column).map(Option::unwrap_or_default);
    let place = RunTarget {
        target: text_of(4)?,
        path: row.get(5)?,
        drive: row.get(6)?,
        vendor: row.get(7)?,
        model: row.get(8)?,
        serial: row.get(9)?,
        key: None,
    };
    let summary = Summary {
        id: text_of(0)?,
        machine: None,
        started_ms: row.get(1)?,
        started: text_of(2)?,
        start_known: true,
        method: text_of(3)?,
        place,
        complete: row.get::<_, Option<bool>>(10)?.unwrap_or(false),
        cut_short: row.get(11)?,
        answer: None,
        headline: Vec::new(),
        state_after: String::new(),
        reads_only: false,
        whole_drive: false,
        written_bytes: None,
        labels: RowLabels::default(),
    };
    Ok(Old { body: row.get(12)?, writer: rows::writer(row, 13)?, summary })
}

fn move_run(conn: &Connection, number: i64) -> rusqlite::Result<()> {
    let sql = "SELECT id, started_ms, started, method, target, path, drive, vendor, model, serial,
                      complete, cut_short, body, writer_pid, writer_start, writer_boot
               FROM run_1 WHERE number = ?";
    let Old { body, writer, summary } = conn.prepare_cached(sql)?.query_row([number], old)?;
    let mut damaged = 0;
    let metrics = metrics(conn, number, &mut damaged)?;
    let series = series(conn, number, &mut damaged)?;
    let (kind, entry, metrics) = match Run::parse(&body) {
        Ok(run) => {
            let (mut run, kind) = of_kind(Run { metrics, ..run });
            run.warnings.extend(damage(damaged));
            (kind, Entry::from_run(&run).map_err(rows::torn)?, run.metrics)
        }
        Err(_) => (Provenance::Measured, Entry::torn(summary, squeeze(body.as_bytes())), metrics),
    };
    rows::insert(conn, Some(number), kind, &entry)?;
    rows::put_metrics(conn, number, &metrics)?;
    rows::put_series(conn, number, &series)?;
    match writer {
        Some(writer) => rows::claim(conn, number, &writer),
        None => rows::seal(conn, number).or_else(|error| match error {
            rusqlite::Error::FromSqlConversionFailure(..) => Ok(()),
            other => Err(other),
        }),
    }
}

/// The run, and how it entered the store.
fn of_kind(run: Run) -> (Run, Provenance) {
    // Version 1 marked records from other ssdyno installations as another tool's.
    let (kind, origin) = match run.origin {
        Some(origin)
            if origin.kind == OriginKind::Imported
                && origin.tool.as_deref() == Some("ssdyno")
                && origin.command.is_none() =>
        {
            (Provenance::Carried, None)
        }
        None => (Provenance::Measured, None),
        origin => (Provenance::Imported, origin),
    };
    (Run { origin, ..run }, kind)
}

/// The finding about values that could not be read.
fn damage(lost: usize) -> Option<Finding> {
    let text = format!(
        "part of this record was unreadable when the store was migrated, and is missing: {lost} of its \
         metrics, sets of replicates and pieces of series"
    );
    (lost > 0).then(|| Finding::new(FindingKind::DamagedRecord, Level::Bad, text))
}

/// Counts an unreadable value; other errors concern the whole file.
fn count(lost: &mut usize, error: rusqlite::Error) -> rusqlite::Result<()> {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange};
    use rusqlite::Error::{InvalidColumnType, Utf8Error};
    match error {
        FromSqlConversionFailure(..)
        | InvalidColumnType(..)
        | IntegralValueOutOfRange(..)
        | Utf8Error(..) => *lost += 1,
        other => return Err(other),
    }
    Ok(())
}

/// The readable metrics of a run.
fn metrics(conn: &Connection, number: i64, lost: &mut usize) -> rusqlite::Result<Vec<Metric>> {
    let sql = "SELECT name, unit, value, low, high, n, samples FROM metric_1
               WHERE run = ? ORDER BY position";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([number])?;
    let mut metrics = Vec::new();
    while let Some(row) = rows.next()? {
        match metric(row, lost) {
            Ok(metric) => metrics.push(metric),
            Err(error) => count(lost, error)?,
        }
    }
    Ok(metrics)
}

fn metric(row: &Row<'_>, lost: &mut usize) -> rusqlite::Result<Metric> {
    let unit = Unit::named(row.get_ref(1)?.as_str()?);
    let (value, low, high) = (row.get(2)?, row.get(3)?, row.get(4)?);
    let (name, n, covers, runs) = (row.get(0)?, row.get(5)?, None, None);
    let samples = unpack_values(row.get_ref(6)?.as_blob()?).unwrap_or_else(|_| {
        *lost += 1;
        Vec::new()
    });
    Ok(Metric { name, unit, value, low, high, n, samples, covers, runs })
}

/// The series of a run, of which unreadable pieces are missing.
fn series(conn: &Connection, number: i64, lost: &mut usize) -> rusqlite::Result<Vec<Series>> {
    let sql = "SELECT position, name, replicate, start_ns, points, data FROM piece_1
               WHERE run = ? ORDER BY position, number";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params![number])?;
    rows::assembled(
        &mut rows,
        |series, points, data| unpack_1(series, points, data).map_err(rows::torn),
        |error| count(lost, error),
    )
}

/// Appends a piece of version 1: times, then columns of name, unit (each with a u16 length) and
/// values, all little-endian.
fn unpack_1(series: &mut Series, points: usize, data: &[u8]) -> Result<(), Torn> {
    let mut packed = Packed(data);
    let bytes = points.checked_mul(8).ok_or_else(|| Torn::new("too many points"))?;
    let times: Vec<u64> =
        packed.take(bytes)?.as_chunks().0.iter().map(|t| u64::from_le_bytes(*t)).collect();
    let mut columns = Vec::new();
    while !packed.is_empty() {
        let (name, unit) = (read_text(&mut packed)?, read_text(&mut packed)?);
        let unit = Unit::named(&unit);
        let values = unpack_values(packed.take(bytes)?)?;
        columns.push((name, unit, values));
    }
    for (i, t) in times.into_iter().enumerate() {
        let point = columns.iter().map(|(name, unit, values)| {
            (name.as_str(), *unit, values.get(i).copied().filter(|v| v.is_finite()))
        });
        let point: Vec<_> = point.collect();
        series.push(t, &point);
    }
    Ok(())
}

fn read_text(packed: &mut Packed<'_>) -> Result<String, Torn> {
    let length = packed.take(2)?;
    let length = u16::from_le_bytes([length[0], length[1]]);
    String::from_utf8(packed.take(length.into())?.to_vec()).map_err(Torn::new)
}

#[cfg(test)]
mod tests {
    use record::{Verdict, VerdictKind};

    use super::*;
    use crate::pack::expand;
    use crate::samples::run;
    use crate::schema::{STEPS, migrate};
    use crate::series::pack_values;

    /// A store of version 1 with a run, two metrics (the second with damaged replicates), and a
    /// series of three pieces (the second damaged).
    fn damaged(body: &str) -> Connection {
        let mut conn = Connection::open_in_memory().expect("memory");
        migrate(&mut conn, &STEPS[..1]).expect("version 1");
        conn.execute("INSERT INTO run (started_ms, body) VALUES (0, ?)", [body]).expect("a run");
        for (position, samples) in [pack_values(&[1.0, 3.0]), vec![0; 7]].iter().enumerate() {
            let sql = "INSERT INTO metric VALUES (1, ?, ?, 'IOPS', 2.0, 1.0, 3.0, 2, ?)";
            let position = position as i64;
            conn.execute(sql, params![position, format!("m{position}"), samples])
                .expect("a metric");
        }
        for t in 1u64..=3 {
            let mut data = t.to_le_bytes().to_vec();
            for text in ["read", "IOPS"] {
                data.extend((text.len() as u16).to_le_bytes());
                data.extend(text.as_bytes());
            }
            data.extend(pack_values(&[t as f64]));
            data.truncate(if t == 2 { 9 } else { data.len() });
            let sql = "INSERT INTO piece (run, position, name, replicate, start_ns, points, data)
                       VALUES (1, 0, 'a', 0, 0, 1, ?)";
            conn.execute(sql, [data]).expect("a piece");
        }
        conn
    }

    #[test]
    fn everything_readable_of_a_damaged_run_is_moved() {
        let mut before = run("quick", "X1", "S1");
        before.complete = true;
        before.verdicts = vec![Verdict::new(VerdictKind::Room, "there is space")];
        let mut conn = damaged(&serde_json::to_string(&before).expect("JSON"));
        migrate(&mut conn, STEPS).expect("migrated");
        let after = rows::read(&conn, 1).expect("readable").expect("there").run;
        assert_eq!((after.verdicts, after.target), (before.verdicts, before.target));
        let metrics = after.metrics.iter().map(|m| (m.name.as_str(), m.value, m.samples.len()));
        assert_eq!(metrics.collect::<Vec<_>>(), [("m0", Some(2.0), 2), ("m1", Some(2.0), 0)]);
        let series = &after.series[0];
        assert_eq!(series.t_ns, [1, 3]);
        assert_eq!(series.columns[0].values, [Some(1.0), Some(3.0)]);
        let finding = after.warnings.last().expect("a finding");
        assert_eq!((&finding.kind, finding.level), (&FindingKind::DamagedRecord, Level::Bad));
        assert!(finding.text.contains("missing: 2 of its metrics"), "{}", finding.text);
    }

    #[test]
    fn the_values_of_an_unreadable_record_are_moved() {
        let body = r#"{"id": "x"}"#;
        let mut conn = damaged(body);
        migrate(&mut conn, STEPS).expect("migrated");
        rows::read(&conn, 1).map(drop).expect_err("as before");
        assert_eq!(rows::metrics(&conn, 1).expect("readable").len(), 2);
        let of = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, Vec<u8>>(0)).expect(sql);
        assert_eq!(expand(&of("SELECT body FROM record")).expect("kept"), body.as_bytes());
        let pieces = conn.query_row("SELECT count(*) FROM piece", [], |row| row.get::<_, i64>(0));
        assert_eq!(pieces.ok(), Some(1));
    }
}
