//! The store: adding, updating and finding runs.

use std::collections::BTreeMap;
use std::mem;
use std::path::{Path, PathBuf};

use emit::Owner;
use record::{Document, HistoryKey, RecordHash, Run};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use crate::drives::{self, StoredDrive};
use crate::file::{self, Fsync, Journal, Opened};
use crate::find::{Filter, RunSummary};
use crate::labels::{self, Host};
use crate::live::{Live, Point};
use crate::rows::{self, Entry, Stored};
use crate::schema::APPLICATION_ID;
use crate::state::{self, LastState};
use crate::summary::Provenance;
use crate::writer::Writer;
use crate::{StoreError, find, history, machine, place};

/// The result of importing a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered {
    /// Its number in this store.
    pub number: i64,
    /// Whether it was new.
    pub news: News,
}

/// Whether an imported record was new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It was added.
    New,
    /// It was not added: the same content is already in the store, the record is a copy made while
    /// the run was in progress, or the run is still in progress here.
    Known,
    /// It replaced a copy made while the run was in progress.
    Completed,
    /// It was added next to different content with the same id.
    Conflict,
}

/// A record and how it entered this store.
#[derive(Clone, Debug)]
pub struct StoredRecord {
    /// The record, as returned by [`Store::load`], with fields unknown to this version.
    pub document: Document,
    /// How it entered the store.
    pub kind: Provenance,
    /// Other runs in the store with the same id but different content.
    pub conflicts: Vec<i64>,
    /// Whether the content matches the stored hash; `false` for a damaged record that can still be
    /// read.
    pub intact: bool,
}

/// The runs of a user, in one file.
pub struct Store {
    pub(crate) conn: Connection,
    path: PathBuf,
    /// The user with whose rights root uses the file.
    owner: Option<Owner>,
    journal: Journal,
    read_only: Option<String>,
    /// Runs begun by this process and not yet finished, by number.
    begun: BTreeMap<i64, Live>,
}

impl Store {
    /// Opens the store at `path`, or at [`crate::default_path`], and creates it if missing. A file
    /// without write permission is opened for reading, and all writes fail.
    pub fn open(path: Option<&Path>) -> Result<Store, StoreError> {
        let path = path.map_or_else(place::default_path, |path| Ok(path.to_path_buf()))?;
        let directory = place::make_directory(&path)?;
        let real_path = path.file_name().map(|name| directory.path().join(name));
        // Without a name, it is a directory, and refused as such.
        let path = real_path.unwrap_or(path);
        let journal = file::journal_for(&path);
        Store::open_as(directory.owner(), path, journal)
    }

    /// Like [`Store::open`], but creates nothing.
    pub fn open_existing(path: Option<&Path>) -> Result<Store, StoreError> {
        let path = path.map_or_else(place::default_path, |path| Ok(path.to_path_buf()))?;
        if path.exists() { Store::open(Some(&path)) } else { Err(StoreError::Missing { path }) }
    }

    /// Like [`Store::open_existing`], but never migrates, which can take long: a store of an earlier
    /// version is an error.
    pub fn open_current(path: Option<&Path>) -> Result<Store, StoreError> {
        let path = path.map_or_else(place::default_path, |path| Ok(path.to_path_buf()))?;
        file::check_current(&path)?;
        Store::open_existing(Some(&path))
    }

    /// Like [`Store::open`], for a file in an existing directory.
    #[cfg(test)]
    pub(crate) fn open_with(path: PathBuf, journal: Journal) -> Result<Store, StoreError> {
        Store::open_as(None, path, journal)
    }

    fn open_as(owner: Option<Owner>, path: PathBuf, journal: Journal) -> Result<Store, StoreError> {
        let file = act(owner, &path, || file::open(&path, journal))?;
        let mut store = Store::on(path, file);
        store.owner = owner;
        Ok(store)
    }

