//! What an agent must not forget, in an SQLite file beside the store: jobs that it accepted, notices
//! about them, content that the collector has acknowledged, and bytes that grants have paid for.
//!
//! A job is written down before it begins and struck out together with its notice, in one transaction.
//! One that is still open when an agent starts was interrupted: it is told so and never begins again.
//! If the file is lost, every record is sent once more, which changes nothing at the hub.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use crate::digits::sha256;
use crate::job::FleetJob;
use crate::notice::Notice;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS job (
  id TEXT PRIMARY KEY,
  text TEXT NOT NULL, -- empty when it has ended
  is_open INTEGER NOT NULL -- accepted, and not ended
) STRICT;
CREATE TABLE IF NOT EXISTS notice (
  hash BLOB PRIMARY KEY, -- SHA-256 of the text
  text TEXT NOT NULL
) STRICT; -- only those that wait
-- Hashes of records and notices that PostgreSQL has committed.
CREATE TABLE IF NOT EXISTS acknowledged (hash BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
-- Bytes that jobs were permitted to write, by day (UTC) and drive.
CREATE TABLE IF NOT EXISTS permitted (
  day TEXT NOT NULL,
  serial TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (day, serial)
) STRICT;
";

/// The ledger of the agent of one store.
pub struct Ledger {
    conn: Connection,
}

/// Whether a job may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// It is new here.
    New,
    /// It has begun here before, and must not begin again.
    Repeated,
}

impl Ledger {
    /// Opens the ledger beside a store, or creates it.
    pub fn open(store: &Path) -> Result<Ledger> {
        let path = Ledger::beside(store);
        let problem = || format!("cannot open {}", path.display());
        let conn = Connection::open(&path).with_context(problem)?;
        conn.busy_timeout(std::time::Duration::from_secs(10)).with_context(problem)?;
        conn.pragma_update(None, "synchronous", "FULL").with_context(problem)?;
        conn.execute_batch(SCHEMA).with_context(problem)?;
        Ok(Ledger { conn })
    }

    /// The file of the ledger of a store.
    pub fn beside(store: &Path) -> PathBuf {
        store.with_extension("fleet")
    }

    /// Writes a job down before it begins.
    pub fn accept(&self, job: &FleetJob) -> Result<Acceptance> {
        let sql = "INSERT INTO job (id, text, is_open) VALUES (?, ?, 1) ON CONFLICT DO NOTHING";
        let rows = self.conn.execute(sql, params![job.id, job.text()?])?;
        Ok(if rows == 1 { Acceptance::New } else { Acceptance::Repeated })
    }

    /// The jobs that were accepted and have not ended.
    pub fn open_jobs(&self) -> Result<Vec<FleetJob>> {
        let mut statement = self.conn.prepare("SELECT text FROM job WHERE is_open ORDER BY id")?;
        let texts = statement.query_map([], |row| row.get::<_, String>(0))?;
        texts.map(|text| Ok(serde_json::from_str(&text?)?)).collect()
    }

    /// Ends a job and puts its notice into the outbox, together.
    pub fn end(&mut self, notice: &Notice) -> Result<()> {
        let text = notice.text()?;
        let tx = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        tx.execute("UPDATE job SET is_open = 0, text = '' WHERE id = ?", [&notice.job])?;
        let sql = "INSERT INTO notice (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING";
        tx.execute(sql, params![sha256(text.as_bytes()), text])?;
        Ok(tx.commit()?)
    }

