//! Calls on names: files and directories that are created, asked about and removed, without any data.
//!
//! Only what this run created is removed.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rig::{NameCall, errno};

/// The names that exist because of this run.
#[derive(Debug, Default)]
pub(super) struct MadeNames(BTreeSet<PathBuf>);

impl MadeNames {
    /// Makes a call; returns its duration, nanoseconds, or an error number.
    pub(super) fn call(&mut self, call: NameCall, path: &Path) -> Result<u64, i32> {
        let creates = matches!(call, NameCall::CreateFile | NameCall::CreateDirectory);
        let removes = matches!(call, NameCall::DeleteFile | NameCall::DeleteDirectory);
        if removes && !self.0.contains(path) {
            return Err(errno::EPERM);
        }
        let is_new = creates && fs::symlink_metadata(path).is_err();
        let start = Instant::now();
        let result = perform(call, path);
        let elapsed_ns = start.elapsed().as_nanos() as u64;
        result.map_err(|error| error.raw_os_error().unwrap_or(errno::EIO))?;
        if is_new {
            self.0.insert(path.to_path_buf());
        }
        if removes {
            self.0.remove(path);
        }
        Ok(elapsed_ns)
    }

    /// The files that remain, with their sizes.
    pub(super) fn left(&self) -> impl Iterator<Item = (PathBuf, u64)> {
        let files = self.0.iter().filter(|path| path.is_file());
        files.map(|path| (path.clone(), 0))
    }
}

fn perform(call: NameCall, path: &Path) -> io::Result<()> {
    match call {
        NameCall::CreateFile => {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(0o600);
            options.open(path).map(drop)
        }
        NameCall::CreateDirectory => DirBuilder::new().mode(0o700).create(path),
        NameCall::StatFile | NameCall::StatDirectory => fs::metadata(path).map(drop),
        NameCall::DeleteFile => fs::remove_file(path),
        NameCall::DeleteDirectory => fs::remove_dir(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_created_is_removed() {
        let place = tempfile::tempdir().expect("a directory");
        let (own, other) = (place.path().join("own"), place.path().join("other"));
        fs::write(&other, "data").expect("written");
        let mut names = MadeNames::default();
        for path in [&own, &other] {
            assert!(names.call(NameCall::CreateFile, path).is_ok());
            assert!(names.call(NameCall::StatFile, path).is_ok());
        }
        assert_eq!(names.left().count(), 1);
        assert!(names.call(NameCall::DeleteFile, &own).is_ok() && !own.exists());
        assert_eq!(names.call(NameCall::DeleteFile, &other), Err(errno::EPERM));
        assert_eq!(fs::read_to_string(&other).expect("read"), "data");
        assert!(names.call(NameCall::CreateDirectory, &own).is_ok() && own.is_dir());
        assert!(names.call(NameCall::CreateDirectory, &own).is_err());
        assert!(names.call(NameCall::DeleteDirectory, &own).is_ok() && !own.exists());
    }
}
