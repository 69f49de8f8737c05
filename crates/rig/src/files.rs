//! The files named by jobs. The rig inspects, admits, lays out and removes them.
//!
//! Nothing is changed before [`Files::admit`] has accepted every plan. On a virtual drive, a file
//! is a region of the drive.

use std::path::{Path, PathBuf};

use workload::Content;

use crate::{Result, errno};

/// The state of a named file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSeen {
    /// Whether it is a block device.
    pub device: bool,
    /// Its size in bytes; `None` if it does not exist.
    pub bytes: Option<u64>,
    /// Whether it is an empty drive, which must be laid out before it is read.
    pub blank: bool,
}

/// How jobs will use a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FilePlan {
    /// The file or device as the user named it.
    pub path: PathBuf,
    /// Exclusive end of the bytes that any job uses.
    pub end: u64,
    /// Sum of the bytes that each job uses.
    pub used_bytes: u64,
    /// Whether it must contain data before the jobs begin.
    pub content: bool,
    /// These data; a virtual drive keeps none.
    pub filling: Filling,
    /// Whether a job changes it.
    pub changed: bool,
    /// Allocation of a new file.
    pub allocation: Allocation,
    /// Whether laying it out ends with an `fsync`.
    pub fsync: bool,
    /// Whether a job creates it when opening it.
    pub on_open: bool,
}

/// The data of a file that is laid out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filling {
    /// The content of each block.
    pub content: Content,
    /// Each block of this many bytes is filled like a write; 0 for any size.
    pub block_bytes: u64,
}

/// Allocation of a new file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocation {
    /// Space is allocated on writing.
    None,
    /// The length is set; space is allocated on writing.
    Truncate,
    /// Space is allocated; the length grows on writing.
    Keep,
    /// Space is allocated and the length is set.
    #[default]
    Full,
}

/// Activity of one disk under the files since they were admitted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskUse {
    /// Kernel name.
    pub name: String,
    /// Reads and writes completed.
    pub ios: [u64; 2],
    /// Reads and writes merged with others.
    pub merges: [u64; 2],
    /// Sectors of 512 bytes read and written.
    pub sectors: [u64; 2],
    /// Total time of reads and of writes, milliseconds.
    pub ticks: [u64; 2],
    /// Requests in flight integrated over time, milliseconds.
    pub in_queue: u64,
    /// Percentage of time with requests in flight.
    pub util: f64,
}

/// A call on a name, which moves no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameCall {
    /// Creates an empty file; one that exists stays as it is.
    CreateFile,
    /// Asks about a file.
    StatFile,
    /// Removes a file that this run created.
    DeleteFile,
    /// Creates a directory.
    CreateDirectory,
    /// Asks about a directory.
    StatDirectory,
    /// Removes a directory that this run created.
    DeleteDirectory,
}

/// The files of a run.
pub trait Files {
    /// Inspects a file. Nothing is changed.
    fn look(&mut self, path: &Path) -> Result<FileSeen>;

    /// Bytes that new files in a directory may use.
    fn room(&mut self, directory: &Path) -> Result<u64>;

    /// Checks that the plans are allowed: the user has named all data that will be lost, and
    /// files that grow have room. Afterwards [`crate::Rig::target`] is the drive under the first
    /// file. Returns a description of the data that will be lost, if any.
    fn admit(&mut self, plans: &[FilePlan]) -> Result<Option<String>>;

    /// Creates missing files and fills those that must contain data. `progress` is called with each
    /// file and its size before it is laid out, and stops the layout by returning `false`.
    fn lay_out(&mut self, seed: u64, progress: &mut dyn FnMut(&Path, u64) -> bool) -> Result<()>;

    /// Removes a file that was laid out.
    fn remove(&mut self, path: &Path) -> Result<()>;

    /// The regular files that still exist, with their sizes.
    fn left(&self) -> Vec<(PathBuf, u64)>;

    /// Makes a call on a name, at once; returns its duration, nanoseconds, or an error number.
    fn call(&mut self, _call: NameCall, _path: &Path) -> std::result::Result<u64, i32> {
        Err(errno::EOPNOTSUPP)
    }

    /// Activity of the disks under the files since they were admitted.
    fn disks(&mut self) -> Vec<DiskUse> {
        Vec::new()
    }
}
