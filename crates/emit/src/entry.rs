//! What stands in a directory under a name, and what the kernel's links lead to.
//!
//! The kernel's links (`/dev/stdout`, `/dev/fd/63`) lead to descriptors of this process and are
//! followed. A regular file behind one would be overwritten from its start, because opening it again
//! starts at offset 0: standard output and standard error are therefore duplicated, and files behind
//! other descriptors refused.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::fs::{Access, FileType, Stat};

use crate::kind::EntryKind;
use crate::owner::invoking_user;

/// The attributes of an entry of a directory.
pub struct EntryAttributes(pub Stat);

impl EntryAttributes {
    pub fn kind(&self) -> EntryKind {
        match FileType::from_raw_mode(self.0.st_mode) {
            FileType::Symlink => EntryKind::Link,
            FileType::BlockDevice => EntryKind::Drive,
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Directory,
            _ => EntryKind::Other,
        }
    }

    /// Whether its permissions let anybody write to it.
    pub fn is_writable(&self) -> bool {
        self.0.st_mode & 0o222 != 0
    }

    /// Gives its permissions, group and owner to a file that will replace it. Root gives a file to
    /// the user who became root, but to nobody else: whoever owns the directory owns the file already.
    pub fn give_attributes(&self, file: &File) -> io::Result<()> {
        let old = &self.0;
        if old.st_uid == file.metadata()?.uid() || Some(old.st_uid) == invoking_user() {
            // Only a member can keep the group.
            let _ = fchown(file, Some(old.st_uid), Some(old.st_gid));
        }
        file.set_permissions(Permissions::from_mode(old.st_mode & 0o777))
    }
}

/// Whether an open file is a drive.
pub fn is_drive(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.file_type().is_block_device())
}

/// Whether a pipe or another special file can be written; `None` for a file, a directory or a drive.
/// Opening a pipe would wait for its reader, or be an end to it.
pub fn check_pipe(path: &Path) -> Option<io::Result<()>> {
    let kind = path.metadata().ok()?.file_type();
    let is_special = !kind.is_file() && !kind.is_dir() && !kind.is_block_device();
    is_special.then(|| Ok(rustix::fs::access(path, Access::WRITE_OK)?))
}

/// Opens what a link of the kernel leads to; `None` if the path is no such link.
pub fn open_kernel_link(path: &Path) -> io::Result<Option<File>> {
    let places = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];
    if !places.iter().any(|start| path.starts_with(start)) || !path.is_symlink() {
        return Ok(None);
    }
    if let Some(descriptor) = standard(path) {
        return Ok(Some(File::from(descriptor?)));
    }
    let file = OpenOptions::new().write(true).open(path)?;
    if file.metadata()?.is_file() {
        return Err(io::Error::other("it leads to an open file; give that file's own name"));
    }
    Ok(Some(file))
}

/// A duplicate of standard output or standard error, if the path names one. It shares the offset, so
/// later output follows.
fn standard(path: &Path) -> Option<io::Result<OwnedFd>> {
    let names = |name: &str, number: u32| {
        let numbered = ["/dev/fd", "/proc/self/fd"].map(|dir| format!("{dir}/{number}"));
        path == Path::new(name) || numbered.iter().any(|numbered| path == Path::new(numbered))
    };
    if names("/dev/stdout", 1) {
        let flushed = io::stdout().flush();
        Some(flushed.and_then(|()| io::stdout().as_fd().try_clone_to_owned()))
    } else {
        names("/dev/stderr", 2).then(|| io::stderr().as_fd().try_clone_to_owned())
    }
}
