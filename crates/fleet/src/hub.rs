//! Subjects and streams of NATS.
//!
//! | subject | carries | how |
//! |---|---|---|
//! | `job.MACHINE` | jobs for one machine | stream JOBS; delivered once, ever |
//! | `pool.LABELS` | runs of virtual drives for any machine with these labels | stream POOLS; again, if an agent is lost |
//! | `live.agent.MACHINE`, `live.job.MACHINE.ID` | what an agent is, how far a job is | stream LIVE; the last of each, for a day |
//! | `record.MACHINE` | records and notices | request and reply; the outbox is the queue |
//!
//! Records are not in a stream: the outbox of each agent is one already, and the only one that survives
//! the hub. The window in which JetStream recognises duplicates is never relied on.
//!
//! Each agent has a user of its own, with permission for its own subjects. Consumers are made by the hub.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType, Stream};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions};
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::config::HubConfig;
use crate::digits::{hex, unhex};
use crate::hub_key::{ANY_MACHINE, HubKey};
use crate::job::{FleetJob, JOB_BYTES_MAX};

/// The subject of records and notices.
pub const RECORDS: &str = "record";

/// Subjects of agents and of jobs in progress.
pub const LIVE_AGENTS: &str = "live.agent";
/// See [`LIVE_AGENTS`].
pub const LIVE_JOBS: &str = "live.job";

const JOBS: &str = "JOBS";
const POOLS: &str = "POOLS";
const LIVE: &str = "LIVE";
const POOL: &str = "pool-";

/// How long the last word of an agent or a job is kept.
const LIVE_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of memory for those words.
const LIVE_BYTES: i64 = 64 << 20;

/// Jobs that wait for one machine at most; more are refused when they are put.
const WAITING_MAX: i64 = 10_000;

/// Size of a job with its signature, bytes.
const SEALED_BYTES_MAX: usize = JOB_BYTES_MAX + 64;

/// Time after which a run of a pool goes to another agent, unless its own says that it goes on.
pub const POOL_WAIT: Duration = Duration::from_secs(30);

/// How often a run of a pool is begun at most: one that ends every agent must end itself.
pub const POOL_DELIVERIES: i64 = 10;

/// Runs of a pool that are out at one time.
const POOL_OUT: i64 = 10_000;

/// Time for NATS to answer a command of a person.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// Last words that are fetched at one time, and the longest wait for the next of them.
const WORDS_MAX: u64 = 1000;
const WORDS_WAIT: Duration = Duration::from_secs(1);

/// Longest pause between attempts to connect again.
const RECONNECT_MAX: Duration = Duration::from_secs(8);

/// What an agent says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// What the agent of a machine may publish, and what it may listen to: its letters and words, and what it
/// takes to get its jobs and runs of pools.
pub fn agent_subjects(machine: &str) -> [Vec<String>; 2] {
    let consumer = machine_consumer(machine);
    let publish = [
        format!("{RECORDS}.{machine}"),
        format!("{LIVE_AGENTS}.{machine}"),
        format!("{LIVE_JOBS}.{machine}.>"),
        format!("$JS.API.CONSUMER.INFO.{JOBS}.{consumer}"),
        format!("$JS.API.CONSUMER.MSG.NEXT.{JOBS}.{consumer}"),
        format!("$JS.ACK.{JOBS}.{consumer}.>"),
        format!("$JS.API.CONSUMER.NAMES.{POOLS}"),
        format!("$JS.API.CONSUMER.INFO.{POOLS}.*"),
        format!("$JS.API.CONSUMER.MSG.NEXT.{POOLS}.*"),
        format!("$JS.ACK.{POOLS}.>"),
    ];
    [publish.to_vec(), vec![format!("{}.>", inbox(machine))]]
}

/// The beginning of the subjects on which a machine gets its answers.
pub fn inbox(machine: &str) -> String {
    format!("_INBOX.{machine}")
}

