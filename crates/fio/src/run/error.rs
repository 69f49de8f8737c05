//! Why a plan could not be run, in words a user can act on.

use drive::{DriveError, ErrorKind};

/// Why a plan could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It asks for what cannot be done.
    #[error("{text}")]
    Usage {
        /// What, and where it was asked for.
        text: String,
        /// What to try.
        advice: String,
    },
    /// It would destroy what was not given away.
    #[error("{text}")]
    Refused {
        /// What would be lost.
        text: String,
        /// How to give it away.
        advice: String,
    },
    /// A target cannot be used.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The system failed.
    #[error("{context}: {source}")]
    Io {
        /// What was tried.
        context: String,
        /// The system's word.
        source: std::io::Error,
    },
    /// The user ended it before the jobs began.
    #[error("interrupted")]
    Interrupted,
}

impl RunError {
    pub(super) fn usage(text: String, advice: &str) -> RunError {
        RunError::Usage { text, advice: advice.to_string() }
    }

    pub(super) fn io(context: String, source: std::io::Error) -> RunError {
        RunError::Io { context, source }
    }

    /// Who has to do something about it; `None` where the user ended the run.
    pub fn kind(&self) -> Option<ErrorKind> {
        match self {
            RunError::Usage { .. } => Some(ErrorKind::Usage),
            RunError::Refused { .. } => Some(ErrorKind::Refused),
            RunError::Drive(error) => Some(error.kind()),
            RunError::Io { .. } => Some(ErrorKind::Io),
            RunError::Interrupted => None,
        }
    }

    /// What to try.
    pub fn advice(&self) -> Option<String> {
        match self {
            RunError::Usage { advice, .. } | RunError::Refused { advice, .. } => {
                Some(advice.clone())
            }
            RunError::Drive(error) => error.advice(),
            RunError::Io { .. } | RunError::Interrupted => None,
        }
    }
}
