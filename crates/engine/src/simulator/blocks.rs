//! The block door of a virtual drive: the model gives the time, and the bytes are kept here.
//!
//! The model keeps no data. Content written through this door is kept block by block until anything
//! else changes the drive; unwritten blocks read as zeros.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;

use model::Status;
use rig::{BlockDone, BlockRequest, BlockWay, Blocks, Result};
use workload::{Op, OpKind};

use super::Simulator;
use crate::admit;

/// Maximum requests in flight: the queue of a typical NVMe host.
const DEPTH: usize = 64;

/// Content and requests in flight.
#[derive(Default)]
pub(super) struct Stored {
    /// Blocks by their number.
    blocks: HashMap<u64, Box<[u8]>>,
    /// Completion time and position in `waiting`, earliest first.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    waiting: Vec<Option<BlockDone>>,
    /// Completed requests that have not been polled.
    done: Vec<BlockDone>,
}

impl Stored {
    fn write(&mut self, block_bytes: u64, offset: u64, bytes: &[u8]) {
        for (number, block) in (offset / block_bytes..).zip(bytes.chunks(block_bytes as usize)) {
            self.blocks.insert(number, block.into());
        }
    }

    fn read(&self, block_bytes: u64, offset: u64, bytes: &mut [u8]) {
        for (number, block) in (offset / block_bytes..).zip(bytes.chunks_mut(block_bytes as usize))
        {
            match self.blocks.get(&number) {
                Some(stored) => block.copy_from_slice(stored),
                None => block.fill(0),
            }
        }
    }

    /// Completes the earliest request in flight; returns its time.
    fn complete(&mut self) -> Option<u64> {
        let Reverse((at, place)) = self.order.pop()?;
        self.done.extend(self.waiting[place].take());
        Some(at)
    }
}

impl Simulator {
    fn block_bytes(&self) -> u64 {
        u64::from(self.info.logical_block_bytes.max(1))
    }

    fn admit_block(&mut self, offset: u64, bytes: usize) -> Result<()> {
        self.alive()?;
        admit::admit_blocks_at(offset, bytes as u64, &self.info)
    }
}

impl Blocks for Simulator {
    fn depth(&self) -> u32 {
        DEPTH as u32
    }

    fn submit(&mut self, mut request: BlockRequest) -> Result<()> {
        self.admit_block(request.offset, request.bytes.len())?;
        if self.stored.order.len() >= DEPTH {
            let at = self.stored.complete().unwrap_or(0);
            self.now = self.now.max(at);
        }
        let (block, offset) = (self.block_bytes(), request.offset);
        let kind = match request.way {
            BlockWay::Read => {
                self.stored.read(block, offset, &mut request.bytes);
                OpKind::Read
            }
            BlockWay::Write => {
                self.stored.write(block, offset, &request.bytes);
                OpKind::Write
            }
        };
        let op = Op { kind, offset, bytes: request.bytes.len() as u32 };
        let completion = self.drive.submit(self.now, &op);
        let result = match completion.status {
            Status::Ok => Ok(()),
            _ => Err(io::Error::from_raw_os_error(libc::EIO)),
        };
        let (submitted_ns, done_ns) = (self.now, completion.done_ns);
        let done = BlockDone { request, submitted_ns, done_ns, result };
        let free = self.stored.waiting.iter().position(Option::is_none);
        let place = free.unwrap_or(self.stored.waiting.len());
        match free {
            Some(place) => self.stored.waiting[place] = Some(done),
            None => self.stored.waiting.push(Some(done)),
        }
        self.stored.order.push(Reverse((done_ns, place)));
        Ok(())
    }

    fn poll(&mut self, wait: bool, done: &mut Vec<BlockDone>) -> Result<()> {
        if wait && self.stored.done.is_empty() {
            let at = self.stored.complete().unwrap_or(0);
            self.now = self.now.max(at);
        }
        while self.stored.order.peek().is_some_and(|Reverse((at, _))| *at <= self.now) {
            self.stored.complete();
        }
        done.append(&mut self.stored.done);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        while let Some(at) = self.stored.complete() {
            self.now = self.now.max(at);
        }
        self.command(Op::FLUSH)
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.admit_block(offset, buffer.len())?;
        self.stored.read(self.block_bytes(), offset, buffer);
        self.command(Op { kind: OpKind::Read, offset, bytes: buffer.len() as u32 })
    }
}
