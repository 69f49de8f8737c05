//! Published experiments repeated: on virtual drives, or on a drive of the user's.
//!
//! Documents and their steps are data (`published/*.toml`). An experiment on a virtual drive leaves
//! a record from which its figures are read and held to their tolerance; a missed figure stays
//! missed even where the reason is known. On a drive of the user's, figures only stand beside the
//! published ones: another drive is not expected to meet them.

pub mod beside;
pub mod document;
mod experiment;
pub mod here;
mod reading;

pub use self::document::{Document, Experiment};
pub use self::reading::{Compared, Course, compare, difference};
