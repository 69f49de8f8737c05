//! Images of drives and files: compressed blocks with checksums. `make` writes an image, `read`
//! supplies its blocks to `restore`.
//!
//! `format.rs` has the encoding and accesses no files.

mod format;
mod make;
mod read;
#[cfg(test)]
mod tests;

pub use format::{Head, ImageError, Record, head, record};
pub use make::{Made, make};
pub use read::ImageOnDisk;
