//! The format of a journal.
//!
//! ```text
//!   0  8  "SSDYNOJ1"
//!   8  8  length of the header, little-endian
//!  16  8  xxh3 of the header, little-endian
//!  24     the header as JSON: drive, region, a checksum for each block
//!         the original bytes
//! ```
//!
//! The name shows whether the journal is complete: its extension is `.part` until everything is
//! synced, and `.journal` afterwards (asserted in `disk.rs`). No block is overwritten before that. The run that owns the
//! journal holds a lock (`flock`), which the kernel releases if the run dies.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use drive::DriveKey;
use rustix::fs::{Advice, FlockOperation, fadvise, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use workload::Region;
use xxhash_rust::xxh3::xxh3_64;

use crate::disk::PartFile;
use crate::owner::{Opened, Owner};
use crate::{BLOCK, BYTES_MAX, Borrowed, JournalError};

/// Extension of a journal being written: no block has been overwritten yet.
pub(crate) const PART: &str = "part";

/// Extension of a complete journal.
pub(crate) const WHOLE: &str = "journal";

const MAGIC: &[u8; 8] = b"SSDYNOJ1";

/// Maximum header length, bytes: the checksums of 100 GiB.
const HEADER_MAX: u64 = 32 << 20;

/// The drive and region of the bytes in a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The drive from which the bytes were borrowed.
    pub drive: DriveKey,
    /// The region of the bytes on that drive.
    pub region: Region,
    /// Time of writing, seconds since 1970.
    pub made_s: u64,
    block_bytes: u64,
    checksums: Vec<u64>,
}

impl Header {
    pub(crate) fn new(drive: &DriveKey, borrowed: &Borrowed, made_s: u64) -> Header {
        Header {
            drive: drive.clone(),
            region: borrowed.region(),
            made_s,
            block_bytes: BLOCK as u64,
            checksums: borrowed.checksums().to_vec(),
        }
    }

    /// Checks that the header is consistent, so that blocks can be restored from it.
    fn check(&self) -> Result<(), String> {
        let blocks = self.region.bytes.div_ceil(BLOCK as u64);
        let end = self.region.start.checked_add(self.region.bytes);
        if self.region.bytes > BYTES_MAX {
            Err("its region is too large".into())
        } else if self.block_bytes != BLOCK as u64 {
            Err("its block size is not supported".into())
        } else if self.checksums.len() as u64 != blocks {
            Err("its checksum count is wrong".into())
        } else if end.is_none_or(|end| end > self.drive.bytes) {
            Err("its region exceeds the drive".into())
        } else {
            Ok(())
        }
    }
}

/// Writes a journal. The caller syncs and publishes it.
pub(crate) fn write(file: &mut PartFile<'_>, header: &Header, bytes: &[u8]) -> io::Result<()> {
    let header = serde_json::to_vec(header)?;
    let head = [&MAGIC[..], &(header.len() as u64).to_le_bytes(), &xxh3_64(&header).to_le_bytes()];
    file.append(&head.concat())?;
    file.append(&header)?;
    file.append(bytes)
}

/// Reads the header of a journal and leaves the file position at the first original byte.
pub(crate) fn read_header(file: &mut impl Read, path: &Path) -> Result<Header, JournalError> {
    let damaged = |what: String| JournalError::Damaged { path: path.to_path_buf(), what };
    let mut head = [0; 24];
    file.read_exact(&mut head).map_err(|e| damaged(e.to_string()))?;
    let [Ok(length), Ok(checksum)] =
        [8, 16].map(|at: usize| head[at..at + 8].try_into().map(u64::from_le_bytes))
    else {
        return Err(damaged("it is too short".into()));
    };
    if &head[..8] != MAGIC || length > HEADER_MAX {
        return Err(damaged("it is not a journal".into()));
    }
    let mut header = vec![0; length as usize];
    file.read_exact(&mut header).map_err(|e| damaged(e.to_string()))?;
    if xxh3_64(&header) != checksum {
        return Err(damaged("the checksum of its header is wrong".into()));
    }
    let header: Header = serde_json::from_slice(&header).map_err(|e| damaged(e.to_string()))?;
    header.check().map_err(damaged)?;
    Ok(header)
}

