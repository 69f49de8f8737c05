//! Converts errors of devices and drives into errors of a rig.

use std::io;

use drive::DriveError;
use rig::{Fault, RigError, TargetInfo};

use crate::device::DeviceError;

/// The error of an action that failed on the target.
pub(crate) fn io_error(info: &TargetInfo, what: &str, source: io::Error) -> RigError {
    RigError::Io { context: format!("{what} on {}", info.target.spec), source }
}

/// The error of an action that failed on the device or is not supported by it.
pub(crate) fn device_error(info: &TargetInfo, what: &str, error: DeviceError) -> RigError {
    match error {
        DeviceError::Absent(why) => RigError::Unsupported(format!("{what}: {why}")),
        DeviceError::Drive(error) => drive_error(what, error),
        DeviceError::Io(source) => io_error(info, what, source),
    }
}

fn drive_error(what: &str, error: DriveError) -> RigError {
    match error.fault() {
        Fault::Usage => RigError::Unsupported(error.to_string()),
        Fault::Refused => RigError::Refused(error.to_string()),
        Fault::Io => {
            RigError::Io { context: what.into(), source: io::Error::other(error.to_string()) }
        }
    }
}
