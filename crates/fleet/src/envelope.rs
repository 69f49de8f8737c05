//! A record or a notice on its way to the collector: what it is, who signed it, and its text.
//!
//! ```text
//! "ssdyno" version kind | public key 32 | hash 32 | signature 64 | text, deflated
//! ```
//!
//! The signature covers the beginning, the hash and SHA-256 of the deflated text, so that no byte can be
//! changed; the hash alone leaves out a record's number and origin. The hash of a record is that of its canonical JSON ([`record::Document::hash`]); that of a
//! notice is SHA-256 of its bytes. Deflate makes a third of a record; what is still larger than the
//! server's `max_payload` stays in the outbox, and the agent says so.

use ed25519_dalek::{Signature, VerifyingKey};
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use record::Document;
use serde::{Deserialize, Serialize};

use crate::digits::sha256;
use crate::key::{AgentKey, Enrolment};
use crate::notice::Notice;

const HEAD: &[u8; 7] = b"ssdyno\x01";
const KEY: usize = HEAD.len() + 1;
const HASH: usize = KEY + 32;
const SIGNATURE: usize = HASH + 32;
const TEXT: usize = SIGNATURE + 64;

/// Maximum size of a text, bytes: that of a record in a store.
const TEXT_MAX: usize = store::RECORD_BYTES_MAX;

/// Effort of the compression: records are sent once and fetched rarely.
const LEVEL: u8 = 6;

/// What an envelope has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetterKind {
    /// A record of the store.
    Record,
    /// What became of a job.
    Notice,
}

impl LetterKind {
    fn byte(self) -> u8 {
        match self {
            LetterKind::Record => b'r',
            LetterKind::Notice => b'n',
        }
    }

    fn from_byte(byte: u8) -> Option<LetterKind> {
        [LetterKind::Record, LetterKind::Notice].into_iter().find(|content| content.byte() == byte)
    }
}

/// Why a collector refuses an envelope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is none.
    #[error("not an envelope of this version")]
    Malformed,
    /// Nobody enrolled the key.
    #[error("unknown key, or revoked: enrol one at the hub")]
    UnknownKey,
    /// The signature is not that of the key.
    #[error("the signature is not that of its key")]
    Forged,
    /// The text is not that of the hash.
    #[error("altered: the content is not that of its hash")]
    Altered,
    /// The text cannot be read.
    #[error("unreadable: {0}")]
    Unreadable(String),
    /// The key is that of another machine.
    #[error("measured by machine {machine}, but the key is that of {enrolled}")]
    OtherHost {
        /// The machine in the content.
        machine: String,
        /// The machine of the key.
        enrolled: String,
    },
    /// A record without a machine, of a real drive.
    #[error("names no machine, and is not of a virtual drive")]
    NoHost,
}

/// An envelope whose signature has not been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// What it has.
    pub content: LetterKind,
    /// The public key of its sender.
    pub key: [u8; 32],
    /// The identity of its content.
    pub hash: [u8; 32],
    signature: [u8; 64],
    /// The text, deflated.
    pub packed: Vec<u8>,
}

/// The content of an envelope, after every check.
#[derive(Clone, Debug)]
pub enum Verified {
    /// A record.
    Record(Box<Document>),
    /// A notice.
    Notice(Notice),
}

impl Envelope {
    /// Signs a text with its hash.
    pub fn seal(key: &AgentKey, content: LetterKind, hash: [u8; 32], text: &str) -> Envelope {
        let packed = compress_to_vec(text.as_bytes(), LEVEL);
        let signature = key.sign(&signed_bytes(content, &hash, &packed));
        Envelope { content, key: key.public(), hash, signature, packed }
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = beginning(self.content);
        bytes.extend([self.key, self.hash].concat());
        bytes.extend(self.signature);
        bytes.extend(&self.packed);
        bytes
    }

