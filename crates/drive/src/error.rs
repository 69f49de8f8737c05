//! Errors about targets, with remedies.
//!
//! One line states the problem, [`DriveError::advice`] suggests a remedy, and [`DriveError::fault`]
//! says who has to act.

use std::io;
use std::path::{Path, PathBuf};

use rig::ErrorClass;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use thiserror::Error;

/// Why a target cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The path does not exist, or the kernel knows no such device.
    #[error("{path}: {what}")]
    NotFound {
        /// The path as the user typed it.
        path: String,
        /// The reason: `no such file or directory`, the target of a broken link, ...
        what: String,
        /// A remedy: the path that the user probably meant, or a command that lists the devices.
        hint: Option<String>,
    },
    /// The path exists but cannot be a target.
    #[error("{path} is {what}, which cannot be measured")]
    NotATarget {
        /// The path as the user typed it.
        path: String,
        /// `a character device`, `a socket`, ...
        what: &'static str,
        /// The path that the user probably meant.
        hint: Option<String>,
    },
    /// The size is zero, less than one block or larger than the target, or the target names no
    /// single namespace.
    #[error("{text}")]
    BadSize {
        /// The problem.
        text: String,
        /// An acceptable size or namespace.
        hint: Option<String>,
    },
    /// A scratch file of the requested size would leave too little free space.
    #[error("{text}")]
    NoRoom {
        /// The requested size, the available size, and the space to keep free.
        text: String,
        /// The largest possible size, bytes; 0: none.
        fits: u64,
    },
    /// The target cannot be written.
    #[error("{what} is read-only")]
    ReadOnly {
        /// The file system or device.
        what: String,
    },
    /// The user lacks a permission.
    #[error("no permission to {action} {path}: this needs {missing}")]
    Permission {
        /// `read`, `write`, `create files in`, `change the driver of`.
        action: &'static str,
        /// The path concerned.
        path: String,
        /// `group disk, or root`.
        missing: String,
    },
    /// The target is in use and must not be overwritten.
    #[error("{path} is in use and must not be overwritten: {}", few(reasons))]
    InUse {
        /// The target.
        path: String,
        /// All uses.
        reasons: Vec<String>,
    },
    /// The confirmation does not match the target.
    #[error("'{given}' is not the {expected} of {path}: nothing was touched")]
    Unconfirmed {
        /// The target.
        path: String,
        given: String,
        /// `serial number`, `size in bytes`.
        expected: &'static str,
        /// The correct value for a file, which `ssdyno list` does not show.
        is: Option<String>,
    },
    /// The drive cannot be detached from the kernel, or used without it.
    #[error("{text}")]
    Refused {
        /// The reason.
        text: String,
        /// A remedy.
        hint: Option<String>,
    },
    /// The target is no longer the one that was planned or opened.
    #[error("{path} changed since it was opened: {what}")]
    Changed {
        /// The target.
        path: String,
        /// The change.
        what: String,
    },
    /// The drive that was opened is no longer present.
    #[error("{path} is gone: it was unplugged, or the kernel dropped it")]
    Gone {
        /// The target.
        path: String,
    },
    /// The drive does not support the operation.
    #[error("{text}")]
    Incapable {
        /// The request and the reason why it is impossible.
        text: String,
    },
    /// The system or the drive failed.
    #[error("{context}: {source}")]
    Io {
        /// The operation and its target.
        context: String,
        /// The system's error.
        source: io::Error,
    },
}

impl DriveError {
    /// Who has to act on it.
    pub fn fault(&self) -> ErrorClass {
        use DriveError::*;
        match self {
            NotFound { .. } | NotATarget { .. } | BadSize { .. } | Incapable { .. } => {
                ErrorClass::Usage
            }
            Gone { .. } | Io { .. } => ErrorClass::Io,
            _ => ErrorClass::Refused,
        }
    }

    /// Advice for a `try:` line.
    pub fn advice(&self) -> Option<String> {
        use DriveError::*;
        match self {
            NotFound { hint, .. }
            | NotATarget { hint, .. }
            | BadSize { hint, .. }
            | Refused { hint, .. } => hint.clone(),
            NoRoom { fits: 0, .. } => Some("another directory, or free some space".into()),
            NoRoom { fits, .. } => Some(format!("--size {}, or another directory", word(*fits))),
            ReadOnly { .. } => Some("a writable drive or directory".into()),
            Permission { action: "create files in", .. } => Some("a directory of your own".into()),
            Permission { missing, .. } if missing == CONFINED => {
                Some("a directory on the drive instead".into())
            }
            Permission { .. } => Some("sudo, or a directory on the drive instead".into()),
            InUse { .. } => Some("without --destroy or --borrow, which only reads".into()),
            Unconfirmed { is: Some(word), .. } => {
                Some(format!("--destroy={word}, if its data may be lost"))
            }
            Unconfirmed { .. } => Some("ssdyno list, which shows the value for --destroy".into()),
            Changed { .. } | Gone { .. } | Incapable { .. } | Io { .. } => None,
        }
    }

