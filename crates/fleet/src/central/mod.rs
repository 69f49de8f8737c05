//! The central store in PostgreSQL: what the collector writes there.
//!
//! A batch is one transaction; whoever gets its hashes back knows that they are on the disk. A record
//! that is already there changes nothing. Questions are in `questions.rs`.

mod questions;

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result};
use record::{Document, Run, TargetKind};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls, Row};

pub use self::questions::{JobNotice, MetricDistribution, ModelMedian, RefusedLetter};
use crate::key::Enrolment;
use crate::notice::Notice;

/// Refused letters that are kept of each sender.
const REFUSALS_MAX: i64 = 1000;

/// Names that are kept in memory: more are asked for again.
const NAMES_MAX: usize = 100_000;

const SCHEMA: &str = include_str!("../central.sql");

/// A connection to the central store.
pub struct Central {
    client: Client,
    words: HashMap<String, i32>,
    models: HashMap<ModelName, i32>,
}

/// A model with its firmware.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ModelName {
    name: String,
    firmware: String,
    is_virtual: bool,
}

/// A verified record on its way into the store.
#[derive(Debug)]
pub struct ArrivedRecord {
    /// The hash of its content.
    pub hash: [u8; 32],
    /// The key that signed it.
    pub key: [u8; 32],
    /// The record.
    pub document: Box<Document>,
    /// Its text, deflated.
    pub packed: Vec<u8>,
}

impl ArrivedRecord {
    fn run(&self) -> &Run {
        self.document.run()
    }
}

/// A letter that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedArrival {
    /// The machine that NATS knows as its sender; empty if none.
    pub sender: String,
    /// The claimed key; empty without one.
    pub key: Vec<u8>,
    /// The claimed hash; empty without one.
    pub hash: Vec<u8>,
    /// Why, on one line.
    pub reason: String,
}

/// A verified notice on its way into the store.
#[derive(Debug)]
pub struct ArrivedNotice {
    /// The hash of its text.
    pub hash: [u8; 32],
    /// The key that signed it.
    pub key: [u8; 32],
    /// The notice.
    pub notice: Notice,
}

impl Central {
    /// Connects with the words of a connection string.
    pub async fn connect(words: &str) -> Result<Central> {
        let config: tokio_postgres::Config =
            words.parse().context("the words of the connection to PostgreSQL")?;
        let (client, connection) =
            config.connect(NoTls).await.context("cannot reach PostgreSQL")?;
        // It ends with the client, or with an error that the client's next request meets, too.
        tokio::spawn(async move { connection.await.ok() });
        Ok(Central { client, words: HashMap::new(), models: HashMap::new() })
    }

    /// Makes the tables, unless they exist.
    pub async fn make_tables(&self) -> Result<()> {
        // Two collectors may start at the same time; the number is arbitrary.
        let sql = format!("BEGIN; SELECT pg_advisory_xact_lock(7564132); {SCHEMA} COMMIT");
        self.client.batch_execute(&sql).await.context("cannot make the tables")
    }

    /// Lets a key sign for a machine. A key keeps the machine of its first enrolment; one that was revoked
    /// stays so.
    pub async fn enrol(&self, enrolment: &Enrolment) -> Result<()> {
        let sql = "INSERT INTO enrolment (key, machine, host) VALUES ($1, $2, $3)
                   ON CONFLICT (key) DO UPDATE SET host = excluded.host
                   WHERE enrolment.machine = excluded.machine AND enrolment.revoked IS NULL";
        let Enrolment { key, machine, host } = enrolment;
        let rows = self.client.execute(sql, &[&&key[..], machine, host]).await?;
        anyhow::ensure!(
            rows == 1,
            "this key is that of another machine, or was revoked; try: remove its file, then `key`"
        );
        Ok(())
    }

    /// Takes the right to sign from the keys of a machine, named by its id or its name. What they signed
    /// before stays. Returns their number.
    pub async fn revoke(&self, name: &str) -> Result<u64> {
        let sql = "UPDATE enrolment SET revoked = now()
                   WHERE (machine = $1 OR host = $1) AND revoked IS NULL";
        Ok(self.client.execute(sql, &[&name]).await?)
    }

    /// Every key that may sign.
    pub async fn enrolments(&self) -> Result<Vec<Enrolment>> {
        let sql =
            "SELECT key, machine, host FROM enrolment WHERE revoked IS NULL ORDER BY since, key";
        Ok(self.client.query(sql, &[]).await?.iter().filter_map(enrolment_of_row).collect())
    }

    /// Those of some keys that may sign now.
    pub async fn enrolled(&self, keys: &[[u8; 32]]) -> Result<HashMap<[u8; 32], Enrolment>> {
        let sql =
            "SELECT key, machine, host FROM enrolment WHERE revoked IS NULL AND key = ANY ($1)";
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let statement = self.client.prepare_typed(sql, &[Type::BYTEA_ARRAY]).await?;
        let rows = self.client.query(&statement, &[&keys]).await?;
        let enrolments = rows.iter().filter_map(enrolment_of_row);
        Ok(enrolments.map(|enrolment| (enrolment.key, enrolment)).collect())
    }

