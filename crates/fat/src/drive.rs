//! The drive under a file system, and the errors of this crate.

use core::fmt;

/// Largest sector, bytes: the limit of both file systems.
pub const SECTOR_BYTES_MAX: usize = 4096;

/// A drive or a partition, in sectors. Writes become durable with the next [`Drive::flush`]; until
/// then they may be carried out in any order, and a power cut may lose any of them.
pub trait Drive {
    /// The error of the drive.
    type Error;

    /// Bytes of a sector: 512 to [`SECTOR_BYTES_MAX`], a power of two. A sector is written whole or
    /// not at all.
    fn sector_bytes(&self) -> u32;

    /// Number of sectors.
    fn sectors(&self) -> u64;

    /// Submits a write of whole sectors and returns without waiting for it. The drive keeps a copy
    /// of the bytes.
    fn submit(&mut self, sector: u64, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Waits for every write submitted, the caller's data included, and makes them durable. Fails if
    /// any of them failed: what follows refers to them.
    fn flush(&mut self) -> Result<(), Self::Error>;

    /// Reads whole sectors. Earlier writes are seen.
    fn read(&mut self, sector: u64, bytes: &mut [u8]) -> Result<(), Self::Error>;
}

/// Why an action failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error<E> {
    /// The drive failed.
    Drive(E),
    /// There is no file system that this crate knows, or it is damaged: the reason.
    Volume(&'static str),
    /// A file system of that geometry is impossible here: the reason.
    Geometry(&'static str),
    /// No free cluster is left.
    Full,
    /// The root directory has no room for another file.
    DirectoryFull,
    /// The memory lent is too small.
    Room,
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Drive(error) => write!(f, "{error}"),
            Error::Volume(reason) => write!(f, "not a usable file system: {reason}"),
            Error::Geometry(reason) => write!(f, "no such file system here: {reason}"),
            Error::Full => f.write_str("the file system is full"),
            Error::DirectoryFull => f.write_str("the root directory is full"),
            Error::Room => f.write_str("the memory lent is too small"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for Error<E> {}
