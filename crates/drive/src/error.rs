//! Why a target cannot be used, in words a user can act on.
//!
//! One line says what is wrong, [`DriveError::advice`] what to try, and [`DriveError::kind`] gives
//! the exit code: bad usage 2, refused for safety 3, I/O error 4.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use thiserror::Error;

/// Who has to do something about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The command line is wrong (exit code 2).
    Usage,
    /// It would not be safe, or is not allowed (exit code 3).
    Refused,
    /// The system or the drive failed (exit code 4).
    Io,
}

impl ErrorKind {
    /// The exit code of the command.
    pub fn exit_code(self) -> u8 {
        match self {
            ErrorKind::Usage => 2,
            ErrorKind::Refused => 3,
            ErrorKind::Io => 4,
        }
    }
}

/// Why a target cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DriveError {
    /// Nothing is there.
    #[error("{path}: {what}")]
    NotFound {
        /// As the user typed it.
        path: String,
        /// `no such file or directory`, or where a broken link points to.
        what: String,
        /// What may have been meant.
        hint: Option<String>,
    },
    /// Something is there that cannot be measured.
    #[error("{path} is {what}, which cannot be measured")]
    NotATarget {
        /// As the user typed it.
        path: String,
        /// `a character device`, `a socket`, ...
        what: &'static str,
        /// What may have been meant.
        hint: Option<String>,
    },
    /// Zero bytes, or more than there are.
    #[error("{text}")]
    BadSize {
        /// What is wrong with the size.
        text: String,
        /// A size that would do.
        hint: Option<String>,
    },
    /// A scratch file of that size would leave the file system too full.
    #[error("{text}")]
    NoRoom {
        /// What was asked for, what fits, and what has to stay free.
        text: String,
        /// The largest size that may be asked for by name, bytes; 0: none.
        fits: u64,
    },
    /// It cannot be written.
    #[error("{what} is read-only")]
    ReadOnly {
        /// The file system or device.
        what: String,
    },
    /// The system does not let this user.
    #[error("no permission to {action} {path}: this needs {missing}")]
    Permission {
        /// `read`, `write`, `create files in`.
        action: &'static str,
        /// On what.
        path: String,
        /// `group disk, or root`.
        missing: String,
    },
    /// Somebody uses what would be overwritten.
    #[error("{path} is in use and must not be overwritten: {}", few(reasons))]
    InUse {
        /// The target.
        path: String,
        /// Everything that uses it.
        reasons: Vec<String>,
    },
    /// The confirmation does not name this drive.
    #[error("'{given}' is not the {expected} of {path}: nothing was touched")]
    Unconfirmed {
        /// The target.
        path: String,
        /// What was given.
        given: String,
        /// `serial number`, `size in bytes`.
        expected: &'static str,
        /// What would have been right, of a file, which no list shows.
        is: Option<String>,
    },
    /// It is no longer the drive that was opened.
    #[error("{path} changed since it was opened: {what}")]
    Changed {
        /// The target.
        path: String,
        /// What changed.
        what: String,
    },
    /// The drive cannot do it.
    #[error("{text}")]
    Incapable {
        /// What was asked, and why it cannot be.
        text: String,
    },
    /// The system or the drive failed.
    #[error("{context}: {source}")]
    Io {
        /// What was tried, on what.
        context: String,
        /// The system's word.
        source: io::Error,
    },
}

impl DriveError {
    /// Who has to do something about it.
    pub fn kind(&self) -> ErrorKind {
        use DriveError::*;
        match self {
            NotFound { .. } | NotATarget { .. } | BadSize { .. } | Incapable { .. } => {
                ErrorKind::Usage
            }
            Io { .. } => ErrorKind::Io,
            _ => ErrorKind::Refused,
        }
    }

