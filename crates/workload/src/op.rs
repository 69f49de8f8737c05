//! Operations, single commands to a drive, and the region of the target they address.

use serde::{Deserialize, Serialize};

/// Maximum operations in flight over all jobs. Each takes about 100 bytes of memory, and no drive
/// has a queue this deep.
pub const IN_FLIGHT_MAX: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum OpKind {
    /// Transfers data from the drive.
    Read = 0,
    /// Transfers data to the drive.
    Write = 1,
    /// Makes all acknowledged writes durable; has no address.
    Flush = 2,
    /// Releases a range (TRIM, UNMAP, hole punch).
    Discard = 3,
}

impl OpKind {
    /// All kinds, in numeric order.
    pub const ALL: [OpKind; 4] = [OpKind::Read, OpKind::Write, OpKind::Flush, OpKind::Discard];

    /// The word used in records and on screen.
    pub fn name(self) -> &'static str {
        match self {
            OpKind::Read => "read",
            OpKind::Write => "write",
            OpKind::Flush => "flush",
            OpKind::Discard => "discard",
        }
    }
}

/// One operation on a target. `offset` and `bytes` are 0 for a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Op {
    pub kind: OpKind,
    /// Offset of the first byte on the target.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u32,
}

impl Op {
    pub const FLUSH: Op = Op { kind: OpKind::Flush, offset: 0, bytes: 0 };

    /// Exclusive end, in bytes.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.bytes)
    }
}

/// The part of the target that a workload uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Offset of the first byte on the target.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl Region {
    /// The region of `bytes` bytes at the start of the target.
    pub fn first(bytes: u64) -> Region {
        Region { start: 0, bytes }
    }

    /// Exclusive end, in bytes.
    pub fn end(&self) -> u64 {
        self.start + self.bytes
    }
}
