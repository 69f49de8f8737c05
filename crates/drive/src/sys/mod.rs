//! All unsafe code of this crate: the ioctls that query a drive, erase its blocks or make the
//! kernel reread its partitions. Each module wraps one family in a safe function; `response` parses
//! the returned bytes.

#![allow(unsafe_code)]

pub(crate) mod block;
pub(crate) mod nvme;
pub(crate) mod scsi;
pub(crate) mod stacked;
