//! One operation: a single command to a drive.

use serde::{Deserialize, Serialize};

/// Kind of an operation.
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
    /// Kind.
    pub kind: OpKind,
    /// Offset of the first byte on the target.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u32,
}

impl Op {
    /// The flush operation.
    pub const FLUSH: Op = Op { kind: OpKind::Flush, offset: 0, bytes: 0 };

    /// Exclusive end, in bytes.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.bytes)
    }
}
