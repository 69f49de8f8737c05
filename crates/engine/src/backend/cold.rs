//! Operations that are rare enough to be synchronous: flushes without an asynchronous form, and
//! discards, for which files and devices need different calls.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;

use rustix::fs::{FallocateFlags, fallocate};
use workload::{Op, OpKind};

use super::{Files, negative};
use crate::sys;

/// Flushes or discards; returns 0 or a negative error number.
pub(crate) fn perform(files: &Files<'_>, op: Op) -> i64 {
    let (file, offset) = files.locate(op.offset);
    let result = match op.kind {
        OpKind::Flush => files.flush(op.offset),
        OpKind::Discard => discard(file, offset, u64::from(op.bytes)),
        OpKind::Read | OpKind::Write => Err(io::ErrorKind::InvalidInput.into()),
    };
    result.map_or_else(|e| negative(&e), |()| 0)
}

/// How often a device is written back before a discard of a busy range fails; arbitrary.
const CLEANINGS: u32 = 16;

/// Discards a range: punches a hole in a file, or sends a discard to a device.
pub(crate) fn discard(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    if file.metadata()?.file_type().is_block_device() {
        // While another descriptor has the device exclusively, the kernel discards a range only if
        // its cached pages are clean, and another job may write to them again.
        for _ in 0..CLEANINGS {
            match sys::file::discard(file, offset, bytes) {
                Err(e) if e.raw_os_error() == Some(libc::EBUSY) => file.sync_data()?,
                result => return result,
            }
        }
        return sys::file::discard(file, offset, bytes);
    }
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(fallocate(file, flags, offset, bytes)?)
}
