//! Where a worker's operations come from: a workload's own stream, or the job of another tool's
//! language, which counts, ends and reads back in its own way.

use crate::{Op, OpStream};

/// What comes when a source has no more operations for now, or the time of the job is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing.
    End,
    /// More operations of the job.
    More {
        /// Of which nothing may find what is in the files: they are emptied before.
        emptied: bool,
    },
    /// Reading back of what was written, by operations that are counted and follow no schedule.
    Check {
        /// Nothing but the end comes after it.
        last: bool,
    },
}

/// A source of operations for one job.
pub trait Source: Send {
    /// It says itself what is read back; of another what was written is read back by the verifier.
    const READS_BACK: bool = false;

    /// The next operation; `None` when there are no more. Completions have no influence.
    fn next_op(&mut self) -> Option<Op>;

    /// The next operation at a time of the job, nanoseconds, for sources in which a direction has a
    /// rate of its own.
    #[inline(always)]
    fn next_op_at(&mut self, _now: u64) -> Option<Op> {
        self.next_op()
    }

    /// Called when there were no more operations and all that were issued have completed: what comes
    /// now. `issued` counts the operations that were taken so far; `over` says that the job ended
    /// before its operations did, and only reading back may come.
    fn after(&mut self, _issued: u64, _over: bool) -> After {
        After::End
    }
}

impl Source for OpStream {
    // Inlined by force, as the function it calls.
    #[inline(always)]
    fn next_op(&mut self) -> Option<Op> {
        OpStream::next_op(self)
    }
}
