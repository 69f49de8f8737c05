//! The drive below a file system, and the errors of this crate.

use core::fmt;

/// Maximum sector size in bytes, the limit of both file systems.
pub const SECTOR_BYTES_MAX: usize = 4096;

/// A drive or a partition, in sectors. Writes become durable with the next [`SectorDrive::flush`]; before
/// it, the drive can execute them in any order, and a power cut can lose any of them.
pub trait SectorDrive {
    /// The error of the drive.
    type Error;

    /// Sector size in bytes, a power of two from 512 to [`SECTOR_BYTES_MAX`]. Writes of a sector
    /// are atomic.
    fn sector_bytes(&self) -> u32;

    /// Number of sectors.
    fn sectors(&self) -> u64;

    /// Submits a write of whole sectors and returns without waiting for it. The drive copies the
    /// bytes.
    fn submit(&mut self, sector: u64, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Waits for all submitted writes, including the caller's data, and makes them durable. Fails
    /// if any of them failed, because later writes refer to them. Completes a started flush.
    fn flush(&mut self) -> Result<(), Self::Error>;

    /// Starts to make every write submitted so far durable, including the caller's data, and
    /// returns without waiting. At most one flush is started at a time. By default, it waits.
    fn start_flush(&mut self) -> Result<(), Self::Error> {
        self.flush()
    }

    /// Whether the started flush has completed. Fails if any of its writes failed.
    fn is_flushed(&mut self) -> Result<bool, Self::Error> {
        Ok(true)
    }

    /// Reads whole sectors, including earlier writes.
    fn read(&mut self, sector: u64, bytes: &mut [u8]) -> Result<(), Self::Error>;
}

/// An error of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error<E> {
    /// The drive failed.
    Drive(E),
    /// The file system is unknown or damaged, for this reason.
    Volume(&'static str),
    /// A file system with this geometry is impossible on this drive, for this reason.
    Geometry(&'static str),
    /// No free cluster is left.
    Full,
    /// The root directory has no room for another file, or the file numbers are used up.
    DirectoryFull,
    /// The supplied buffer is too small.
    Room,
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Drive(error) => write!(f, "{error}"),
            Error::Volume(reason) => write!(f, "not a usable file system: {reason}"),
            Error::Geometry(reason) => write!(f, "impossible geometry: {reason}"),
            Error::Full => f.write_str("the file system is full"),
            Error::DirectoryFull => {
                f.write_str("the root directory is full, or the file numbers are used up")
            }
            Error::Room => f.write_str("the supplied buffer is too small"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for Error<E> {}
