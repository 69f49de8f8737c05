//! The store: entering, updating and finding runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use record::{DriveIdentity, Run};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use crate::file::{self, Fsync, Journal, Opened};
use crate::find::{Filter, RunSummary};
use crate::live::{Live, Point};
use crate::rows::{self, Body};
use crate::state::{self, LastState};
use crate::writer::Writer;
use crate::{StoreError, find, machine, place};

/// The runs of a user, in one file.
pub struct Store {
    pub(crate) conn: Connection,
    path: PathBuf,
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
        place::make_directory(&path)?;
        let journal = file::journal_for(&path);
        Store::open_with(path, journal)
    }

    /// Like [`Store::open`], but creates nothing.
    pub fn open_existing(path: Option<&Path>) -> Result<Store, StoreError> {
        let path = path.map_or_else(place::default_path, |path| Ok(path.to_path_buf()))?;
        if path.exists() { Store::open(Some(&path)) } else { Err(StoreError::Missing { path }) }
    }

    pub(crate) fn open_with(path: PathBuf, journal: Journal) -> Result<Store, StoreError> {
        let opened = file::open(&path, journal)?;
        Ok(Store::on(path, opened))
    }

    pub(crate) fn on(path: PathBuf, opened: Opened) -> Store {
        let Opened { conn, journal, read_only } = opened;
        Store { conn, path, journal, read_only, begun: BTreeMap::new() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reason why the store can only be read; `None` if it can be written.
    pub fn read_only(&self) -> Option<&str> {
        self.read_only.as_deref()
    }

    /// The random id of this machine, 32 hexadecimal digits in a file beside the store, made at
    /// the first call; `None` if none can be written there.
    pub fn machine_id(&self) -> Option<String> {
        machine::id_beside(&self.path)
    }

    /// Enters a run that begins now and returns its number. Until [`Store::finish`] it reads as
    /// running while this process lives, and as cut short after that.
    pub fn begin(&mut self, run: &Run) -> Result<i64, StoreError> {
        let body = Body::of(run)?;
        let writer = Writer::this_process();
        if self.number_of(&body.id)?.is_some() {
            return Err(StoreError::Unfit(format!("the id {} is taken", body.id)));
        }
        let number = self.write(Fsync::Now, |tx| {
            let number = rows::insert(tx, &body, writer.as_ref())?;
            rows::put_metrics(tx, number, &run.metrics)?;
            Ok(number)
        })?;
        self.begun.insert(number, Live::default());
        Ok(number)
    }

    /// Stores one interval of a run begun by this process. Points are written about once a second;
    /// if that fails they are kept and written a second later.
    pub fn append(&mut self, number: i64, point: &Point<'_>) -> Result<(), StoreError> {
        let missing = || StoreError::NoSuchRun(number.to_string());
        if self.begun.get_mut(&number).ok_or_else(missing)?.push(point) {
            self.flush(number)?;
        }
        Ok(())
    }

    /// Writes the points of [`Store::append`] that are still waiting.
    pub fn flush(&mut self, number: i64) -> Result<(), StoreError> {
        let Some(mut live) = self.begun.remove(&number) else { return Ok(()) };
        let waits = live.pieces().next().is_some();
        let put = |tx: &Transaction<'_>| put_pieces(tx, number, &live);
        let done = if waits { self.write(Fsync::Later, put) } else { Ok(()) };
        if done.is_ok() {
            live.written()
        } else {
            live.postponed()
        }
        self.begun.insert(number, live);
        done
    }

    /// Stores the present results of a run: everything except its series, which are appended.
    pub fn update(&mut self, run: &Run) -> Result<(), StoreError> {
        let body = Body::of(run)?;
        let number = self.known(&body.id)?;
        self.flush(number)?;
        self.write(Fsync::Later, |tx| {
            rows::update(tx, number, &body)?;
            rows::put_metrics(tx, number, &run.metrics)
        })
    }

    /// Stores the complete run, durably. Series in the record replace those appended under the same
    /// names; other appended series stay.
    pub fn finish(&mut self, run: &Run) -> Result<(), StoreError> {
        let body = Body::of(run)?;
        let number = self.known(&body.id)?;
        let live = self.begun.remove(&number).unwrap_or_default();
        let done = self.write(Fsync::Now, |tx| {
            put_pieces(tx, number, &live)?;
            put_all(tx, number, &body, run)
        });
        if done.is_err() {
            self.begun.insert(number, live);
        }
        done
    }

    /// Imports a record and returns its number. A record with an existing id is the same run and is
    /// kept, unless it was cut short in the store and is complete in the import.
    pub fn import(&mut self, run: &Run) -> Result<i64, StoreError> {
        let body = Body::of(run)?;
        let known = self.number_of(&body.id)?;
        if let Some(number) = known {
            let (mine, running) = self.load_with_standing(number)?;
            if mine.complete || running || !run.complete {
                return Ok(number);
            }
        }
        self.write(Fsync::Now, |tx| {
            let number = known.map_or_else(|| rows::insert(tx, &body, None), Ok)?;
            put_all(tx, number, &body, run)?;
            Ok(number)
        })
    }

    /// The number of the selected run: `last`, a number, or the prefix of an id.
    pub fn find(&self, selector: &str) -> Result<i64, StoreError> {
        self.read(|conn| find::find(conn, selector))?
    }

    /// The whole record. A run that was cut short has `complete` false and the reason in
    /// `cut_short` (`killed` if its process did not live to give one); a running one has `complete`
    /// false and no `cut_short`.
    pub fn load(&self, number: i64) -> Result<Run, StoreError> {
        Ok(self.load_with_standing(number)?.0)
    }

    /// The state of a whole drive before run `number`, according to its stored runs.
    pub fn state_before(
        &self,
        drive: &DriveIdentity,
        number: i64,
    ) -> Result<Option<LastState>, StoreError> {
        self.read(|conn| state::last(conn, drive, number))
    }

    /// The runs that match the filter, latest first.
    pub fn runs(&self, filter: &Filter) -> Result<Vec<RunSummary>, StoreError> {
        self.read(|conn| find::list(conn, filter))
    }

    /// Removes runs: all of them, or none if one is missing or still running.
    pub fn remove(&mut self, numbers: &[i64]) -> Result<(), StoreError> {
        for &number in numbers {
            if self.load_with_standing(number)?.1 {
                return Err(StoreError::Running(number));
            }
        }
        self.write(Fsync::Now, |tx| {
            let mut statement = tx.prepare("DELETE FROM run WHERE number = ?")?;
            numbers.iter().try_for_each(|number| statement.execute([number]).map(drop))
        })?;
        // Returns space to the file system: one page per requested row.
        let give_back = || {
            let mut statement = self.conn.prepare("PRAGMA incremental_vacuum")?;
            let mut pages = statement.query([])?;
            while pages.next()?.is_some() {}
            Ok(())
        };
        give_back().map_err(|e| StoreError::sql(&self.path, e))
    }

    fn load_with_standing(&self, number: i64) -> Result<(Run, bool), StoreError> {
        let missing = || StoreError::NoSuchRun(number.to_string());
        let (mut run, writer) = self.read(|conn| rows::read(conn, number))?.ok_or_else(missing)?;
        let (running, cut_short) = find::standing(run.complete, run.cut_short, writer.as_ref());
        run.cut_short = cut_short;
        Ok((run, running))
    }

    fn number_of(&self, id: &str) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT number FROM run WHERE id = ?";
        self.read(|conn| conn.query_row(sql, [id], |row| row.get(0)).optional())
    }

    fn known(&self, id: &str) -> Result<i64, StoreError> {
        self.number_of(id)?.ok_or_else(|| StoreError::NoSuchRun(id.to_string()))
    }

    /// A consistent snapshot, unaffected by other writers.
    fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let look = || {
            let tx = self.conn.unchecked_transaction()?;
            let found = work(&tx)?;
            tx.finish()?;
            Ok(found)
        };
        look().map_err(|e| StoreError::sql(&self.path, e))
    }

    /// One transaction.
    fn write<T>(
        &mut self,
        sync: Fsync,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        if let Some(why) = self.read_only.clone() {
            return Err(StoreError::ReadOnly { path: self.path.clone(), why });
        }
        // A rollback journal that is not fsynced does not survive a power cut.
        let later = sync == Fsync::Later && self.journal == Journal::Log;
        let attempt = || {
            self.conn.pragma_update(None, "synchronous", if later { "NORMAL" } else { "FULL" })?;
            // Takes the lock at once: a transaction that starts by reading may have to restart at
            // its first write.
            let tx = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = work(&tx)?;
            tx.commit()?;
            Ok(done)
        };
        attempt().map_err(|e| StoreError::sql(&self.path, e))
    }
}

impl Drop for Store {
    /// Writes the waiting points and releases unfinished runs, which count as cut short from now on
    /// even if this process lives on. Errors cannot be reported here.
    fn drop(&mut self) {
        for number in self.begun.keys().copied().collect::<Vec<_>>() {
            let _ = self.flush(number);
            let _ = self.write(Fsync::Now, |tx| rows::release(tx, number));
        }
    }
}

fn put_pieces(tx: &Transaction<'_>, number: i64, live: &Live) -> rusqlite::Result<()> {
    let mut pieces = live.pieces();
    pieces.try_for_each(|(position, piece)| rows::put_piece(tx, number, position, piece))
}

fn put_all(tx: &Transaction<'_>, number: i64, body: &Body, run: &Run) -> rusqlite::Result<()> {
    rows::update(tx, number, body)?;
    rows::release(tx, number)?;
    rows::put_metrics(tx, number, &run.metrics)?;
    rows::put_series(tx, number, &run.series)
}
