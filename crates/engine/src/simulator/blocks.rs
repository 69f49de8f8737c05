//! The block interface of a virtual drive. The model determines the time; this module stores the
//! bytes.
//!
//! Once the interface is open, the model records which write each block contains, and the bytes of
//! writes through this interface are stored under that write's number. Discards, formats and other
//! writes therefore invalidate them. Blocks without known bytes read as zeros where the drive has
//! zeros. Otherwise they read as a pattern: a workload overwrote them, or the drive guarantees
//! nothing after a discard. Stamped content is stored as its stamps (`stamped.rs`).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use model::{BlockContent, CommandStatus, Drive};
use record::State;
use rig::{BlockDone, BlockRequest, BlockWay, Blocks, Result};
use workload::{Filler, Op, OpKind, Region};

use super::Simulator;
use super::stamped::Stamped;
use crate::admit;

/// Maximum requests in flight; arbitrary.
const DEPTH: usize = 64;

/// Content and requests in flight.
#[derive(Default)]
pub(super) struct Stored {
    /// The bytes of blocks, with the number of the write that stored them.
    blocks: HashMap<u64, (u64, Box<[u8]>)>,
    /// The same for stamped blocks.
    stamped: Stamped,
    /// Regions that preparations filled with zeros, with the numbers of their writes.
    zeroed: Vec<(Region, Range<u64>)>,
    /// Completion time and position in `waiting`, earliest first.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    waiting: Vec<Option<BlockDone>>,
    /// Completed requests that have not been polled.
    done: Vec<BlockDone>,
}

/// Pattern word for blocks without known bytes; arbitrary, but not zero.
const PATTERN: u64 = 0xdead_b10c_0bad_0001;

impl Stored {
    /// Stores the bytes of a write that the drive has just accepted, at the places where they
    /// landed.
    fn write(&mut self, drive: &Drive, offset: u64, bytes: &[u8]) {
        let (size, write) = (u64::from(drive.block_bytes()), drive.writes_remembered());
        let (first, landing) = (offset / size, drive.landing());
        let end = first + bytes.len() as u64 / size;
        let in_place = landing.is_whole(first..end) && drive.has_own_places(first..end);
        if in_place && self.stamped.keep(first, size, write, bytes) {
            return;
        }
        for (number, block) in (first..).zip(bytes.chunks(size as usize)) {
            let Some(target) = landing.target(number) else { continue };
            let mut block: Box<[u8]> = block.into();
            if landing.is_flipped() && number == (first + end) / 2 {
                block[size as usize / 2] ^= 1;
            }
            self.blocks.insert(drive.place(target), (write, block));
        }
    }

    fn read(&self, drive: &Drive, offset: u64, bytes: &mut [u8]) {
        let size = u64::from(drive.block_bytes());
        for (number, block) in (offset / size..).zip(bytes.chunks_mut(size as usize)) {
            match (drive.held(number), self.blocks.get(&drive.place(number))) {
                (Some(BlockContent::Write(held)), Some((write, stored))) if held == *write => {
                    block.copy_from_slice(stored);
                }
                (Some(BlockContent::Write(held)), _)
                    if self.stamped.read(drive.place(number), held, block) => {}
                (None | Some(BlockContent::Zeros), _) => block.fill(0),
                (Some(BlockContent::Write(held)), _) if self.is_zeroed(number * size, held) => {
                    block.fill(0);
                }
                _ => {
                    let word = (PATTERN ^ number).to_le_bytes();
                    block.chunks_mut(8).for_each(|at| at.copy_from_slice(&word[..at.len()]));
                }
            }
        }
    }

    /// Records that these writes filled a region with zeros.
    pub(super) fn zeroed(&mut self, region: Region, writes: Range<u64>) {
        self.zeroed.push((region, writes));
    }

    fn is_zeroed(&self, at: u64, write: u64) -> bool {
        let mut fills = self.zeroed.iter();
        fills.any(|(region, writes)| {
            (region.start..region.end()).contains(&at) && writes.contains(&write)
        })
    }

    /// Drops the bytes of blocks that the drive no longer contains. Runs of stamps are small and
    /// stay.
    fn retain_held(&mut self, drive: &Drive) {
        self.blocks
            .retain(|number, (write, _)| drive.held(*number) == Some(BlockContent::Write(*write)));
    }

