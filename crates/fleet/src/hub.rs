//! Subjects and streams of NATS.
//!
//! | subject | carries | how |
//! |---|---|---|
//! | `job.machine.ID` | jobs for one machine | stream JOBS; delivered once, ever |
//! | `job.pool.LABELS` | runs of virtual drives for any machine with these labels | stream JOBS; again, if an agent is lost |
//! | `live.agent.ID`, `live.job.ID` | what an agent is, how far a job is | stream LIVE; the last of each, for a day |
//! | `record` | records and notices | request and reply; the outbox is the queue |
//!
//! Records are not in a stream: the outbox of each agent is one already, and the only one that survives
//! the hub. The window in which JetStream recognises duplicates is never relied on.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::stream::{Config, RetentionPolicy, StorageType, Stream};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions};
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::config::HubConfig;
use crate::digits::hex;
use crate::job::{FleetJob, JOB_BYTES_MAX};

/// The subject of records and notices.
pub const RECORDS: &str = "record";

/// Subjects of agents and of jobs in progress.
pub const LIVE_AGENTS: &str = "live.agent";
/// See [`LIVE_AGENTS`].
pub const LIVE_JOBS: &str = "live.job";

const JOBS: &str = "JOBS";
const LIVE: &str = "LIVE";
const POOL: &str = "pool-";

/// How long the last word of an agent or a job is kept.
const LIVE_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of memory for those words.
const LIVE_BYTES: i64 = 64 << 20;

/// Time after which a run of a pool goes to another agent, unless its own says that it goes on.
pub const POOL_WAIT: Duration = Duration::from_secs(30);

/// How often a run of a pool is begun at most: one that ends every agent must end itself.
const POOL_DELIVERIES: i64 = 10;

/// Runs of a pool that are out at one time.
const POOL_OUT: i64 = 10_000;

/// Time for NATS to answer a command of a person.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// Longest pause between attempts to connect again.
const RECONNECT_MAX: Duration = Duration::from_secs(8);

/// What an agent says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presence {
    /// The id of its machine.
    pub machine: String,
    /// The machine's name.
    pub host: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The targets that it serves, besides virtual drives.
    pub targets: Vec<String>,
    /// Time on its clock, RFC 3339.
    pub at: String,
}

/// How far a job is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobProgress {
    /// The job.
    pub job: String,
    /// The machine that runs it.
    pub host: String,
    /// What it does now: `step 2 of 5: fill`.
    pub text: String,
}

/// A connection to NATS.
#[derive(Clone)]
pub struct Hub {
    /// The client, for plain messages.
    pub client: Client,
    jetstream: Context,
}

impl Hub {
    /// Connects for as long as the program runs: now, or as soon as the hub can be reached, and again
    /// after every loss.
    pub async fn stay(config: &HubConfig, name: &str) -> Result<Hub> {
        let options = options(config, name).retry_on_initial_connect();
        Hub::with(options, config).await
    }

    /// Connects now, or fails.
    pub async fn connect(config: &HubConfig, name: &str) -> Result<Hub> {
        let connecting = Hub::with(options(config, name), config);
        match tokio::time::timeout(ANSWER_TIME, connecting).await {
            Ok(hub) => hub,
            Err(_) => bail!("{}: no answer", config.nats),
        }
    }

    async fn with(options: ConnectOptions, config: &HubConfig) -> Result<Hub> {
        let client = options.connect(&config.nats).await;
        let client = client.with_context(|| format!("cannot reach NATS at {}", config.nats))?;
        let jetstream = jetstream::new(client.clone());
        Ok(Hub { client, jetstream })
    }

    /// Makes both streams, unless they exist.
    pub async fn make_streams(&self) -> Result<()> {
        let jobs = Config {
            name: JOBS.into(),
            subjects: vec!["job.>".into()],
            retention: RetentionPolicy::WorkQueue,
            storage: StorageType::File,
            max_message_size: JOB_BYTES_MAX as i32,
            ..Config::default()
        };
        let live = Config {
            name: LIVE.into(),
            subjects: vec!["live.>".into()],
            retention: RetentionPolicy::Limits,
            storage: StorageType::Memory,
            max_messages_per_subject: 1,
            max_age: LIVE_AGE,
            max_bytes: LIVE_BYTES,
            ..Config::default()
        };
        for stream in [jobs, live] {
            let name = stream.name.clone();
            let making = self.jetstream.get_or_create_stream(stream).await;
            making.with_context(|| format!("cannot make the stream {name}"))?;
        }
        Ok(())
    }

    /// Puts a job for one machine.
    pub async fn ask_machine(&self, machine: &str, job: &FleetJob) -> Result<()> {
        self.machine_jobs(machine).await?;
        self.put(format!("job.machine.{machine}"), job).await
    }

    /// Puts a run of a virtual drive for any machine with these labels.
    pub async fn ask_pool(&self, labels: &BTreeMap<String, String>, job: &FleetJob) -> Result<()> {
        self.put(format!("job.pool.{}", pool_word(labels)), job).await
    }

    async fn put(&self, subject: String, job: &FleetJob) -> Result<()> {
        let text = job.text()?;
        let stored = self.jetstream.publish(subject, text.into()).await?;
        stored.await.context("the hub did not take the job")?;
        Ok(())
    }