    pub(crate) fn on(path: PathBuf, opened: Opened) -> Store {
        let Opened { conn, journal, read_only } = opened;
        Store { conn, path, owner: None, journal, read_only, begun: BTreeMap::new() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reason why the store is read-only; `None` if it is writable.
    pub fn read_only(&self) -> Option<&str> {
        self.read_only.as_deref()
    }

    /// The random id of this machine, 32 hexadecimal digits in a file next to the store, generated
    /// on the first call; `None` if it cannot be written.
    pub fn machine_id(&self) -> Option<String> {
        machine::id_beside(&self.path)
    }

    /// Adds a run that starts now and returns its number. Until [`Store::finish`], it reads as
    /// running while this process lives, and as cut short afterwards.
    pub fn begin(&mut self, run: &Run) -> Result<i64, StoreError> {
        self.begin_for(run, std::process::id())
    }

    /// Like [`Store::begin`], for a run that is in progress while process `pid` lives.
    pub fn begin_for(&mut self, run: &Run, pid: u32) -> Result<i64, StoreError> {
        let entry = Entry::from_run(run)?;
        let writer = Writer::of_process(pid);
        if !self.read(|conn| find::with_id(conn, &run.id))?.is_empty() {
            return Err(StoreError::Unfit(format!("the id {} is taken", run.id)));
        }
        let number = self.write(Fsync::Now, |tx| {
            let number = rows::insert(tx, None, Provenance::Measured, &entry)?;
            writer.iter().try_for_each(|writer| rows::claim(tx, number, writer))?;
            rows::put_metrics(tx, number, &run.metrics)?;
            Ok(number)
        })?;
        self.add_begun(number);
        Ok(number)
    }

    fn add_begun(&mut self, number: i64) {
        let last = self.begun.last_key_value().map_or(0, |(last, _)| *last);
        assert!(number > last, "run {number} begins after run {last}: a number was used again");
        self.begun.insert(number, Live::default());
    }

    /// Stores one interval of a run begun by this process. Points are written about once a second;
    /// if that fails, they are kept and written a second later.
    pub fn append(&mut self, number: i64, point: &Point<'_>) -> Result<(), StoreError> {
        match self.begun.get_mut(&number).map(|live| live.push(point)) {
            Some(true) => self.flush(number),
            Some(false) => Ok(()),
            None => Err(StoreError::NoSuchRun(number.to_string())),
        }
    }

    /// Writes the points still waiting after [`Store::append`].
    pub fn flush(&mut self, number: i64) -> Result<(), StoreError> {
        let Some(mut live) = self.begun.remove(&number) else { return Ok(()) };
        let result = if live.pieces().next().is_some() {
            self.write(Fsync::Later, |tx| put_pieces(tx, number, &live))
        } else {
            Ok(())
        };
        if result.is_ok() {
            live.written()
        } else {
            live.postponed()
        }
        self.begun.insert(number, live);
        result
    }

    /// Stores the current results of a run, except its series, which are appended.
    pub fn update(&mut self, run: &Run) -> Result<(), StoreError> {
        let entry = Entry::from_run(run)?;
        let number = self.own(&run.id)?;
        self.flush(number)?;
        self.write(Fsync::Later, |tx| {
            rows::update(tx, number, &entry)?;
            rows::put_metrics(tx, number, &run.metrics)
        })
    }

    /// Stores the complete run durably. Series in the record replace those appended with the same
    /// name and replicate; other appended series are kept.
    pub fn finish(&mut self, run: &Run) -> Result<(), StoreError> {
        let entry = Entry::from_run(run)?;
        let number = self.own(&run.id)?;
        let live = self.begun.remove(&number).unwrap_or_default();
        let result = self.write(Fsync::Now, |tx| {
            put_pieces(tx, number, &live)?;
            put_all(tx, number, &entry, run)
        });
        if result.is_err() {
            self.begun.insert(number, live);
        }
        result
    }

    /// Imports records in one transaction, which becomes durable at the latest when the next run is
    /// begun or finished, or with [`Store::sync`].
    ///
    /// A record whose content is already in the store is not added again. Different content under a
    /// known id is added next to it, unless one of them is a copy made while the run was in
    /// progress: then the finished one is kept.
    pub fn import<'a>(
        &mut self,
        documents: impl IntoIterator<Item = &'a Document>,
    ) -> Result<Vec<Entered>, StoreError> {
        let entries = documents.into_iter().map(|d| Ok((d, Entry::from_document(d)?)));
        let entries: Vec<_> = entries.collect::<Result<_, StoreError>>()?;
        self.write(Fsync::Later, |tx| {
            entries.iter().map(|(d, entry)| enter(tx, d, entry)).collect()
        })
    }

    /// Makes everything written so far durable.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.write(Fsync::Now, |tx| tx.pragma_update(None, "application_id", APPLICATION_ID))
    }

