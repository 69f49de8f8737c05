//! Converts errors of devices and drives into errors of a rig.

use std::io;

use drive::DriveError;
use rig::{ErrorClass, RigError, TargetInfo};

use super::DeviceError;
use crate::failure::io_error;

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
        ErrorClass::Usage => RigError::Unsupported(error.to_string()),
        ErrorClass::Refused => RigError::Refused(error.to_string()),
        ErrorClass::Io => {
            RigError::Io { context: what.into(), source: io::Error::other(error.to_string()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use rig::errno;

    macro_rules! numbers {
        ($($name:ident)*) => { [$((errno::$name, libc::$name, stringify!($name))),*] };
    }

    /// Records and fio's output contain these numbers on every system.
    #[test]
    fn the_numbers_of_errors_are_those_of_the_c_library() {
        let numbers = numbers! {
            EPERM ENOENT EINTR EIO ENXIO EBADF EAGAIN ENOMEM EACCES EFAULT EBUSY EEXIST ENODEV EINVAL
            EFBIG ENOSPC EROFS EBADE ENODATA ETIME ENOLINK EILSEQ EOPNOTSUPP ETIMEDOUT ESTALE
            EREMOTEIO EDQUOT ENOMEDIUM ECANCELED
        };
        assert_eq!(numbers.len(), errno::ALL.len());
        for (ours, of_libc, name) in numbers {
            assert_eq!((ours, errno::name(of_libc).as_str()), (of_libc, name));
        }
    }
}
