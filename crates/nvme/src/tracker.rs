//! The state of one command: a tracker. Its index is part of the command's identifier.
//!
//! The upper bits of the identifier are a generation, which changes with every use. A late or
//! duplicate completion has an old generation and is recognised.

use crate::status::Status;

/// Bits of a command's identifier that are the index; the other four are the generation.
pub(crate) const INDEX_BITS: u32 = 12;
/// Maximum trackers of a queue. Excludes the index of the reserved identifier 0xffff.
pub(crate) const TRACKERS_MAX: usize = (1 << INDEX_BITS) - 1;

/// Age of a command, in quarters of the timeout. 1 or more: in flight.
pub(crate) mod age {
    pub const FREE: u8 = 0;
    pub const NEW: u8 = 1;
    /// An abort is due.
    pub const OVERDUE: u8 = 6;
    /// An abort was sent.
    pub const ABORTING: u8 = 7;
    /// The abort did not help.
    pub const HOPELESS: u8 = 12;
}

/// The state of one command. The caller provides an array of `Tracker::default()`.
#[derive(Clone, Copy, Debug)]
pub struct Tracker {
    /// Age in the low byte. The upper bits, in the first tracker of a request, count the commands
    /// that have not completed. 0: free. A single word, because every command writes it twice.
    pub(crate) life: u32,
    /// The command's identifier: index and generation.
    pub(crate) cid: u16,
    /// In the first tracker of a request: the first error.
    pub(crate) status: Status,
    /// The last transfer: offset, bytes, and two addresses. A steady workload repeats it.
    pub(crate) at: usize,
    pub(crate) bytes: usize,
    pub(crate) prp: (u64, u64),
    /// Coverage of the PRP list: the first data offset and the number of pages; 0 pages: none.
    pub(crate) listed_at: usize,
    pub(crate) listed_pages: u32,
}

impl Default for Tracker {
    fn default() -> Tracker {
        Tracker {
            life: 0,
            cid: 0,
            status: Status::SUCCESS,
            at: 0,
            bytes: 0,
            prp: (0, 0),
            listed_at: 0,
            listed_pages: 0,
        }
    }
}

impl Tracker {
    /// Starts using the tracker, as the first of a request with `left` commands or as another (0);
    /// returns the command's identifier.
    #[inline(always)]
    pub(crate) fn begin(&mut self, left: u16) -> u16 {
        self.life = u32::from(left) << 8 | u32::from(age::NEW);
        self.cid = self.cid.wrapping_add(1 << INDEX_BITS);
        self.cid
    }

    /// Whether a completion with this identifier belongs to the command in flight.
    #[inline(always)]
    pub(crate) fn is(&self, cid: u16) -> bool {
        self.age() != age::FREE && self.cid == cid
    }

    #[inline(always)]
    pub(crate) fn age(&self) -> u8 {
        self.life as u8
    }

    pub(crate) fn set_age(&mut self, age: u8) {
        self.life = self.life & !0xff | u32::from(age);
    }

    /// In the first tracker: commands of the request that have not completed.
    pub(crate) fn left(&self) -> u32 {
        self.life >> 8
    }

    /// Counts one of them as completed; returns the number left.
    pub(crate) fn one_less(&mut self) -> u32 {
        self.life = self.life.saturating_sub(1 << 8);
        self.left()
    }
}

/// The index in a command's identifier.
#[inline(always)]
pub(crate) fn index(cid: u16) -> usize {
    usize::from(cid) & TRACKERS_MAX
}