fn machine_consumer(machine: &str) -> String {
    format!("machine-{machine}")
}

/// Whether a text is the id of a machine, and so one word of a subject.
pub fn is_machine(text: &str) -> bool {
    unhex::<16>(text).is_some()
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

    /// Like [`Hub::stay`], for the agent of a machine: it hears answers on its own subjects.
    pub async fn stay_as(config: &HubConfig, machine: &str) -> Result<Hub> {
        let options = options(config, "ssdyno agent").custom_inbox_prefix(inbox(machine));
        Hub::with(options.retry_on_initial_connect(), config).await
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

    /// Makes the streams, unless they exist.
    pub async fn make_streams(&self) -> Result<()> {
        let jobs = Config {
            name: JOBS.into(),
            subjects: vec!["job.*".into()],
            retention: RetentionPolicy::WorkQueue,
            storage: StorageType::File,
            max_message_size: SEALED_BYTES_MAX as i32,
            max_messages_per_subject: WAITING_MAX,
            discard: DiscardPolicy::New,
            discard_new_per_subject: true,
            ..Config::default()
        };
        let pools = Config {
            name: POOLS.into(),
            subjects: vec!["pool.*".into()],
            max_messages_per_subject: 0,
            discard: DiscardPolicy::Old,
            discard_new_per_subject: false,
            ..jobs.clone()
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
        for stream in [jobs, pools, live] {
            let name = stream.name.clone();
            let making = self.jetstream.get_or_create_stream(stream).await;
            making.with_context(|| format!("cannot make the stream {name}"))?;
        }
        Ok(())
    }

    /// Puts a job for one machine.
    pub async fn ask_machine(&self, key: &HubKey, machine: &str, job: &FleetJob) -> Result<()> {
        self.make_machine(machine).await?;
        self.put(format!("job.{machine}"), key.seal(machine, job)?).await
    }

    /// Puts a run of a virtual drive for any machine with these labels.
    pub async fn ask_pool(
        &self,
        key: &HubKey,
        labels: &BTreeMap<String, String>,
        job: &FleetJob,
    ) -> Result<()> {
        self.put(format!("pool.{}", pool_word(labels)), key.seal(ANY_MACHINE, job)?).await
    }

    async fn put(&self, subject: String, sealed: Vec<u8>) -> Result<()> {
        let stored = self.jetstream.publish(subject, sealed.into()).await?;
        stored.await.context("the hub did not take the job")?;
        Ok(())
    }

    /// Makes the queue of one machine, unless it exists. Each job is delivered once: what became of it is a
    /// notice of that machine.
    pub async fn make_machine(&self, machine: &str) -> Result<()> {
        let config = pull::Config {
            max_deliver: 1,
            max_ack_pending: 1,
            ..consumer(machine_consumer(machine), format!("job.{machine}"))
        };
        self.make_consumer(JOBS, config).await
    }

    /// Makes the queues of machines that have none yet.
    pub async fn make_machines(&self, machines: &[String]) -> Result<()> {
        let stream = self.stream(JOBS).await?;
        let names: BTreeSet<String> = stream.consumer_names().try_collect().await?;
        for machine in machines {
            if !names.contains(&machine_consumer(machine)) {
                self.make_machine(machine).await?;
            }
        }
        Ok(())
    }

    /// The jobs of one machine, whose queue the hub has made.
    pub async fn machine_jobs(&self, machine: &str) -> Result<PullConsumer> {
        self.queue(JOBS, &machine_consumer(machine)).await
    }

    /// Makes the pool of runs for machines with these labels, unless it exists.
    pub async fn make_pool(&self, labels: &BTreeMap<String, String>) -> Result<()> {
        let word = pool_word(labels);
        let config = pull::Config {
            ack_wait: POOL_WAIT,
            max_deliver: POOL_DELIVERIES,
            max_ack_pending: POOL_OUT,
            ..consumer(format!("{POOL}{word}"), format!("pool.{word}"))
        };
        self.make_consumer(POOLS, config).await
    }

    /// Removes the runs of a pool that no agent gets again, and returns how many there were: each was begun
    /// as often as it may be, and none of the agents told its end. None while others wait or are out.
    pub async fn give_up(&self, labels: &BTreeMap<String, String>) -> Result<u64> {
        let word = pool_word(labels);
        let stream = self.stream(POOLS).await?;
        let last = stream.get_info().await?.state.last_sequence;
        let mut consumer = self.queue(POOLS, &format!("{POOL}{word}")).await?;
        let info = consumer.info().await?;
        if info.num_pending > 0 || info.num_ack_pending > 0 {
            return Ok(0);
        }
        let removal = stream.purge().filter(format!("pool.{word}")).sequence(last + 1).await?;
        Ok(removal.purged)
    }

    async fn make_consumer(&self, stream: &str, config: pull::Config) -> Result<()> {
        let stream = self.stream(stream).await?;
        let name = config.durable_name.clone().unwrap_or_default();
        let consumer = stream.get_or_create_consumer(&name, config).await;
        consumer.map(drop).with_context(|| format!("cannot make the queue {name}"))
    }

    async fn queue(&self, stream: &str, name: &str) -> Result<PullConsumer> {
        let consumer = self.jetstream.get_consumer_from_stream(name, stream).await;
        consumer.map_err(|e| anyhow::anyhow!("{name}: {e}"))
    }

    async fn stream(&self, name: &str) -> Result<Stream> {
        let stream = self.jetstream.get_stream(name).await;
        stream.with_context(|| format!("the hub has no stream {name} yet"))
    }

    /// The labels of every pool, with the name of its consumer.
    pub async fn pools(&self) -> Result<Vec<(String, BTreeMap<String, String>)>> {
        let stream = self.jetstream.get_stream_no_info(POOLS).await?;
        let names: Vec<String> = stream.consumer_names().try_collect().await?;
        let pools = names.into_iter().filter_map(|name| {
            let labels = labels_of_word(name.strip_prefix(POOL)?)?;
            Some((name, labels))
        });
        Ok(pools.collect())
    }

    /// The runs of a pool.
    pub async fn pool_jobs(&self, name: &str) -> Result<PullConsumer> {
        self.queue(POOLS, name).await
    }

    /// The agents that were heard in the last day.
    pub async fn agents(&self) -> Result<Vec<Presence>> {
        let words: Vec<(String, Presence)> = self.last(LIVE_AGENTS).await?;
        // Who speaks on a subject is known to NATS, what is said there is not.
        let presences = words.into_iter().filter(|(subject, word)| {
            is_machine(&word.machine) && *subject == format!("{LIVE_AGENTS}.{}", word.machine)
        });
        Ok(presences.map(|(_, word)| word).collect())
    }

    /// How far jobs are.
    pub async fn progress(&self) -> Result<Vec<JobProgress>> {
        let words: Vec<(String, JobProgress)> = self.last(LIVE_JOBS).await?;
        Ok(words.into_iter().map(|(_, word)| word).collect())
    }

    /// The last words on the subjects below one, with their subjects.
    async fn last<T: DeserializeOwned>(&self, subject: &str) -> Result<Vec<(String, T)>> {
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
            // A word that the next one on its subject has replaced meanwhile never comes.
            let batch = consumer.batch().max_messages(waiting.min(WORDS_MAX) as usize);
            let mut batch = batch.expires(WORDS_WAIT).messages().await?;
            let mut is_empty = true;
            while let Some(message) = batch.next().await {
                let message = message.map_err(|e| anyhow::anyhow!("{subject}: {e}"))?;
                is_empty = false;
                waiting = message.info().map_err(|e| anyhow::anyhow!("{subject}: {e}"))?.pending;
                let word = serde_json::from_slice(&message.payload).ok();
                words.extend(word.map(|word| (message.subject.to_string(), word)));
            }
            if is_empty {
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
