//! The directory of an output, opened once and used by descriptor, so that a name moved meanwhile
//! does no harm.
//!
//! As root, the path is walked name by name. A symbolic link is followed only if root made it, and
//! not once the path has entered another user's directory. From there on, everything is done with
//! that user's rights ([`Owner`]).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::process::Uid;

use crate::entry::EntryAttributes;
use crate::owner::{Owner, is_over_others};

/// Links followed on a path at most, as in the kernel.
const LINKS_MAX: u32 = 40;

#[derive(Debug)]
pub struct Directory {
    fd: OwnedFd,
    path: PathBuf,
    owner: Option<Owner>,
}

impl Directory {
    pub fn open(path: &Path) -> io::Result<Directory> {
        Walk::begin(path)?.directory(path, None)
    }

    /// Opens a directory, and creates each missing level with this mode. Every new level is durable.
    pub fn create(path: &Path, mode: u32) -> io::Result<Directory> {
        Walk::begin(path)?.directory(path, Some(Mode::from_raw_mode(mode)))
    }

    /// Its path without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The user with whose rights root works in it; `None` with its own.
    pub fn owner(&self) -> Option<Owner> {
        self.owner
    }

    /// Does some work in it, with the rights for it.
    fn act<T>(&self, work: impl FnOnce() -> rustix::io::Result<T>) -> io::Result<T> {
        act(self.owner, work)
    }

    /// Opens a file in it, but no link.
    pub fn open_file(&self, name: &OsStr, flags: OFlags, mode: u32) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
        let mode = Mode::from_raw_mode(mode);
        Ok(self.act(|| fs::openat(&self.fd, name, flags, mode))?.into())
    }

    /// Opens a file in it for reading, but no link. A pipe does not wait for its writer.
    pub fn read(&self, name: &OsStr) -> io::Result<File> {
        self.open_file(name, OFlags::RDONLY | OFlags::NONBLOCK, 0)
    }

    /// Creates a file in it.
    ///
    /// # Errors
    /// If there is one of this name.
    pub fn create_new(&self, name: &OsStr) -> io::Result<File> {
        self.open_file(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, 0o666)
    }

    /// Opens a file, a pipe or a device in it for writing, but no link.
    pub(crate) fn write(&self, name: &OsStr) -> io::Result<File> {
        self.open_file(name, OFlags::WRONLY, 0)
    }

    /// The attributes of a file in it, or of a link; `None` if there is nothing of this name.
    pub(crate) fn entry(&self, name: &OsStr) -> io::Result<Option<EntryAttributes>> {
        match self.act(|| fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            stat => stat.map(|stat| Some(EntryAttributes(stat))),
        }
    }

    /// Renames a file in it, and replaces an earlier one.
    pub fn rename(&self, old: &OsStr, new: &OsStr) -> io::Result<()> {
        self.act(|| fs::renameat(&self.fd, old, &self.fd, new))
    }

    /// Gives a file in it a second name.
    pub fn link(&self, old: &OsStr, new: &OsStr) -> io::Result<()> {
        self.act(|| fs::linkat(&self.fd, old, &self.fd, new, AtFlags::empty()))
    }

    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        self.act(|| fs::unlinkat(&self.fd, name, AtFlags::empty()))
    }
}

/// Opens a file without its content (`O_PATH`), following links as to a [`Directory`].
pub fn resolve(path: &Path) -> io::Result<OwnedFd> {
    let mut walk = Walk::begin(path)?;
    while let Some(name) = walk.names.pop() {
        if let Some(file) = walk.step(&name, None)? {
            return if walk.names.is_empty() { Ok(file) } else { Err(Errno::NOTDIR.into()) };
        }
    }
    Ok(walk.fd)
}

fn act<T>(owner: Option<Owner>, work: impl FnOnce() -> rustix::io::Result<T>) -> io::Result<T> {
    Ok(match owner {
        Some(owner) => owner.act(work)??,
        None => work()?,
    })
}

/// The way along a path.
struct Walk {
    fd: OwnedFd,
    /// The names still to come, the next one last.
    names: Vec<OsString>,
    owner: Option<Owner>,
    links: u32,
    is_root: bool,
}

