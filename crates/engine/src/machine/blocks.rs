//! The block interface of a real target: writes given bytes and reads blocks at any queue depth.

use std::sync::Arc;
use std::time::Duration;

use record::{Safety, State, TargetKind};
use rig::{BlockDone, BlockRequest, BlockWay, Blocks, Result};
use workload::Region;

use super::Machine;
use crate::admit;
use crate::device::device_error;
use crate::door::Door;
use crate::failure::io_error;
use crate::sys::arena::Arena;

/// How often the interrupt flag is checked while waiting for the drive.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Maximum age of the last check of the target before a write within a step, nanoseconds. A check
/// reads sysfs or sends Identify commands and takes about 1 ms: one before each write would limit
/// the speed.
const CHECK_EVERY_NS: u64 = 1_000_000_000;

/// The state of the block interface.
#[derive(Default)]
pub(super) struct Queue {
    /// Its thread, once it has been used.
    door: Option<Door>,
    /// Completed requests that have not been polled.
    done: Vec<BlockDone>,
    /// Time of the last check of the target before a write in this step.
    checked_ns: Option<u64>,
}

impl Queue {
    /// Waits for everything in flight and ends the thread, which then releases the device.
    pub(super) fn close(&mut self) {
        self.door = None;
    }

    /// Requires another check of the target before the next write, because a step begins.
    pub(super) fn begin_step(&mut self) {
        self.checked_ns = None;
    }

    fn must_check(&self, now_ns: u64) -> bool {
        self.checked_ns.is_none_or(|at| now_ns.saturating_sub(at) >= CHECK_EVERY_NS)
    }
}

impl Machine {
    fn admit_block(&mut self, way: BlockWay, offset: u64, bytes: usize) -> Result<()> {
        self.goes_on()?;
        if way == BlockWay::Flush {
            return Ok(());
        }
        admit::admit_blocks_at(offset, bytes as u64, &self.info)?;
        if way == BlockWay::Read {
            return Ok(());
        }
        // Borrowed blocks are saved in a journal and restored later.
        let region = Region { start: offset, bytes: bytes as u64 };
        if self.info.allowed != Safety::Borrows || !self.borrowed.cover_region(region) {
            admit::admit_change("blocks would be written", &self.info)?;
        }
        self.borrowed.mark_overwritten(region);
        let now_ns = self.clock.now();
        if self.queue.must_check(now_ns) {
            self.check_again()?;
            self.queue.checked_ns = Some(now_ns);
        }
        if self.info.target.kind == TargetKind::Device {
            self.info.state = State::Used;
        }
        Ok(())
    }

    /// Opens the queue, if it is not open yet.
    fn open_door(&mut self) -> Result<()> {
        if self.queue.door.is_some() {
            return Ok(());
        }
        if self.info.allowed == Safety::Scratch {
            // Growing the file would add to the measured time, and reading past its end fails.
            let reserved = self.device.reserve(self.info.bytes);
            reserved.map_err(|e| io_error(&self.info, "reserve space", e))?;
        }
        let device = Arc::clone(&self.device);
        let opened = Door::open(device, self.backend, self.clock, self.began);
        self.queue.door = Some(opened.map_err(|e| io_error(&self.info, "open a queue", e))?);
        Ok(())
    }

    /// Waits for completed requests until at most `most` are in flight.
    fn await_blocks(&mut self, most: u32) -> Result<()> {
        while self.queue.door.as_ref().is_some_and(|door| door.in_flight() > most) {
            self.goes_on()?;
            self.take_block(LOOK_EVERY)?;
        }
        Ok(())
    }

    /// Takes one completed request, waiting at most `patience`; returns whether there was one.
    fn take_block(&mut self, patience: Duration) -> Result<bool> {
        let Some(door) = &mut self.queue.door else { return Ok(false) };
        let completion = door.take(patience).map_err(|e| io_error(&self.info, "wait", e))?;
        let has_completed = completion.is_some();
        self.queue.done.extend(completion);
        Ok(has_completed)
    }
}

impl Blocks for Machine {
    fn depth(&mut self) -> Result<u32> {
        self.open_door()?;
        Ok(self.queue.door.as_ref().map_or(1, Door::depth))
    }

    fn submit(&mut self, request: BlockRequest) -> Result<()> {
        self.admit_block(request.way, request.offset, request.bytes.len())?;
        let depth = self.depth()?;
        self.await_blocks(depth - 1)?;
        let Some(door) = &mut self.queue.door else { return Ok(()) };
        door.submit(request).map_err(|e| io_error(&self.info, "submit", e))
    }

    fn poll(&mut self, wait: bool, done: &mut Vec<BlockDone>) -> Result<()> {
        while self.queue.door.as_ref().is_some_and(|door| door.in_flight() > 0) {
            let waits = wait && self.queue.done.is_empty();
            if waits {
                self.goes_on()?;
            }
            let has_completed = self.take_block(if waits { LOOK_EVERY } else { Duration::ZERO })?;
            if !has_completed && !waits {
                break;
            }
        }
        done.append(&mut self.queue.done);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.await_blocks(0)?;
        self.device.flush().map_err(|e| io_error(&self.info, "flush", e))
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.admit_block(BlockWay::Read, offset, buffer.len())?;
        let failed = |e| device_error(&self.info, "read", e);
        let mut arena = Arena::new(1, buffer.len()).map_err(|e| failed(e.into()))?;
        let aligned = arena.slot(0, buffer.len() as u32);
        self.device.read(offset, aligned).map_err(failed)?;
        buffer.copy_from_slice(aligned);
        Ok(())
    }
}
