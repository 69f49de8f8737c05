//! Commands in their submission queue layout (NVMe 1.4, figures 104 and 105).
//!
//! A [`Command`] has neither an identifier nor addresses: the queue adds those. The double words it
//! omits (2 to 5, 13 to 15) are zero in every command of the driver.

use crate::request::RequestKind;

/// Opcodes. Admin and I/O commands are numbered independently.
pub mod opcode {
    #![allow(missing_docs)]
    pub const DELETE_SQ: u8 = 0x00;
    pub const CREATE_SQ: u8 = 0x01;
    pub const GET_LOG: u8 = 0x02;
    pub const DELETE_CQ: u8 = 0x04;
    pub const CREATE_CQ: u8 = 0x05;
    pub const IDENTIFY: u8 = 0x06;
    pub const ABORT: u8 = 0x08;
    pub const SET_FEATURES: u8 = 0x09;
    pub const DOORBELL_BUFFER: u8 = 0x7c;
    pub const FORMAT: u8 = 0x80;

    pub const FLUSH: u8 = 0x00;
    pub const WRITE: u8 = 0x01;
    pub const READ: u8 = 0x02;
    pub const WRITE_ZEROES: u8 = 0x08;
    pub const DATASET: u8 = 0x09;
}

/// A command without its identifier and addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Opcode.
    pub opcode: u8,
    /// Namespace; all ones for all namespaces.
    pub nsid: u32,
    /// Command double words 10 to 12.
    pub cdw: [u32; 3],
}

/// A range of blocks to discard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First block.
    pub lba: u64,
    /// Number of blocks.
    pub blocks: u32,
}

/// Maximum ranges of one discard.
pub(crate) const RANGES_MAX: usize = 256;
/// Maximum blocks of one command.
pub(crate) const BLOCKS_MAX: u32 = 1 << 16;
const DEALLOCATE: u32 = 4;
const FORCE_UNIT_ACCESS: u32 = 1 << 30;

impl Command {
    /// An I/O command on `blocks` (1 to 65,536) blocks from `lba`.
    #[inline(always)]
    pub(crate) fn io(kind: RequestKind, nsid: u32, lba: u64, blocks: u32) -> Command {
        let kind = kind as u32;
        let flags = kind & FORCE_UNIT_ACCESS;
        let cdw = [lba as u32, (lba >> 32) as u32, blocks.wrapping_sub(1) & 0xffff | flags];
        Command { opcode: kind as u8, nsid, cdw }
    }

    /// Makes everything written durable.
    pub fn flush(nsid: u32) -> Command {
        Command { opcode: opcode::FLUSH, nsid, cdw: [0; 3] }
    }

    /// Discards the `ranges` (1 to 256) ranges of a list.
    pub fn discard(nsid: u32, ranges: u32) -> Command {
        Command { opcode: opcode::DATASET, nsid, cdw: [ranges - 1, DEALLOCATE, 0] }
    }

    /// Identify: the structure `cns` of a namespace or of the controller.
    pub fn identify(cns: u32, nsid: u32) -> Command {
        Command { opcode: opcode::IDENTIFY, nsid, cdw: [cns, 0, 0] }
    }

    /// The first `bytes` (a multiple of 4) bytes of a log page.
    pub fn log(page: u8, nsid: u32, bytes: u32) -> Command {
        let cdw = [u32::from(page) | (bytes / 4 - 1) << 16, 0, 0];
        Command { opcode: opcode::GET_LOG, nsid, cdw }
    }

    /// Sets a feature.
    pub fn set_feature(feature: u8, value: u32) -> Command {
        let cdw = [u32::from(feature), value, 0];
        Command { opcode: opcode::SET_FEATURES, nsid: 0, cdw }
    }

    /// Creates a contiguous completion queue without interrupts.
    pub fn create_cq(queue: u16, entries: u32) -> Command {
        let cdw = [u32::from(queue) | (entries - 1) << 16, 1, 0];
        Command { opcode: opcode::CREATE_CQ, nsid: 0, cdw }
    }

    /// Creates a submission queue that reports to the completion queue of the same number.
    pub fn create_sq(queue: u16, entries: u32) -> Command {
        let cdw = [u32::from(queue) | (entries - 1) << 16, 1 | u32::from(queue) << 16, 0];
        Command { opcode: opcode::CREATE_SQ, nsid: 0, cdw }
    }

    /// Deletes a queue.
    pub fn delete(opcode: u8, queue: u16) -> Command {
        Command { opcode, nsid: 0, cdw: [u32::from(queue), 0, 0] }
    }

    /// Aborts a command of a submission queue.
    pub fn abort(queue: u16, cid: u16) -> Command {
        let cdw = [u32::from(queue) | u32::from(cid) << 16, 0, 0];
        Command { opcode: opcode::ABORT, nsid: 0, cdw }
    }

    /// Formats a namespace with one of its formats (0 to 63). `erase`: 0 none, 1 user data, 2
    /// cryptographic.
    pub fn format(nsid: u32, format: u8, erase: u8) -> Command {
        let cdw = [
            u32::from(format & 15) | u32::from(erase & 7) << 9 | u32::from(format >> 4 & 3) << 12,
            0,
            0,
        ];
        Command { opcode: opcode::FORMAT, nsid, cdw }
    }
}
