//! What users tell runs apart by, besides the drive: host, title, tags and firmware, in indexed
//! columns. Version 4 of the schema adds them; a migration reads them from the records, once.

use std::collections::BTreeMap;

use record::Run;
use rusqlite::{Connection, params};
use serde::Deserialize;

use crate::pack::expand;
use crate::progress::MigrationProgress;

/// The columns and the table of version 4.
const COLUMNS: &str = "
ALTER TABLE run ADD COLUMN host TEXT; -- name of the machine that measured it
ALTER TABLE run ADD COLUMN title TEXT; -- the user's, or that of another tool's result
ALTER TABLE run ADD COLUMN firmware TEXT; -- of the drive
CREATE INDEX run_by_host ON run (host, machine);
CREATE TABLE tag (
  run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX tag_by_value ON tag (name, value, run);
";

/// The labels of a run as its row has them.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RowLabels {
    pub host: Option<String>,
    pub title: Option<String>,
    pub firmware: Option<String>,
    pub tags: BTreeMap<String, String>,
}

impl RowLabels {
    pub fn from_run(run: &Run) -> RowLabels {
        let tags = run.tags().map(|(name, value)| (name.to_string(), value.to_string()));
        RowLabels {
            host: run.environment.host.clone(),
            title: run.title().map(String::from),
            firmware: run.target.drive.as_ref().and_then(|drive| drive.firmware.clone()),
            tags: tags.collect(),
        }
    }

    /// Replaces the labels of a run.
    pub fn put(&self, conn: &Connection, number: i64) -> rusqlite::Result<()> {
        let RowLabels { host, title, firmware, tags } = self;
        let sql = "UPDATE run SET host = ?, title = ?, firmware = ? WHERE number = ?";
        conn.prepare_cached(sql)?.execute(params![host, title, firmware, number])?;
        conn.prepare_cached("DELETE FROM tag WHERE run = ?")?.execute([number])?;
        let mut insert =
            conn.prepare_cached("INSERT INTO tag (run, name, value) VALUES (?, ?, ?)")?;
        for (name, value) in tags {
            insert.execute(params![number, name, value])?;
        }
        Ok(())
    }
}

/// The tags of a run.
pub(crate) fn tags(conn: &Connection, number: i64) -> rusqlite::Result<BTreeMap<String, String>> {
    let mut statement = conn.prepare_cached("SELECT name, value FROM tag WHERE run = ?")?;
    statement.query_map([number], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// A machine that measured a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its random id; `None` in records of earlier versions and of other tools.
    pub machine: Option<String>,
}

/// The machines of a store, by name.
pub(crate) fn hosts(conn: &Connection) -> rusqlite::Result<Vec<Host>> {
    // Each step finds the next name in the index, so that the time depends on the machines alone.
    let sql = "WITH RECURSIVE each (host) AS (
                 SELECT min(host) FROM run
                 UNION ALL
                 SELECT (SELECT min(host) FROM run WHERE run.host > each.host)
                 FROM each WHERE each.host IS NOT NULL)
               SELECT host FROM each WHERE host IS NOT NULL";
    let names: Vec<String> =
        conn.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut hosts = Vec::new();
    for name in names {
        let sql = "WITH RECURSIVE each (machine) AS (
                     SELECT min(machine) FROM run WHERE host = ?1
                     UNION ALL
                     SELECT (SELECT min(machine) FROM run
                             WHERE host = ?1 AND run.machine > each.machine)
                     FROM each WHERE each.machine IS NOT NULL)
                   SELECT machine FROM each WHERE machine IS NOT NULL";
        let mut statement = conn.prepare(sql)?;
        let machines = statement.query_map([&name], |row| row.get(0))?;
        let machines: Vec<String> = machines.collect::<Result<_, _>>()?;
        if machines.is_empty() {
            hosts.push(Host { name: name.clone(), machine: None });
        }
        let hosts_of_name =
            machines.into_iter().map(|id| Host { name: name.clone(), machine: Some(id) });
        hosts.extend(hosts_of_name);
    }
    Ok(hosts)
}

/// Adds the columns of version 4, unless an earlier step has already added them.
pub(crate) fn columns_of_4(conn: &Connection) -> rusqlite::Result<()> {
    if conn.prepare("SELECT host FROM run").is_ok() {
        return Ok(());
    }
    conn.execute_batch(COLUMNS)
}

/// The parts of a record that the columns of version 4 take. The rest of its text is skipped.
#[derive(Deserialize)]
struct LabelledBody {
    environment: NamedMachine,
    target: NamedTarget,
    origin: Option<TitledOrigin>,
}

#[derive(Deserialize)]
struct NamedMachine {
    host: Option<String>,
}

#[derive(Deserialize)]
struct NamedTarget {
    drive: Option<NamedDrive>,
}

#[derive(Deserialize)]
struct NamedDrive {
    firmware: Option<String>,
}

#[derive(Deserialize)]
struct TitledOrigin {
    title: Option<String>,
}

/// Fills the columns of version 4 from the records. Unreadable records have none, as before.
pub(crate) fn rows_to_4(conn: &Connection) -> rusqlite::Result<()> {
    columns_of_4(conn)?;
    let numbers: Vec<i64> = conn
        .prepare("SELECT run FROM record ORDER BY run")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut progress = MigrationProgress::start(numbers.len());
    for number in &numbers {
        let sql = "SELECT body FROM record WHERE run = ?";
        let body: Vec<u8> = conn.prepare_cached(sql)?.query_row([number], |row| row.get(0))?;
        let text = expand(&body).ok();
        let labelled = text.and_then(|text| serde_json::from_slice::<LabelledBody>(&text).ok());
        if let Some(LabelledBody { environment, target, origin }) = labelled {
            let labels = RowLabels {
                host: environment.host,
                title: origin.and_then(|origin| origin.title),
                firmware: target.drive.and_then(|drive| drive.firmware),
                tags: BTreeMap::new(),
            };
            let sql = "UPDATE run SET host = ?, title = ?, firmware = ? WHERE number = ?";
            let RowLabels { host, title, firmware, .. } = &labels;
            conn.prepare_cached(sql)?.execute(params![host, title, firmware, number])?;
        }
        progress.step();
    }
    Ok(())
}
