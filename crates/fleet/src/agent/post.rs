//! Sending: every letter of the outbox, until the collector has returned its hash.

use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use async_nats::client::Request;
use futures_util::stream::{self, StreamExt as _};

use super::Agent;
use crate::envelope::CollectorReply;
use crate::hub::RECORDS;
use crate::outbox::Letter;

/// Letters on their way at one time.
const IN_FLIGHT: usize = 8;

/// Letters between two looks at whether the hub still answers.
const CHUNK: usize = 64;

/// How long a letter waits for its reply.
const REPLY_WAIT: Duration = Duration::from_secs(20);

/// Pauses after letters that did not arrive: doubled each time, up to the last.
const PAUSE_MIN: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Characters of a refusal that are shown.
const REASON_SHOWN: usize = 300;

/// Longest pause while there is nothing to send: records of runs that the user started are sent, too.
const LOOK_EVERY: Duration = Duration::from_secs(10);

impl Agent {
    /// Empties the outbox, for ever.
    pub(super) async fn send_letters(self: Rc<Agent>) {
        let mut pause = PAUSE_MIN;
        loop {
            let wait = match self.send_round().await {
                Ok(Round::Empty) => LOOK_EVERY,
                Ok(Round::Arrived) => {
                    pause = PAUSE_MIN;
                    continue;
                }
                Ok(Round::Stuck) | Err(_) => {
                    pause = (pause * 2).min(PAUSE_MAX);
                    pause
                }
            };
            // New mail does not shorten the pause after a failure: the hub is still away.
            if wait == LOOK_EVERY {
                let _ = tokio::time::timeout(wait, self.mail.notified()).await;
            } else {
                tokio::time::sleep(wait).await;
            }
        }
    }

    /// Sends the letters that wait now.
    async fn send_round(&self) -> Result<Round> {
        let letters = {
            let (store, ledger) = (self.store.borrow(), self.ledger.borrow());
            self.outbox.borrow_mut().letters(&store, &ledger)?
        };
        if letters.is_empty() {
            return Ok(Round::Empty);
        }
        for some in letters.chunks(CHUNK) {
            let sending = stream::iter(some).map(|letter| self.send(letter));
            let arrivals: Vec<bool> = sending.buffer_unordered(IN_FLIGHT).collect().await;
            self.arrivals.notify_waiters();
            if !arrivals.contains(&true) {
                return Ok(Round::Stuck);
            }
        }
        Ok(Round::Arrived)
    }

    /// Sends one letter; whether its fate is known now.
    async fn send(&self, letter: &Letter) -> bool {
        match self.exchange(letter).await {
            Ok(reply) => {
                if let CollectorReply::Refused(reason) = &reply {
                    let hash = crate::digits::hex(&letter.hash[..6]);
                    let reason: String = reason.chars().take(REASON_SHOWN).collect();
                    eprintln!("ssdyno-fleet: {hash} is refused: {}", emit::plain(&reason));
                }
                let is_known = !matches!(reply, CollectorReply::Later(_));
                let mut ledger = self.ledger.borrow_mut();
                let receipt = self.outbox.borrow_mut().receive(&mut ledger, letter, reply);
                receipt.is_ok() && is_known
            }
            Err(_) => false,
        }
    }

    async fn exchange(&self, letter: &Letter) -> Result<CollectorReply> {
        let envelope = letter.seal(&self.store.borrow(), &self.key)?.to_bytes();
        let limit = self.hub.client.server_info().max_payload;
        if limit > 0 && envelope.len() > limit {
            let size = envelope.len();
            return Ok(CollectorReply::Refused(format!(
                "{size} bytes, and the hub takes {limit}: raise max_payload in its configuration"
            )));
        }
        let request = Request::new().payload(envelope.into()).timeout(Some(REPLY_WAIT));
        let reply =
            self.hub.client.send_request(format!("{RECORDS}.{}", self.machine), request).await?;
        Ok(serde_json::from_slice(&reply.payload)?)
    }
}

/// What became of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    /// There was nothing to send.
    Empty,
    /// Letters have arrived or were refused.
    Arrived,
    /// None of the last ones has.
    Stuck,
}
