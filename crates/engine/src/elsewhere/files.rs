//! The files of a job, on systems other than Linux: none, because virtual drives have only numbers
//! for files.

use std::convert::Infallible;
use std::io;
use std::marker::PhantomData;

/// The files of one job.
pub(crate) struct Files<'f>(Infallible, PhantomData<&'f ()>);

impl Files<'_> {
    /// The first address of every file.
    pub(crate) fn starts(&self) -> std::iter::Empty<u64> {
        match self.0 {}
    }

    /// Truncates the regular files.
    pub(crate) fn empty(&self) -> io::Result<()> {
        match self.0 {}
    }

    /// Fills the buffer, starting at an address.
    pub(crate) fn read_exact(&self, _address: u64, _buffer: &mut [u8]) -> io::Result<()> {
        match self.0 {}
    }

    /// Makes the file at an address durable.
    pub(crate) fn sync(&self, _address: u64) -> io::Result<()> {
        match self.0 {}
    }
}
