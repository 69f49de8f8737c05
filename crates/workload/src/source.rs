//! Where a worker's operations come from: a workload's own stream, or the job of another tool's
//! language, which counts, ends and reads back in its own way.

use crate::{Op, OpStream};

/// A source of operations for one job.
pub trait Source: Send {
    /// The next operation; `None` when there are no more. Time and completions have no influence.
    fn next_op(&mut self) -> Option<Op>;

    /// Turns to reading what the first `issued` operations wrote, as operations of their own that
    /// are counted. `false`: there is nothing to read, or this source does not do that.
    fn read_back(&mut self, _issued: u64) -> bool {
        false
    }
}

impl Source for OpStream {
    // Inlined by force, as the function it calls.
    #[inline(always)]
    fn next_op(&mut self) -> Option<Op> {
        OpStream::next_op(self)
    }
}