    pub(crate) fn io(context: impl Into<String>, source: impl Into<io::Error>) -> DriveError {
        DriveError::Io { context: context.into(), source: source.into() }
    }

    /// The error of an attempt to `action` the path, specific if the system's error kind allows it.
    pub(crate) fn from_io(
        action: &'static str,
        path: &Path,
        source: impl Into<io::Error>,
    ) -> DriveError {
        let source = source.into();
        let path_text = path.display().to_string();
        match source.kind() {
            io::ErrorKind::NotFound => missing(path),
            io::ErrorKind::PermissionDenied => {
                let write = matches!(action, "write" | "create files in");
                let access = if write { Access::WRITE_OK } else { Access::READ_OK };
                DriveError::Permission { action, path: path_text, missing: who_may(path, access) }
            }
            io::ErrorKind::ReadOnlyFilesystem => DriveError::ReadOnly { what: path_text },
            _ => DriveError::io(format!("cannot {action} {path_text}"), source),
        }
    }
}

/// Required even of root if a container's rules forbid a device.
pub(crate) const CONFINED: &str = "a container or control group that allows this device";

/// A size of at most `bytes` that is easy to type: whole GiB, or MiB if GiB would lose much.
fn word(bytes: u64) -> String {
    let (gib, mib) = (bytes >> 30, bytes >> 20);
    if gib >= 16 { format!("{gib}GiB") } else { format!("{mib}MiB") }
}

/// The first few reasons: a machine with containers may mount a drive a hundred times.
fn few(reasons: &[String]) -> String {
    const SHOWN: usize = 3;
    let first = reasons[..reasons.len().min(SHOWN)].join("; ");
    match reasons.len().saturating_sub(SHOWN) {
        0 => first,
        more => format!("{first}; and {more} more"),
    }
}

/// The error for a path that does not exist, with the target of a broken link and the device that
/// the user probably meant.
fn missing(path: &Path) -> DriveError {
    let link = std::fs::read_link(path).ok();
    let problem = match link {
        Some(to) => format!("is a link to {}, which does not exist", to.display()),
        None => "no such file or directory".to_string(),
    };
    let name = path.to_string_lossy();
    let number = name.strip_prefix("nvme").filter(|number| !number.is_empty());
    let is_controller =
        number.is_some_and(|number| number.chars().all(|digit| digit.is_ascii_digit()));
    let node = Path::new("/dev").join(path);
    // The drive of an NVMe controller is its first namespace.
    let node = if is_controller { PathBuf::from(format!("{}n1", node.display())) } else { node };
    let is_name = path.components().count() == 1;
    let hint = if is_name && node.exists() {
        Some(node.display().to_string())
    } else if is_name && is_block_name(&name) {
        Some(format!("{}; ssdyno list names the drives that are there", node.display()))
    } else {
        path.starts_with("/dev").then(|| "ssdyno list".into())
    };
    DriveError::NotFound { path: path.display().to_string(), what: problem, hint }
}

/// Whether the kernel gives block devices such names: `sdb`, `nvme0n1`, `mmcblk0p1`.
fn is_block_name(name: &str) -> bool {
    let after = |prefix: &str| name.strip_prefix(prefix).and_then(|rest| rest.chars().next());
    let letters = ["sd", "vd", "hd", "xvd"].iter().filter_map(|prefix| after(prefix));
    let digits = ["nvme", "mmcblk", "loop", "sr", "md"].iter().filter_map(|prefix| after(prefix));
    letters.map(|c| c.is_ascii_lowercase()).chain(digits.map(|c| c.is_ascii_digit())).any(|is| is)
}

/// The permission that this user lacks: that of the device's group, root, or more than root.
pub(crate) fn who_may(path: &Path, access: Access) -> String {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let Ok(meta) = std::fs::metadata(path) else {
        return "access to the parent directories".into();
    };
    let device = meta.file_type().is_block_device();
    let is_allowed = accessat(CWD, path, access, AtFlags::EACCESS).is_ok();
    let group_may = device && meta.mode() & 0o060 == 0o060 && meta.gid() != 0;
    if is_allowed && device {
        CONFINED.into()
    } else if is_allowed && access == Access::READ_OK {
        "a security policy that allows it".into()
    } else if is_allowed {
        "a file without the immutable attribute".into()
    } else if group_may {
        format!("group {}, or root", group_name(meta.gid()))
    } else if device {
        "root".into()
    } else {
        "its owner, or root".into()
    }
}

fn group_name(gid: u32) -> String {
    let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
    let group = groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(gid)).then(|| name.to_string())
    });
    group.unwrap_or_else(|| gid.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_read_is_not_blamed_on_the_immutable_attribute() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let missing = |access| who_may(file.path(), access);
        assert_eq!(missing(Access::READ_OK), "a security policy that allows it");
        assert_eq!(missing(Access::WRITE_OK), "a file without the immutable attribute");
    }
}
