//! The columns of a run: everything that a list shows or filters by, taken from the record when it
//! is written, so that listing parses no records.

use record::{HistoryKey, Metric, Run, TargetKind};
use rusqlite::{Connection, OptionalExtension, params};

use crate::StoreError;
use crate::dates::milliseconds;
use crate::labels::RowLabels;

/// Maximum number of metrics that represent a run.
const HEADLINE: usize = 4;

/// How a record entered this store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// Measured locally: by a run recorded in this store from its start.
    Measured,
    /// Measured by ssdyno and imported from another store, usually another machine's.
    Carried,
    /// The results of another tool, or a publication.
    Imported,
}

impl Provenance {
    /// Its name in the store and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Provenance::Measured => "measured",
            Provenance::Carried => "carried",
            Provenance::Imported => "imported",
        }
    }

    /// The kind with that name. An unknown name counts as imported.
    pub(crate) fn named(name: &str) -> Provenance {
        let kinds = [Provenance::Measured, Provenance::Carried];
        kinds.into_iter().find(|kind| kind.name() == name).unwrap_or(Provenance::Imported)
    }

    /// The kind of an imported record.
    pub(crate) fn of_import(run: &Run) -> Provenance {
        if run.origin.is_some() { Provenance::Imported } else { Provenance::Carried }
    }
}

/// The row of a run.
#[derive(Debug)]
pub(crate) struct Summary {
    pub id: String,
    pub machine: Option<String>,
    pub started_ms: i64,
    pub started: String,
    pub start_known: bool,
    pub method: String,
    pub place: RunTarget,
    pub complete: bool,
    pub cut_short: Option<String>,
    pub answer: Option<String>,
    pub headline: Vec<u8>,
    pub state_after: String,
    pub reads_only: bool,
    pub whole_drive: bool,
    pub written_bytes: Option<u64>,
    pub labels: RowLabels,
}

impl Summary {
    /// Summarises a run; fails if its record could not be found again.
    pub fn from_run(run: &Run) -> Result<Summary, StoreError> {
        if run.id.is_empty() {
            return Err(StoreError::Unfit("it has no id".into()));
        }
        let plan = run.plan.as_ref();
        let drive_bytes = run.target.drive.as_ref().and_then(|drive| drive.bytes);
        let is_whole = run.target.bytes.is_some() && run.target.bytes == drive_bytes;
        Ok(Summary {
            id: run.id.clone(),
            machine: run.environment.machine_id.clone(),
            started_ms: milliseconds(&run.started)?,
            started: run.started.clone(),
            start_known: run.origin.as_ref().is_none_or(|origin| origin.start_known),
            method: run.method.clone(),
            place: RunTarget::from_run(run),
            complete: run.complete,
            cut_short: run.cut_short.clone(),
            answer: run.answer.as_ref().map(|answer| answer.headline.clone()),
            headline: headline(&run.metrics),
            state_after: run.state_after.to_string(),
            reads_only: plan.is_some_and(|p| p.write_bytes_max == 0 && p.destroys.is_none()),
            whole_drive: run.target.kind == TargetKind::Device && is_whole,
            written_bytes: run.health_after.as_ref().and_then(|health| health.written_bytes),
            labels: RowLabels::from_run(run),
        })
    }
}

/// Positions of the first metric of each kind, two bytes each: `seq-read-1MiB-q8` represents all
/// `seq-read`. Latencies (`rand-read-4KiB-q1.p99`) belong to a metric and do not count.
fn headline(metrics: &[Metric]) -> Vec<u8> {
    let mut kinds = Vec::new();
    let mut positions = Vec::new();
    for (position, metric) in (0..=u16::MAX).zip(metrics) {
        let key = metric.key();
        let kind = key.kind();
        if kinds.len() < HEADLINE && key.is_main() && !kinds.contains(&kind) {
            kinds.push(kind);
            positions.extend(position.to_le_bytes());
        }
    }
    positions
}

/// Target and drive of a run.
#[derive(Debug)]
pub(crate) struct RunTarget {
    pub target: String,
    pub path: Option<String>,
    pub drive: Option<String>,
    pub vendor: Option<String>,
    pub model: Option<String>,
    pub serial: Option<String>,
    pub key: Option<HistoryKey>,
}

impl RunTarget {
    fn from_run(run: &Run) -> RunTarget {
        let target = &run.target;
        let drive = target.drive.as_ref();
        RunTarget {
            target: target.spec.clone(),
            path: target.path.clone(),
            drive: drive.map(|drive| drive.name.clone()),
            vendor: drive.and_then(|drive| drive.vendor.clone()),
            model: drive.and_then(|drive| drive.model.clone()),
            serial: drive.and_then(|drive| drive.serial.clone()),
            key: HistoryKey::new(target, run.environment.machine_id.as_deref()),
        }
    }

    /// The id of its row, which is inserted if new.
    pub fn put(&self, conn: &Connection) -> rusqlite::Result<i64> {
        let RunTarget { target, path, drive, vendor, model, serial, key } = self;
        let (key, weak) = (key.as_ref().map(|k| &k.text), key.as_ref().is_some_and(|k| k.weak));
        let columns = [Some(target), path.as_ref(), drive.as_ref(), vendor.as_ref()];
        let columns = columns.into_iter().chain([model.as_ref(), serial.as_ref(), key]);
        // As debug output, NULL differs from an empty text, and a comma in a text is in quotes.
        let words: Vec<String> = columns.map(|text| format!("{text:?}")).collect();
        let words_text = words.join(",");
        let sql = "SELECT id FROM place WHERE whole = ?";
        if let Some(id) =
            conn.prepare_cached(sql)?.query_row([&words_text], |row| row.get(0)).optional()?
        {
            return Ok(id);
        }
        let sql = "INSERT INTO place
                     (target, path, drive, vendor, model, serial, drive_key, weak, search, whole)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let search = self.search();
        conn.prepare_cached(sql)?.execute(params![
            target, path, drive, vendor, model, serial, key, weak, search, words_text
        ])?;
        Ok(conn.last_insert_rowid())
    }

    /// The searchable text of a target and its drive, in lower case.
    fn search(&self) -> String {
        let maker: Vec<&str> =
            [&self.vendor, &self.model].into_iter().filter_map(|text| text.as_deref()).collect();
        let names = [&self.serial, &self.drive, &self.path].into_iter().flatten();
        let lines = [maker.join(" ")].into_iter().chain(names.cloned());
        lines.chain([self.target.clone()]).collect::<Vec<_>>().join("\n").to_lowercase()
    }
}