    /// The notices that the collector has not acknowledged.
    pub fn notices(&self) -> Result<Vec<([u8; 32], String)>> {
        let mut statement =
            self.conn.prepare_cached("SELECT hash, text FROM notice ORDER BY rowid")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The number of notices that wait.
    pub fn notice_count(&self) -> Result<i64> {
        let mut statement = self.conn.prepare_cached("SELECT count(*) FROM notice")?;
        Ok(statement.query_row([], |row| row.get(0))?)
    }

    /// Whether PostgreSQL has the content with this hash.
    pub fn is_acknowledged(&self, hash: &[u8; 32]) -> Result<bool> {
        let mut statement =
            self.conn.prepare_cached("SELECT 1 FROM acknowledged WHERE hash = ?")?;
        Ok(statement.exists([hash])?)
    }

    /// Strikes content out of the outbox: PostgreSQL has committed it.
    pub fn acknowledge(&mut self, hashes: &[[u8; 32]]) -> Result<()> {
        let tx = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for hash in hashes {
            let sql = "INSERT INTO acknowledged (hash) VALUES (?) ON CONFLICT DO NOTHING";
            tx.prepare_cached(sql)?.execute([hash])?;
            tx.prepare_cached("DELETE FROM notice WHERE hash = ?")?.execute([hash])?;
        }
        Ok(tx.commit()?)
    }

    /// Takes bytes from what a grant permits for a day, before a job begins. Returns the bytes of that
    /// day so far, with these, or an error with those without these if they are too many.
    pub fn take(&mut self, day: &str, serial: &str, bytes: u64, most: u64) -> Result<Allowance> {
        let tx = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let sql = "SELECT bytes FROM permitted WHERE day = ? AND serial = ?";
        let spent: Option<i64> = tx.query_row(sql, [day, serial], |row| row.get(0)).optional()?;
        let spent = spent.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
        let total = spent.saturating_add(bytes);
        let Some(total) = i64::try_from(total).ok().filter(|_| total <= most) else {
            return Ok(Allowance::Exceeded { spent });
        };
        let sql = "INSERT OR REPLACE INTO permitted (day, serial, bytes) VALUES (?, ?, ?)";
        tx.execute(sql, params![day, serial, total])?;
        tx.commit()?;
        Ok(Allowance::Within)
    }
}

/// Whether a day's bytes suffice for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    /// They do, and are taken.
    Within,
    /// They do not; nothing is taken.
    Exceeded {
        /// Bytes that the jobs of the day were permitted before.
        spent: u64,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::notice::JobEnd;

    fn job(id: &str) -> FleetJob {
        FleetJob {
            id: id.into(),
            target: "/dev/x".into(),
            method: "quick".into(),
            ..FleetJob::default()
        }
    }

    fn notice(id: &str, end: JobEnd) -> Notice {
        Notice {
            job: id.into(),
            machine: "m".into(),
            at: "2026-11-30T00:00:00Z".into(),
            target: "/dev/x".into(),
            end,
            reason: String::new(),
            record: None,
        }
    }

    #[test]
    fn an_interrupted_job_is_told_and_never_repeated() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = dir.path().join("runs.sqlite");
        let ledger = Ledger::open(&store).expect("made");
        assert_eq!(ledger.accept(&job("a")).expect("written"), Acceptance::New);
        drop(ledger);
        let mut ledger = Ledger::open(&store).expect("opened");
        assert_eq!(ledger.open_jobs().expect("read"), [job("a")]);
        ledger.end(&notice("a", JobEnd::Interrupted)).expect("written");
        assert_eq!(ledger.open_jobs().expect("read"), []);
        assert_eq!(ledger.accept(&job("a")).expect("read"), Acceptance::Repeated);
        let notices = ledger.notices().expect("read");
        assert_eq!(notices.len(), 1);
        ledger.acknowledge(&[notices[0].0]).expect("written");
        assert!(ledger.notices().expect("read").is_empty());
        assert!(ledger.is_acknowledged(&notices[0].0).expect("read"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_day_never_has_more_bytes_than_its_grant(
            jobs in prop::collection::vec((0u8..2, 0u64..60), 1..20), most in 0u64..100,
        ) {
            let dir = tempfile::tempdir().expect("a directory");
            let mut ledger = Ledger::open(&dir.path().join("s")).expect("made");
            let mut spent = [0; 2];
            for (day, bytes) in jobs {
                let budget = ledger.take(&day.to_string(), "S", bytes, most).expect("written");
                let total = &mut spent[usize::from(day)];
                if *total + bytes <= most {
                    *total += bytes;
                    prop_assert_eq!(budget, Allowance::Within);
                } else {
                    prop_assert_eq!(budget, Allowance::Exceeded { spent: *total });
                }
            }
        }
    }
}
