//! Where a job's operations come from: a workload's own stream, or the job of another tool's
//! language, which counts, ends and reads back in its own way.
//!
//! A source is drawn from in batches: one boxed call for up to [`BATCH_MAX`] operations costs less
//! than an inlined call for each. So a source runs ahead of the drive, and must be able to take back
//! the operations that were drawn and never issued: see [`Source::after`].

use crate::{Op, OpStream};

/// Operations drawn at once at most.
pub const BATCH_MAX: usize = 64;

/// What follows when a source has no more operations for now, or the time of the job is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing.
    End,
    /// More operations of the job.
    More {
        /// The files are emptied before.
        emptied: bool,
    },
    /// Reading back of what was written, by operations that are counted and follow no schedule.
    Check {
        /// Only the end of the job follows it.
        last: bool,
    },
}

/// A source of operations for one job.
pub trait Source: Send {
    /// Appends the next operations to `out`, which is empty: at most [`BATCH_MAX`], and only one
    /// where `now`, the time of the job in nanoseconds, has an influence. A batch ends where a part
    /// of the job ends; nothing appended means that the part is over. Completions have no influence.
    fn draw(&mut self, now: u64, out: &mut Vec<Op>);

    /// Called at the end of a part, when all operations that were issued have completed: says what
    /// follows. `taken` counts the operations issued since the beginning of the job; those drawn
    /// beyond it were never issued and are given back: the source continues as if it had not drawn
    /// them. `over`: the part ended before its operations did, and only reading back may follow.
    fn after(&mut self, _taken: u64, _over: bool) -> After {
        After::End
    }

    /// Whether it says itself what is read back. Otherwise verify reads back all that was written.
    fn reads_back(&self) -> bool {
        false
    }
}

impl Source for OpStream {
    fn draw(&mut self, _now: u64, out: &mut Vec<Op>) {
        for _ in 0..BATCH_MAX {
            let Some(op) = self.next_op() else { return };
            out.push(op);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Mix, Pattern, Region, Workload};

    fn drawn(source: &mut dyn Source, count: usize) -> Vec<Op> {
        let (mut all, mut batch) = (Vec::new(), Vec::new());
        while all.len() < count {
            batch.clear();
            source.draw(0, &mut batch);
            if batch.is_empty() {
                break;
            }
            assert!(batch.len() <= BATCH_MAX);
            all.append(&mut batch);
        }
        all
    }

    proptest! {
        #[test]
        fn batches_are_the_stream_in_order(seed: u64, read in 0u32..=100, flush in 1u32..9) {
            let region = Region::first(1 << 20);
            let mix = Mix::read_percent(read);
            let workload = Workload {
                seed,
                flush_every: Some(flush),
                ..Workload::new("w", Pattern::UniformOnce, mix, 4096, region)
            };
            let mut stream = OpStream::new(&workload, 0);
            let all = drawn(&mut OpStream::new(&workload, 0), 500);
            prop_assert!(all.iter().all(|op| Some(*op) == stream.next_op()));
        }
    }

    #[test]
    fn a_trace_ends_within_a_batch_and_stays_at_its_end() {
        let ops: Vec<Op> =
            (0..100).map(|i| Op { offset: i * 512, bytes: 512, ..Op::FLUSH }).collect();
        let pattern = Pattern::Trace { ops: ops.clone().into() };
        let workload = Workload::new("w", pattern, Mix::READ, 512, Region::first(1 << 20));
        let mut stream = OpStream::new(&workload, 0);
        assert_eq!(drawn(&mut stream, usize::MAX), ops);
        assert_eq!(drawn(&mut stream, usize::MAX), []);
    }
}
