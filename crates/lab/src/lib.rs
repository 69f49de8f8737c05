//! From a request to a stored record, and the work done on records afterwards.
//!
//! The command translates arguments into the types of this crate and prints its results; everything
//! between the two happens here. A caller therefore needs neither the engine nor the model of
//! virtual drives nor the methods. This crate knows no command line and no screen: progress goes to
//! the caller's observer, and failures are a [`LabError`].

#![forbid(unsafe_code)]

pub mod compare;
pub mod drives;
mod error;
pub mod fit;
pub mod published;
pub mod virtual_drive;

pub use self::error::{ErrorKind, LabError, Result};
