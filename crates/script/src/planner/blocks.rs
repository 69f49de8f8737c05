//! The planner's block interface. It counts every write but stores nothing; reads return zeros.
//!
//! A script that transfers many blocks declares them in bulk ([`Planner::transfer`]): with single
//! requests, the time of planning would grow with the size of the drive.

use rig::{BlockDone, BlockRequest, BlockWay, Blocks, Result};
use workload::Region;

use super::{Expectation, Planner, expect};

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

    /// Counts transfers of `bytes` in total within a region, in the current step. `bytes` may
    /// exceed the region, which is then written or read repeatedly. Writes include so many small
    /// durable ones. They take at least `seconds_min`.
    pub fn transfer(
        &mut self,
        way: BlockWay,
        region: Region,
        bytes: u64,
        commits: u64,
        seconds_min: f64,
    ) {
        let least_ns = self.least_ns(bytes);
        match way {
            BlockWay::Write => {
                self.write_through_door(region);
                let mut expected = super::expect_fill(region, bytes, &self.info, &mut self.flash);
                expected.seconds += expect::commits(commits, &self.info);
                expected.seconds = expected.seconds.max(seconds_min);
                self.add(bytes, expected, least_ns);
            }
            BlockWay::Read => {
                self.touched.read(region);
                let seconds = expect::read(bytes, &self.info).max(seconds_min);
                self.add(0, Expectation::lasting(seconds), least_ns);
            }
            BlockWay::Flush => {}
        }
    }
}

impl Blocks for Planner {
    fn depth(&mut self) -> Result<u32> {
        Ok(DEPTH)
    }

    fn submit(&mut self, mut request: BlockRequest) -> Result<()> {
        let submitted_ns = self.now_ns;
        let bytes = request.bytes.len() as u64;
        self.transfer(request.way, Region { start: request.offset, bytes }, bytes, 0, 0.0);
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
        let bytes = buffer.len() as u64;
        self.transfer(BlockWay::Read, Region { start: offset, bytes }, bytes, 0, 0.0);
        buffer.fill(0);
        Ok(())
    }
}