    /// Reads an envelope.
    pub fn parse(bytes: &[u8]) -> Result<Envelope, Refusal> {
        let head = bytes.get(..TEXT).filter(|head| head.starts_with(HEAD));
        let head = head.ok_or(Refusal::Malformed)?;
        Ok(Envelope {
            content: LetterKind::from_byte(head[HEAD.len()]).ok_or(Refusal::Malformed)?,
            key: array(&head[KEY..HASH]),
            hash: array(&head[HASH..SIGNATURE]),
            signature: array(&head[SIGNATURE..]),
            packed: bytes[TEXT..].to_vec(),
        })
    }

    /// Checks the signature, the hash and the host, and returns the content.
    pub fn verify(&self, enrolment: Option<&Enrolment>) -> Result<Verified, Refusal> {
        let enrolment = enrolment.ok_or(Refusal::UnknownKey)?;
        let key = VerifyingKey::from_bytes(&self.key).map_err(|_| Refusal::Forged)?;
        let signature = Signature::from_bytes(&self.signature);
        key.verify_strict(&signed_bytes(self.content, &self.hash, &self.packed), &signature)
            .map_err(|_| Refusal::Forged)?;
        let text = inflate(&self.packed).ok_or(Refusal::Altered)?;
        match self.content {
            LetterKind::Record => self.verify_record(&text, enrolment),
            LetterKind::Notice => self.verify_notice(&text, enrolment),
        }
    }

    fn verify_record(&self, text: &str, enrolment: &Enrolment) -> Result<Verified, Refusal> {
        let unreadable = |error: serde_json::Error| Refusal::Unreadable(error.to_string());
        let document = Document::parse(text).map_err(unreadable)?;
        if document.hash().map_err(unreadable)?.0 != self.hash {
            return Err(Refusal::Altered);
        }
        let run = document.run();
        match &run.environment.machine_id {
            Some(machine) => check_host(machine, enrolment)?,
            // The result of a virtual drive is the same on every machine.
            None if run.target.kind == record::TargetKind::Virtual => {}
            None => return Err(Refusal::NoHost),
        }
        Ok(Verified::Record(Box::new(document)))
    }

    fn verify_notice(&self, text: &str, enrolment: &Enrolment) -> Result<Verified, Refusal> {
        if sha256(text.as_bytes()) != self.hash {
            return Err(Refusal::Altered);
        }
        let notice = Notice::parse(text).map_err(|e| Refusal::Unreadable(e.to_string()))?;
        check_host(&notice.machine, enrolment)?;
        Ok(Verified::Notice(notice))
    }
}

fn check_host(machine: &str, enrolment: &Enrolment) -> Result<(), Refusal> {
    if machine == enrolment.machine {
        return Ok(());
    }
    Err(Refusal::OtherHost { machine: machine.into(), enrolled: enrolment.machine.clone() })
}

/// The beginning of an envelope.
fn beginning(content: LetterKind) -> Vec<u8> {
    [&HEAD[..], &[content.byte()]].concat()
}

/// What a signature covers.
fn signed_bytes(content: LetterKind, hash: &[u8; 32], packed: &[u8]) -> Vec<u8> {
    [&beginning(content)[..], hash, &sha256(packed)].concat()
}

/// The bytes of a slice of `N`.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(bytes);
    array
}

/// The text of an envelope; `None` if it is longer than a record may be, or none.
pub fn inflate(packed: &[u8]) -> Option<String> {
    let bytes = decompress_to_vec_with_limit(packed, TEXT_MAX).ok()?;
    String::from_utf8(bytes).ok()
}

