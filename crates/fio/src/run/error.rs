//! Why a plan could not be run.

use rig::{Fault, RigError};

use crate::FioError;

/// Why a plan could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan asks for something that cannot be done.
    #[error("{text}")]
    Usage {
        /// The request and its place.
        text: String,
        /// Advice.
        advice: String,
    },
    /// The plan names drives that cannot be in one plan.
    #[error(transparent)]
    Plan(#[from] FioError),
    /// The rig refused, failed or was interrupted.
    #[error(transparent)]
    Rig(#[from] RigError),
}

impl RunError {
    pub(super) fn usage(text: String, advice: &str) -> RunError {
        RunError::Usage { text, advice: advice.to_string() }
    }

    /// Who has to act; `None` where the user ended the run.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            RunError::Usage { .. } | RunError::Plan(_) => Some(Fault::Usage),
            RunError::Rig(error) => error.fault(),
        }
    }

    /// Advice.
    pub fn advice(&self) -> Option<&str> {
        match self {
            RunError::Usage { advice, .. } => Some(advice),
            RunError::Plan(error) => error.advice.as_deref(),
            RunError::Rig(error) => error.advice(),
        }
    }
}