/// The lock of a journal. It is released when dropped, although a process that another thread is
/// starting may still have the file open.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Lock {
    /// Takes the lock; `None` if a run holds it.
    pub(crate) fn take(file: &File, path: &Path) -> Result<Option<Lock>, JournalError> {
        let failed = |error| JournalError::io("lock", path, error);
        let file = file.try_clone().map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(failed(error.into())),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the last file releases it too.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// Maximum number of reads of a part with a wrong checksum: the medium of a journal, or its reader,
/// can return wrong bytes now and then too.
const READS_MAX: usize = 3;

/// Reads the original bytes. Bytes that are missing at the end or cannot be read stay zero and fail
/// the checksum of their block, so that the other blocks can still be compared and restored.
/// `forget` drops the file from the page cache, before a block is read again.
fn read_blocks(
    file: &impl FileExt,
    start: u64,
    (length, checksums): (usize, &[u64]),
    forget: impl Fn(),
) -> Vec<u8> {
    let mut bytes = vec![0; length];
    for (index, (block, checksum)) in bytes.chunks_mut(BLOCK).zip(checksums).enumerate() {
        for _ in 0..READS_MAX {
            // A failed read would fail again, after as long a time.
            let is_read = file.read_exact_at(block, start + (index * BLOCK) as u64).is_ok();
            if !is_read || xxh3_64(block) == *checksum {
                break;
            }
            forget();
        }
    }
    bytes
}

/// A journal left by an earlier run, read and locked.
#[derive(Debug)]
pub struct EarlierJournal {
    pub path: PathBuf,
    /// The header: drive and region.
    pub header: Header,
    pub borrowed: Borrowed,
    /// The bytes before the blocks.
    head: Vec<u8>,
    file: File,
    _lock: Lock,
}

impl EarlierJournal {
    /// Reads a journal of this user or of root, and takes its lock.
    pub fn open(path: &Path) -> Result<EarlierJournal, JournalError> {
        EarlierJournal::open_owned(path, Owner::of_process())
    }

    /// Reads a journal of this owner, or of root, in a directory where nobody else can replace it,
    /// and takes its lock.
    pub(crate) fn open_owned(path: &Path, owner: Owner) -> Result<EarlierJournal, JournalError> {
        let failed = |e| JournalError::io("read", path, e);
        owner.check_directory(path.parent().unwrap_or(Path::new("")))?;
        let file = match owner.open(path).map_err(failed)? {
            Opened::File(file) => file,
            Opened::Missing => return Err(failed(io::ErrorKind::NotFound.into())),
            Opened::Foreign(Owner(uid)) => {
                return Err(JournalError::Foreign { path: path.to_path_buf(), uid });
            }
            Opened::Irregular => return Err(failed(io::Error::other("not a regular file"))),
        };
        let Some(lock) = Lock::take(&file, path)? else {
            return Err(JournalError::Held { path: path.to_path_buf() });
        };
        let mut reader = BufReader::new(&file);
        let header = read_header(&mut reader, path)?;
        let start = reader.stream_position().map_err(failed)?;
        let blocks = (header.region.bytes as usize, &header.checksums[..]);
        // Without effect on a file system that does not support it.
        let bytes = read_blocks(&file, start, blocks, || {
            let _ = fadvise(&file, 0, None, Advice::DontNeed);
        });
        let mut head = vec![0; start as usize];
        file.read_exact_at(&mut head, 0).map_err(failed)?;
        let borrowed = Borrowed::from_kept(header.region, bytes, header.checksums.clone());
        Ok(EarlierJournal { path: path.to_path_buf(), header, borrowed, head, file, _lock: lock })
    }

    /// The bytes of the file as they were read: the head, then the blocks.
    pub fn content(&self) -> [&[u8]; 2] {
        [&self.head, self.borrowed.bytes()]
    }

    /// The number of the user to whom the open file belongs.
    pub fn uid(&self) -> io::Result<u32> {
        Ok(self.file.metadata()?.uid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with an unreadable sector, which ends early.
    struct Worn {
        bytes: Vec<u8>,
        bad: u64,
    }

    impl FileExt for Worn {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            if (offset..offset + buffer.len() as u64).contains(&self.bad) {
                return Err(Errno::IO.into());
            }
            let rest = self.bytes.get(offset as usize..).unwrap_or_default();
            let length = rest.len().min(buffer.len());
            buffer[..length].copy_from_slice(&rest[..length]);
            Ok(length)
        }

        fn write_at(&self, _buffer: &[u8], _offset: u64) -> io::Result<usize> {
            Err(Errno::ROFS.into())
        }
    }

    /// A process that is being started has copies of all open files.
    #[test]
    fn a_lock_ends_with_its_run_though_a_copy_of_the_file_is_open() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let take = || Lock::take(&File::open(file.path()).expect("open"), file.path());
        let opened = File::open(file.path()).expect("open");
        let lock = Lock::take(&opened, file.path()).expect("locked").expect("free");
        let _copy = opened.try_clone().expect("a copy");
        assert!(take().expect("looked").is_none(), "it is held");
        drop(lock);
        assert!(take().expect("looked").is_some(), "it is free");
    }

    #[test]
    fn an_unreadable_sector_costs_only_its_block() {
        let start = 100;
        let content: Vec<u8> = (0..4 * BLOCK).map(|i| (i % 251) as u8 + 1).collect();
        let kept = 3 * BLOCK + 9;
        let bytes = [&[0; 100], &content[..kept]].concat();
        let worn = Worn { bytes, bad: start + BLOCK as u64 + 5 };
        let checksums: Vec<u64> = content.chunks(BLOCK).map(xxh3_64).collect();
        let read = read_blocks(&worn, start, (content.len(), &checksums), || ());
        assert_eq!(read[..BLOCK], content[..BLOCK]);
        assert_eq!(read[BLOCK..2 * BLOCK], vec![0; BLOCK], "the block with the bad sector");
        assert_eq!(read[2 * BLOCK..kept], content[2 * BLOCK..kept]);
        assert!(read[kept..].iter().all(|byte| *byte == 0), "beyond the end of the file");
    }
}
