//! One operation: what is asked of a drive in a single command.

use serde::{Deserialize, Serialize};

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum OpKind {
    /// Data from the drive.
    Read = 0,
    /// Data to the drive.
    Write = 1,
    /// Everything acknowledged so far becomes durable; has no address.
    Flush = 2,
    /// The range is given back (TRIM, UNMAP, hole punch).
    Discard = 3,
}

impl OpKind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [OpKind; 4] = [OpKind::Read, OpKind::Write, OpKind::Flush, OpKind::Discard];

    /// The word used in records and on screens.
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
    /// What is done.
    pub kind: OpKind,
    /// First byte, counted from the start of the target.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u32,
}

impl Op {
    /// The flush operation.
    pub const FLUSH: Op = Op { kind: OpKind::Flush, offset: 0, bytes: 0 };

    /// First byte behind the operation.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.bytes)
    }
}
