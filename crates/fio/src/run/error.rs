//! Errors of running a plan.

use rig::{ErrorClass, RigError};

use crate::FioError;

/// An error of running a plan.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan requests something impossible.
    #[error("{text}")]
    Usage {
        /// The request and its location.
        text: String,
        advice: String,
    },
    /// The plan combines drives that exclude each other.
    #[error(transparent)]
    Plan(#[from] FioError),
    /// The rig refused the plan, failed or was interrupted.
    #[error(transparent)]
    Rig(#[from] RigError),
}

impl RunError {
    pub(super) fn usage(text: String, advice: &str) -> RunError {
        RunError::Usage { text, advice: advice.to_string() }
    }

    /// Who has to act; `None` if the user ended the run.
    pub fn fault(&self) -> Option<ErrorClass> {
        match self {
            RunError::Usage { .. } | RunError::Plan(_) => Some(ErrorClass::Usage),
            RunError::Rig(error) => error.fault(),
        }
    }

    pub fn advice(&self) -> Option<&str> {
        match self {
            RunError::Usage { advice, .. } => Some(advice),
            RunError::Plan(error) => error.advice.as_deref(),
            RunError::Rig(error) => error.advice(),
        }
    }
}