    /// The number of the selected run: `last`, a number, or the prefix of an id.
    pub fn find(&self, selector: &str) -> Result<i64, StoreError> {
        self.read(|conn| find::find(conn, selector))?
    }

    /// The whole record. A run that was cut short has `complete` false and the reason in
    /// `cut_short` (`killed` if its process could not give one); a running one has `complete` false
    /// and no `cut_short`.
    pub fn load(&self, number: i64) -> Result<Run, StoreError> {
        Ok(self.stored(number)?.run)
    }

    /// The whole record as exported, with fields unknown to this version.
    pub fn document(&self, number: i64) -> Result<Document, StoreError> {
        self.stored(number)?.document().map_err(|e| self.damaged(number, e))
    }

    /// The whole record, how it entered the store, and whether it is intact.
    pub fn kept(&self, number: i64) -> Result<StoredRecord, StoreError> {
        let stored = self.stored(number)?;
        let (kind, hash) = (stored.kind, stored.hash);
        let document = stored.document().map_err(|e| self.damaged(number, e))?;
        let intact = match hash {
            Some(hash) => document.hash().map_err(|e| self.damaged(number, e))? == hash,
            None => true,
        };
        let mut conflicts = self.read(|conn| find::with_id(conn, &document.run().id))?;
        conflicts.retain(|other| *other != number);
        Ok(StoredRecord { document, kind, conflicts, intact })
    }

    /// The state of a whole drive before run `number`, according to its stored runs.
    pub fn state_before(
        &self,
        drive: &HistoryKey,
        number: i64,
    ) -> Result<Option<LastState>, StoreError> {
        self.read(|conn| state::last(conn, drive, number))
    }

    /// Of the last `most` finished runs of a drive with a method before run `number`, those that
    /// `keeps` accepts, latest first. `keeps` sees a run without its metrics; the returned runs
    /// have them, but no series or histograms. A weak key has no history, because it may now denote
    /// another drive.
    pub fn earlier(
        &self,
        drive: &HistoryKey,
        method: &str,
        number: i64,
        most: u32,
        keeps: impl Fn(&Run) -> bool,
    ) -> Result<Vec<Run>, StoreError> {
        if drive.weak {
            return Ok(Vec::new());
        }
        self.read(|conn| history::earlier(conn, &drive.text, method, number, most, keeps))
    }

    /// For each target on a real drive of a machine, or on a `simulated` one, its latest finished
    /// run with a method before run `number`: at most `most` runs, latest first, with metrics but
    /// without series and histograms.
    pub fn of_machine(
        &self,
        machine: &str,
        method: &str,
        number: i64,
        most: u32,
        simulated: bool,
    ) -> Result<Vec<Run>, StoreError> {
        self.read(|conn| history::of_machine(conn, machine, method, number, most, simulated))
    }

    /// The runs that match the filter, latest first.
    pub fn runs(&self, filter: &Filter) -> Result<Vec<RunSummary>, StoreError> {
        self.read(|conn| find::list(conn, filter))
    }

    /// The number of runs that match the filter, regardless of its limit.
    pub fn count(&self, filter: &Filter) -> Result<u64, StoreError> {
        self.read(|conn| find::count(conn, filter))
    }

    /// The drives with runs, the one measured last first.
    pub fn drives(&self) -> Result<Vec<StoredDrive>, StoreError> {
        self.read(drives::drives)
    }

