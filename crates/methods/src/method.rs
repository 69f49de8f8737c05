//! A method: its description and its script.

use record::{Answer, FindingKind, MetricKey, Safety};
use rig::{Exit, RigError};

use crate::{Declared, MetricInfo, Options, Outcome, Session};

/// A method, as shown by `ssdyno methods`, or a command that stores metrics.
#[derive(Clone, Copy, Debug)]
pub struct MethodInfo {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line: the question it answers.
    pub summary: &'static str,
    /// A paragraph: actions, their order, and results.
    pub about: &'static str,
    /// The most destructive action on the drive.
    pub safety: Safety,
    /// Version of its protocol: raised when a change of phases, times or rules makes its values
    /// incomparable with earlier ones.
    pub protocol: u32,
    /// Rough duration with the default options, in seconds.
    pub seconds: f64,
    /// Amount written, in words.
    pub writes: &'static str,
    /// Options declared by this method.
    pub options: &'static [&'static dyn Declared],
    /// Metrics it publishes, in groups that methods can share.
    pub metrics: &'static [&'static [MetricInfo]],
    /// The metrics that answer its question, at most eight. A comparison makes claims only about
    /// these. Names as in [`MetricInfo::name`].
    pub primary: &'static [&'static str],
    /// Its script, which is also its plan: see [`crate::Planner`]. All measurements are in the
    /// session, even after an error.
    pub run: fn(&mut Session<'_>, &Options) -> Result<(), MethodError>,
    /// Its answer, from the measurements so far; `None` before there is one.
    pub answer: fn(&Outcome) -> Option<Answer>,
    /// Findings that it provokes on purpose, such as an overload. They cast no doubt on its answer.
    pub provokes: &'static [FindingKind],
    /// Whether it may fill a file system, where other methods leave 10% free.
    pub fills: bool,
    /// Whether it compares with a RAM disc, see [`rig::Rig::reference`].
    pub wants_reference: bool,
}

impl MethodInfo {
    /// Defaults for fields that a declaration omits.
    pub const EMPTY: MethodInfo = MethodInfo {
        name: "",
        summary: "",
        about: "",
        safety: Safety::Reads,
        protocol: 1,
        seconds: 0.0,
        writes: "nothing",
        options: &[],
        metrics: &[],
        primary: &[],
        run: |_, _| Ok(()),
        answer: |_| None,
        provokes: &[],
        fills: false,
        wants_reference: false,
    };

    /// The metrics it publishes, in the order of their declaration.
    pub fn metrics(&self) -> impl Iterator<Item = &'static MetricInfo> {
        self.metrics.iter().copied().flatten()
    }

    /// Whether a comparison makes claims about this metric.
    pub fn is_primary(&self, key: &MetricKey) -> bool {
        self.primary.iter().any(|pattern| MetricInfo::is_of(pattern, key))
    }

    /// The declaration of a metric; `None` if it does not publish such a metric.
    pub fn declaration(&self, key: &MetricKey) -> Option<&'static MetricInfo> {
        self.metrics().find(|declared| declared.covers(key))
    }
}

/// Why a method did not finish.
#[derive(Debug, thiserror::Error)]
pub enum MethodError {
    /// No method has that name.
    #[error("there is no method '{name}'; {}", suggestion(.nearest, .known))]
    Unknown {
        /// As the user typed it.
        name: String,
        /// A similarly spelled name.
        nearest: Option<&'static str>,
        /// All names.
        known: String,
    },
    /// An invalid option value.
    #[error("{option} is {value}, must be {range}")]
    Option {
        /// Its name, such as `size`.
        option: &'static str,
        /// Its value, for display.
        value: String,
        /// The permitted range, in words.
        range: String,
    },
    /// An option that no chosen method declares.
    #[error("{option} goes with -m {declared_by}, not with {chosen}")]
    Undeclared {
        /// Its name as typed.
        option: String,
        /// The methods that declare it.
        declared_by: String,
        /// The methods chosen.
        chosen: String,
    },
    /// A limit of the method is used up; the script continues after the limited part.
    #[error("one of the method's own limits is used up")]
    Spent {
        /// Number of limits that enclose it.
        depth: usize,
    },
    /// A part ended at its limit before it had a result.
    #[error("{part}: reached its limit of time or bytes before its first round ended")]
    Unfinished {
        /// The step of the plan.
        part: String,
    },
    /// The target is smaller than the method requires.
    #[error("the target has room for {bytes} bytes, the method needs {least}")]
    TooSmall {
        /// Bytes available.
        bytes: u64,
        /// Bytes required.
        least: u64,
    },
    /// The RAM disc disappeared during the run.
    #[error("the RAM disc used as the reference is gone")]
    NoReference,
    /// There is no program to run.
    #[error("no command given after --, as in: -m command -- make -j4")]
    NoCommand,
    /// A user's program failed.
    #[error("the command ended with {exit}")]
    CommandFailed {
        /// Its exit status.
        exit: Exit,
    },
    /// A workload ended because the target failed; the errors are in the outcome.
    #[error("too many I/O errors in {workload}")]
    Errors {
        /// The workload.
        workload: String,
    },
    /// The rig failed or the user ended the run.
    #[error(transparent)]
    Rig(#[from] RigError),
}

impl MethodError {
    /// Whether the user ended the run, which is not a failure.
    pub fn interrupted(&self) -> bool {
        matches!(self, MethodError::Rig(RigError::Interrupted))
    }
}

fn suggestion(nearest: &Option<&'static str>, known: &str) -> String {
    match nearest {
        Some(name) => format!("did you mean '{name}'?"),
        None => format!("known: {known}"),
    }
}
