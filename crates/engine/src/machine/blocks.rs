//! The block door of a real target: given bytes, written and read one request at a time.
//!
//! A request is carried out when it is submitted, through an aligned buffer, bypassing the page
//! cache if the target allows it. One at a time is correct on every kernel; a ring can follow if a
//! method needs its depth.

use std::io;
use std::os::unix::fs::FileExt;

use rig::{BlockDone, BlockRequest, BlockWay, Blocks, Result, Rig};
use workload::Caching;

use super::{Machine, io_error};
use crate::admit;
use crate::sys::arena::Arena;

/// Completed requests that have not been polled, and an aligned buffer.
#[derive(Default)]
pub(super) struct Queue {
    done: Vec<BlockDone>,
    buffer: Option<(usize, Arena)>,
}

impl Machine {
    /// Moves bytes between the target and an aligned buffer.
    fn move_block(&mut self, way: BlockWay, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let held = self.queue.buffer.take().filter(|(size, _)| *size >= bytes.len());
        let (size, mut arena) = match held {
            Some(held) => held,
            None => (bytes.len(), Arena::new(1, bytes.len())?),
        };
        let aligned = arena.slot(0, bytes.len() as u32);
        let Some(handles) = self.device.handles() else { return Ok(()) };
        let (file, _) = handles.pick(Caching::Bypass);
        let moved = match way {
            BlockWay::Read => file.read_exact_at(aligned, offset).map(|()| {
                bytes.copy_from_slice(aligned);
            }),
            BlockWay::Write => {
                aligned.copy_from_slice(bytes);
                file.write_all_at(aligned, offset)
            }
        };
        self.queue.buffer = Some((size, arena));
        moved
    }

    fn admit_block(&self, way: BlockWay, offset: u64, bytes: usize) -> Result<()> {
        self.alive()?;
        admit::admit_blocks_at(offset, bytes as u64, &self.info)?;
        match way {
            BlockWay::Read => Ok(()),
            BlockWay::Write => admit::admit_change("blocks would be written", &self.info),
        }
    }
}

impl Blocks for Machine {
    fn depth(&self) -> u32 {
        1
    }

    fn submit(&mut self, mut request: BlockRequest) -> Result<()> {
        self.admit_block(request.way, request.offset, request.bytes.len())?;
        let submitted_ns = self.elapsed_ns();
        let result = self.move_block(request.way, request.offset, &mut request.bytes);
        let done_ns = self.elapsed_ns();
        self.queue.done.push(BlockDone { request, submitted_ns, done_ns, result });
        Ok(())
    }

    fn poll(&mut self, _wait: bool, done: &mut Vec<BlockDone>) -> Result<()> {
        done.append(&mut self.queue.done);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        use crate::device::Device;
        self.device.flush().map_err(|e| io_error(&self.info, "flush", e))
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.admit_block(BlockWay::Read, offset, buffer.len())?;
        let read = self.move_block(BlockWay::Read, offset, buffer);
        read.map_err(|e| io_error(&self.info, "read", e))
    }
}
