//! The label of a figure or claim: what its agreement shows.

use serde::{Deserialize, Serialize};

/// The relation of a figure to the parameters of its drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// A parameter was chosen to reproduce this figure.
    Fitted,
    /// A published parameter of the drive states the same value.
    Stated,
    /// No parameter cites it.
    Predicted,
}

impl Basis {
    /// All of them, the most informative first.
    pub const ALL: [Basis; 3] = [Basis::Predicted, Basis::Fitted, Basis::Stated];

    pub fn name(self) -> &'static str {
        match self {
            Basis::Fitted => "fitted",
            Basis::Stated => "stated",
            Basis::Predicted => "predicted",
        }
    }
}
