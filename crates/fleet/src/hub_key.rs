//! The key of the hub (Ed25519): signed jobs, and the passwords of agents.
//!
//! Permissions of NATS alone do not keep an agent from making jobs for others: a server sends its answers
//! to any subject that a request names for them. An agent therefore takes only what the hub has signed
//! for it. A job that is sent again is known by its id.
//!
//! ```text
//! signature 64 | job, JSON
//! ```

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use crate::digits::{hex, sha256};
use crate::job::FleetJob;

/// Length of a signature, bytes.
const SIGNATURE: usize = 64;

/// The receiver of runs that any machine may take.
pub const ANY_MACHINE: &str = "any";

/// The secret of a hub.
pub struct HubKey {
    secret: [u8; 32],
}

impl HubKey {
    /// The key with these 32 secret bytes.
    pub fn from_secret(secret: [u8; 32]) -> HubKey {
        HubKey { secret }
    }

    fn signing(&self) -> SigningKey {
        SigningKey::from_bytes(&sha256(&[b"ssdyno hub signs\n", &self.secret[..]].concat()))
    }

    /// Its public half.
    pub fn public(&self) -> [u8; 32] {
        self.signing().verifying_key().to_bytes()
    }

    /// The password of the agent with this public key: 128 bits in hexadecimal digits.
    pub fn password(&self, agent: &[u8; 32]) -> String {
        let digest = sha256(&[b"ssdyno hub admits\n", &self.secret[..], agent].concat());
        hex(&digest[..16])
    }

    /// A job for a machine, or for [`ANY_MACHINE`], as it travels.
    pub fn seal(&self, receiver: &str, job: &FleetJob) -> serde_json::Result<Vec<u8>> {
        let text = job.text()?;
        let signature = self.signing().sign(&signed_bytes(receiver, text.as_bytes()));
        Ok([&signature.to_bytes()[..], text.as_bytes()].concat())
    }
}

/// Reads and checks a job that a hub with this public key sealed for a receiver.
pub fn open_job(public: &[u8; 32], receiver: &str, bytes: &[u8]) -> Result<FleetJob, String> {
    let forged = || "not signed by the hub for this machine".to_string();
    let (signature, text) = bytes.split_first_chunk::<SIGNATURE>().ok_or_else(forged)?;
    let key = VerifyingKey::from_bytes(public).map_err(|_| forged())?;
    let signature = Signature::from_bytes(signature);
    key.verify_strict(&signed_bytes(receiver, text), &signature).map_err(|_| forged())?;
    FleetJob::parse(text)
}

fn signed_bytes(receiver: &str, text: &[u8]) -> Vec<u8> {
    [b"ssdyno job\n", receiver.as_bytes(), b"\n", text].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn job() -> FleetJob {
        FleetJob {
            id: "a-1".into(),
            target: "/dev/x".into(),
            method: "quick".into(),
            ..FleetJob::default()
        }
    }

    #[test]
    fn a_job_is_for_the_machine_that_it_was_signed_for() {
        let key = HubKey::from_secret([7; 32]);
        let sealed = key.seal("m1", &job()).expect("JSON");
        assert_eq!(open_job(&key.public(), "m1", &sealed), Ok(job()));
        for (public, receiver) in
            [(key.public(), "m2"), (key.public(), ANY_MACHINE), ([9; 32], "m1")]
        {
            let error = open_job(&public, receiver, &sealed).expect_err("refused");
            assert!(error.contains("not signed"), "{error}");
        }
        let bare = job().text().expect("JSON");
        assert!(open_job(&key.public(), "m1", bare.as_bytes()).is_err());
    }

    #[test]
    fn every_agent_has_another_password_at_every_hub() {
        let [hub, other] = [[7; 32], [8; 32]].map(HubKey::from_secret);
        let passwords = [
            hub.password(&[1; 32]),
            hub.password(&[2; 32]),
            other.password(&[1; 32]),
            other.password(&[2; 32]),
        ];
        let set: std::collections::BTreeSet<&String> = passwords.iter().collect();
        assert_eq!(set.len(), 4);
        assert_eq!(hub.password(&[1; 32]), passwords[0]);
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_refused(place: prop::sample::Index, flip in 1u8..=255) {
            let key = HubKey::from_secret([7; 32]);
            let mut bytes = key.seal("m1", &job()).expect("JSON");
            let place = place.index(bytes.len());
            bytes[place] ^= flip;
            prop_assert!(open_job(&key.public(), "m1", &bytes).is_err());
        }

        #[test]
        fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let key = HubKey::from_secret([7; 32]);
            prop_assert!(open_job(&key.public(), "m1", &bytes).is_err());
        }
    }
}
