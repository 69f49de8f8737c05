//! The id of this machine: random, generated once, stored in a file next to the store.
//!
//! Neither the host name nor the board's serial number is suitable: clones of a virtual machine
//! share them, and only root can read the serial number. The file is next to the store rather than
//! in it, so that a copy of the store on another machine is not mistaken for this machine's.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::path::Path;

use emit::{Directory, directory_of};

use crate::StoreError;
use crate::id::random;

const FILE: &str = "machine-id";

/// Bytes read of it.
const LENGTH_MAX: u64 = 256;

/// The id, 32 hexadecimal digits; `None` if the file has no id and a new one cannot be written.
pub(crate) fn id_beside(store: &Path) -> Option<String> {
    let directory = Directory::open(directory_of(store)).ok()?;
    read(&directory).or_else(|| make(&directory).ok().and_then(|()| read(&directory)))
}

fn text(directory: &Directory) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    directory.read(OsStr::new(FILE))?.take(LENGTH_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read(directory: &Directory) -> Option<String> {
    let text = String::from_utf8(text(directory).ok()?).ok()?;
    let id = text.trim();
    (id.len() == 32 && id.chars().all(|c| c.is_ascii_hexdigit())).then(|| id.to_string())
}

/// Whether the file can be read but contains no id: its disk was full, or the power was cut.
fn is_damaged(directory: &Directory) -> bool {
    text(directory).is_ok() && read(directory).is_none()
}

/// Writes a new id atomically, unless another process was faster. Replaces a damaged file.
fn make(directory: &Directory) -> Result<(), StoreError> {
    let id: String = random::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    let draft = OsString::from(format!("{FILE}.{id}"));
    let result = write(directory, &draft, &id)
        .map_err(|source| StoreError::Io { path: directory.path().join(FILE), source });
    // Missing if nothing was written, or if it was renamed.
    let _ = directory.remove(&draft);
    result
}

fn write(directory: &Directory, draft: &OsStr, id: &str) -> io::Result<()> {
    let file = OsStr::new(FILE);
    let mut draft_file = directory.create_new(draft)?;
    draft_file.write_all(format!("{id}\n").as_bytes())?;
    draft_file.sync_all()?;
    match directory.link(draft, file) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && !is_damaged(directory) => Ok(()),
        // If the file is damaged or the file system has no hard links, the last of two processes
        // wins.
        Err(_) => directory.rename(draft, file),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_id_is_generated_once_per_directory() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = dir.path().join("runs.sqlite");
        let ids: Vec<_> = std::thread::scope(|scope| {
            let make = || scope.spawn(|| id_beside(&store).expect("made"));
            let all: Vec<_> = (0..8).map(|_| make()).collect();
            all.into_iter().map(|thread| thread.join().expect("ended")).collect()
        });
        assert_eq!(ids[0].len(), 32);
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        let files = fs::read_dir(dir.path()).expect("listed").count();
        assert_eq!(files, 1, "no draft is left");
        let other = tempfile::tempdir().expect("a directory");
        assert_ne!(id_beside(&other.path().join("s")).as_ref(), Some(&ids[0]));
        assert_eq!(id_beside(Path::new("/proc/none/s")), None);
    }

    #[test]
    fn a_damaged_file_is_replaced() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = dir.path().join("runs.sqlite");
        for damaged in [&b""[..], b"12345678", b"\xff\xfe"] {
            fs::write(dir.path().join(FILE), damaged).expect("written");
            let id = id_beside(&store).expect("made");
            assert_eq!(id_beside(&store), Some(id), "it is kept");
            assert_eq!(fs::read_dir(dir.path()).expect("listed").count(), 1, "no draft is left");
        }
    }
}
