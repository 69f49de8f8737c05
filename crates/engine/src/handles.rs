//! Descriptors of a target: one past the page cache, one through it.
//!
//! O_DIRECT has no silent fallback. Where it is refused, the caller gets the descriptor that goes
//! through the cache together with the fact, and the record says so.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use workload::Caching;

/// The descriptors of one target.
pub(crate) struct Handles {
    buffered: File,
    direct: Option<File>,
}

impl Handles {
    /// Opens `file` a second time, past the page cache where that is possible.
    pub(crate) fn new(file: File, writable: bool) -> io::Result<Handles> {
        // By way of /proc, because the scratch file has no name any more and a device's name may
        // by now mean another one.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let mut options = OpenOptions::new();
        options.read(true).write(writable).custom_flags(libc::O_DIRECT);
        let direct = match options.open(path) {
            Ok(direct) => Some(direct),
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => None,
            Err(e) => return Err(e),
        };
        Ok(Handles { buffered: file, direct })
    }

    /// The descriptor for a kind of caching, and whether it really goes past the cache.
    pub(crate) fn pick(&self, caching: Caching) -> (&File, bool) {
        match (&self.direct, caching) {
            (Some(direct), Caching::Bypass) => (direct, true),
            _ => (&self.buffered, false),
        }
    }

    /// The descriptor that goes through the page cache.
    pub(crate) fn buffered(&self) -> &File {
        &self.buffered
    }

    /// Whether the page cache can be passed.
    pub(crate) fn direct_works(&self) -> bool {
        self.direct.is_some()
    }
}
