//! The operations that change a directory of journals. A power loss can undo or truncate each.
//!
//! Production code has one implementation, [`Kernel`]. The power cut tests record the operations
//! instead, and replay every prefix of them as a drive may have kept it. Reads change nothing and
//! are not included.
//!
//! Asserted: a file gets its final name only when its content is synced ([`PartFile::publish`]).

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
        let is_current = directory.as_os_str().is_empty();
        File::open(if is_current { Path::new(".") } else { directory })?.sync_all()
    }
}

/// A file that is being written under a temporary name.
pub(crate) struct PartFile<'d> {
    disk: &'d dyn Disk,
    path: &'d Path,
    file: File,
    is_synced: bool,
}

impl<'d> PartFile<'d> {
    /// Takes an empty file that was created at `path`.
    pub(crate) fn new(disk: &'d dyn Disk, path: &'d Path, file: File) -> PartFile<'d> {
        PartFile { disk, path, file, is_synced: false }
    }

    /// Appends bytes, which are not durable yet.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.is_synced = false;
        self.disk.append(&mut self.file, self.path, bytes)
    }

    /// Makes the content durable.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.disk.sync(&self.file, self.path)?;
        self.is_synced = true;
        Ok(())
    }

    /// Gives the file its final name in `directory`. On return, it survives a power loss.
    pub(crate) fn publish(self, path: &Path, directory: &Path) -> io::Result<()> {
        assert!(self.is_synced, "{} would get its name before it is synced", path.display());
        self.disk.rename(self.path, path)?;
        self.disk.sync_names(directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Publishes a file after an append, a sync, and `appends` further appends.
    fn publish(appends: usize) -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        let (part, path) = (directory.path().join("a.part"), directory.path().join("a"));
        let mut file = PartFile::new(&Kernel, &part, Kernel.create(&part)?);
        file.append(b"header")?;
        file.sync()?;
        (0..appends).try_for_each(|_| file.append(b"bytes"))?;
        file.publish(&path, directory.path())
    }

    #[test]
    fn a_synced_file_gets_its_name() {
        publish(0).expect("published");
    }

    #[test]
    #[should_panic(expected = "before it is synced")]
    fn bytes_that_are_not_synced_keep_the_temporary_name() {
        let _ = publish(1);
    }
}
