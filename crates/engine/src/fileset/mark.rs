//! The mark of a file created by a run: an extended attribute with the time of ssdyno's last
//! change. After a later change by anyone else, the file counts as the user's own.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

const NAME: &str = "user.ssdyno";

/// Marks a file as ours in its current state. If the file system has no extended attributes, the
/// next run requires --destroy.
pub(super) fn mark(file: File) -> io::Result<()> {
    let stamp = stamp(&file.metadata()?);
    Ok(fsetxattr(&file, NAME, stamp.as_bytes(), XattrFlags::empty())?)
}

/// Whether a file is unchanged since a run marked it.
pub(super) fn is_marked(path: &Path, meta: &Metadata) -> bool {
    let mut mark = [0u8; 64];
    let Ok(file) = File::open(path) else { return false };
    // The name may now refer to another file.
    let length = fgetxattr(&file, NAME, &mut mark);
    file.metadata().is_ok_and(|now| (now.dev(), now.ino()) == (meta.dev(), meta.ino()))
        && length.is_ok_and(|length| mark.get(..length) == Some(stamp(meta).as_bytes()))
}

/// The time of a file's last change.
fn stamp(meta: &Metadata) -> String {
    format!("{}.{:09}", meta.mtime(), meta.mtime_nsec())
}
