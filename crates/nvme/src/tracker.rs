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
    /// In the place it has in the number.
    pub(crate) generation: u16,
    /// The epoch in which it was submitted, or its abort.
    pub(crate) epoch: u32,
    /// What the PRP list describes: data from this offset on, in so many pages; 0 pages: nothing.
    pub(crate) listed_at: usize,
    pub(crate) listed_pages: u32,
    /// Of the first tracker of a request: commands that have not completed.
    pub(crate) left: u16,
    /// Of the first tracker of a request: the first error.
    pub(crate) status: Status,
}

impl Default for Tracker {
    fn default() -> Tracker {
        Tracker {
            state: State::Free,
            generation: 0,
            epoch: 0,
            listed_at: 0,
            listed_pages: 0,
            left: 0,
            status: Status::SUCCESS,
        }
    }
}

impl Tracker {
    /// Takes it into use; returns the number of the command.
    #[inline(always)]
    pub(crate) fn begin(&mut self, index: usize, epoch: u32) -> u16 {
        self.state = State::Flying;
        self.generation = self.generation.wrapping_add(1 << INDEX_BITS);
        self.epoch = epoch;
        self.generation | index as u16
    }

    /// Whether a completion with this number is that of the command in flight.
    #[inline(always)]
    pub(crate) fn is(&self, cid: u16) -> bool {
        self.state != State::Free && (self.generation ^ cid) >> INDEX_BITS == 0
    }
}

/// The index in a command's number.
#[inline(always)]
pub(crate) fn index(cid: u16) -> usize {
    usize::from(cid) & TRACKERS_MAX
}
