//! What an agent has still to send: notices, and the ended runs of its store, whose hashes the
//! collector has not returned.
//!
//! The outbox is no queue of its own but a difference, of the store and the ledger, so that nothing can
//! be in one and missing in the other. Records of other machines, which were imported here, are theirs
//! to send.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use record::RecordHash;
use store::Store;

use crate::digits::hex;
use crate::envelope::{CollectorReply, Envelope, LetterKind};
use crate::key::AgentKey;
use crate::ledger::Ledger;

/// Something to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// What it is.
    pub content: LetterKind,
    /// Its identity.
    pub hash: [u8; 32],
    text: LetterText,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum LetterText {
    /// The text itself.
    Here(String),
    /// The number of the run: its text is long, and read when it is sent.
    OfRun(i64),
}

/// The outbox of an agent, with what it has learnt about each letter since it started.
#[derive(Default)]
pub struct Outbox {
    /// Hashes of killed runs, whose rows have none.
    killed: BTreeMap<i64, [u8; 32]>,
    /// Letters that the hub refuses. They are sent again after a restart.
    refused: BTreeSet<[u8; 32]>,
}

impl Outbox {
    /// Everything to send, notices first, then runs from the oldest on.
    pub fn letters(&mut self, store: &Store, ledger: &Ledger) -> Result<Vec<Letter>> {
        let notices = ledger.notices()?.into_iter();
        let mut letters: Vec<Letter> = notices
            .map(|(hash, text)| Letter {
                content: LetterKind::Notice,
                hash,
                text: LetterText::Here(text),
            })
            .collect();
        for (number, hash) in store.ended()? {
            let hash = match hash {
                Some(RecordHash(hash)) => hash,
                None => self.hash_of_killed(store, number)?,
            };
            if !ledger.is_acknowledged(&hash)? {
                let text = LetterText::OfRun(number);
                letters.push(Letter { content: LetterKind::Record, hash, text });
            }
        }
        letters.retain(|letter| !self.refused.contains(&letter.hash));
        Ok(letters)
    }

    /// Whether the hub refuses the letter with this hash.
    pub fn is_refused(&self, hash: &[u8; 32]) -> bool {
        self.refused.contains(hash)
    }

    fn hash_of_killed(&mut self, store: &Store, number: i64) -> Result<[u8; 32]> {
        if let Some(hash) = self.killed.get(&number) {
            return Ok(*hash);
        }
        let RecordHash(hash) = store.document(number)?.hash()?;
        self.killed.insert(number, hash);
        Ok(hash)
    }

    /// Takes the collector's reply to a letter. Returns whether it has arrived.
    pub fn receive(
        &mut self,
        ledger: &mut Ledger,
        letter: &Letter,
        reply: CollectorReply,
    ) -> Result<bool> {
        match reply {
            CollectorReply::Committed(hash) if hash == hex(&letter.hash) => {
                ledger.acknowledge(&[letter.hash])?;
                Ok(true)
            }
            CollectorReply::Refused(_) => {
                self.refused.insert(letter.hash);
                Ok(false)
            }
            // Another hash says nothing about this letter.
            CollectorReply::Committed(_) | CollectorReply::Later(_) => Ok(false),
        }
    }
}

