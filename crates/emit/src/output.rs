//! What the files of outputs share on all systems: their directory, their draft, the bytes by which an
//! earlier version is recognised, and the words of a refusal.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::directory::Directory;

/// Attempts to find a free name beside the file.
const ATTEMPTS: u32 = 16;

/// Leading bytes that all PNG pictures of one size have in common: signature and header.
const PNG_HEAD: usize = 33;

/// Leading bytes that texts of one kind have in common.
const TEXT_HEAD: usize = 80;

/// The directory of a file: `.` for a bare name.
pub fn directory_of(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The bytes with which other contents of the same kind begin, too.
pub(crate) fn head_of(content: &[u8]) -> &[u8] {
    let head = if content.starts_with(b"\x89PNG") { PNG_HEAD } else { TEXT_HEAD };
    &content[..head.min(content.len())]
}

/// Creates a draft beside a file.
pub(crate) fn draft(directory: &Directory, name: &OsStr) -> io::Result<(File, OsString)> {
    for attempt in 0..ATTEMPTS {
        let mut draft = OsString::from(".");
        draft.push(name);
        draft.push(format!(".{}-{attempt}.part", std::process::id()));
        match directory.create_new(&draft) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            made => return Ok((made?, draft)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

pub(crate) fn drive() -> io::Error {
    io::Error::other("it is a drive, not a file")
}

pub(crate) fn foreign() -> io::Error {
    io::Error::other(
        "it exists and is not an earlier version of this output; remove it or choose another name",
    )
}

pub(crate) fn linked() -> io::Error {
    io::Error::other("refusing to write through a symbolic link")
}
