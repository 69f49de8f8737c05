//! Verdicts, findings that limit the trust in a number, and I/O errors by kind.

use serde::{Deserialize, Serialize};

use crate::kind::kinds;
use crate::{FindingKind, Unit, VerdictKind};

/// A number on which a conclusion is based.
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
    /// Creates a piece of evidence.
    pub fn new(name: impl Into<String>, value: f64, unit: Unit) -> Evidence {
        Evidence { name: name.into(), value, unit }
    }
}

/// A figure that a conclusion explains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// Key of the metric, or the name of a workload that has no metric.
    pub metric: String,
    /// Fraction of the workload's time that the cause accounts for, 0 to 1; `null` if unknown.
    #[serde(default)]
    pub share: Option<f64>,
}

/// A named conclusion and its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "VerdictForm")]
pub struct Verdict {
    /// The conclusion, in JSON its name: `RAM`, `FLUSH`, `COMPRESSIBLE`, `UNDETERMINED`.
    #[serde(rename = "name")]
    pub kind: VerdictKind,
    /// One sentence for the user.
    pub text: String,
    /// The figures it explains; empty for checks, which explain none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explains: Vec<Explained>,
    /// The cheapest test that would confirm or refute it, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_test: Option<String>,
    /// The numbers on which it is based.
    pub evidence: Vec<Evidence>,
}

/// A verdict in a record. Earlier versions named one workload instead of the explained figures.
#[derive(Deserialize)]
struct VerdictForm {
    #[serde(rename = "name")]
    kind: VerdictKind,
    text: String,
    #[serde(default)]
    workload: Option<String>,
    #[serde(default)]
    explains: Vec<Explained>,
    #[serde(default)]
    next_test: Option<String>,
    evidence: Vec<Evidence>,
}

impl From<VerdictForm> for Verdict {
    fn from(form: VerdictForm) -> Verdict {
        let VerdictForm { kind, text, workload, mut explains, next_test, evidence } = form;
        if explains.is_empty() {
            explains.extend(workload.map(|metric| Explained { metric, share: None }));
        }
        Verdict { kind, text, explains, next_test, evidence }
    }
}

impl Verdict {
    /// Creates a conclusion that explains no figure and has no evidence.
    pub fn new(kind: VerdictKind, text: impl Into<String>) -> Verdict {
        Verdict {
            kind,
            text: text.into(),
            explains: Vec::new(),
            next_test: None,
            evidence: Vec::new(),
        }
    }

    /// Whether it explains this figure.
    pub fn explains(&self, metric: &str) -> bool {
        self.explains.iter().any(|explained| explained.metric == metric)
    }

    /// Adds evidence.
    #[must_use]
    pub fn with_evidence(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Verdict {
        self.evidence.extend(evidence);
        self
    }

    /// Adds a figure that it explains, without a share.
    #[must_use]
    pub fn explaining(mut self, metric: impl Into<String>) -> Verdict {
        self.explains.push(Explained { metric: metric.into(), share: None });
        self
    }

    /// Sets the cheapest test that would confirm or refute it.
    #[must_use]
    pub fn next_test(mut self, test: impl Into<String>) -> Verdict {
        self.next_test = Some(test.into());
        self
    }
}

kinds! { word
    /// How much a finding discredits a number.
    Level {
        /// Worth knowing.
        Note = "note",
        /// The number may be off.
        Warn = "warn",
        /// The number does not describe the drive.
        Bad = "bad",
    }
}

/// An observation about a measurement or a machine that limits the trust in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The kind of finding, in JSON its name: `served-from-ram`, `generator-bound`.
    #[serde(rename = "name")]
    pub kind: FindingKind,
    /// Severity.
    pub level: Level,
    /// One line for the user.
    pub text: String,
    /// Advice, if there is a remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The workload it concerns, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The numbers on which it is based.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

impl Finding {
    /// Creates a finding without advice or evidence.
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

    /// Adds a piece of evidence.
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
    /// `EIO`, `ENOSPC`, `short transfer`; for a failed check, for example, `stale`, `misplaced`,
    /// `torn`, `flipped`, `lost`, `unwritten`, `changed`.
    pub kind: String,
    /// The workload that failed.
    pub workload: String,
    /// Their number.
    pub count: u64,
    /// At most the first 16 addresses, as byte offsets.
    pub first_offsets: Vec<u64>,
}

impl IoErrors {
    /// Errors of one kind, at unknown addresses.
    pub fn new(
        op: impl Into<String>,
        kind: impl Into<String>,
        workload: impl Into<String>,
        count: u64,
    ) -> IoErrors {
        let (op, kind, workload) = (op.into(), kind.into(), workload.into());
        IoErrors { op, kind, workload, count, first_offsets: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_of_an_earlier_version_explains_the_workload_it_named() {
        let old = r#"{"name":"LINK","text":"t","workload":"seq-read-1MiB-q8","evidence":[]}"#;
        let verdict: Verdict = serde_json::from_str(old).expect("still loads");
        assert!(verdict.explains("seq-read-1MiB-q8") && !verdict.explains("rand-read-4KiB-q32"));
        let written = serde_json::to_string(&verdict).expect("plain data");
        assert!(!written.contains("workload"), "{written}");
        assert_eq!(serde_json::from_str::<Verdict>(&written).expect("round trip"), verdict);
    }
}
