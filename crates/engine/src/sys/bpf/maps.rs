//! What the programs keep: maps, and the numbers of each entry by their offset in bytes.

use rig::DividedTime;

/// The maps of the programs, all of them arrays, by descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Maps {
    /// By slot of a thread: [`thread`].
    pub threads: i32,
    /// By slot of a bio's pointer: [`queued`].
    pub queued: i32,
    /// By slot of a request's pointer: [`issued`].
    pub issued: i32,
    /// By slot of a place: [`refused`].
    pub refused: i32,
    /// By direction: [`sums`], and [`seen`].
    pub sums: i32,
    /// By direction and length: [`class`].
    pub classes: i32,
    /// By name of a process: requests, and their bytes. The only hash.
    pub others: i32,
    /// One mask: after a call that is followed, as many are skipped as a random number has under it.
    pub mask: i32,
}

/// Slots of threads, and of requests: a power of two. Each holds the last that came to it, so what is
/// forgotten, as a bio that another one took along, is overwritten; with 256 requests in flight, .4%
/// of them are lost so.
pub(super) const THREADS: u32 = 1 << 12;
pub(super) const REQUESTS: u32 = 1 << 16;

/// The state of a thread: its number, the time of its last system call or 0 if it is not followed, how
/// many calls to skip until one is; and the completions since the last return: the time of the first,
/// and all of them (number << 48 | sum of their times since the first, in units of 16 ns).
pub(super) mod thread {
    pub const NUMBER: i16 = 0;
    pub const CALLED: i16 = 8;
    pub const SKIPS: i16 = 16;
    pub const FIRST: i16 = 24;
    pub const COMPLETED: i16 = 32;
    pub const BYTES: usize = 40;
}

/// A request in the block layer, and whether it was issued.
pub(super) mod queued {
    pub const POINTER: i16 = 0;
    pub const AT: i16 = 8;
    pub const HELD: i16 = 16;
    pub const THREAD: i16 = 24;
    pub const DIRECTION: i16 = 32;
    pub const IS_ISSUED: i16 = 40;
}
pub(super) const QUEUED_BYTES: usize = 48;

/// A request that found no room in the block layer.
pub(super) mod refused {
    pub const PLACE: i16 = 0;
    pub const CALLED: i16 = 8;
    pub const THREAD: i16 = 16;
}
pub(super) const REFUSED_BYTES: usize = 24;

/// A request in the drive.
pub(super) mod issued {
    pub const POINTER: i16 = 0;
    pub const AT: i16 = 8;
    pub const QUEUE: i16 = 16;
    pub const HELD: i16 = 24;
    pub const BIO: i16 = 32;
    pub const THREAD: i16 = 40;
    pub const DIRECTION: i16 = 48;
}
pub(super) const ISSUED_BYTES: usize = 56;

/// Counts of a direction.
pub(super) mod sums {
    pub const QUEUED: i16 = 0;
    pub const ISSUED: i16 = 8;
    pub const SPLITS: i16 = 16;
    pub const QUEUED_BYTES: i16 = 24;
    pub const BYTES: usize = 32;
}

/// In a row of its own: completions that their threads have seen, and their times until then.
pub(super) mod seen {
    pub const COUNT: i16 = 0;
    pub const TIME: i16 = 8;
}

/// Sums of the completed requests of a direction that took about as long.
pub(super) mod class {
    pub const COMPLETED: i16 = 0;
    pub const HELD: i16 = 8;
    pub const QUEUE: i16 = 16;
    pub const DEVICE: i16 = 24;
    pub const BYTES: usize = 32;
}

/// The classes of both directions.
pub(super) const CLASSES: usize = 2 * DividedTime::CLASSES;

/// The rows after those of reads and writes: [`seen`]; own reads and writes of metadata; own flushes.
pub(super) const SEEN_ROW: i32 = 2;
pub(super) const METADATA_ROW: i32 = 3;
pub(super) const FLUSH_ROW: i32 = 5;
pub(super) const ROWS: usize = 6;
