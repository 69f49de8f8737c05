//! The machine and its drives, on systems other than Linux: none that could be measured.

use crate::error::{LabError, Result};

/// The confirmations of drives that may be overwritten.
pub fn confirmations() -> Vec<(String, String)> {
    Vec::new()
}

/// Detaches a drive from the kernel: refused.
pub fn bind(_target: &str, _serial: &str) -> Result<()> {
    Err(LabError::needs_linux())
}

/// Returns such a drive to the kernel: refused.
pub fn unbind(_target: &str) -> Result<()> {
    Err(LabError::needs_linux())
}
