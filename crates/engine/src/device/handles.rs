//! The descriptors of a file or device: one bypasses the page cache, the other uses it.
//!
//! O_DIRECT has no silent fallback. If it is refused, the caller gets the cached descriptor and
//! learns that it is cached, and the record notes it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use journal::{Storage, read_direct};
use workload::{Caching, Region};

/// The descriptors of one target.
pub(super) struct Handles {
    /// Uses the page cache, unless the caller opened it to bypass the cache.
    buffered: File,
    direct: Option<File>,
    /// Whether the only descriptor bypasses the page cache.
    past_cache: bool,
}

impl Handles {
    /// Opens `file` a second time, bypassing the page cache if possible.
    pub(super) fn new(file: File, writable: bool) -> io::Result<Handles> {
        let direct = match again(&file, writable, libc::O_DIRECT) {
            Ok(direct) => Some(direct),
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => None,
            Err(e) => return Err(e),
        };
        Ok(Handles { buffered: file, direct, past_cache: false })
    }

    /// A file opened in its final mode, bypassing the page cache or not.
    pub(super) fn opened(file: File, past_cache: bool) -> Handles {
        Handles { buffered: file, direct: None, past_cache }
    }

    /// The descriptor for a caching mode, and whether it actually bypasses the cache.
    pub(super) fn pick(&self, caching: Caching) -> (&File, bool) {
        match (&self.direct, caching) {
            (Some(direct), Caching::Bypass) => (direct, true),
            _ => (&self.buffered, self.past_cache),
        }
    }

    /// A new descriptor with durable writes (O_SYNC), which uses or bypasses the page cache like
    /// `pick`.
    pub(super) fn synchronous(&self, caching: Caching) -> io::Result<File> {
        let (_, direct) = self.pick(caching);
        let flags = if direct { libc::O_SYNC | libc::O_DIRECT } else { libc::O_SYNC };
        again(&self.buffered, true, flags)
    }

    /// The descriptor that uses the page cache, or else the only one.
    pub(super) fn buffered(&self) -> &File {
        &self.buffered
    }
}

/// Borrowed blocks pass through the page cache, like the user's own reads and writes; a second read
/// uses O_DIRECT and another buffer.
impl Storage for Handles {
    fn read_exact(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        Storage::read_exact(self.buffered(), offset, buffer)
    }

    fn write_all(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        Storage::write_all(self.buffered(), offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.buffered().sync()
    }

    fn forget(&self, region: Region) -> io::Result<()> {
        self.buffered().forget(region)
    }

    fn read_again(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let Some(direct) = &self.direct else {
            return self.buffered().read_again(offset, buffer);
        };
        read_direct(direct, offset, buffer)
    }
}

/// Opens a file again with other flags, through /proc, because a scratch file no longer has a name
/// and a device's name may now refer to another device.
fn again(file: &File, writable: bool, flags: i32) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().read(true).write(writable).custom_flags(flags).open(path)
}
