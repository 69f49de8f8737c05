//! The description of a pause; `pause.rs` applies it.

use serde::{Deserialize, Serialize};

use crate::figure::{Figure, Size};

/// Pauses in which the controller saves its map or moves data, and serves no command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseSpec {
    /// Bytes that the host writes between two of them.
    pub every: Figure<Size>,
    /// Their mean length, ms.
    pub ms: Figure<f64>,
}
