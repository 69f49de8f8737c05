//! Converts errors of the system into errors of a rig. Those of devices and drives:
//! `device/failure.rs`.

use std::io;

use rig::{RigError, TargetInfo};

/// The error of an action that failed on the target.
pub(crate) fn io_error(info: &TargetInfo, what: &str, source: io::Error) -> RigError {
    RigError::Io { context: format!("{what} on {}", info.target.spec), source }
}
