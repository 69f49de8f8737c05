//! The files that jobs name: looked at, admitted, laid out and removed by the rig.
//!
//! Nothing is changed before [`Files::admit`] has agreed to all of it. On a virtual drive a file is a
//! region of the drive.

use std::path::{Path, PathBuf};

use crate::Result;

/// What there is under a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSeen {
    /// It is a block device.
    pub device: bool,
    /// Bytes there now; `None`: it does not exist.
    pub bytes: Option<u64>,
}

/// What jobs will do with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlan {
    /// The file or device as the user named it.
    pub path: PathBuf,
    /// Exclusive end of the bytes that any job uses.
    pub end: u64,
    /// It must hold data before the jobs begin.
    pub content: bool,
    /// A job changes it.
    pub changed: bool,
    /// How a new file gets its space.
    pub allocation: Allocation,
    /// Its layout ends with an `fsync`.
    pub fsync: bool,
    /// A job creates it when it opens it.
    pub on_open: bool,
}

/// How a new file gets its space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocation {
    /// As it is written.
    None,
    /// It gets its length, and space as it is written.
    Truncate,
    /// Space is allocated, and its length grows as it is written.
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
    /// Percent of the time in which something was in flight.
    pub util: f64,
}

/// The files of a run.
pub trait Files {
    /// Looks at a file. Nothing is changed.
    fn look(&mut self, path: &Path) -> Result<FileSeen>;

    /// Bytes that may be taken in a directory.
    fn room(&mut self, directory: &Path) -> Result<u64>;

    /// Whether all this may be done: data of the user's is given away by name, and what is created
    /// leaves room. From here on [`crate::Rig::target`] is the drive under the first file. Gives
    /// what will be lost, in words, if anything.
    fn admit(&mut self, plans: &[FilePlan]) -> Result<Option<String>>;

    /// Creates the files that do not exist and fills those that must hold data. `progress` is told
    /// each file and its bytes before it is laid out, and ends the layout with `false`.
    fn lay_out(&mut self, seed: u64, progress: &mut dyn FnMut(&Path, u64) -> bool) -> Result<()>;

    /// Removes a file that was laid out.
    fn remove(&mut self, path: &Path) -> Result<()>;

    /// Every regular file that is still there, and its bytes.
    fn left(&self) -> Vec<(PathBuf, u64)>;

    /// What the disks under the files did since they were admitted.
    fn disks(&mut self) -> Vec<DiskUse> {
        Vec::new()
    }
}
