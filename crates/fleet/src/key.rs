//! The key of an agent (Ed25519), and its enrolment at the hub.
//!
//! The key is made on the agent's host, at the first need, and never leaves it. The hub learns a line
//! with the public half, the id of the machine and its name; from then on, that key may sign the records
//! of that machine and of no other.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result};
use ed25519_dalek::{Signer, SigningKey};

use crate::digits::{hex, unhex};
use crate::private;

/// The first word of an enrolment.
const HEAD: &str = "ssdyno-key";

/// Maximum length of a host's name in an enrolment, characters.
const HOST_MAX: usize = 100;

/// The key with which an agent signs.
pub struct AgentKey(SigningKey);

impl AgentKey {
    /// The key in this file, which is made if it is missing.
    pub fn open(path: &Path) -> Result<AgentKey> {
        if !path.exists() {
            private::write(path, hex(&private::random::<32>()?).as_bytes())?;
        }
        let secret = unhex::<32>(private::read(path)?.trim());
        let secret = secret.with_context(|| format!("{}: not a key", path.display()))?;
        Ok(AgentKey::from_secret(&secret))
    }

    /// The key with these 32 secret bytes.
    pub fn from_secret(secret: &[u8; 32]) -> AgentKey {
        AgentKey(SigningKey::from_bytes(secret))
    }

    /// Its public half.
    pub fn public(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

/// The line by which a hub knows a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enrolment {
    /// The public key.
    pub key: [u8; 32],
    /// The id of the machine whose records it may sign.
    pub machine: String,
    /// The machine's name, for people.
    pub host: String,
}

impl Enrolment {
    /// The agent's user at NATS.
    pub fn user(&self) -> String {
        hex(&self.key[..16])
    }
}

impl fmt::Display for Enrolment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HEAD} {} {} {}", hex(&self.key), self.machine, self.host)
    }
}

impl FromStr for Enrolment {
    type Err = String;

    fn from_str(text: &str) -> Result<Enrolment, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [HEAD, key, machine, host] = words[..] else {
            return Err(format!("not an enrolment: '{HEAD} KEY MACHINE HOST', as `key` prints it"));
        };
        let key = unhex::<32>(key).ok_or("the key has 64 hexadecimal digits")?;
        let machine =
            unhex::<16>(machine).ok_or("the id of a machine has 32 hexadecimal digits")?;
        if host.chars().count() > HOST_MAX || host.chars().any(char::is_control) {
            return Err(format!("the name of the host has at most {HOST_MAX} characters"));
        }
        Ok(Enrolment { key, machine: hex(&machine), host: host.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_key_is_made_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("key");
        let public = AgentKey::open(&path).expect("made").public();
        assert_eq!(AgentKey::open(&path).expect("read").public(), public);
        std::fs::write(&path, "nonsense").expect("written");
        assert!(AgentKey::open(&path).is_err());
    }

    proptest! {
        #[test]
        fn an_enrolment_reads_as_it_was_written(
            key: [u8; 32], machine: [u8; 16], host in "[a-z][a-z0-9.-]{0,30}",
        ) {
            let enrolment = Enrolment { key, machine: hex(&machine), host };
            prop_assert_eq!(enrolment.to_string().parse(), Ok(enrolment));
        }

        #[test]
        fn any_text_is_refused_or_read(text in "\\PC{0,200}") {
            let _ = text.parse::<Enrolment>();
        }
    }
}
