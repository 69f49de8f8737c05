//! The interface between a queue and its user: requests, completions, reasons for a refusal.

use crate::status::Status;

/// A namespace and the size of its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormattedNamespace {
    /// Namespace.
    pub nsid: u32,
    /// Block size, as a power of two of bytes (9 to 16).
    pub block_bits: u32,
}

/// Kinds of requests. The value combines the opcode and the forced unit access bit of double word
/// 12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RequestKind {
    /// Makes everything written durable.
    Flush = 0,
    /// Memory to device.
    Write = 1,
    /// Device to memory.
    Read = 2,
    /// Zeroes blocks without a transfer.
    Zeroes = 8,
    /// A write that completes only when the data are in the flash.
    WriteThrough = 1 << 30 | 1,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoRequest {
    /// Its kind.
    pub kind: RequestKind,
    /// Namespace.
    pub place: FormattedNamespace,
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
    /// The slot of the request.
    pub slot: usize,
    /// The status; for several commands, the first error.
    pub status: Status,
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushError {
    /// The ring is full: ring, poll, and try again.
    Full,
    /// The slot is in flight, or does not exist.
    Slot,
    /// Larger than the queue's layout allows, or empty.
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
pub struct QueueCounters {
    /// Commands submitted.
    pub commands: u64,
    /// Writes to doorbell registers.
    pub doorbells: u64,
    /// Completions that match no command in flight: late, duplicate, or spurious.
    pub strays: u64,
    /// Commands that became overdue.
    pub overdue: u64,
}