    /// Adds a request to those in flight.
    fn put(&mut self, done: BlockDone) {
        let done_ns = done.done_ns;
        let free = self.waiting.iter().position(Option::is_none);
        let place = free.unwrap_or(self.waiting.len());
        match free {
            Some(place) => self.waiting[place] = Some(done),
            None => self.waiting.push(Some(done)),
        }
        self.order.push(Reverse((done_ns, place)));
    }

    /// Completes the earliest request in flight; returns its time.
    fn complete(&mut self) -> Option<u64> {
        let Reverse((done_ns, place)) = self.order.pop()?;
        self.done.extend(self.waiting[place].take());
        Some(done_ns)
    }
}

impl Simulator {
    /// Drops all stored bytes, because the drive has a new format.
    pub(super) fn forget_all_blocks(&mut self) {
        self.stored.blocks.clear();
        self.stored.stamped.clear();
    }

    /// Drops stored bytes that a preparation has removed from the drive.
    pub(super) fn forget_blocks(&mut self) {
        self.stored.retain_held(&self.drive);
    }

    /// Submits a request; `kept` specifies whether the bytes of a write can be read back.
    fn submit_block(&mut self, mut request: BlockRequest, kept: bool) -> Result<()> {
        match request.way {
            BlockWay::Flush => self.goes_on()?,
            _ => self.admit_block(request.offset, request.bytes.len())?,
        }
        if self.stored.order.len() >= DEPTH {
            let done_ns = self.stored.complete().unwrap_or(0);
            self.now = self.now.max(done_ns);
        }
        let kind = match request.way {
            BlockWay::Read => OpKind::Read,
            BlockWay::Write => OpKind::Write,
            BlockWay::Flush => OpKind::Flush,
        };
        let op = Op { kind, offset: request.offset, bytes: request.bytes.len() as u32 };
        let completion = if kept {
            self.drive.submit(self.now, &op)
        } else {
            self.drive.submit_unkept(self.now, &op)
        };
        let result = match completion.status {
            CommandStatus::Ok => Ok(()),
            _ => Err(rig::errno::error(rig::errno::EIO)),
        };
        match request.way {
            BlockWay::Read => self.stored.read(&self.drive, op.offset, &mut request.bytes),
            BlockWay::Write if result.is_ok() => {
                if kept {
                    self.stored.write(&self.drive, op.offset, &request.bytes);
                }
                self.info.state = State::Used;
            }
            BlockWay::Write | BlockWay::Flush => {}
        }
        let (submitted_ns, done_ns) = (self.now, completion.done_ns);
        self.stored.put(BlockDone { request, submitted_ns, done_ns, result });
        Ok(())
    }

    fn admit_block(&mut self, offset: u64, bytes: usize) -> Result<()> {
        self.goes_on()?;
        admit::admit_blocks_at(offset, bytes as u64, &self.info)
    }
}

impl Blocks for Simulator {
    fn depth(&mut self) -> Result<u32> {
        Ok(DEPTH as u32)
    }

    fn submit(&mut self, request: BlockRequest) -> Result<()> {
        self.submit_block(request, true)
    }

    fn submit_unkept(&mut self, request: BlockRequest) -> Result<()> {
        self.submit_block(request, false)
    }

    fn submit_unique(&mut self, request: BlockRequest, _: &mut Filler) -> Result<()> {
        self.submit_unkept(request)
    }

    fn poll(&mut self, wait: bool, done: &mut Vec<BlockDone>) -> Result<()> {
        if wait && self.stored.done.is_empty() {
            let done_ns = self.stored.complete().unwrap_or(0);
            self.now = self.now.max(done_ns);
        }
        while self.stored.order.peek().is_some_and(|Reverse((done_ns, _))| *done_ns <= self.now) {
            self.stored.complete();
        }
        done.append(&mut self.stored.done);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        while let Some(done_ns) = self.stored.complete() {
            self.now = self.now.max(done_ns);
        }
        self.command(Op::FLUSH)
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.admit_block(offset, buffer.len())?;
        self.stored.read(&self.drive, offset, buffer);
        self.command(Op { kind: OpKind::Read, offset, bytes: buffer.len() as u32 })
    }
}