    /// Notes what was refused. Of each sender, the latest are kept: nobody fills the disk, or hides what
    /// others did.
    pub async fn refuse(&mut self, refused: &[RefusedArrival]) -> Result<()> {
        if refused.is_empty() {
            return Ok(());
        }
        let tx = self.client.transaction().await?;
        let sql = "INSERT INTO refusal (sender, key, hash, reason) VALUES ($1, $2, $3, $4)
                   ON CONFLICT (sender, key, hash, reason)
                   DO UPDATE SET times = refusal.times + 1, last = now()";
        for RefusedArrival { sender, key, hash, reason } in refused {
            tx.execute(sql, &[sender, key, hash, reason]).await?;
        }
        let senders: HashSet<&String> = refused.iter().map(|refused| &refused.sender).collect();
        for sender in senders {
            let sql = "DELETE FROM refusal WHERE ctid IN (
                         SELECT ctid FROM refusal WHERE sender = $1 ORDER BY last DESC OFFSET $2)";
            tx.execute(sql, &[sender, &REFUSALS_MAX]).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Writes records and notices in one transaction. Those that are already there are left alone.
    /// Returns the number of new records.
    pub async fn insert(
        &mut self,
        records: &[&ArrivedRecord],
        notices: &[&ArrivedNotice],
    ) -> Result<usize> {
        if self.words.len().max(self.models.len()) > NAMES_MAX {
            (self.words, self.models) = Default::default();
        }
        // Before the transaction: a name has its id whether or not the record is committed.
        self.learn_words(records).await?;
        self.learn_models(records).await?;
        let rows = RunRows::from_records(records, &self.words, &self.models);
        let tx = self.client.transaction().await?;
        let mut count = 0;
        if !records.is_empty() {
            let ids = rows.insert(&tx).await?;
            count = ids.len();
            MetricRows::from_records(records, &ids, &self.words, &rows.models).insert(&tx).await?;
        }
        for arrived in notices {
            insert_notice(&tx, arrived).await?;
        }
        tx.commit().await?;
        Ok(count)
    }

    async fn learn_words(&mut self, records: &[&ArrivedRecord]) -> Result<()> {
        let names = records.iter().flat_map(|record| {
            let metrics = record.run().metrics.iter().map(|metric| &metric.name);
            metrics.chain([&record.run().method])
        });
        let new: HashSet<&String> = names.filter(|name| !self.words.contains_key(*name)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let new: Vec<&String> = new.into_iter().collect();
        let sql = "INSERT INTO word (text) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING";
        self.client.execute(sql, &[&new]).await?;
        let sql = "SELECT text, id FROM word WHERE text = ANY ($1)";
        let rows = self.client.query(sql, &[&new]).await?;
        self.words.extend(rows.iter().map(|row| (row.get(0), row.get(1))));
        Ok(())
    }

    async fn learn_models(&mut self, records: &[&ArrivedRecord]) -> Result<()> {
        let names = records.iter().map(|record| ModelName::from_run(record.run()));
        let new: HashSet<ModelName> =
            names.filter(|name| !self.models.contains_key(name)).collect();
        for model in new {
            let ModelName { name, firmware, is_virtual } = &model;
            let sql = "INSERT INTO model (name, firmware, is_virtual) VALUES ($1, $2, $3)
                       ON CONFLICT DO NOTHING";
            self.client.execute(sql, &[name, firmware, is_virtual]).await?;
            let sql = "SELECT id FROM model WHERE name = $1 AND firmware = $2 AND is_virtual = $3";
            let row = self.client.query_one(sql, &[name, firmware, is_virtual]).await?;
            self.models.insert(model, row.get(0));
        }
        Ok(())
    }
}

fn enrolment_of_row(row: &Row) -> Option<Enrolment> {
    let key: [u8; 32] = row.get::<_, &[u8]>(0).try_into().ok()?;
    Some(Enrolment { key, machine: row.get(1), host: row.get(2) })
}

/// Whether PostgreSQL refuses what it was given, so that giving it again changes nothing: a text that is none
/// for it, or a name too long for an index (classes 22 and 54 of its error codes).
pub fn is_about_content(error: &anyhow::Error) -> bool {
    let errors = error.chain().filter_map(|e| e.downcast_ref::<tokio_postgres::Error>());
    let mut codes = errors.filter_map(|error| error.code());
    codes.any(|code| ["22", "54"].iter().any(|class| code.code().starts_with(class)))
}

impl ModelName {
    fn from_run(run: &Run) -> ModelName {
        let drive = run.target.drive.as_ref();
        ModelName {
            name: drive.and_then(|drive| drive.model.clone()).unwrap_or_default(),
            firmware: drive.and_then(|drive| drive.firmware.clone()).unwrap_or_default(),
            is_virtual: run.target.kind == TargetKind::Virtual,
        }
    }
}

/// The columns of some runs.
struct RunRows<'a> {
    records: &'a [&'a ArrivedRecord],
    methods: Vec<i32>,
    models: Vec<i32>,
}

