//! Files that the user requested by name.
//!
//! A regular file is written as a draft beside its final path and renamed when complete, or written
//! in place if its directory is not writable. A symbolic link is refused: in a shared directory it
//! may be another user's trap. The kernel's links (`/dev/stdout`, `/dev/fd/63`) lead to descriptors
//! of this process and are followed. A regular file behind one would be overwritten from its start,
//! because opening it again starts at offset 0: standard output and standard error are therefore
//! duplicated, and files behind other descriptors refused. Pipes and terminals are written directly.
//! A block device is refused: only the guard opens drives.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::fs::{Access, FileType, OFlags, Stat};

use crate::directory::Directory;
use crate::output::{directory_of, draft, foreign, head_of, linked};
use crate::owner::invoking_user;

/// Checks that [`crate::replace`] or, with an example of the content, [`crate::renew`] can write a file. Changes
/// nothing, and waits for nobody.
pub fn check(path: &Path, example: Option<&[u8]>) -> io::Result<()> {
    let is_pipe = path.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    if is_pipe && !path.metadata()?.file_type().is_block_device() {
        // Opening it would wait for its reader, or be an end to it.
        return Ok(rustix::fs::access(path, Access::WRITE_OK)?);
    }
    match example {
        Some(example) => Replacement::renew(path, head_of(example)).map(drop),
        None => Replacement::create(path).map(drop),
    }
}

/// A file being written. Without [`Replacement::finish`] it keeps its old content, unless it is
/// written in place.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    /// `None` if written in place.
    draft: Option<Draft>,
    /// Whether a file written in place still has its old content.
    is_old: bool,
}

/// A file under another name, until it is complete.
#[derive(Debug)]
struct Draft {
    directory: Directory,
    name: OsString,
    final_name: OsString,
}

impl Replacement {
    /// Starts writing a file. Refuses to replace a file that does not begin with `head`, unless it
    /// is empty.
    pub fn renew(path: &Path, head: &[u8]) -> io::Result<Replacement> {
        Replacement::begin(path, Some(head))
    }

    /// Starts writing a file. The error gives the reason, such as a symbolic link or a drive, but
    /// not the path.
    pub fn create(path: &Path) -> io::Result<Replacement> {
        Replacement::begin(path, None)
    }

    fn begin(path: &Path, head: Option<&[u8]>) -> io::Result<Replacement> {
        if is_of_kernel(path) && path.is_symlink() {
            return Replacement::through(path);
        }
        let directory = Directory::open(directory_of(path))?;
        let name = path.file_name().ok_or(ErrorKind::IsADirectory)?;
        let stat = match directory.stat(name) {
            Ok(stat) => Some(stat),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        match stat.as_ref().map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Some(FileType::Symlink) => Err(linked()),
            Some(FileType::BlockDevice) => Err(drive()),
            None => Replacement::beside(directory, name, None),
            Some(FileType::RegularFile) => {
                if head.is_some_and(|head| !has_head(&directory, name, head)) {
                    return Err(foreign());
                }
                Replacement::beside(directory, name, stat.as_ref())
            }
            Some(_) => Replacement::in_place(&directory, name),
        }
    }

    /// Follows a link of the kernel.
    fn through(path: &Path) -> io::Result<Replacement> {
        let file = match standard(path) {
            Some(descriptor) => File::from(descriptor?),
            None => {
                let file = OpenOptions::new().write(true).open(path)?;
                if file.metadata()?.is_file() {
                    return Err(descriptor());
                }
                file
            }
        };
        Replacement::direct(file)
    }

    fn in_place(directory: &Directory, name: &OsStr) -> io::Result<Replacement> {
        Replacement::direct(directory.open_file(name, OFlags::WRONLY, 0)?)
    }

    fn direct(file: File) -> io::Result<Replacement> {
        // A link of the kernel can lead to a drive, and the path may have changed.
        if file.metadata()?.file_type().is_block_device() {
            return Err(drive());
        }
        Ok(Replacement { file, draft: None, is_old: false })
    }

