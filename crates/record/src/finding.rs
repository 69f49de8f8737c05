//! Conclusions and doubts: verdicts, findings that say what to distrust, and I/O errors by kind.

use serde::{Deserialize, Serialize};

use crate::Unit;

/// One number a conclusion rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What was measured, such as `device bytes / application bytes`.
    pub name: String,
    /// Its value.
    #[serde(deserialize_with = "crate::null::number")]
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
}

impl Evidence {
    /// A piece of evidence.
    pub fn new(name: impl Into<String>, value: f64, unit: Unit) -> Evidence {
        Evidence { name: name.into(), value, unit }
    }
}

/// A named conclusion with the numbers it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The rule that spoke, in capitals: `RAM`, `FLUSH`, `COMPRESSIBLE`, `UNDETERMINED`.
    pub name: String,
    /// One sentence for a person.
    pub text: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
}

/// How much a finding takes away from a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Worth knowing.
    Note,
    /// The number may be off.
    Warn,
    /// The number does not describe the drive.
    Bad,
}

/// Something found out about a measurement or a machine that bears on whether to believe it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable name for machines, kebab-case: `served-from-ram`, `generator-bound`.
    pub name: String,
    /// How bad.
    pub level: Level,
    /// One line for a person.
    pub text: String,
    /// What to do about it, where there is something to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The workload it belongs to, where it belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// What it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

impl Finding {
    /// A finding without advice or evidence.
    pub fn new(name: &str, level: Level, text: impl Into<String>) -> Finding {
        Finding {
            name: name.to_string(),
            level,
            text: text.into(),
            advice: None,
            workload: None,
            evidence: Vec::new(),
        }
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Finding {
        self.advice = Some(advice.into());
        self
    }

    /// The same with a number it rests on.
    #[must_use]
    pub fn with(mut self, evidence: Evidence) -> Finding {
        self.evidence.push(evidence);
        self
    }
}

/// I/O errors of one kind. A short transfer is an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoErrors {
    /// `read`, `write`, `flush` or `discard`; for a failed check `verify`.
    pub op: String,
    /// `EIO`, `ENOSPC`, `short transfer`; for a failed check `stale`, `misplaced`, `torn`, `flipped`.
    pub kind: String,
    /// The workload in which they happened.
    pub workload: String,
    /// How many.
    pub count: u64,
    /// The first addresses (byte offsets), 16 at most.
    pub first_offsets: Vec<u64>,
}