impl Letter {
    /// Signs the letter.
    pub fn seal(&self, store: &Store, key: &AgentKey) -> Result<Envelope> {
        let text = match &self.text {
            LetterText::Here(text) => text.clone(),
            LetterText::OfRun(number) => store.document(*number)?.numbered(None)?,
        };
        Ok(Envelope::seal(key, self.content, self.hash, &text))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use record::{Metric, Run, Target, TargetKind, Unit};

    use super::*;
    use crate::envelope::Verified;
    use crate::key::Enrolment;

    /// What may happen to a letter, or beside one.
    #[derive(Clone, Copy, Debug)]
    enum Fate {
        Arrives,
        /// PostgreSQL does not commit.
        CollectorDown,
        /// PostgreSQL commits, and the reply is lost.
        ReplyLost,
        /// The reply is that to another letter.
        OtherReply,
        AgentRestarts,
        RunEnds,
    }

    fn fate() -> impl Strategy<Value = Fate> {
        prop_oneof![
            4 => Just(Fate::Arrives),
            1 => Just(Fate::CollectorDown),
            1 => Just(Fate::ReplyLost),
            1 => Just(Fate::OtherReply),
            1 => Just(Fate::AgentRestarts),
            2 => Just(Fate::RunEnds),
        ]
    }

    fn end_run(store: &mut Store, index: usize) {
        let target = Target { kind: TargetKind::Device, ..Target::default() };
        let mut run = Run::new("quick", target);
        run.id = format!("01RUN{index:021}");
        run.started = "2026-11-29T10:00:00Z".into();
        run.environment.machine_id = store.machine_id();
        store.begin(&run).expect("begun");
        run.metrics = vec![Metric::single("iops", Unit::Iops, index as f64)];
        run.complete = true;
        store.finish(&run).expect("finished");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn whatever_fails_every_record_arrives_once(fates in prop::collection::vec(fate(), 0..40)) {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("runs.sqlite");
            let key = AgentKey::from_secret(&[3; 32]);
            let mut store = Store::open(Some(&path)).expect("a store");
            let machine = store.machine_id().expect("an id");
            let enrolment = Enrolment { key: key.public(), machine, host: "lab".into() };
            let (mut ledger, mut outbox) = (Ledger::open(&path).expect("made"), Outbox::default());
            let (mut central, mut ended) = (BTreeSet::new(), 0);
            for fate in fates.into_iter().chain([Fate::Arrives; 41]) {
                match fate {
                    Fate::RunEnds => {
                        end_run(&mut store, ended);
                        ended += 1;
                        continue;
                    }
                    Fate::AgentRestarts => {
                        ledger = Ledger::open(&path).expect("opened");
                        outbox = Outbox::default();
                        continue;
                    }
                    _ => {}
                }
                let letters = outbox.letters(&store, &ledger).expect("read");
                let Some(letter) = letters.first() else { continue };
                let envelope = letter.seal(&store, &key).expect("sealed");
                let envelope = super::Envelope::parse(&envelope.to_bytes()).expect("whole");
                let content = envelope.verify(Some(&enrolment)).expect("own");
                prop_assert!(matches!(content, Verified::Record(_)));
                let reply = match fate {
                    Fate::CollectorDown => Some(CollectorReply::Later("no".into())),
                    Fate::OtherReply => Some(CollectorReply::Committed(hex(&[0; 32]))),
                    _ => {
                        central.insert(envelope.hash);
                        Some(CollectorReply::Committed(hex(&envelope.hash)))
                    }
                };
                let reply = reply.filter(|_| !matches!(fate, Fate::ReplyLost));
                if let Some(reply) = reply {
                    outbox.receive(&mut ledger, letter, reply).expect("written");
                }
                for (_, hash) in store.ended().expect("read") {
                    let hash = hash.expect("a hash").0;
                    let is_empty = ledger.is_acknowledged(&hash).expect("read");
                    prop_assert!(!is_empty || central.contains(&hash), "struck out too early");
                }
            }
            prop_assert!(outbox.letters(&store, &ledger).expect("read").is_empty());
            prop_assert_eq!(central.len(), ended);
        }
    }

    #[test]
    fn killed_runs_are_sent_and_those_of_other_machines_are_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("runs.sqlite");
        let mut store = Store::open(Some(&path)).expect("a store");
        let mut run = Run::new("quick", Target::default());
        (run.id, run.started) = ("01A".into(), "2026-11-29T10:00:00Z".into());
        run.environment.machine_id = store.machine_id();
        store.begin(&run).expect("begun");
        let ledger = Ledger::open(&path).expect("made");
        let mut outbox = Outbox::default();
        assert_eq!(outbox.letters(&store, &ledger).expect("read"), [], "it is running");
        drop(store);
        let mut store = Store::open(Some(&path)).expect("a store");
        let mut other = Run { id: "01B".into(), complete: true, ..run };
        other.environment.machine_id = Some("ff".repeat(16));
        let document = record::Document::from_run(other).expect("plain data");
        store.import([&document]).expect("imported");
        let letters = outbox.letters(&store, &ledger).expect("read");
        assert_eq!(letters.len(), 1, "{letters:?}");
        let key = AgentKey::from_secret(&[3; 32]);
        let machine = store.machine_id().expect("an id");
        let enrolment = Enrolment { key: key.public(), machine, host: "lab".into() };
        let envelope = letters[0].seal(&store, &key).expect("sealed");
        let Ok(Verified::Record(document)) = envelope.verify(Some(&enrolment)) else {
            panic!("refused");
        };
        assert_eq!(document.run().cut_short.as_deref(), Some(record::KILLED));
    }
}