    fn beside(directory: Directory, name: &OsStr, old: Option<&Stat>) -> io::Result<Replacement> {
        let denied = |e: &io::Error| e.kind() == ErrorKind::PermissionDenied;
        match draft(&directory, name) {
            Ok((file, draft)) => {
                let final_name = name.to_os_string();
                let draft = Some(Draft { directory, name: draft, final_name });
                let made = Replacement { file, draft, is_old: false };
                if let Some(old) = old {
                    made.keep_attributes(old)?;
                }
                Ok(made)
            }
            // The file is writable, but its directory is not: no draft can be made beside it.
            Err(e) if denied(&e) && old.is_some_and(|old| old.st_mode & 0o222 != 0) => {
                let mut made = Replacement::in_place(&directory, name)?;
                made.is_old = true;
                Ok(made)
            }
            Err(e) => Err(e),
        }
    }

    /// Keeps the permissions of the old file, and its group and owner. Root gives a file to the user
    /// who became root, but to nobody else: whoever owns the directory owns the file already.
    fn keep_attributes(&self, old: &Stat) -> io::Result<()> {
        if old.st_uid == self.file.metadata()?.uid() || Some(old.st_uid) == invoking_user() {
            // Only a member can keep the group.
            let _ = fchown(&self.file, Some(old.st_uid), Some(old.st_gid));
        }
        self.file.set_permissions(Permissions::from_mode(old.st_mode & 0o777))
    }

    /// Makes the draft durable and moves it to the final path; flushes a file written in place.
    pub fn finish(mut self) -> io::Result<()> {
        let Some(Draft { directory, name, final_name }) = self.draft.take() else {
            return self.file.flush();
        };
        let placed = self.file.sync_all().and_then(|()| directory.rename(&name, &final_name));
        placed.inspect_err(|_| drop(directory.remove(&name)))
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_old {
            self.file.set_len(0)?;
            self.is_old = false;
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(Draft { directory, name, .. }) = &self.draft {
            // A leftover draft is harmless.
            let _ = directory.remove(name);
        }
    }
}

/// Whether a file is empty or begins with these bytes.
fn has_head(directory: &Directory, name: &OsStr, head: &[u8]) -> bool {
    let mut start = vec![0; head.len()];
    directory.read(name).is_ok_and(|mut file| {
        let is_empty = file.metadata().is_ok_and(|meta| meta.len() == 0);
        is_empty || (file.read_exact(&mut start).is_ok() && start == head)
    })
}

/// Whether a link is one of the kernel's links to open descriptors.
fn is_of_kernel(path: &Path) -> bool {
    ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"].iter().any(|start| path.starts_with(start))
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

fn drive() -> io::Error {
    io::Error::other("it is a drive, not a file")
}

fn descriptor() -> io::Error {
    io::Error::other("it leads to an open file; give that file's own name")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{renew, replace};
    use std::fs;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{chown, symlink};
    use std::process::Command;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).expect("a directory").flatten();
        let mut names: Vec<_> =
            entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_an_earlier_file_of_its_kind_is_renewed() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("page");
        let page = |title: &str| format!("{}{title}", "<!DOCTYPE html>".repeat(6));
        for title in ["new", "renewed"] {
            renew(&path, page(title)).expect("ours");
        }
        for other in ["root:x:0:0:", &page("")[..40], &format!("x{}", page("x"))] {
            fs::write(&path, other).expect("written");
            let refused = renew(&path, page("lost")).expect_err("another's").to_string();
            assert!(refused.contains("not an earlier version"), "{refused}");
            assert_eq!(fs::read_to_string(&path).expect("kept"), other);
        }
        fs::write(&path, "").expect("emptied");
        renew(&path, page("in an empty file")).expect("nothing is lost");
        assert_eq!(names(dir.path()), ["page"]);
        renew(Path::new("/dev/null"), "x").expect("no file");
    }

