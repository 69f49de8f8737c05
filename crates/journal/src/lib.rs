//! What was borrowed from a drive, kept on another one until it is back.
//!
//! A method of the class `borrows` overwrites blocks of a drive that is in use, and puts the same
//! content back. Before the first of them is touched, all of them are in a file on another drive,
//! synced together with its directory; so that a kill or a loss of power at any moment costs nothing.
//! What was borrowed is [`Borrowed`]: the bytes with a checksum for each block. A [`Place`] keeps it
//! as a file (`file.rs` has the format) until it is compared and closed; what a run left there is
//! [`Place::unfinished`], and [`Kept`] compares it with the drive and puts back what differs.

#![forbid(unsafe_code)]

mod borrowed;
mod error;
mod file;
mod place;

pub use borrowed::{BLOCK, Borrowed};
pub use error::JournalError;
pub use file::{Header, Kept};
pub use place::{Journal, Leftover, Place, State};
