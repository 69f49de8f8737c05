//! Conclusions and doubts: verdicts, findings that limit the trust in a number, I/O errors by kind.

use serde::{Deserialize, Serialize};

use crate::{FindingKind, Unit, VerdictKind};

/// One number a conclusion rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The quantity, such as `device bytes / application bytes`.
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
    /// The conclusion; in JSON its name: `RAM`, `FLUSH`, `COMPRESSIBLE`, `UNDETERMINED`.
    #[serde(rename = "name")]
    pub kind: VerdictKind,
    /// One sentence for a person.
    pub text: String,
    /// The workload it is about, if one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The numbers behind it.
    pub evidence: Vec<Evidence>,
}

impl Verdict {
    /// A conclusion without evidence.
    pub fn new(kind: VerdictKind, text: impl Into<String>) -> Verdict {
        Verdict { kind, text: text.into(), workload: None, evidence: Vec::new() }
    }

    /// The same with this evidence.
    #[must_use]
    pub fn with_evidence(self, evidence: Vec<Evidence>) -> Verdict {
        Verdict { evidence, ..self }
    }
}

/// How far a finding discredits a number.
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

/// An observation about a measurement or a machine that limits the trust in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The kind of doubt; in JSON its name: `served-from-ram`, `generator-bound`.
    #[serde(rename = "name")]
    pub kind: FindingKind,
    /// Severity.
    pub level: Level,
    /// One line for a person.
    pub text: String,
    /// Advice, if there is a remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The workload it belongs to, if one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The numbers behind it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

impl Finding {
    /// A finding without advice or evidence.
    pub fn new(kind: FindingKind, level: Level, text: impl Into<String>) -> Finding {
        Finding {
            kind,
            level,
            text: text.into(),
            advice: None,
            workload: None,
            evidence: Vec::new(),
        }
    }

    /// Adds advice.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Finding {
        self.advice = Some(advice.into());
        self
    }

    /// Adds a number that supports it.
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
    /// `EIO`, `ENOSPC`, `short transfer`; for a failed check `stale`, `misplaced`, `torn`, `flipped`,
    /// `unwritten`.
    pub kind: String,
    /// The workload that failed.
    pub workload: String,
    /// Their number.
    pub count: u64,
    /// The first 16 addresses at most, as byte offsets.
    pub first_offsets: Vec<u64>,
}