    /// The jobs of one machine. Each is delivered once: what became of it is a notice of that machine.
    pub async fn machine_jobs(&self, machine: &str) -> Result<PullConsumer> {
        let config = pull::Config {
            max_deliver: 1,
            max_ack_pending: 1,
            ..consumer(format!("machine-{machine}"), format!("job.machine.{machine}"))
        };
        self.consumer(config).await
    }

    /// Makes the pool of runs for machines with these labels, unless it exists.
    pub async fn make_pool(&self, labels: &BTreeMap<String, String>) -> Result<()> {
        let word = pool_word(labels);
        let config = pull::Config {
            ack_wait: POOL_WAIT,
            max_deliver: POOL_DELIVERIES,
            max_ack_pending: POOL_OUT,
            ..consumer(format!("{POOL}{word}"), format!("job.pool.{word}"))
        };
        self.consumer(config).await.map(drop)
    }

    async fn consumer(&self, config: pull::Config) -> Result<PullConsumer> {
        let stream = self.stream(JOBS).await?;
        let name = config.durable_name.clone().unwrap_or_default();
        let consumer = stream.get_or_create_consumer(&name, config).await;
        consumer.with_context(|| format!("cannot take jobs of {name}"))
    }

    async fn stream(&self, name: &str) -> Result<Stream> {
        let stream = self.jetstream.get_stream(name).await;
        stream.with_context(|| format!("the hub has no stream {name} yet"))
    }

    /// The labels of every pool, with the name of its consumer.
    pub async fn pools(&self) -> Result<Vec<(String, BTreeMap<String, String>)>> {
        let stream = self.stream(JOBS).await?;
        let names: Vec<String> = stream.consumer_names().try_collect().await?;
        let pools = names.into_iter().filter_map(|name| {
            let labels = labels_of_word(name.strip_prefix(POOL)?)?;
            Some((name, labels))
        });
        Ok(pools.collect())
    }

    /// The runs of a pool.
    pub async fn pool_jobs(&self, name: &str) -> Result<PullConsumer> {
        let consumer = self.stream(JOBS).await?.get_consumer(name).await;
        consumer.map_err(|e| anyhow::anyhow!("{name}: {e}"))
    }

    /// The last words on a subject and those below it.
    pub async fn last<T: DeserializeOwned>(&self, subject: &str) -> Result<Vec<T>> {
        let config = pull::Config {
            deliver_policy: DeliverPolicy::LastPerSubject,
            ack_policy: AckPolicy::None,
            filter_subject: format!("{subject}.>"),
            ..pull::Config::default()
        };
        let consumer = self.stream(LIVE).await?.create_consumer(config).await?;
        let mut words = Vec::new();
        let mut waiting = consumer.cached_info().num_pending;
        while waiting > 0 {
            let mut batch = consumer.fetch().max_messages(1000).messages().await?;
            let count = words.len();
            while let Some(message) = batch.next().await {
                let message = message.map_err(|e| anyhow::anyhow!("{subject}: {e}"))?;
                waiting = message.info().map_err(|e| anyhow::anyhow!("{subject}: {e}"))?.pending;
                words.extend(serde_json::from_slice(&message.payload).ok());
            }
            if words.len() == count {
                break;
            }
        }
        Ok(words)
    }

    /// Says something that only the next word on its subject outlives; nobody waits for it.
    pub async fn say(&self, subject: String, word: &impl Serialize) -> Result<()> {
        Ok(self.client.publish(subject, serde_json::to_vec(word)?.into()).await?)
    }
}

fn options(config: &HubConfig, name: &str) -> ConnectOptions {
    ConnectOptions::with_user_and_password(config.user.clone(), config.password.clone())
        .name(name)
        .reconnect_delay_callback(|attempts| {
            Duration::from_millis(50 << attempts.min(10)).min(RECONNECT_MAX)
        })
}

fn consumer(name: String, subject: String) -> pull::Config {
    pull::Config {
        durable_name: Some(name),
        filter_subject: subject,
        ack_policy: AckPolicy::Explicit,
        ..pull::Config::default()
    }
}

/// Labels as one word of a subject.
fn pool_word(labels: &BTreeMap<String, String>) -> String {
    let tags: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    // A word of a subject is not empty.
    format!("x{}", hex(tags.join("\n").as_bytes()))
}

fn labels_of_word(word: &str) -> Option<BTreeMap<String, String>> {
    let digits = word.strip_prefix('x')?;
    let pairs = digits.as_bytes().as_chunks::<2>().0.iter();
    let bytes = pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    let text = String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()?;
    text.lines().map(|line| record::parse_tag(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_one_word_of_a_subject() {
        for tags in [&[][..], &["rack=3"], &["board=mini a.*>", "rack=3"]] {
            let labels: BTreeMap<_, _> =
                tags.iter().map(|tag| record::parse_tag(tag).expect("a tag")).collect();
            let word = pool_word(&labels);
            assert!(word.chars().all(|c| c.is_ascii_alphanumeric()), "{word}");
            assert_eq!(labels_of_word(&word), Some(labels));
        }
        assert_eq!(labels_of_word("xzz"), None);
    }
}
