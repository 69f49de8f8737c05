//! The facts and files that fio asks of the operating system. Other systems than Linux have
//! `elsewhere/system.rs` instead.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Memory of this machine, MiB.
pub(crate) fn memory_mib() -> u64 {
    let info = rustix::system::sysinfo();
    (info.totalram as u64 * u64::from(info.mem_unit)) >> 20
}

/// Size of a page of memory, bytes.
pub(crate) fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// A file that disappears when its descriptor is closed.
pub(crate) fn nameless(directory: &Path) -> io::Result<File> {
    let (flags, mode) = (OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    let unnamed = rustix::fs::open(directory, flags | OFlags::TMPFILE, mode);
    match unnamed {
        Ok(file) => Ok(file.into()),
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => {
            let path = directory.join(format!(".ssdyno-log-{}", std::process::id()));
            let file = rustix::fs::open(&path, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
            std::fs::remove_file(&path)?;
            Ok(file.into())
        }
        Err(error) => Err(error.into()),
    }
}
