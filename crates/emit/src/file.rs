//! Files that the user requested by name.
//!
//! A regular file is written as a draft beside its final path and renamed when complete, or written
//! in place if its directory is not writable. A symbolic link is refused: in a shared directory it
//! may be another user's trap. Pipes and terminals are written directly, and so is what the kernel's
//! links lead to (`entry.rs`). A block device is refused: only the guard opens drives.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use crate::directory::Directory;
use crate::entry::{self, EntryAttributes};
use crate::kind::EntryKind;
use crate::output::{directory_of, draft, drive, foreign, head_of, linked};

/// Checks that [`crate::replace`] or, with an example of the content, [`crate::renew`] can write a
/// file. Changes nothing, and waits for nobody.
pub fn check(path: &Path, example: Option<&[u8]>) -> io::Result<()> {
    if let Some(answer) = entry::check_pipe(path) {
        return answer;
    }
    match example {
        Some(example) => Replacement::renew(path, head_of(example)).map(drop),
        None => Replacement::create(path).map(drop),
    }
}

/// A file being written. Without [`Replacement::finish`] or [`Replacement::place`], it keeps its old
/// content, unless it is written in place.
#[derive(Debug)]
pub struct Replacement {
    // Before the draft, because an open file cannot be removed everywhere.
    file: File,
    /// `None` if written in place.
    draft: Option<Draft>,
    /// Whether a file written in place still has its old content.
    is_old: bool,
}

/// A file under another name, until it is complete. Removed if it never is.
#[derive(Debug)]
struct Draft {
    directory: Directory,
    name: OsString,
    final_name: OsString,
    is_placed: bool,
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
        if let Some(file) = entry::open_kernel_link(path)? {
            return Replacement::direct(file);
        }
        let directory = Directory::open(directory_of(path))?;
        let name = path.file_name().ok_or(ErrorKind::IsADirectory)?;
        let entry = directory.entry(name)?;
        match entry.as_ref().map(EntryAttributes::kind) {
            Some(EntryKind::Link) => Err(linked()),
            Some(EntryKind::Drive) => Err(drive()),
            Some(EntryKind::Directory) => Err(ErrorKind::IsADirectory.into()),
            None => Replacement::beside(directory, name, None),
            Some(EntryKind::File) => {
                if head.is_some_and(|head| !has_head(&directory, name, head)) {
                    return Err(foreign());
                }
                Replacement::beside(directory, name, entry.as_ref())
            }
            Some(EntryKind::Other) => Replacement::direct(directory.write(name)?),
        }
    }

    fn direct(file: File) -> io::Result<Replacement> {
        // A link of the kernel can lead to a drive, and the path may have changed.
        if entry::is_drive(&file)? {
            return Err(drive());
        }
        Ok(Replacement { file, draft: None, is_old: false })
    }

    fn beside(
        directory: Directory,
        name: &OsStr,
        old: Option<&EntryAttributes>,
    ) -> io::Result<Replacement> {
        match draft(&directory, name) {
            Ok((file, draft)) => {
                let final_name = name.to_os_string();
                let draft = Draft { directory, name: draft, final_name, is_placed: false };
                let replacement = Replacement { file, draft: Some(draft), is_old: false };
                if let Some(old) = old {
                    old.give_attributes(&replacement.file)?;
                }
                Ok(replacement)
            }
            // The file is writable, but its directory is not: no draft can be made beside it.
            Err(e)
                if e.kind() == ErrorKind::PermissionDenied
                    && old.is_some_and(EntryAttributes::is_writable) =>
            {
                let replacement = Replacement::direct(directory.write(name)?)?;
                Ok(Replacement { is_old: true, ..replacement })
            }
            Err(e) => Err(e),
        }
    }

    /// Makes the draft durable and moves it to the final path; flushes a file written in place.
    pub fn finish(self) -> io::Result<()> {
        // What is written in place may be a pipe.
        let synced = self.draft.as_ref().map_or(Ok(()), |_| self.file.sync_all());
        synced.and_then(|()| self.place())
    }

    /// Moves the draft to the final path without waiting for the disk, which no signal can end. After
    /// a loss of power, the file may be empty.
    pub fn place(mut self) -> io::Result<()> {
        self.file.flush()?;
        let Replacement { file, draft, .. } = self;
        drop(file);
        draft.map_or(Ok(()), Draft::place)
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

impl Draft {
    fn place(mut self) -> io::Result<()> {
        self.directory.rename(&self.name, &self.final_name)?;
        self.is_placed = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_placed {
            // A leftover draft is harmless.
            let _ = self.directory.remove(&self.name);
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::{renew, replace};
    use std::fs::{self, OpenOptions, Permissions};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};
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
