//! Other tools' languages: their command lines and their results.
//!
//! [`iozone`] reads iozone's command line and prints its table; an option that ssdyno does not serve
//! is an error with its reason. [`import`] turns results of other tools into records. fio's language
//! is a crate of its own.

#![forbid(unsafe_code)]

pub mod import;
pub mod iozone;
