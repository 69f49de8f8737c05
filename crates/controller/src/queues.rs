//! The controller's view of the rings, and fetched commands.

use std::collections::VecDeque;

use crate::faults::Fate;

/// A submission queue.
#[derive(Debug)]
pub(crate) struct Sq {
    pub base: u64,
    pub entries: u32,
    pub head: u32,
    pub tail: u32,
    pub cq: u16,
    /// Whether the controller polls the shadow doorbell.
    pub awake: bool,
}

impl Sq {
    pub fn new(base: u64, entries: u32, cq: u16, awake: bool) -> Sq {
        Sq { base, entries, head: 0, tail: 0, cq, awake }
    }
}

/// A completion queue.
#[derive(Debug)]
pub(crate) struct Cq {
    pub base: u64,
    pub entries: u32,
    pub head: u32,
    pub tail: u32,
    pub phase: u32,
    /// Completions waiting for room in the ring.
    pub waiting: VecDeque<Completion>,
}

impl Cq {
    pub fn new(base: u64, entries: u32) -> Cq {
        Cq { base, entries, head: 0, tail: 0, phase: 1, waiting: VecDeque::new() }
    }

    pub fn is_full(&self) -> bool {
        (self.tail + 1) % self.entries == self.head
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    pub sq: u16,
    pub cid: u16,
    pub status: u16,
    pub result: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetched {
    pub sq: u16,
    pub cid: u16,
    pub opcode: u8,
    pub nsid: u32,
    pub prp: [u64; 2],
    pub cdw: [u32; 3],
    pub fate: Fate,
}

impl Fetched {
    pub fn lba(&self) -> u64 {
        u64::from(self.cdw[0]) | u64::from(self.cdw[1]) << 32
    }

    pub fn blocks(&self) -> u64 {
        u64::from(self.cdw[2] & 0xffff) + 1
    }

    /// Number of ranges in the list of a dataset command.
    pub fn ranges(&self) -> u64 {
        u64::from(self.cdw[0] & 0xff) + 1
    }

    /// Whether a dataset command discards its ranges.
    pub fn discards(&self) -> bool {
        self.cdw[1] & 4 != 0
    }

    pub fn completion(&self, status: u16, result: u32) -> Completion {
        Completion { sq: self.sq, cid: self.cid, status, result }
    }
}
