//! Flash translation from logical addresses to flash, in two kinds.
//!
//! `page.rs` maps each page individually, like SSDs: superblocks, an SLC cache, garbage collection.
//! `au.rs` maps allocation units of several megabytes, a few of them open at a time, like SD cards
//! and USB sticks. Both issue reads, programs and erases to a [`Flash`]. With [`Untimed`], only the
//! translation runs, which the write-amplification oracles test.

pub mod au;
mod background;
mod bits;
pub mod collect;
mod live;
pub mod map;
pub mod page;
mod refill;
pub mod side;
pub mod slc;
pub mod superblock;

/// Cause of a program operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramCause {
    Host,
    /// Live pages moved by garbage collection.
    Collect,
    /// Data moved from the SLC cache to their final place.
    Fold,
}

/// The flash below a translation. Times are nanoseconds of virtual time; every operation returns
/// its completion time.
pub trait Flash {
    /// Reads `n` pages from `ppn`, to move them.
    fn read(&mut self, at: u64, ppn: u32, n: u32, slc: bool) -> u64;
    /// Programs the program unit that begins at `ppn`.
    fn program(&mut self, at: u64, ppn: u32, slc: bool, cause: ProgramCause) -> u64;
    /// Erases a superblock.
    fn erase(&mut self, at: u64, sb: u32) -> u64;
    /// Time before which more background work would only wait for its die.
    fn backlog(&self) -> u64 {
        0
    }
}

/// Flash that takes no time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untimed;

impl Flash for Untimed {
    fn read(&mut self, at: u64, _: u32, _: u32, _: bool) -> u64 {
        at
    }
    fn program(&mut self, at: u64, _: u32, _: bool, _: ProgramCause) -> u64 {
        at
    }
    fn erase(&mut self, at: u64, _: u32) -> u64 {
        at
    }
}
