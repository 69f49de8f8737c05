//! Flash translation: from logical addresses to flash, in two kinds.
//!
//! `page.rs` maps every page for itself, as SSDs do: superblocks, an SLC cache, collection. `au.rs`
//! maps allocation units of megabytes with a few of them open at a time, as SD cards and USB sticks
//! do. Both tell a [`Flash`] what is read, programmed and erased; with [`Untimed`] they are bare
//! translation, which the oracles of write amplification are checked on.

pub mod au;
mod background;
pub mod collect;
pub mod map;
pub mod page;
pub mod side;
pub mod slc;
pub mod superblock;

/// Why flash is programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Data from the host.
    Host,
    /// Live pages out of a superblock that is collected.
    Collect,
    /// Data moved from the SLC cache to its final place.
    Fold,
}

/// What a translation does to flash, and when. Times are nanoseconds of virtual time; every call
/// returns when it is done.
pub trait Flash {
    /// `n` pages from `ppn` are read because somebody waits for them or they are to be moved.
    fn read(&mut self, at: u64, ppn: u32, n: u32, slc: bool) -> u64;
    /// A program unit that begins at `ppn` is programmed.
    fn program(&mut self, at: u64, ppn: u32, slc: bool, why: Why) -> u64;
    /// A superblock is erased.
    fn erase(&mut self, at: u64, sb: u32) -> u64;
}

/// Flash that takes no time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untimed;

impl Flash for Untimed {
    fn read(&mut self, at: u64, _: u32, _: u32, _: bool) -> u64 {
        at
    }
    fn program(&mut self, at: u64, _: u32, _: bool, _: Why) -> u64 {
        at
    }
    fn erase(&mut self, at: u64, _: u32) -> u64 {
        at
    }
}
