//! The collector: takes records and notices, checks each, and answers with its hash once PostgreSQL has
//! committed it.
//!
//! Letters that come close together are one transaction. If PostgreSQL fails, every sender is told to
//! come later; nothing is kept here. Several collectors may run; NATS shares the letters out.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result};
use async_nats::{Message, Subscriber};
use futures_util::StreamExt as _;
use tokio::time::timeout;

use crate::central::{ArrivedNotice, ArrivedRecord, Central};
use crate::config::HubConfig;
use crate::digits::hex;
use crate::envelope::{CollectorReply, Envelope, Refusal, Verified};
use crate::hub::{Hub, RECORDS};
use crate::key::Enrolment;

/// Letters and bytes of a transaction: enough to make its commit cheap.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 16 << 20;

/// Longest wait for another letter of the same transaction.
const BATCH_WAIT: Duration = Duration::from_millis(5);

/// Pause before PostgreSQL is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// How often the streams are looked for.
const STREAMS_EVERY: Duration = Duration::from_secs(5);

/// Collects until the program ends.
pub async fn run(config: &HubConfig) -> Result<()> {
    let hub = Hub::stay(config, "ssdyno collect").await?;
    let mut collector = begin(config.postgres()?).await;
    tokio::spawn(keep_streams(hub.clone()));
    let queue = "collect".to_string();
    let mut letters = hub.client.queue_subscribe(RECORDS, queue).await?;
    println!("collecting");
    while let Some(batch) = next_batch(&mut letters).await {
        let replies = match collector.take(&batch).await {
            Ok(replies) => replies,
            Err(error) => {
                let text = format!("{error:#}");
                eprintln!("ssdyno-fleet: {}", emit::one_line(&text));
                if let Ok(fresh) = Collector::connect(config.postgres()?).await {
                    collector = fresh;
                } else {
                    tokio::time::sleep(RETRY).await;
                }
                vec![CollectorReply::Later("the central store does not answer".into()); batch.len()]
            }
        };
        for (letter, reply) in batch.into_iter().zip(replies) {
            let Some(subject) = letter.reply else { continue };
            hub.client.publish(subject, serde_json::to_vec(&reply)?.into()).await?;
        }
    }
    Ok(())
}

/// A collector for a central store with its tables, as soon as it answers.
async fn begin(words: &str) -> Collector {
    loop {
        let error = match Collector::connect(words).await {
            Ok(collector) => match collector.central.make_tables().await {
                Ok(()) => return collector,
                Err(error) => error,
            },
            Err(error) => error,
        };
        eprintln!("ssdyno-fleet: {}", emit::one_line(&format!("{error:#}")));
        tokio::time::sleep(RETRY).await;
    }
}

/// Makes the streams, and again when NATS has lost those in its memory.
async fn keep_streams(hub: Hub) {
    loop {
        let pause = if hub.make_streams().await.is_ok() { STREAMS_EVERY } else { RETRY };
        tokio::time::sleep(pause).await;
    }
}

/// The letters of the next transaction; `None` at the end.
async fn next_batch(letters: &mut Subscriber) -> Option<Vec<Message>> {
    let first = letters.next().await?;
    let mut bytes = first.payload.len();
    let mut batch = vec![first];
    while batch.len() < BATCH && bytes < BATCH_BYTES {
        let Ok(Some(letter)) = timeout(BATCH_WAIT, letters.next()).await else { break };
        bytes += letter.payload.len();
        batch.push(letter);
    }
    Some(batch)
}

/// Checks letters and writes them to the central store.
pub struct Collector {
    central: Central,
    enrolments: HashMap<[u8; 32], Enrolment>,
}

impl Collector {
    /// A collector for a central store.
    pub async fn connect(words: &str) -> Result<Collector> {
        let central = Central::connect(words).await?;
        Ok(Collector { central, enrolments: HashMap::new() })
    }

    async fn take(&mut self, batch: &[Message]) -> Result<Vec<CollectorReply>> {
        let letters: Vec<&[u8]> = batch.iter().map(|letter| &letter.payload[..]).collect();
        self.collect(&letters).await
    }

    /// Takes letters in one transaction; the replies are in their order. An error means that nothing of
    /// them is known to be stored.
    pub async fn collect(&mut self, letters: &[&[u8]]) -> Result<Vec<CollectorReply>> {
        let envelopes: Vec<_> = letters.iter().map(|letter| Envelope::parse(letter)).collect();
        let mut keys = envelopes.iter().flatten().map(|envelope| envelope.key);
        if keys.any(|key| !self.enrolments.contains_key(&key)) {
            self.enrolments = self.central.enrolments().await.context("the enrolments")?;
        }
        let (mut records, mut notices, mut replies) = (Vec::new(), Vec::new(), Vec::new());
        for envelope in envelopes {
            let reply = match self.check(envelope) {
                Ok(Arrived::Record(record)) => {
                    let reply = CollectorReply::Committed(hex(&record.hash));
                    records.push(record);
                    reply
                }
                Ok(Arrived::Notice(notice)) => {
                    let reply = CollectorReply::Committed(hex(&notice.hash));
                    notices.push(notice);
                    reply
                }
                Err((key, hash, refusal)) => {
                    let reason = refusal.to_string();
                    self.central.refuse(&key, &hash, &reason).await.context("a refusal")?;
                    CollectorReply::Refused(reason)
                }
            };
            replies.push(reply);
        }
        self.central.insert(&records, &notices).await.context("a batch of records")?;
        Ok(replies)
    }

    fn check(
        &self,
        envelope: Result<Envelope, Refusal>,
    ) -> Result<Arrived, (Vec<u8>, Vec<u8>, Refusal)> {
        let envelope = envelope.map_err(|refusal| (Vec::new(), Vec::new(), refusal))?;
        let verified = envelope.verify(self.enrolments.get(&envelope.key));
        let Envelope { key, hash, packed, .. } = envelope;
        match verified {
            Ok(Verified::Record(document)) => {
                Ok(Arrived::Record(ArrivedRecord { hash, key, document, packed }))
            }
            Ok(Verified::Notice(notice)) => {
                Ok(Arrived::Notice(ArrivedNotice { hash, key, notice }))
            }
            Err(refusal) => Err((key.to_vec(), hash.to_vec(), refusal)),
        }
    }
}

/// A letter after every check.
enum Arrived {
    Record(ArrivedRecord),
    Notice(ArrivedNotice),
}
