//! Error names, for `ignore_error=`.

use rustix::io::Errno;

use super::Parsed;

/// I/O errors of files and devices. Others can be given by number.
const NAMES: &[(&str, Errno)] = &[
    ("EPERM", Errno::PERM),
    ("ENOENT", Errno::NOENT),
    ("EINTR", Errno::INTR),
    ("EIO", Errno::IO),
    ("ENXIO", Errno::NXIO),
    ("EBADF", Errno::BADF),
    ("EAGAIN", Errno::AGAIN),
    ("EWOULDBLOCK", Errno::AGAIN),
    ("ENOMEM", Errno::NOMEM),
    ("EACCES", Errno::ACCESS),
    ("EFAULT", Errno::FAULT),
    ("EBUSY", Errno::BUSY),
    ("ENODEV", Errno::NODEV),
    ("EINVAL", Errno::INVAL),
    ("EFBIG", Errno::FBIG),
    ("ENOSPC", Errno::NOSPC),
    ("EROFS", Errno::ROFS),
    ("ENODATA", Errno::NODATA),
    ("ETIME", Errno::TIME),
    ("EREMOTEIO", Errno::REMOTEIO),
    ("EDQUOT", Errno::DQUOT),
    ("ENOMEDIUM", Errno::NOMEDIUM),
    ("EILSEQ", Errno::ILSEQ),
    ("EOPNOTSUPP", Errno::OPNOTSUPP),
    ("ETIMEDOUT", Errno::TIMEDOUT),
    ("ECANCELED", Errno::CANCELED),
    ("EBADE", Errno::BADE),
    ("ENOLINK", Errno::NOLINK),
    ("ESTALE", Errno::STALE),
];

/// The number of an error reported by the rig, by name or as `error 95`. Other words mean a short
/// transfer.
pub(crate) fn errno_of(text: &str) -> i32 {
    let number = text.strip_prefix("error ").unwrap_or(text);
    errno(number).unwrap_or(Errno::IO.raw_os_error())
}

/// The number of an error given by name or number.
pub(crate) fn errno(text: &str) -> Parsed<i32> {
    let text = text.trim();
    if let Some((_, errno)) = NAMES.iter().find(|(name, _)| *name == text) {
        return Ok(errno.raw_os_error());
    }
    let number = match text.strip_prefix("0x") {
        Some(digits) => i32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    match number {
        Some(number @ 1..=4095) => Ok(number),
        _ => Err(format!("'{text}' is not the name of a known error; give its number")),
    }
}
