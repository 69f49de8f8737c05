//! What passes between a queue and its user: requests, completions, the reasons for refusing one.

use crate::status::Status;

/// A namespace and the size of its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Namespace.
    pub nsid: u32,
    /// Block size, as a power of two of bytes (9 to 16).
    pub block_bits: u32,
}

/// Kinds of requests. The number is the opcode, and the bit of forced unit access where double word
/// 12 has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Makes everything written durable.
    Flush = 0,
    /// Memory to device.
    Write = 1,
    /// Device to memory.
    Read = 2,
    /// Makes blocks zero without a transfer.
    Zeroes = 8,
    /// A write that completes only when the data are in the flash.
    WriteThrough = 1 << 30 | 1,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its kind.
    pub kind: Kind,
    /// Namespace.
    pub place: Place,
    /// First block.
    pub lba: u64,
    /// Blocks.
    pub blocks: u32,
    /// Offset of the data in the memory of the queue, a multiple of 4.
    pub at: usize,
}

/// A completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The slot it was pushed on.
    pub slot: usize,
    /// The status; of several commands the first error.
    pub status: Status,
}

/// The reason why a request was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushError {
    /// The ring has no room: ring, poll, try again.
    Full,
    /// The slot is in flight, or there is no such slot.
    Slot,
    /// More than the queue was laid out for, or nothing at all.
    Size,
}

/// A command that needs the owner of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdue {
    /// Abort this command.
    Abort(u16),
    /// Reset the controller: an abort did not help.
    Reset,
}

/// Counts since the queue was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Commands put into the ring.
    pub commands: u64,
    /// Writes to doorbell registers.
    pub doorbells: u64,
    /// Completions of no command in flight: late, twice, or invented.
    pub strays: u64,
    /// Commands that became overdue.
    pub overdue: u64,
}