impl Walk {
    fn begin(path: &Path) -> io::Result<Walk> {
        let is_root = is_over_others();
        // The directories above the current one decide, too.
        let path = if is_root { &std::path::absolute(path)? } else { path };
        let start = if path.is_absolute() { "/" } else { "." };
        let fd = fs::openat(
            CWD,
            start,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let mut walk = Walk { fd, names: Vec::new(), owner: None, links: 0, is_root };
        walk.add(path);
        Ok(walk)
    }

    fn add(&mut self, path: &Path) {
        let names = path.components().rev().filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_os_string()),
            Component::ParentDir => Some("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        });
        self.names.extend(names);
    }

    fn directory(mut self, path: &Path, mode: Option<Mode>) -> io::Result<Directory> {
        while let Some(name) = self.names.pop() {
            if self.step(&name, mode)?.is_some() {
                return Err(Errno::NOTDIR.into());
            }
        }
        let link = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
        // Without /proc, its own name must do.
        let path = std::fs::read_link(link).or_else(|_| path.canonicalize())?;
        Ok(Directory { fd: self.fd, path, owner: self.owner })
    }

    /// Enters a directory or follows a link; returns anything else.
    fn step(&mut self, name: &OsStr, mode: Option<Mode>) -> io::Result<Option<OwnedFd>> {
        if name == ".." && self.owner.is_some() {
            return Err(io::Error::other("refusing '..' in another user's directory"));
        }
        let opened = match (self.open(name), mode) {
            (Err(Errno::NOENT), Some(mode)) => {
                self.make(name, mode)?;
                self.open(name)?
            }
            (opened, _) => opened?,
        };
        let stat = fs::fstat(&opened)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                if self.is_root && stat.st_uid != 0 {
                    self.owner = Some(Owner::from_uid(Uid::from_raw(stat.st_uid)));
                }
                self.fd = opened;
                Ok(None)
            }
            FileType::Symlink => self.follow(&opened, &stat).map(|()| None),
            _ => Ok(Some(opened)),
        }
    }

    /// Opens a name. An automatic mount happens only on opening a directory.
    fn open(&self, name: &OsStr) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match fs::openat(&self.fd, name, flags | OFlags::DIRECTORY, Mode::empty()) {
            Err(Errno::NOTDIR) => fs::openat(&self.fd, name, flags, Mode::empty()),
            opened => opened,
        }
    }

    fn make(&self, name: &OsStr, mode: Mode) -> io::Result<()> {
        match act(self.owner, || fs::mkdirat(&self.fd, name, mode)) {
            // Another process was faster.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            made => made?,
        }
        // Not every file system can sync a directory; on those, nothing more can be done.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = act(self.owner, || fs::openat(&self.fd, ".", flags, Mode::empty()));
        let _ = parent.and_then(|parent| File::from(parent).sync_all());
        Ok(())
    }

    fn follow(&mut self, link: &OwnedFd, stat: &Stat) -> io::Result<()> {
        if self.is_root && (self.owner.is_some() || stat.st_uid != 0) {
            return Err(io::Error::other("refusing to follow another user's symbolic link"));
        }
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(Errno::LOOP.into());
        }
        let target = fs::readlinkat(link, "", Vec::new())?.into_bytes();
        let target = PathBuf::from(OsString::from_vec(target));
        if target.is_absolute() {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            self.fd = fs::openat(CWD, "/", flags, Mode::empty())?;
        }
        self.add(&target);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::geteuid;
    use std::os::unix::fs::{MetadataExt, chown, symlink};

    #[test]
    fn a_directory_is_created_and_keeps_its_meaning() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("a/./b/../c");
        let directory = Directory::create(&path, 0o700).expect("created");
        assert_eq!(directory.path(), place.path().canonicalize().expect("a path").join("a/c"));
        std::fs::rename(place.path().join("a"), place.path().join("moved")).expect("moved");
        let flags = OFlags::WRONLY | OFlags::CREATE;
        directory.open_file(OsStr::new("file"), flags, 0o600).expect("created");
        assert!(place.path().join("moved/c/file").exists());
        symlink(place.path().join("moved"), place.path().join("own")).expect("a link");
        Directory::open(&place.path().join("own/c")).expect("one's own link is followed");
        assert!(Directory::open(&place.path().join("moved/c/file")).is_err());
        assert!(resolve(&place.path().join("own/c/file")).is_ok());
    }

    #[test]
    fn root_acts_as_the_owner_of_a_directory_and_follows_no_link_in_it() {
        let place = tempfile::tempdir().expect("a directory");
        let theirs = place.path().join("theirs");
        std::fs::create_dir(&theirs).expect("a directory");
        if !geteuid().is_root() || chown(&theirs, Some(1234), Some(1234)).is_err() {
            println!("skipped: needs root");
            return;
        }
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(place.path(), mode).expect("set");
        let made = Directory::create(&theirs.join("a/b"), 0o700).expect("created");
        let flags = OFlags::WRONLY | OFlags::CREATE;
        made.open_file(OsStr::new("file"), flags, 0o600).expect("created");
        for name in ["a", "a/b", "a/b/file"] {
            assert_eq!(theirs.join(name).metadata().expect("there").uid(), 1234, "{name}");
        }
        let closed = place.path().join("closed");
        std::fs::create_dir(&closed).expect("a directory");
        symlink(&closed, theirs.join("link")).expect("a link");
        for path in [theirs.join("link"), theirs.join("a/..")] {
            let refused = Directory::create(&path.join("x"), 0o700).expect_err("refused");
            assert!(refused.to_string().starts_with("refusing"), "{refused}");
        }
        assert!(resolve(&theirs.join("link")).is_err());
        // A directory of root's inside is used with the user's rights.
        std::fs::create_dir(theirs.join("roots")).expect("a directory");
        let inside = Directory::open(&theirs.join("roots")).expect("opened");
        let denied = inside.open_file(OsStr::new("x"), flags, 0o600).expect_err("no permission");
        assert_eq!(denied.kind(), ErrorKind::PermissionDenied);
    }
}
