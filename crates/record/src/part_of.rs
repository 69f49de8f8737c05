//! The protocol to which a run belongs. Written with the run, so that another machine can continue
//! the protocol from the record alone. Pure data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A run's place in a protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartOf {
    /// Name of the protocol.
    pub protocol: String,
    /// SHA-256 of its file, in 64 hexadecimal digits.
    pub hash: String,
    /// Start of this execution of the protocol, RFC 3339.
    pub began: String,
    /// The step.
    pub step: String,
    /// Number of the repetition of the step, from 1.
    pub repeat: u32,
    /// The side of the comparison it belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<String>,
    /// Answers to the questions so far: the board, the memory, the cooling, ...
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
}
