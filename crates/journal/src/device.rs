//! A kernel block device whose blocks are compared and restored: it is read past the page cache.
//!
//! What the cache holds may be what was written or read before, not what the drive returns now.
//! Dropping the cache ([`Storage::forget`]) is only advice: pages that another process maps stay. A
//! device that refuses O_DIRECT is read through the cache, and [`BlockStorage::is_direct`] says so.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use rustix::fs::OFlags;
use rustix::io::Errno;
use workload::Region;

use crate::borrowed::Storage;

/// Alignment that every device accepts for direct reads, bytes: that of a page.
const PAGE: usize = 4096;

/// An open device.
#[derive(Debug)]
pub struct BlockStorage<'a> {
    file: &'a File,
    direct: Option<File>,
    /// No read went through the page cache.
    is_direct: Cell<bool>,
}

impl<'a> BlockStorage<'a> {
    /// The device behind a descriptor, which stays the one that is written.
    pub fn new(file: &'a File) -> BlockStorage<'a> {
        // By descriptor: the name may now refer to another device.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let flags = OFlags::DIRECT.bits() as i32;
        let direct = OpenOptions::new().read(true).custom_flags(flags).open(path).ok();
        BlockStorage { file, is_direct: Cell::new(direct.is_some()), direct }
    }

    /// Whether every read so far was one of the device itself.
    pub fn is_direct(&self) -> bool {
        self.is_direct.get()
    }
}

impl Storage for BlockStorage<'_> {
    fn read_exact(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if let Some(direct) = &self.direct {
            let read = read_direct(direct, offset, buffer);
            let errno = read.as_ref().err().and_then(io::Error::raw_os_error);
            if errno != Some(Errno::INVAL.raw_os_error()) {
                return read;
            }
        }
        self.is_direct.set(false);
        self.file.read_exact(offset, buffer)
    }

    fn read_again(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if self.direct.is_none() {
            self.forget(Region { start: offset, bytes: buffer.len() as u64 })?;
        }
        self.read_exact(offset, buffer)
    }

    fn write_all(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn forget(&self, region: Region) -> io::Result<()> {
        self.file.forget(region)
    }
}

/// Fills the buffer through a descriptor opened with O_DIRECT, which needs aligned memory. The
/// kernel writes dirty pages back first.
pub fn read_direct(direct: &File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    let mut memory = vec![0; buffer.len() + PAGE];
    let start = memory.as_ptr().align_offset(PAGE).min(PAGE);
    let aligned = &mut memory[start..start + buffer.len()];
    direct.read_exact_at(aligned, offset)?;
    buffer.copy_from_slice(aligned);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use tempfile::NamedTempFile;

    use super::*;

    /// A file on the disk with the build, which is not in memory.
    fn file() -> NamedTempFile {
        let directory = std::env::current_exe().expect("a test");
        let file = NamedTempFile::new_in(directory.parent().expect("a directory"));
        let file = file.expect("a file");
        file.as_file().write_all_at(&vec![7; 4 * PAGE], 0).expect("written");
        file
    }

    #[test]
    fn reads_bypass_the_page_cache_into_any_buffer() {
        let file = file();
        let storage = BlockStorage::new(file.as_file());
        let Some(direct) = &storage.direct else {
            return println!("skipped: no O_DIRECT here");
        };
        let flags = rustix::fs::fcntl_getfl(direct.as_fd()).expect("known");
        assert!(flags.contains(OFlags::DIRECT), "{flags:?}");
        storage.write_all(PAGE as u64, &[9; PAGE]).expect("written");
        let mut buffer = vec![0; 2 * PAGE + 1];
        storage.read_again(0, &mut buffer[1..]).expect("read");
        assert_eq!((buffer[1..=PAGE].to_vec(), buffer[PAGE + 1]), (vec![7; PAGE], 9));
        assert!(storage.is_direct());
    }

    #[test]
    fn a_read_through_the_page_cache_is_said() {
        let file = file();
        let mut buffer = [0; 100];
        let storage = BlockStorage::new(file.as_file());
        storage.read_exact(3, &mut buffer).expect("read");
        assert_eq!(buffer, [7; 100]);
        assert!(!storage.is_direct(), "no device reads 100 bytes");
    }
}
