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

use crate::central::{ArrivedNotice, ArrivedRecord, Central, RefusedArrival, is_about_content};
use crate::config::HubConfig;
use crate::digits::hex;
use crate::envelope::{CollectorReply, Envelope, Refusal, Verified};
use crate::hub::{Hub, RECORDS, inbox, is_machine};
use crate::key::Enrolment;

/// Letters and bytes of a transaction: enough to make its commit cheap.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 16 << 20;

/// Longest wait for another letter of the same transaction.
const BATCH_WAIT: Duration = Duration::from_millis(5);

/// Pause before PostgreSQL is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// Maximum length of the reason of a refusal, bytes.
const REASON_MAX: usize = 500;

/// How often the streams are looked for.
const STREAMS_EVERY: Duration = Duration::from_secs(5);

/// Collects until the program ends.
pub async fn run(config: &HubConfig) -> Result<()> {
    let hub = Hub::stay(config, "ssdyno collect").await?;
    let mut collector = begin(config.postgres()?).await;
    tokio::spawn(keep_streams(hub.clone(), config.postgres()?.to_string()));
    let queue = "collect".to_string();
    let mut letters = hub.client.queue_subscribe(format!("{RECORDS}.*"), queue).await?;
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
            if !is_own_inbox(sender_of(&letter.subject), &subject) {
                continue;
            }
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

/// Makes the streams and the queue of each machine, and again when NATS has lost them.
async fn keep_streams(hub: Hub, words: String) {
    loop {
        let pause = if make_streams(&hub, &words).await.is_ok() { STREAMS_EVERY } else { RETRY };
        tokio::time::sleep(pause).await;
    }
}

async fn make_streams(hub: &Hub, words: &str) -> Result<()> {
    hub.make_streams().await?;
    let enrolments = Central::connect(words).await?.enrolments().await?;
    let machines: Vec<String> = enrolments.into_iter().map(|enrolment| enrolment.machine).collect();
    hub.make_machines(&machines).await
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

/// A letter with the machine that NATS knows as its sender.
#[derive(Clone, Copy, Debug)]
pub struct Posted<'a> {
    /// The machine; empty if its subject names none.
    pub sender: &'a str,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Checks letters and writes them to the central store.
pub struct Collector {
    central: Central,
}

impl Collector {
    /// A collector for a central store.
    pub async fn connect(words: &str) -> Result<Collector> {
        Ok(Collector { central: Central::connect(words).await? })
    }

    async fn take(&mut self, batch: &[Message]) -> Result<Vec<CollectorReply>> {
        let letters = batch
            .iter()
            .map(|letter| Posted { sender: sender_of(&letter.subject), bytes: &letter.payload });
        self.collect(&letters.collect::<Vec<_>>()).await
    }

    /// Takes letters in one transaction; the replies are in their order. An error means that nothing of
    /// them is known to be stored.
    pub async fn collect(&mut self, letters: &[Posted<'_>]) -> Result<Vec<CollectorReply>> {
        let envelopes: Vec<_> =
            letters.iter().map(|letter| Envelope::parse(letter.bytes)).collect();
        let keys: Vec<[u8; 32]> = envelopes.iter().flatten().map(|envelope| envelope.key).collect();
        // Asked each time, so that a revoked key signs for nothing from now on.
        let enrolments = self.central.enrolled(&keys).await.context("the enrolments")?;
        let mut batch = Batch::default();
        for (letter, envelope) in letters.iter().zip(envelopes) {
            batch.add(letter.sender, envelope, &enrolments);
        }
        if let Err(error) = self.insert(&batch.arrived).await {
            if !is_about_content(&error) {
                return Err(error);
            }
            // One letter must not keep the others out.
            for arrived in std::mem::take(&mut batch.arrived) {
                self.insert_alone(arrived, &mut batch).await?;
            }
        }
        self.central.refuse(&batch.refused).await.context("refusals")?;
        Ok(batch.replies)
    }

    async fn insert(&mut self, arrived: &[Arrived]) -> Result<()> {
        let (mut records, mut notices) = (Vec::new(), Vec::new());
        for arrived in arrived {
            match &arrived.content {
                ArrivedContent::Record(record) => records.push(record),
                ArrivedContent::Notice(notice) => notices.push(notice),
            }
        }
        self.central.insert(&records, &notices).await.context("a batch of records").map(drop)
    }

    async fn insert_alone(&mut self, arrived: Arrived, batch: &mut Batch) -> Result<()> {
        let Err(error) = self.insert(std::slice::from_ref(&arrived)).await else { return Ok(()) };
        if !is_about_content(&error) {
            return Err(error);
        }
        let (hash, key) = match &arrived.content {
            ArrivedContent::Record(record) => (record.hash, record.key),
            ArrivedContent::Notice(notice) => (notice.hash, notice.key),
        };
        let reason = "the central store cannot hold it: a name too long, or a text that is none";
        batch.replies[arrived.index] = CollectorReply::Refused(reason.into());
        batch.refused.push(RefusedArrival {
            sender: arrived.sender,
            key: key.to_vec(),
            hash: hash.to_vec(),
            reason: reason.into(),
        });
        Ok(())
    }
}

/// The machine in the subject of a letter, or nothing.
fn sender_of(subject: &str) -> &str {
    let sender = subject.strip_prefix(RECORDS).and_then(|rest| rest.strip_prefix('.'));
    sender.filter(|sender| is_machine(sender)).unwrap_or_default()
}

/// Whether a sender may hear an answer on this subject: a server sends it wherever a request asks for it.
fn is_own_inbox(sender: &str, subject: &str) -> bool {
    subject.strip_prefix(&inbox(sender)).is_some_and(|rest| rest.starts_with('.'))
}

/// Letters of one transaction.
#[derive(Default)]
struct Batch {
    arrived: Vec<Arrived>,
    refused: Vec<RefusedArrival>,
    replies: Vec<CollectorReply>,
}

impl Batch {
    fn add(
        &mut self,
        sender: &str,
        envelope: Result<Envelope, Refusal>,
        enrolments: &HashMap<[u8; 32], Enrolment>,
    ) {
        let index = self.replies.len();
        match check(sender, envelope, enrolments) {
            Ok((hash, content)) => {
                self.replies.push(CollectorReply::Committed(hex(&hash)));
                self.arrived.push(Arrived { index, sender: sender.into(), content });
            }
            Err(refused) => {
                self.replies.push(CollectorReply::Refused(refused.reason.clone()));
                self.refused.push(refused);
            }
        }
    }
}

fn check(
    sender: &str,
    envelope: Result<Envelope, Refusal>,
    enrolments: &HashMap<[u8; 32], Enrolment>,
) -> Result<([u8; 32], ArrivedContent), RefusedArrival> {
    let envelope = envelope.map_err(|refusal| refused(sender, &[], &[], &refusal))?;
    let verified = envelope.verify(enrolments.get(&envelope.key));
    let Envelope { key, hash, packed, .. } = envelope;
    match verified {
        Ok(Verified::Record(document)) => {
            let record = ArrivedRecord { hash, key, document, packed };
            Ok((hash, ArrivedContent::Record(record)))
        }
        Ok(Verified::Notice(notice)) => {
            Ok((hash, ArrivedContent::Notice(ArrivedNotice { hash, key, notice })))
        }
        Err(refusal) => Err(refused(sender, &key, &hash, &refusal)),
    }
}

/// What is noted of a refused letter: a reason of one short line, whatever the letter has.
fn refused(sender: &str, key: &[u8], hash: &[u8], refusal: &Refusal) -> RefusedArrival {
    let mut reason = emit::plain(&emit::one_line(&refusal.to_string())).into_owned();
    reason.truncate(reason.floor_char_boundary(REASON_MAX));
    RefusedArrival { sender: sender.into(), key: key.to_vec(), hash: hash.to_vec(), reason }
}

/// A letter after every check.
struct Arrived {
    /// Its place in the batch.
    index: usize,
    sender: String,
    content: ArrivedContent,
}

enum ArrivedContent {
    Record(ArrivedRecord),
    Notice(ArrivedNotice),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_goes_to_its_sender_only() {
        let machine = "0a".repeat(16);
        assert_eq!(sender_of(&format!("record.{machine}")), machine);
        for subject in ["record", "record.x", "record.*", "job.x"] {
            assert_eq!(sender_of(subject), "", "{subject}");
        }
        assert!(is_own_inbox(&machine, &format!("_INBOX.{machine}.a.1")));
        let other = "0b".repeat(16);
        for subject in [format!("job.{machine}"), format!("_INBOX.{other}.a"), "_INBOX.a".into()] {
            assert!(!is_own_inbox(&machine, &subject), "{subject}");
        }
    }
}
