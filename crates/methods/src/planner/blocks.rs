//! The planner's block interface. It counts every write but stores nothing; reads return zeros.

use rig::{BlockDone, BlockRequest, BlockWay, Blocks, Result};
use workload::Region;

use super::{Planner, expect};

/// The planner's queue depth, as large as that of any rig.
const DEPTH: u32 = 64;

impl Planner {
    /// Records a write. Borrowed blocks are written a second time when their content is restored.
    fn write_through_door(&mut self, region: Region) {
        if self.touched.is_borrowed(region) {
            self.touched.read(region);
            self.lent_bytes += region.bytes;
        } else {
            self.touched.write(region);
        }
    }

    /// Counts a transfer in the current step.
    fn transfer(&mut self, way: BlockWay, offset: u64, bytes: u64) {
        let region = Region { start: offset, bytes };
        let written = match way {
            BlockWay::Write => {
                self.write_through_door(region);
                bytes
            }
            BlockWay::Read => {
                self.touched.read(region);
                0
            }
            BlockWay::Flush => return,
        };
        self.add(written, expect::fill(bytes, &self.info), self.least_ns(bytes));
    }
}

impl Blocks for Planner {
    fn depth(&mut self) -> Result<u32> {
        Ok(DEPTH)
    }

    fn submit(&mut self, mut request: BlockRequest) -> Result<()> {
        let submitted_ns = self.now_ns;
        self.transfer(request.way, request.offset, request.bytes.len() as u64);
        if request.way == BlockWay::Read {
            request.bytes.fill(0);
        }
        let done_ns = self.now_ns;
        self.completed.push(BlockDone { request, submitted_ns, done_ns, result: Ok(()) });
        Ok(())
    }

    fn poll(&mut self, _wait: bool, done: &mut Vec<BlockDone>) -> Result<()> {
        done.append(&mut self.completed);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.transfer(BlockWay::Read, offset, buffer.len() as u64);
        buffer.fill(0);
        Ok(())
    }
}
