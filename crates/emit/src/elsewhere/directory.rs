//! The directory of an output, on systems other than Linux: by its path.
//!
//! Directories are used by descriptor where a measurement runs as root beside other users, who
//! could move a name in the meantime. Elsewhere nothing here needs root.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::entry::EntryAttributes;
use crate::owner::Owner;

#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Finds a directory.
    pub fn open(path: &Path) -> io::Result<Directory> {
        // On Windows, a canonical path has a form that other programs do not read.
        let path = if cfg!(windows) { std::path::absolute(path)? } else { path.canonicalize()? };
        if path.metadata()?.is_dir() {
            Ok(Directory { path })
        } else {
            Err(ErrorKind::NotADirectory.into())
        }
    }

    /// Finds a directory, and creates each missing level, with this mode where there are modes.
    pub fn create(path: &Path, mode: u32) -> io::Result<Directory> {
        builder(mode).recursive(true).create(path)?;
        Directory::open(path)
    }

    /// Its path without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Another user with whose rights to work in it: none.
    pub fn owner(&self) -> Option<Owner> {
        None
    }

    /// Opens a file in it for reading.
    pub fn read(&self, name: &OsStr) -> io::Result<File> {
        File::open(self.path.join(name))
    }

    /// Creates a file in it.
    ///
    /// # Errors
    /// If there is one of this name.
    pub fn create_new(&self, name: &OsStr) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(self.path.join(name))
    }

    /// Opens a file, a pipe or a device in it for writing.
    pub(crate) fn write(&self, name: &OsStr) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.path.join(name))
    }

    /// The attributes of a file in it, or of a link; `None` if there is nothing of this name.
    pub(crate) fn entry(&self, name: &OsStr) -> io::Result<Option<EntryAttributes>> {
        match self.path.join(name).symlink_metadata() {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            metadata => metadata.map(|metadata| Some(EntryAttributes(metadata))),
        }
    }

    /// Renames a file in it, and replaces an earlier one.
    pub fn rename(&self, old: &OsStr, new: &OsStr) -> io::Result<()> {
        fs::rename(self.path.join(old), self.path.join(new))
    }

    /// Gives a file in it a second name.
    pub fn link(&self, old: &OsStr, new: &OsStr) -> io::Result<()> {
        fs::hard_link(self.path.join(old), self.path.join(new))
    }

    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }
}

#[cfg(unix)]
fn builder(mode: u32) -> DirBuilder {
    let mut builder = DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
    builder
}

#[cfg(not(unix))]
fn builder(_mode: u32) -> DirBuilder {
    DirBuilder::new()
}
