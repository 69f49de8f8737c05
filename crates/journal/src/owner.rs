//! Whose journals are trusted, and the only way in which a file in their directory is opened.
//!
//! A journal decides what is written to a raw drive, so it must come from the user who restores it,
//! or from root. The owner is that of the open file, never of a path. Nobody else may be able to
//! put another file in its place, so the directory must be safe as well. Files are opened without
//! following links and without blocking; anything but a regular file is no journal.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use drive::user_name;
use rustix::fs::OFlags;
use rustix::process::geteuid;

use crate::JournalError;

/// Permission of a group, and of everybody, to write to a directory.
const GROUP_WRITES: u32 = 0o020;
const ALL_WRITE: u32 = 0o002;

/// In a directory with this bit, only the owner of a file can replace it.
const STICKY: u32 = 0o1000;

/// A user, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(pub u32);

/// A file that was to be opened.
pub(crate) enum Opened {
    /// A regular file of this owner or of root.
    File(File),
    /// There is no such file.
    Missing,
    /// It belongs to another user, whatever it is.
    Foreign(Owner),
    /// It belongs to this owner, but is a directory, a link, a pipe or a device.
    Irregular,
}

impl Owner {
    pub fn of_process() -> Owner {
        Owner(geteuid().as_raw())
    }

    /// Whether files of a user are trusted. Root can change any file anyway.
    pub fn trusts(self, uid: u32) -> bool {
        uid == self.0 || uid == 0
    }

    /// Opens a file of this owner for reading.
    pub fn open(self, path: &Path) -> io::Result<Opened> {
        let (file, metadata) = match open_regular(path) {
            Ok(opened) => opened,
            Err(error) => return self.explain(path, error),
        };
        let uid = metadata.uid();
        Ok(if self.trusts(uid) { Opened::File(file) } else { Opened::Foreign(Owner(uid)) })
    }

    /// Why a file could not be opened.
    fn explain(self, path: &Path, error: io::Error) -> io::Result<Opened> {
        let metadata = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Opened::Missing),
            metadata => metadata?,
        };
        match (self.trusts(metadata.uid()), metadata.is_file()) {
            (false, _) => Ok(Opened::Foreign(Owner(metadata.uid()))),
            (true, false) => Ok(Opened::Irregular),
            (true, true) => Err(error),
        }
    }

    /// Checks that nobody else can replace the files in a directory.
    pub fn check_directory(self, directory: &Path) -> Result<(), JournalError> {
        let is_current = directory.as_os_str().is_empty();
        let directory = if is_current { Path::new(".") } else { directory };
        let rival =
            self.rival_in(directory).map_err(|e| JournalError::io("inspect", directory, e))?;
        let dir = directory.to_path_buf();
        rival.map_or(Ok(()), |rival| Err(JournalError::Shared { dir, rival }))
    }

    /// Checks a directory that root is about to fill: that nobody else can replace it either, or a
    /// directory or link on the way to it. Its existing part decides.
    pub fn check_path(self, directory: &Path) -> Result<(), JournalError> {
        let failed = |e| JournalError::io("inspect", directory, e);
        let absolute = std::path::absolute(directory).map_err(failed)?;
        let existing = absolute.ancestors().find(|dir| dir.is_dir()).unwrap_or(Path::new("/"));
        if self != Owner(0) {
            let is_whole = existing == absolute;
            return if is_whole { self.check_directory(existing) } else { Ok(()) };
        }
        let real = existing.canonicalize().map_err(failed)?;
        for on_the_way in existing.ancestors().chain(real.ancestors()) {
            self.check_directory(on_the_way)?;
            let uid = fs::symlink_metadata(on_the_way).map_err(failed)?.uid();
            if !self.trusts(uid) {
                let rival = format!("the owner of this link, user {},", user_name(uid));
                return Err(JournalError::Shared { dir: on_the_way.to_path_buf(), rival });
            }
        }
        Ok(())
    }

    /// Who else could replace the files in a directory, in words; `None` if nobody can.
    pub fn rival_in(self, directory: &Path) -> io::Result<Option<String>> {
        let metadata = fs::metadata(directory)?;
        let (uid, mode) = (metadata.uid(), metadata.mode());
        // Many systems give each user a group of the same number, with no other member.
        let own_group = metadata.gid() == self.0;
        let write_bits = if own_group { ALL_WRITE } else { ALL_WRITE | GROUP_WRITES };
        if !self.trusts(uid) {
            return Ok(Some(format!("its owner, user {},", user_name(uid))));
        }
        let is_safe = mode & STICKY != 0 || mode & write_bits == 0;
        let rival = if mode & ALL_WRITE != 0 { "every user" } else { "its group" };
        Ok((!is_safe).then(|| rival.into()))
    }
}

/// Opens a regular file of any owner. The open file is checked, because another user may replace
/// the path at any moment; the path is checked first, because opening a device can act on it.
pub(crate) fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let irregular = || io::Error::other("not a regular file");
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(irregular());
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok((file, metadata)) } else { Err(irregular()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use tempfile::TempDir;

    use super::*;

    const STRANGER: u32 = 12_345;

    #[test]
    fn only_regular_files_are_opened_and_a_pipe_does_not_block() {
        let dir = TempDir::new().expect("a directory");
        let [file, link, pipe, gone] =
            ["a.journal", "b.journal", "c.journal", "d"].map(|n| dir.path().join(n));
        fs::write(&file, "x").expect("written");
        symlink(&file, &link).expect("linked");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        let owner = Owner::of_process();
        assert!(matches!(owner.open(&file), Ok(Opened::File(_))));
        for path in [&link, &pipe, &dir.path().to_path_buf()] {
            assert!(matches!(owner.open(path), Ok(Opened::Irregular)), "{}", path.display());
        }
        assert!(matches!(owner.open(&gone), Ok(Opened::Missing)));
    }

    #[test]
    fn a_directory_in_which_others_can_replace_files_is_not_safe() {
        let dir = TempDir::new().expect("a directory");
        let owner = Owner::of_process();
        let rival = |mode: u32| {
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).expect("changed");
            owner.rival_in(dir.path()).expect("there")
        };
        for mode in [0o700, 0o755, 0o1777, 0o1775] {
            assert_eq!(rival(mode), None, "{mode:o}");
        }
        assert_eq!(rival(0o777), Some("every user".into()));
        if chown(dir.path(), None, Some(STRANGER)).is_ok() {
            assert_eq!(rival(0o775), Some("its group".into()));
        }
        if chown(dir.path(), Some(STRANGER), None).is_ok() {
            assert_eq!(rival(0o1755), Some(format!("its owner, user {STRANGER},")));
            assert_eq!(Owner(STRANGER).rival_in(dir.path()).expect("there"), None);
        }
    }
}
