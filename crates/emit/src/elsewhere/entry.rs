//! What stands in a directory under a name, on systems other than Linux.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use crate::kind::EntryKind;

/// The attributes of an entry of a directory.
pub struct EntryAttributes(pub Metadata);

impl EntryAttributes {
    pub fn kind(&self) -> EntryKind {
        if self.0.is_symlink() {
            EntryKind::Link
        } else if self.0.is_file() {
            EntryKind::File
        } else if self.0.is_dir() {
            EntryKind::Directory
        } else if is_block_device(self.0.file_type()) {
            EntryKind::Drive
        } else {
            EntryKind::Other
        }
    }

    /// Whether its permissions let anybody write to it.
    pub fn is_writable(&self) -> bool {
        !self.0.permissions().readonly()
    }

    /// Gives its permissions to a file that will replace it.
    pub fn give_attributes(&self, file: &File) -> io::Result<()> {
        // Where a file protected against writing cannot be replaced, the refusal comes then.
        if self.is_writable() { file.set_permissions(self.0.permissions()) } else { Ok(()) }
    }
}

/// Whether an open file is a drive.
pub fn is_drive(file: &File) -> io::Result<bool> {
    Ok(is_block_device(file.metadata()?.file_type()))
}

#[cfg(unix)]
fn is_block_device(kind: FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_block_device(&kind)
}

/// Windows has no such files: the path of a drive names no entry of a directory.
#[cfg(not(unix))]
fn is_block_device(_kind: FileType) -> bool {
    false
}

/// Whether a pipe can be written: known when it is opened.
pub fn check_pipe(_path: &Path) -> Option<io::Result<()>> {
    None
}

/// Opens what a link of the kernel leads to, such as the standard output of a Mac; `None` if the
/// path is no such link.
pub fn open_kernel_link(path: &Path) -> io::Result<Option<File>> {
    let is_link = path.starts_with("/dev") && path.is_symlink();
    is_link.then(|| OpenOptions::new().write(true).open(path)).transpose()
}
