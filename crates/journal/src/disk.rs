//! The operations that change a directory of journals. A power loss can undo or truncate each.
//!
//! Production code has one implementation, [`Kernel`]. The power cut tests record the operations
//! instead, and replay every prefix of them as a drive may have kept it. Reads change nothing and
//! are not included.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// File operations. Nothing is durable before a sync: content after [`Disk::sync`] of its file, a
/// name after [`Disk::sync_names`] of its directory.
pub trait Disk: Debug + Send + Sync {
    /// Creates a file that only its owner may read, for writing.
    fn create(&self, path: &Path) -> io::Result<File>;

    /// Appends to a file made by [`Disk::create`].
    fn append(&self, file: &mut File, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Makes the content of a file durable.
    fn sync(&self, file: &File, path: &Path) -> io::Result<()>;

    /// Renames a file within its directory.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Creates a directory that only its owner may read. Its parent must exist.
    fn make_directory(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable.
    fn sync_names(&self, directory: &Path) -> io::Result<()>;
}

/// The operations of the operating system.
#[derive(Clone, Copy, Debug)]
pub struct Kernel;

impl Disk for Kernel {
    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
    }

    fn append(&self, file: &mut File, _path: &Path, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn sync(&self, file: &File, _path: &Path) -> io::Result<()> {
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            made => made,
        }
    }

    fn sync_names(&self, directory: &Path) -> io::Result<()> {
        let here = directory.as_os_str().is_empty();
        File::open(if here { Path::new(".") } else { directory })?.sync_all()
    }
}
