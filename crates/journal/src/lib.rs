//! Blocks borrowed from a drive, kept on another drive until they are back.
//!
//! A method of the class `borrows` overwrites blocks of a drive in use and puts the same content
//! back. Before the first block is overwritten, all of them are in a file on another drive, synced
//! together with its directory: a kill or a loss of power at any moment costs nothing. [`Borrowed`]
//! is the bytes with a checksum per block. A [`Place`] keeps them as a file (`file.rs` has the
//! format) until they are compared and the journal is closed. [`Place::unfinished`] lists the files
//! that earlier runs left; [`Kept`] opens one, compares it with the drive and restores blocks.

#![forbid(unsafe_code)]

mod borrowed;
mod disk;
mod error;
mod file;
mod place;
mod registry;

pub use borrowed::{BLOCK, BYTES_MAX, Borrowed, Storage};
pub use disk::{Disk, Kernel};
pub use error::JournalError;
pub use file::{Header, Kept};
pub use place::{Journal, Leftover, Place, State};
pub use registry::Entry;