impl<'a> RunRows<'a> {
    fn from_records(
        records: &'a [&'a ArrivedRecord],
        words: &HashMap<String, i32>,
        models: &HashMap<ModelName, i32>,
    ) -> RunRows<'a> {
        let methods = records.iter().map(|record| words[&record.run().method]).collect();
        let models = records.iter().map(|record| models[&ModelName::from_run(record.run())]);
        RunRows { records, methods, models: models.collect() }
    }

    /// Inserts those that are new, and returns their ids by hash.
    async fn insert(&self, tx: &tokio_postgres::Transaction<'_>) -> Result<HashMap<Vec<u8>, i64>> {
        let sql = "INSERT INTO run (hash, key, packed, record_id, machine, method, model, serial,
                                    started, is_complete, tags)
                   SELECT hash, key, packed, record_id, machine, method, model, serial, started,
                          is_complete, string_to_array(tags, E'\\n')
                   FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::text[], $5::text[],
                               $6::int[], $7::int[], $8::text[], $9::text[], $10::bool[],
                               $11::text[])
                     AS arrived (hash, key, packed, record_id, machine, method, model, serial,
                                 started, is_complete, tags)
                   ON CONFLICT (hash) DO NOTHING RETURNING hash, id";
        let records = self.records;
        let hashes: Vec<&[u8]> = records.iter().map(|record| &record.hash[..]).collect();
        let keys: Vec<&[u8]> = records.iter().map(|record| &record.key[..]).collect();
        let packed: Vec<&[u8]> = records.iter().map(|record| &record.packed[..]).collect();
        let ids: Vec<&str> = records.iter().map(|record| &*record.run().id).collect();
        let machines: Vec<Option<&str>> =
            records.iter().map(|record| record.run().environment.machine_id.as_deref()).collect();
        let serials: Vec<Option<&str>> = records
            .iter()
            .map(|record| record.run().target.drive.as_ref()?.serial.as_deref())
            .collect();
        let starts: Vec<&str> = records.iter().map(|record| &*record.run().started).collect();
        let complete: Vec<bool> = records.iter().map(|record| record.run().complete).collect();
        let tags: Vec<String> = records.iter().map(|record| tags(record.run())).collect();
        let statement = tx.prepare(sql).await?;
        let rows = tx
            .query(
                &statement,
                &[
                    &hashes,
                    &keys,
                    &packed,
                    &ids,
                    &machines,
                    &self.methods,
                    &self.models,
                    &serials,
                    &starts,
                    &complete,
                    &tags,
                ],
            )
            .await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }
}

/// The tags of a run, one a line.
fn tags(run: &Run) -> String {
    let tags: Vec<String> = run.tags().map(|(name, value)| format!("{name}={value}")).collect();
    tags.join("\n")
}

/// The columns of the metrics of new runs.
#[derive(Default)]
struct MetricRows {
    names: Vec<i32>,
    models: Vec<i32>,
    runs: Vec<i64>,
    values: Vec<f64>,
}

impl MetricRows {
    fn from_records(
        records: &[&ArrivedRecord],
        ids: &HashMap<Vec<u8>, i64>,
        words: &HashMap<String, i32>,
        models: &[i32],
    ) -> MetricRows {
        let mut values = Vec::new();
        let mut hashes = HashSet::new();
        for (record, model) in records.iter().zip(models) {
            // A batch may have a record twice.
            let Some(id) = ids.get(&record.hash[..]).filter(|_| hashes.insert(record.hash)) else {
                continue;
            };
            for metric in &record.run().metrics {
                let Some(value) = metric.value.filter(|value| value.is_finite()) else { continue };
                values.push((words[&metric.name], *model, *id, value));
            }
        }
        // In the order of the index, a batch touches each of its pages once.
        values.sort_unstable_by_key(|(name, model, run, _)| (*name, *model, *run));
        let mut rows = MetricRows::default();
        for (name, model, run, value) in values {
            rows.names.push(name);
            rows.models.push(model);
            rows.runs.push(run);
            rows.values.push(value);
        }
        rows
    }

    async fn insert(&self, tx: &tokio_postgres::Transaction<'_>) -> Result<()> {
        let sql = "INSERT INTO metric (name, model, run, value)
                   SELECT * FROM unnest($1::int[], $2::int[], $3::bigint[], $4::float8[])";
        let MetricRows { names, models, runs, values } = self;
        tx.execute(sql, &[names, models, runs, values]).await?;
        Ok(())
    }
}

async fn insert_notice(
    tx: &tokio_postgres::Transaction<'_>,
    arrived: &ArrivedNotice,
) -> Result<()> {
    let sql = "INSERT INTO notice (hash, key, job, machine, target, job_end, reason, record, at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING";
    let ArrivedNotice { hash, key, notice } = arrived;
    let Notice { job, machine, at: time, target, end, reason, record } = notice;
    let record = record.as_deref().and_then(crate::digits::unhex::<32>);
    let record = record.as_ref().map(|hash| &hash[..]);
    tx.execute(
        sql,
        &[&&hash[..], &&key[..], job, machine, target, &end.name(), reason, &record, time],
    )
    .await?;
    Ok(())
}
