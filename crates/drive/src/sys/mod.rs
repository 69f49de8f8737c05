//! All unsafe code of this crate: the ioctls that query a drive, discard its blocks or make the
//! kernel read its partitions again. Each module wraps one family behind a safe function; the
//! returned bytes are parsed in `response`.

#![allow(unsafe_code)]

pub(crate) mod block;
pub(crate) mod nvme;
pub(crate) mod scsi;
mod table;

pub(crate) use table::reread_partitions;