/// What the collector answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CollectorReply {
    /// PostgreSQL has committed the content with this hash.
    Committed(String),
    /// It is refused, with the reason; sending it again changes nothing until the hub changes.
    Refused(String),
    /// Not now, with the reason.
    Later(String),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use record::{Metric, Run, Target, TargetKind, Unit};

    use super::*;

    const MACHINE: &str = "00112233445566778899aabbccddeeff";

    fn document(machine: Option<&str>, kind: TargetKind) -> Document {
        let target = Target { kind, spec: "sim:x".into(), ..Target::default() };
        let mut run = Run { id: "01A".into(), complete: true, ..Run::new("quick", target) };
        run.environment.machine_id = machine.map(String::from);
        run.metrics = vec![Metric::single("iops", Unit::Iops, 12.5)];
        Document::from_run(run).expect("plain data")
    }

    fn sealed(key: &AgentKey, document: &Document) -> Envelope {
        let hash = document.hash().expect("JSON").0;
        Envelope::seal(key, LetterKind::Record, hash, &document.text().expect("JSON"))
    }

    fn enrolled(key: &AgentKey) -> Enrolment {
        Enrolment { key: key.public(), machine: MACHINE.into(), host: "lab".into() }
    }

    #[test]
    fn a_record_of_its_own_host_is_accepted_and_another_is_not() {
        let key = AgentKey::from_secret(&[7; 32]);
        let own = document(Some(MACHINE), TargetKind::Device);
        let envelope = sealed(&key, &own);
        assert_eq!(Envelope::parse(&envelope.to_bytes()), Ok(envelope.clone()));
        let verified = envelope.verify(Some(&enrolled(&key))).expect("accepted");
        assert!(matches!(verified, Verified::Record(read) if read.run() == own.run()));
        assert_eq!(envelope.verify(None).err(), Some(Refusal::UnknownKey));
        let other = sealed(&key, &document(Some("ff"), TargetKind::Device));
        let refusal = other.verify(Some(&enrolled(&key))).expect_err("another host");
        assert!(matches!(refusal, Refusal::OtherHost { .. }), "{refusal}");
        let nameless = sealed(&key, &document(None, TargetKind::Device));
        assert_eq!(nameless.verify(Some(&enrolled(&key))).err(), Some(Refusal::NoHost));
        let simulated = sealed(&key, &document(None, TargetKind::Virtual));
        assert!(simulated.verify(Some(&enrolled(&key))).is_ok());
    }

    #[test]
    fn another_text_under_the_same_signature_is_refused() {
        let key = AgentKey::from_secret(&[7; 32]);
        let own = document(Some(MACHINE), TargetKind::Device);
        let text = own.text().expect("JSON").replace("12.5", "99.5");
        let hash = own.hash().expect("JSON").0;
        let forged = Envelope::seal(&key, LetterKind::Record, hash, &text);
        assert_eq!(forged.verify(Some(&enrolled(&key))).err(), Some(Refusal::Altered));
        let stranger = AgentKey::from_secret(&[8; 32]);
        let mut borrowed = sealed(&stranger, &own);
        borrowed.key = key.public();
        assert_eq!(borrowed.verify(Some(&enrolled(&key))).err(), Some(Refusal::Forged));
        let notice = Envelope { content: LetterKind::Notice, ..sealed(&key, &own) };
        assert_eq!(notice.verify(Some(&enrolled(&key))).err(), Some(Refusal::Forged));
    }

    #[test]
    fn a_bomb_is_refused() {
        let key = AgentKey::from_secret(&[7; 32]);
        let mut bomb = sealed(&key, &document(Some(MACHINE), TargetKind::Device));
        bomb.packed = compress_to_vec(&vec![b' '; TEXT_MAX + 1], 1);
        bomb.signature = key.sign(&signed_bytes(bomb.content, &bomb.hash, &bomb.packed));
        assert_eq!(bomb.verify(Some(&enrolled(&key))).err(), Some(Refusal::Altered));
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_refused(place: prop::sample::Index, flip in 1u8..=255) {
            let key = AgentKey::from_secret(&[7; 32]);
            let mut bytes = sealed(&key, &document(Some(MACHINE), TargetKind::Device)).to_bytes();
            let place = place.index(bytes.len());
            bytes[place] ^= flip;
            let enrolment = enrolled(&key);
            let verified = Envelope::parse(&bytes).and_then(|envelope| {
                let known = (envelope.key == enrolment.key).then_some(&enrolment);
                envelope.verify(known)
            });
            prop_assert!(verified.is_err());
        }

        #[test]
        fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let key = AgentKey::from_secret(&[7; 32]);
            let whole = [&HEAD[..], b"r", &bytes].concat();
            for bytes in [bytes, whole] {
                let content = Envelope::parse(&bytes).map(|e| e.verify(Some(&enrolled(&key))));
                prop_assert!(!matches!(content, Ok(Ok(_))));
            }
        }
    }
}