    /// The machines that measured the runs, by name. A record without a host has none.
    pub fn hosts(&self) -> Result<Vec<Host>, StoreError> {
        self.read(labels::hosts)
    }

    /// Keeps headlines of runs, by number, whose records have no answer, so that lists need not read
    /// the records again. They are no part of the records.
    pub fn keep_headlines(&mut self, headlines: &[(i64, String)]) -> Result<(), StoreError> {
        let sql = "UPDATE run SET answer = ? WHERE number = ? AND answer IS NULL";
        self.write(Fsync::Later, |tx| {
            headlines
                .iter()
                .try_for_each(|(number, text)| tx.execute(sql, (text, number)).map(drop))
        })
    }

    /// The numbers of all runs, oldest first.
    pub fn numbers(&self) -> Result<Vec<i64>, StoreError> {
        let sql = "SELECT number FROM run ORDER BY number";
        self.read(|conn| conn.prepare(sql)?.query_map([], |row| row.get(0))?.collect())
    }

    /// The ended runs that this machine answers for, oldest first, with the hashes of their content: its
    /// own, and those of no machine in particular. A killed run has no hash yet.
    pub fn ended(&self) -> Result<Vec<(i64, Option<RecordHash>)>, StoreError> {
        let machine = self.machine_id();
        self.read(|conn| find::ended(conn, machine.as_deref()))
    }

    /// Removes all given runs, or none if one is missing or still running. Damaged runs can be
    /// removed.
    pub fn remove(&mut self, numbers: &[i64]) -> Result<(), StoreError> {
        for &number in numbers {
            let writer = self.read(|conn| rows::writer_of(conn, number))?;
            let writer = writer.ok_or_else(|| StoreError::NoSuchRun(number.to_string()))?;
            if writer.is_some_and(|writer| writer.is_alive()) {
                return Err(StoreError::Running(number));
            }
        }
        self.write(Fsync::Now, |tx| {
            let mut statement = tx.prepare("DELETE FROM run WHERE number = ?")?;
            numbers.iter().try_for_each(|number| statement.execute([number]).map(drop))?;
            // A drive's serial numbers are removed with its last run.
            tx.execute("DELETE FROM place WHERE id NOT IN (SELECT place FROM run)", []).map(drop)
        })?;
        act(self.owner, &self.path, || {
            file::return_free_pages(&self.conn).map_err(|e| StoreError::sql(&self.path, e))
        })
    }

    fn stored(&self, number: i64) -> Result<Stored, StoreError> {
        let mut stored = self
            .read(|conn| rows::read(conn, number))?
            .ok_or_else(|| StoreError::NoSuchRun(number.to_string()))?;
        let run = &mut stored.run;
        let (_, cut_short) =
            find::standing(run.complete, run.cut_short.take(), stored.writer.as_ref());
        run.cut_short = cut_short;
        Ok(stored)
    }

    fn damaged(&self, number: i64, why: impl std::fmt::Display) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), detail: format!("run {number}: {why}") }
    }

    /// The number of a run that was begun in this store.
    fn own(&self, id: &str) -> Result<i64, StoreError> {
        let sql = "SELECT number FROM run
                   WHERE id = ?1 COLLATE NOCASE AND id = ?1 AND kind = 'measured'";
        self.read(|conn| conn.query_row(sql, [id], |row| row.get(0)).optional())?
            .ok_or_else(|| StoreError::NoSuchRun(id.to_string()))
    }

    /// A consistent snapshot, unaffected by other writers.
    fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        act(self.owner, &self.path, || {
            let result = self.conn.unchecked_transaction().and_then(|tx| {
                let result = work(&tx)?;
                tx.finish()?;
                Ok(result)
            });
            result.map_err(|e| StoreError::sql(&self.path, e))
        })
    }

    /// One transaction.
    fn write<T>(
        &mut self,
        sync: Fsync,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        if let Some(reason) = self.read_only.clone() {
            return Err(StoreError::ReadOnly { path: self.path.clone(), why: reason });
        }
        // A rollback journal that is not fsynced does not survive a power cut.
        let may_wait = sync == Fsync::Later && self.journal == Journal::Log;
        let transact = || {
            // For the log, EXTRA equals FULL; with a rollback journal, a transaction is durable
            // only once the removal of that journal is.
            self.conn.pragma_update(
                None,
                "synchronous",
                if may_wait { "NORMAL" } else { "EXTRA" },
            )?;
            // Takes the lock immediately: a transaction that starts by reading may have to restart
            // at its first write.
            let tx = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = work(&tx)?;
            tx.commit()?;
            Ok(result)
        };
        let (owner, path) = (self.owner, self.path.clone());
        act(owner, &path, || transact().map_err(|e| StoreError::sql(&path, e)))
    }
}

