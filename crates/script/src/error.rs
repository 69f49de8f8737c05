//! Why a method did not finish.

use rig::{Exit, RigError};

/// The result of a part of a method.
pub type Result<T, E = MethodError> = std::result::Result<T, E>;

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
        /// The option, for display, such as `--like`.
        option: String,
        /// The methods that declare it.
        declared_by: String,
        /// The methods chosen.
        chosen: String,
    },
    /// A common option that all chosen methods ignore.
    #[error("--{option} has no effect on -m {chosen}")]
    Ignored {
        /// Its name, without dashes.
        option: &'static str,
        /// The methods chosen.
        chosen: String,
    },
    /// A limit of the method is used up; the script continues after the limited part.
    #[error("one of the method's own limits is used up")]
    Spent {
        /// Number of limits that enclose it.
        depth: usize,
    },
    /// A part would have written more than its plan states: a defect of the method, or of the image
    /// file that it restores.
    #[error("{step}: stopped, because it would write more than the {bytes} bytes of its plan")]
    Overrun {
        /// The step of the plan.
        step: String,
        /// Bytes in the plan.
        bytes: u64,
    },
    /// A part ended at its limit before it had a result.
    #[error("{part}: reached its limit of time or bytes before its first round ended")]
    Unfinished {
        /// Its name: a step, a metric or a request.
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
