//! What became of a job, told by the host that got it: in the outbox like a record, signed like one.

use record::Run;
use serde::{Deserialize, Serialize};

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobEnd {
    /// The command ended without a failure; `record` is its result.
    Measured,
    /// The command failed, with its words as the reason.
    Failed,
    /// The host refused it before the command began.
    Refused,
    /// The agent or its machine ended during the job. It is not repeated.
    Interrupted,
}

impl JobEnd {
    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            JobEnd::Measured => "measured",
            JobEnd::Failed => "failed",
            JobEnd::Refused => "refused",
            JobEnd::Interrupted => "interrupted",
        }
    }
}

/// The end of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The id of the job.
    pub job: String,
    /// The machine that got it.
    pub machine: String,
    /// Time of its end on that machine's clock, RFC 3339.
    pub at: String,
    /// The target of the job.
    pub target: String,
    /// How it ended.
    pub end: JobEnd,
    /// Why; empty if it was measured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The hash of its record, 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
}

/// Maximum length of a reason, bytes.
const REASON_MAX: usize = 1000;

impl Notice {
    /// Reads a notice. Fails if it is none.
    pub fn parse(json: &str) -> serde_json::Result<Notice> {
        serde_json::from_str(json)
    }

    /// Its text.
    pub fn text(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// The same with a reason, cut to a length that fits a line.
    #[must_use]
    pub fn because(mut self, reason: &str) -> Notice {
        self.reason = emit::one_line(reason);
        self.reason.truncate(self.reason.floor_char_boundary(REASON_MAX));
        self
    }
}

/// The name of the tag with which a record names its job.
pub const JOB_TAG: &str = "job";

/// The job of a record, if it names one.
pub fn job_of(run: &Run) -> Option<&str> {
    run.tags().find(|(name, _)| *name == JOB_TAG).map(|(_, id)| id)
}