    /// What to try, for a line that begins with `try:`.
    pub fn advice(&self) -> Option<String> {
        use DriveError::*;
        match self {
            NotFound { hint, .. } | NotATarget { hint, .. } | BadSize { hint, .. } => hint.clone(),
            NoRoom { fits: 0, .. } => Some("another directory, or free some space".into()),
            NoRoom { fits, .. } => Some(format!("--size {}, or another directory", word(*fits))),
            ReadOnly { .. } => Some("a directory on a file system that can be written".into()),
            Permission { action: "create files in", .. } => Some("a directory of your own".into()),
            Permission { missing, .. } if missing == CONFINED => {
                Some("a directory on the drive instead".into())
            }
            Permission { .. } => Some("sudo, or a directory on the drive instead".into()),
            InUse { .. } => Some("without --destroy, which only reads".into()),
            Unconfirmed { is: Some(word), .. } => {
                Some(format!("--destroy={word}, if it may be lost"))
            }
            Unconfirmed { .. } => Some("ssdyno list, which shows what --destroy needs".into()),
            Changed { .. } | Incapable { .. } | Io { .. } => None,
        }
    }

    pub(crate) fn io(context: impl Into<String>, source: impl Into<io::Error>) -> DriveError {
        DriveError::Io { context: context.into(), source: source.into() }
    }

    /// The error of an attempt to `action` the path, as far as its kind tells more than a number.
    pub(crate) fn of(
        action: &'static str,
        path: &Path,
        source: impl Into<io::Error>,
    ) -> DriveError {
        let source = source.into();
        let shown = path.display().to_string();
        match source.kind() {
            io::ErrorKind::NotFound => missing(path),
            io::ErrorKind::PermissionDenied => {
                let write = matches!(action, "write" | "create files in");
                let access = if write { Access::WRITE_OK } else { Access::READ_OK };
                DriveError::Permission { action, path: shown, missing: who_may(path, access) }
            }
            io::ErrorKind::ReadOnlyFilesystem => DriveError::ReadOnly { what: shown },
            _ => DriveError::io(format!("cannot {action} {shown}"), source),
        }
    }
}

/// What even root needs where a container's rules forbid a device.
const CONFINED: &str = "a container or control group that allows this device";

/// A size that can be typed and is no larger: whole GiB, or whole MiB where that loses much.
fn word(bytes: u64) -> String {
    let (gib, mib) = (bytes >> 30, bytes >> 20);
    if gib >= 16 { format!("{gib}GiB") } else { format!("{mib}MiB") }
}

/// The first reasons: a machine with containers mounts one drive in a hundred places.
fn few(reasons: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = reasons[..reasons.len().min(SHOWN)].join("; ");
    match reasons.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

/// A path that leads nowhere: says where a broken link points, and what may have been meant.
fn missing(path: &Path) -> DriveError {
    let link = std::fs::read_link(path).ok();
    let what = match link {
        Some(to) => format!("is a link to {}, which does not exist", to.display()),
        None => "no such file or directory".to_string(),
    };
    let node = PathBuf::from("/dev").join(path);
    let hint =
        (path.components().count() == 1 && node.exists()).then(|| node.display().to_string());
    DriveError::NotFound { path: path.display().to_string(), what, hint }
}

/// What it takes to do what this user may not: the group of a device, root, or more than that.
pub(crate) fn who_may(path: &Path, access: Access) -> String {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let Ok(meta) = std::fs::metadata(path) else { return "access to the directories above".into() };
    let device = meta.file_type().is_block_device();
    let may = accessat(CWD, path, access, AtFlags::EACCESS).is_ok();
    let group_may = device && meta.mode() & 0o060 == 0o060 && meta.gid() != 0;
    match () {
        () if may && device => CONFINED.into(),
        () if may => "a file without the attribute immutable".into(),
        () if group_may => format!("group {}, or root", group_name(meta.gid())),
        () if device => "root".into(),
        () => "its owner, or root".into(),
    }
}

fn group_name(gid: u32) -> String {
    let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
    let named = groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(gid)).then(|| name.to_string())
    });
    named.unwrap_or_else(|| gid.to_string())
}