    #[test]
    fn a_picture_is_renewed_if_it_has_the_same_size() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("card.png");
        let picture = |side: u8, pixel: u8| [&b"\x89PNG"[..], &[side; 29], &[pixel; 60]].concat();
        renew(&path, picture(1, 1)).expect("new");
        renew(&path, picture(1, 2)).expect("renewed");
        renew(&path, picture(2, 2)).expect_err("another picture");
    }

    #[test]
    fn a_drive_is_no_file() {
        let Some(drive) = ["/dev/loop0", "/dev/ram0", "/dev/vda", "/dev/sda", "/dev/nvme0n1"]
            .map(Path::new)
            .into_iter()
            .find(|path| path.metadata().is_ok_and(|meta| meta.file_type().is_block_device()))
        else {
            println!("skipped: this machine shows no block device");
            return;
        };
        let refused = Replacement::create(drive).expect_err("not opened").to_string();
        assert_eq!(refused, "it is a drive, not a file");
    }

    #[test]
    fn a_file_is_replaced_completely_or_not_at_all() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("report.html");
        replace(&path, "one").expect("created");
        fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("set");
        let reader = File::open(&path).expect("there");
        let mut half = Replacement::create(&path).expect("begun");
        half.write_all(b"tw").expect("written");
        assert_eq!(fs::read(&path).expect("there"), b"one", "not finished");
        drop(half);
        assert_eq!(names(dir.path()), ["report.html"], "the draft is gone");
        replace(&path, "two").expect("replaced");
        assert_eq!(fs::read(&path).expect("there"), b"two");
        assert_eq!(path.metadata().expect("there").permissions().mode() & 0o777, 0o640);
        assert_eq!(
            io::read_to_string(reader).expect("read"),
            "one",
            "an open reader keeps the old content"
        );
        assert_eq!(names(dir.path()), ["report.html"]);
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let dir = tempfile::tempdir().expect("a directory");
        let (link, other) = (dir.path().join("link"), dir.path().join("other"));
        symlink(&other, &link).expect("a link");
        let refused = replace(&link, "mine").expect_err("dangling");
        assert!(refused.to_string().contains("symbolic link"), "{refused}");
        assert!(!other.exists());
        fs::write(&other, "theirs").expect("a file");
        replace(&link, "mine").expect_err("refused");
        assert_eq!(fs::read(&other).expect("there"), b"theirs");
        assert_eq!(names(dir.path()), ["link", "other"]);
    }

    /// A child is this test binary, with its standard output redirected by the parent.
    #[test]
    fn standard_output_in_a_file_is_continued() {
        const CHILD: &str = "SSDYNO_EMIT_TEST_CHILD";
        if std::env::var_os(CHILD).is_some() {
            renew(Path::new("/dev/stdout"), "page\n").expect("written");
            println!("after it");
            return;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("all");
        for append in [false, true] {
            fs::write(&path, "earlier\n").expect("a file");
            let out = OpenOptions::new().write(true).append(append).truncate(!append).open(&path);
            let name = "file::tests::standard_output_in_a_file_is_continued";
            let mut child = Command::new(std::env::current_exe().expect("this binary"));
            child.args([name, "--exact", "--nocapture"]).env(CHILD, "");
            assert!(child.stdout(out.expect("opened")).status().expect("started").success());
            let text = fs::read_to_string(&path).expect("text");
            assert_eq!(text.starts_with("earlier\n"), append, "{text}");
            assert!(text.contains("running 1 test") && text.contains("page\nafter it\n"), "{text}");
        }
    }

    #[test]
    fn a_file_behind_another_descriptor_is_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("theirs");
        fs::write(&path, "theirs").expect("a file");
        let open = OpenOptions::new().append(true).open(&path).expect("opened");
        for dir in ["/dev/fd", "/proc/self/fd"] {
            let link = format!("{dir}/{}", open.as_raw_fd());
            let refused = replace(Path::new(&link), "mine").expect_err("refused").to_string();
            assert!(refused.contains("own name"), "{refused}");
            assert_eq!(fs::read(&path).expect("there"), b"theirs");
        }
    }

    #[test]
    fn a_file_of_root_is_given_to_the_owner_of_its_directory_only() {
        let place = tempfile::tempdir().expect("a directory");
        let theirs = place.path().join("theirs");
        fs::create_dir(&theirs).expect("a directory");
        fs::set_permissions(place.path(), Permissions::from_mode(0o755)).expect("set");
        if chown(&theirs, Some(1234), Some(1235)).is_err() {
            println!("skipped: only root can give a file away");
            return;
        }
        for (directory, user) in [(place.path(), 0), (&theirs, 1234)] {
            let path = directory.join("report.html");
            fs::write(&path, "one").expect("a file");
            for before in [0, 1234] {
                chown(&path, Some(before), Some(before)).expect("given");
                replace(&path, "two").expect("replaced");
                assert_eq!(path.metadata().expect("there").uid(), user, "{path:?} of {before}");
            }
        }
    }

    #[test]
    fn devices_are_written_and_directories_refused() {
        replace(Path::new("/dev/null"), "nothing").expect("swallowed");
        assert!(replace(Path::new("/"), "x").is_err());
        let dir = tempfile::tempdir().expect("a directory");
        assert!(replace(dir.path(), "x").is_err());
        assert!(replace(&dir.path().join("none/file"), "x").is_err());
    }
}
