//! The numbers of system errors, as on Linux.
//!
//! Completions, records and fio's output contain these numbers on every system, so that a virtual
//! drive answers the same everywhere. They are those of all processors that ssdyno supports
//! (asm-generic/errno.h); a test of `engine` compares them with the C library's.

use std::io::Error;

macro_rules! errors {
    ($($name:ident = $number:literal),* $(,)?) => {
        $(
            #[doc = concat!("Number of ", stringify!($name), ".")]
            pub const $name: i32 = $number;
        )*
        /// Every error that is common in storage: number and name.
        pub const ALL: &[(i32, &str)] = &[$(($name, stringify!($name))),*];
    };
}

errors! {
    EPERM = 1,
    ENOENT = 2,
    EINTR = 4,
    EIO = 5,
    ENXIO = 6,
    EBADF = 9,
    EAGAIN = 11,
    ENOMEM = 12,
    EACCES = 13,
    EFAULT = 14,
    EBUSY = 16,
    EEXIST = 17,
    ENODEV = 19,
    EINVAL = 22,
    EFBIG = 27,
    ENOSPC = 28,
    EROFS = 30,
    EBADE = 52,
    ENODATA = 61,
    ETIME = 62,
    ENOLINK = 67,
    EILSEQ = 84,
    EOPNOTSUPP = 95,
    ETIMEDOUT = 110,
    ESTALE = 116,
    EREMOTEIO = 121,
    EDQUOT = 122,
    ENOMEDIUM = 123,
    ECANCELED = 125,
}

/// The symbolic name of an error that is common in storage, such as `EIO`; `error` and the number of
/// any other.
pub fn name(number: i32) -> String {
    let common = ALL.iter().find(|(common, _)| *common == number);
    common.map_or_else(|| format!("error {number}"), |(_, name)| name.to_string())
}

/// The name of a system error as in [`name`]; the text of an error that is not the system's.
pub fn error_name(error: &Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), name)
}

/// The error with this number. Other systems give the numbers other meanings, so that it is no
/// error of the system there, but has its name as text.
pub fn error(number: i32) -> Error {
    if cfg!(target_os = "linux") {
        Error::from_raw_os_error(number)
    } else {
        Error::other(name(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_name_on_every_system() {
        assert_eq!(error_name(&error(EROFS)), "EROFS");
        assert_eq!(error_name(&Error::other("EROFS")), "EROFS", "as on other systems");
        assert_eq!(error_name(&error(7)), "error 7");
    }
}
