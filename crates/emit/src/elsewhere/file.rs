//! Files that the user requested by name, on systems other than Linux.
//!
//! As there, a file is written as a draft beside its final path and renamed when complete, and a
//! symbolic link is refused. Devices and pipes are written directly.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use crate::directory::Directory;
use crate::output::{directory_of, draft, foreign, head_of, linked};

/// Checks that [`crate::replace`] or, with an example of the content, [`crate::renew`] can write a
/// file. Changes nothing.
pub fn check(path: &Path, example: Option<&[u8]>) -> io::Result<()> {
    match example {
        Some(example) => Replacement::renew(path, head_of(example)).map(drop),
        None => Replacement::create(path).map(drop),
    }
}

/// A file being written. Without [`Replacement::finish`] it keeps its old content.
#[derive(Debug)]
pub struct Replacement {
    /// `None` once it is finished.
    file: Option<File>,
    /// `None` for a device or a pipe.
    draft: Option<Draft>,
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

    /// Starts writing a file. The error gives the reason, but not the path.
    pub fn create(path: &Path) -> io::Result<Replacement> {
        Replacement::begin(path, None)
    }

    fn begin(path: &Path, head: Option<&[u8]>) -> io::Result<Replacement> {
        let name = path.file_name().ok_or(ErrorKind::IsADirectory)?;
        let kind = match path.symlink_metadata() {
            Ok(old) => Some(old.file_type()),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        if kind.is_some_and(|kind| kind.is_dir()) {
            return Err(ErrorKind::IsADirectory.into());
        }
        // The standard output of a Mac is a link.
        if kind.is_some_and(|kind| kind.is_symlink()) && !path.starts_with("/dev") {
            return Err(linked());
        }
        if kind.is_some_and(|kind| !kind.is_file()) {
            let file = OpenOptions::new().write(true).open(path)?;
            return Ok(Replacement { file: Some(file), draft: None });
        }
        if kind.is_some() && head.is_some_and(|head| !has_head(path, head)) {
            return Err(foreign());
        }
        let directory = Directory::open(directory_of(path))?;
        let (file, draft) = draft(&directory, name)?;
        let draft = Draft { directory, name: draft, final_name: name.to_os_string() };
        Ok(Replacement { file: Some(file), draft: Some(draft) })
    }

    /// Makes the draft durable and moves it to the final path.
    pub fn finish(mut self) -> io::Result<()> {
        let Some(Draft { directory, name, final_name }) = self.draft.take() else {
            return self.flush();
        };
        let synced = self.file.take().map_or(Ok(()), |file| file.sync_all());
        let placed = synced.and_then(|()| directory.rename(&name, &final_name));
        placed.inspect_err(|_| drop(directory.remove(&name)))
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().ok_or(ErrorKind::BrokenPipe)?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // An open file cannot be removed everywhere.
        self.file = None;
        if let Some(Draft { directory, name, .. }) = &self.draft {
            // A leftover draft is harmless.
            let _ = directory.remove(name);
        }
    }
}

/// Whether a file is empty or begins with these bytes.
fn has_head(path: &Path, head: &[u8]) -> bool {
    let mut start = vec![0; head.len()];
    File::open(path).is_ok_and(|mut file| {
        let is_empty = file.metadata().is_ok_and(|meta| meta.len() == 0);
        is_empty || (file.read_exact(&mut start).is_ok() && start == head)
    })
}
