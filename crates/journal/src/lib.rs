//! Blocks borrowed from a drive, kept on another drive until they are restored.
//!
//! A method of the class `borrows` overwrites blocks of a drive in use and restores them. Before
//! the first is overwritten, all are saved to a file on another drive, which is synced together
//! with its directory: a kill or power loss loses no data at any moment. [`Borrowed`] contains the
//! bytes with a checksum per block. A [`JournalDir`] keeps them as a file (format: `file.rs`) until
//! they are verified and the journal is closed. [`JournalDir::unfinished`] lists the files left by
//! earlier runs. [`EarlierJournal`] opens one, and its [`Borrowed`] compares and restores blocks.

#![forbid(unsafe_code)]

mod borrowed;
mod device;
mod directory;
mod disk;
mod elsewhere;
mod error;
mod file;
mod homes;
mod leftover;
mod owner;
mod registry;

pub use borrowed::{BLOCK, BYTES_MAX, Borrowed, Differences, Rereads, Storage};
pub use device::{BlockStorage, read_direct};
pub use directory::{Journal, JournalDir};
pub use disk::{Disk, Kernel};
pub use elsewhere::ElsewhereLeft;
pub use error::JournalError;
pub use file::{EarlierJournal, Header};
pub use leftover::{Leftover, State};
pub use registry::RegistryEntry;
