//! Files by identity, independent of what their names currently refer to.
//!
//! Between two system calls, a name can be moved to another file. A name is therefore first pinned
//! by an O_PATH descriptor, and the file is opened through that descriptor if it is the one that
//! was inspected. A missing file is created exclusively and not through a symbolic link.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use drive::FileIdentity;
use emit::{Directory, directory_of};
use rustix::fs::OFlags;

/// The files of a run by name.
#[derive(Debug, Default)]
pub(super) struct SameFiles(Mutex<HashMap<PathBuf, FileIdentity>>);

impl SameFiles {
    fn known(&self) -> MutexGuard<'_, HashMap<PathBuf, FileIdentity>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the file behind a name.
    pub fn insert(&self, path: &Path, identity: FileIdentity) {
        self.known().insert(path.to_path_buf(), identity);
    }

    /// Forgets the file behind a name.
    pub fn forget(&self, path: &Path) {
        self.known().remove(path);
    }

    /// Checks that the name still refers to its file.
    pub fn check(&self, path: &Path) -> io::Result<()> {
        match self.known().get(path) {
            Some(identity) => pin(path, identity).map(drop),
            None => Ok(()),
        }
    }

    /// Opens the file behind a name; creates a missing one if `create` is set.
    pub fn open(&self, path: &Path, options: &OpenOptions, create: bool) -> io::Result<File> {
        let mut identities = self.known();
        if let Some(identity) = identities.get(path) {
            let pinned = pin(path, identity)?;
            return options.open(format!("/proc/self/fd/{}", pinned.as_raw_fd()));
        }
        if !create {
            return options.open(path);
        }
        let file = create_owned(path, options)?;
        identities.insert(path.to_path_buf(), FileIdentity::from_metadata(&file.metadata()?));
        Ok(file)
    }
}

/// Creates a file exclusively. In another user's directory, it belongs to that user, as with every
/// output.
fn create_owned(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let directory = Directory::open(directory_of(path))?;
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let created = directory.open_file(name, flags, 0o644)?;
    options.open(format!("/proc/self/fd/{}", created.as_raw_fd()))
}

/// Returns an O_PATH descriptor of the file, which does not open its content.
fn pin(path: &Path, identity: &FileIdentity) -> io::Result<File> {
    let flags = OFlags::PATH.bits() as i32;
    let pinned = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    check(identity, &pinned).map(|()| pinned)
}

/// Checks that an open file has this identity.
pub(super) fn check(identity: &FileIdentity, file: &File) -> io::Result<()> {
    if identity.is_same_file(&FileIdentity::from_metadata(&file.metadata()?)) {
        Ok(())
    } else {
        Err(io::Error::other("it was replaced by another file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_name_that_means_another_file_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let [mine, other, link] = ["mine", "other", "link"].map(|name| dir.path().join(name));
        fs::write(&mine, "mine").expect("a file");
        fs::write(&other, "other").expect("a file");
        let same = SameFiles::default();
        same.insert(&mine, FileIdentity::from_metadata(&mine.metadata().expect("there")));
        let write = OpenOptions::new().write(true).clone();
        same.open(&mine, &write, true).expect("the same");
        fs::rename(&mine, dir.path().join("away")).expect("moved");
        std::os::unix::fs::symlink(&other, &mine).expect("a link");
        let error = same.open(&mine, &write, true).expect_err("another");
        assert!(error.to_string().contains("replaced by another file"), "{error}");
        assert!(same.check(&mine).is_err());
        // A new file is not created through a link, dangling or not.
        std::os::unix::fs::symlink(dir.path().join("nowhere"), &link).expect("a link");
        assert!(same.open(&link, &write, true).is_err());
        let new = dir.path().join("new");
        same.open(&new, &write, true).expect("created");
        same.open(&new, &write, true).expect("the same again");
    }
}
