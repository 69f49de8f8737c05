//! Everything unsafe of this room: the ioctls that ask a drive, give its blocks back or make the kernel
//! read its partitions again. Each module wraps one family behind a safe function; the bytes that come
//! back are read in `answer`.

#![allow(unsafe_code)]

pub(crate) mod block;
pub(crate) mod nvme;
pub(crate) mod scsi;
mod table;

pub(crate) use table::reread_partitions;