impl Drop for Store {
    /// Writes the waiting points and releases unfinished runs, which now count as cut short even if
    /// this process lives on. Errors cannot be reported here.
    fn drop(&mut self) {
        for number in self.begun.keys().copied().collect::<Vec<_>>() {
            let _ = self.flush(number);
            let _ = self.write(Fsync::Now, |tx| rows::release(tx, number));
        }
        // Closing the last connection writes to the store, too.
        if let (Some(owner), Ok(memory)) = (self.owner, Connection::open_in_memory()) {
            let conn = mem::replace(&mut self.conn, memory);
            let _ = owner.act(|| drop(conn));
        }
    }
}

/// Does some work on the file at `path` with the rights of its directory's owner.
fn act<T>(
    owner: Option<Owner>,
    path: &Path,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    match owner {
        Some(owner) => {
            owner.act(work).map_err(|source| StoreError::Io { path: path.to_path_buf(), source })?
        }
        None => work(),
    }
}

fn put_pieces(tx: &Transaction<'_>, number: i64, live: &Live) -> rusqlite::Result<()> {
    let mut pieces = live.pieces();
    pieces.try_for_each(|(position, piece)| rows::put_piece(tx, number, position, piece))
}

fn put_all(tx: &Transaction<'_>, number: i64, entry: &Entry, run: &Run) -> rusqlite::Result<()> {
    rows::update(tx, number, entry)?;
    rows::release(tx, number)?;
    rows::put_metrics(tx, number, &run.metrics)?;
    rows::put_series(tx, number, &run.series)?;
    rows::seal(tx, number)
}

/// Adds a record from elsewhere.
fn enter(tx: &Transaction<'_>, document: &Document, entry: &Entry) -> rusqlite::Result<Entered> {
    let run = document.run();
    let hash = document.hash().map_err(rows::torn)?;
    let mut conflict = false;
    for number in find::with_id(tx, &run.id)? {
        // An unreadable copy counts as different content.
        let Some(stored) = rows::read(tx, number).ok().flatten() else {
            conflict = true;
            continue;
        };
        let unfinished = is_in_progress(&stored.run);
        let (running, cut_short) = find::standing(
            stored.run.complete,
            stored.run.cut_short.clone(),
            stored.writer.as_ref(),
        );
        let copy = Stored { run: Run { cut_short, ..stored.run }, ..stored };
        let is_same = copy.document().and_then(|copy| copy.hash()).map_err(rows::torn)? == hash;
        if is_same || running || is_in_progress(run) {
            return Ok(Entered { number, news: News::Known });
        }
        if unfinished {
            put_all(tx, number, entry, run)?;
            return Ok(Entered { number, news: News::Completed });
        }
        conflict = true;
    }
    let number = rows::insert(tx, None, Provenance::of_import(run), entry)?;
    put_all(tx, number, entry, run)?;
    Ok(Entered { number, news: if conflict { News::Conflict } else { News::New } })
}

fn is_in_progress(run: &Run) -> bool {
    !run.complete && run.cut_short.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "run 7 begins after run 7: a number was used again")]
    fn a_number_that_is_used_again_is_our_own_error() {
        let place = tempfile::tempdir().expect("a directory");
        let mut store = Store::open(Some(&place.path().join("runs"))).expect("a store");
        store.add_begun(7);
        store.add_begun(7);
    }
}
