//! Images of drives and files: blocks with checksums, compressed. `make` writes one, `read` gives its
//! blocks to `restore`.
//!
//! The bytes are in `format.rs`, which knows no file.

mod format;
mod make;
mod read;
#[cfg(test)]
mod tests;

pub use format::{Head, ImageError, Record, head, record};
pub use make::{Made, make};
pub use read::ImageOnDisk;
