//! Other tools' command lines and results.
//!
//! [`iozone`] parses iozone's command line and prints its table; an unsupported option is an error
//! with a reason. [`import`] turns results of other tools into records. fio's language is a
//! separate crate.

#![forbid(unsafe_code)]
#![allow(missing_docs)]

pub mod import;
pub mod iozone;
