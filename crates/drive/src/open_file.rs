//! A user's file as it was when it was planned: its identity, its size, and whether others use it.
//!
//! Writes beyond the end extend a file that was cut short, and no mode of the kernel prevents that.
//! The size is therefore checked often, and with it the space that the file occupies, because the
//! size may be restored before it is seen.

use std::fs::{File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::DriveError;
use crate::graph::Graph;
use crate::machine::Machine;

/// A user's file and its identity at planning time.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub path: PathBuf,
    pub file: File,
    /// Whether the file is only read.
    pub reads: bool,
    pub identity: FileIdentity,
    /// Most bytes that the file has occupied.
    occupied: AtomicU64,
    /// Whether overwriting leaves the space that a file occupies as it is.
    keeps_blocks: bool,
}

impl OpenFile {
    pub fn new(path: PathBuf, file: File, reads: bool, identity: FileIdentity) -> OpenFile {
        let keeps_blocks = rustix::fs::fstatfs(&file)
            .is_ok_and(|system| KEEP_BLOCKS.contains(&(system.f_type as u32)));
        OpenFile { path, file, reads, identity, occupied: AtomicU64::new(0), keeps_blocks }
    }

    /// Checks identity and size, and, if the file is written, its users.
    pub fn check(&self, machine: &Machine) -> Result<(), DriveError> {
        self.check_size()?;
        self.check_users(machine)
    }

    /// Checks that a file that is written has no other users.
    pub fn check_users(&self, machine: &Machine) -> Result<(), DriveError> {
        if self.reads {
            return Ok(());
        }
        let itself = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let reasons = Graph::read(machine).uses_of_file(Path::new(&itself));
        let path = self.path.display().to_string();
        if reasons.is_empty() { Ok(()) } else { Err(DriveError::InUse { path, reasons }) }
    }

    /// Checks identity and size: one system call.
    pub fn check_size(&self) -> Result<(), DriveError> {
        let meta = self.file.metadata();
        let path = || self.path.display().to_string();
        let meta = meta.map_err(|e| DriveError::io(format!("cannot query {}", path()), e))?;
        self.identity.check(&self.path, &meta, self.reads)?;
        // A truncated file that was extended again by writes has its size but not its blocks.
        let occupied = (meta.blocks() * 512).min(meta.len());
        let previous = self.occupied.fetch_max(occupied, Ordering::Relaxed);
        if self.reads
            || !self.keeps_blocks
            || occupied + OCCUPIED_TOLERANCE + previous / 8 >= previous
        {
            return Ok(());
        }
        let change = format!("it was cut short: it occupied {previous} bytes, now {occupied}");
        Err(DriveError::Changed { path: path(), what: change })
    }
}

/// A file that is overwritten may give back this much of its space, and an eighth of it, by the
/// work of its file system.
const OCCUPIED_TOLERANCE: u64 = 1 << 20;

/// File systems that overwrite in place: ext2 to ext4, XFS, tmpfs, FAT, exFAT. Source:
/// `include/uapi/linux/magic.h`.
const KEEP_BLOCKS: [u32; 5] = [0xef53, 0x5846_5342, 0x0102_1994, 0x4d44, 0x2011_bab0];

/// The properties that distinguish a file from another with the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
    bytes: u64,
}

impl FileIdentity {
    pub fn from_metadata(meta: &Metadata) -> FileIdentity {
        FileIdentity { device: meta.dev(), inode: meta.ino(), bytes: meta.len() }
    }

    /// Whether both identify the same file, whatever its present size.
    pub fn is_same_file(&self, other: &FileIdentity) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Checks that an open file with this metadata is this file. A file that is only read may have
    /// grown. `path` is used in the error.
    fn check(&self, path: &Path, meta: &Metadata, reads: bool) -> Result<(), DriveError> {
        let current = FileIdentity::from_metadata(meta);
        let changed = |what| DriveError::Changed { path: path.display().to_string(), what };
        if !self.is_same_file(&current) {
            return Err(changed("it was replaced by another file".into()));
        }
        let has_grown = reads && current.bytes > self.bytes;
        if self.bytes != current.bytes && !has_grown {
            return Err(changed(format!("it had {} bytes, now {}", self.bytes, current.bytes)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_size_but_may_grow_if_it_is_only_read() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(4096).expect("room");
        let identity =
            FileIdentity::from_metadata(&file.as_file().metadata().expect("its metadata"));
        let open = |reads| {
            let handle = file.reopen().expect("it is there");
            OpenFile::new(file.path().to_path_buf(), handle, reads, identity)
        };
        let says = |reads| open(reads).check(&Machine::here()).err().map(|error| error.to_string());
        assert_eq!([says(true), says(false)], [None, None]);
        file.as_file().set_len(8192).expect("room");
        assert_eq!(says(true), None);
        assert!(says(false).is_some_and(|text| text.contains("it had 4096 bytes, now 8192")));
        file.as_file().set_len(512).expect("room");
        assert!(says(true).is_some_and(|text| text.contains("it had 4096 bytes, now 512")));
    }
}
