//! The files named by jobs: inspected, admitted, laid out and removed by the rig.
//!
//! Nothing is changed before [`Files::admit`] has accepted all of it. On a virtual drive a file is
//! a region of the drive.

use std::path::{Path, PathBuf};

use crate::Result;

/// The file under a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSeen {
    /// Whether it is a block device.
    pub device: bool,
    /// Its size in bytes; `None`: it does not exist.
    pub bytes: Option<u64>,
    /// Whether it is a drive without data, which is laid out before it is read.
    pub blank: bool,
}

/// The use that jobs will make of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlan {
    /// The file or device as the user named it.
    pub path: PathBuf,
    /// Exclusive end of the bytes that any job uses.
    pub end: u64,
    /// Bytes of it that jobs use, each job's part counted.
    pub used_bytes: u64,
    /// Whether it must hold data before the jobs begin.
    pub content: bool,
    /// Whether a job changes it.
    pub changed: bool,
    /// Allocation of a new file.
    pub allocation: Allocation,
    /// Whether its layout ends with an `fsync`.
    pub fsync: bool,
    /// Whether a job creates it on opening.
    pub on_open: bool,
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
    /// Space and length are allocated.
    #[default]
    Full,
}

/// Use of one disk under the files since they were admitted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskUse {
    /// Kernel name.
    pub name: String,
    /// Reads, writes completed.
    pub ios: [u64; 2],
    /// Reads, writes merged with others.
    pub merges: [u64; 2],
    /// Milliseconds that reads, writes took, summed.
    pub ticks: [u64; 2],
    /// Milliseconds times requests in flight.
    pub in_queue: u64,
    /// Percent of the time with requests in flight.
    pub util: f64,
}

/// The files of a run.
pub trait Files {
    /// Inspects a file. Nothing is changed.
    fn look(&mut self, path: &Path) -> Result<FileSeen>;

    /// Bytes available in a directory.
    fn room(&mut self, directory: &Path) -> Result<u64>;

    /// Checks that all this may be done: user data is given away by name, and new files leave room.
    /// From here on [`crate::Rig::target`] is the drive under the first file. Returns, in words, the
    /// data that will be lost, if any.
    fn admit(&mut self, plans: &[FilePlan]) -> Result<Option<String>>;

    /// Creates the files that do not exist and fills those that must hold data. `progress` gets
    /// each file and its bytes before it is laid out, and ends the layout with `false`.
    fn lay_out(&mut self, seed: u64, progress: &mut dyn FnMut(&Path, u64) -> bool) -> Result<()>;

    /// Removes a file that was laid out.
    fn remove(&mut self, path: &Path) -> Result<()>;

    /// The regular files that still exist, with their sizes.
    fn left(&self) -> Vec<(PathBuf, u64)>;

    /// Use of the disks under the files since they were admitted.
    fn disks(&mut self) -> Vec<DiskUse> {
        Vec::new()
    }
}
