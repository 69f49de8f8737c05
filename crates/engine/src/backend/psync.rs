//! Synchronous `pread` and `pwrite`, as in a plain program. They work on every kernel.

use std::io;
use std::os::unix::fs::FileExt;

use workload::{Op, OpKind};

use super::Files;
use super::serial::{Serial, Transfer};
use crate::clock::Clock;
use crate::sys::arena::Arena;

pub(crate) struct Psync<'f> {
    files: Files<'f>,
}

impl<'f> Psync<'f> {
    /// A backend that uses these calls.
    pub(crate) fn serial(clock: Clock, files: Files<'f>, arena: Arena) -> Serial<Psync<'f>> {
        Serial::new(Psync { files }, clock, arena)
    }
}

impl Transfer for Psync<'_> {
    fn files(&self) -> &Files<'_> {
        &self.files
    }

    #[inline]
    fn transfer(&self, op: Op, buffer: &mut [u8]) -> io::Result<usize> {
        let (file, offset) = self.files.locate(op.offset);
        loop {
            let result = match op.kind {
                OpKind::Write => file.write_at(buffer, offset),
                _ => file.read_at(buffer, offset),
            };
            // A signal is not an error of the drive.
            if !matches!(&result, Err(e) if e.kind() == io::ErrorKind::Interrupted) {
                return result;
            }
        }
    }
}
