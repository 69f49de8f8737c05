//! The way out: text for people, and files they asked for.
//!
//! Foreign text (of drives, file names, job files, records) passes [`plain`] before it reaches a
//! terminal, a CSV file or a page, so that it cannot steer what shows it. Files are replaced as a
//! whole by [`replace`], so that a reader, a full disk or a kill never sees half of one, and nothing
//! is written through a symbolic link that somebody else may have placed. A misspelt name is answered
//! with the [`nearest`] known one. The meaning of a text or a file is not known here.

#![forbid(unsafe_code)]

mod file;
mod name;
mod text;

pub use file::{Replacement, replace};
pub use name::{did_you_mean, nearest};
pub use text::{json, plain, screen, steers};
