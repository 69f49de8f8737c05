//! The facts and files that fio asks of the operating system, on systems other than Linux.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Memory of this machine, MiB: not known. `$mb_memory` serves sizes of real targets.
pub(crate) fn memory_mib() -> u64 {
    0
}

/// Size of a page of memory, bytes: the one of nearly all machines.
pub(crate) fn page_bytes() -> u64 {
    4096
}

/// A file for the operations of a log. Windows cannot remove an open file, so its name goes with
/// the directory for temporary files.
pub(crate) fn nameless(directory: &Path) -> io::Result<File> {
    let directory = if cfg!(windows) { &std::env::temp_dir() } else { directory };
    let name = format!(".ssdyno-log-{}", std::process::id());
    let attempts = (0..u32::MAX).map(|attempt| directory.join(format!("{name}-{attempt}")));
    for path in attempts {
        match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            made => {
                let _ = std::fs::remove_file(&path);
                return made;
            }
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
