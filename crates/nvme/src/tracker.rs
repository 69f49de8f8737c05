//! The state of one command: a tracker. Its index is the command's number.
//!
//! The upper bits of the number are a generation, which changes with every use. A completion that
//! arrives late or twice names an old generation and is recognised.

use crate::status::Status;

/// Bits of a command's number that are the index; the other four are the generation.
pub(crate) const INDEX_BITS: u32 = 12;
/// Maximum trackers of a queue: no command has the number 0xffff, which is reserved.
pub(crate) const TRACKERS_MAX: usize = (1 << INDEX_BITS) - 1;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    #[default]
    Free,
    /// In flight.
    Flying,
    /// Overdue; an abort is wanted.
    Overdue,
    /// An abort was sent.
    Aborting,
    /// The abort did not help either.
    Hopeless,
}

/// The state of one command. The caller lends an array of these, `Tracker::default()` each.
#[derive(Clone, Copy, Debug)]
pub struct Tracker {
    pub(crate) state: State,
    /// The command's number: index and generation.
    pub(crate) cid: u16,
    /// Of the first tracker of a request: commands that have not completed.
    pub(crate) left: u16,
    /// Of the first tracker of a request: the first error.
    pub(crate) status: Status,
    /// The epoch in which it was submitted, or its abort.
    pub(crate) epoch: u32,
    /// The last transfer: its place, its bytes, its two addresses. A steady workload repeats it.
    pub(crate) at: usize,
    pub(crate) bytes: usize,
    pub(crate) prp: (u64, u64),
    /// What the PRP list describes: data from this offset on, in so many pages; 0 pages: nothing.
    pub(crate) listed_at: usize,
    pub(crate) listed_pages: u32,
}

impl Default for Tracker {
    fn default() -> Tracker {
        Tracker {
            state: State::Free,
            cid: 0,
            left: 0,
            status: Status::SUCCESS,
            epoch: 0,
            at: 0,
            bytes: 0,
            prp: (0, 0),
            listed_at: 0,
            listed_pages: 0,
        }
    }
}

impl Tracker {
    /// Takes it into use; returns the number of the command.
    #[inline(always)]
    pub(crate) fn begin(&mut self, epoch: u32) -> u16 {
        self.state = State::Flying;
        self.cid = self.cid.wrapping_add(1 << INDEX_BITS);
        self.epoch = epoch;
        self.cid
    }

    /// Whether a completion with this number is that of the command in flight.
    #[inline(always)]
    pub(crate) fn is(&self, cid: u16) -> bool {
        self.state != State::Free && self.cid == cid
    }
}

/// The index in a command's number.
#[inline(always)]
pub(crate) fn index(cid: u16) -> usize {
    usize::from(cid) & TRACKERS_MAX
}
