//! Sources of a job's operations: a workload's own stream, or a job of another tool, which has its
//! own rules for counting, ending and reading back.
//!
//! Operations are drawn in batches, because one boxed call for up to [`BATCH_MAX`] operations costs
//! less than an inlined call for each. A source therefore runs ahead of the drive and must be able
//! to take back operations that were drawn but not issued; see [`Source::after`].

use crate::{Op, OpStream};

/// Maximum operations per batch.
pub const BATCH_MAX: usize = 64;

/// The next part of a job, after a source has run out of operations or the time is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing: the job ends.
    End,
    /// More operations of the job.
    More {
        /// Whether the files are truncated first.
        emptied: bool,
    },
    /// Reading back the written data. The operations are counted but follow no schedule.
    Check {
        /// Whether this is the last part of the job.
        last: bool,
    },
}

/// A source of operations for one job.
pub trait Source: Send + Sync {
    /// Appends the next operations to `out`, which is empty: at most [`BATCH_MAX`], and only one if
    /// they depend on `now`, the job's time in nanoseconds. A batch does not extend past its part
    /// of the job; if nothing is appended, the part is over. Operations do not depend on
    /// completions.
    fn draw(&mut self, now: u64, out: &mut Vec<Op>);

    /// The pause before the next operations, in nanoseconds; 0 for none. Called at `now`, the job's
    /// time in nanoseconds, before each batch, so a batch ends where a pause is due. Without
    /// [`crate::Pacing::Source`] it may be ignored.
    fn pause_ns(&mut self, _now: u64) -> u64 {
        0
    }

    /// Returns the next part of the job. Called at the end of a part, when all issued operations
    /// have completed. `taken` counts the operations issued since the start of the job. Those drawn
    /// beyond it were not issued: the source continues as if it had not drawn them. If `over` is
    /// set, the part ended before its operations were exhausted, and only reading back can follow.
    fn after(&mut self, _taken: u64, _over: bool) -> After {
        After::End
    }

    /// Whether the source itself issues the reads for verification. If not, the verifier reads back
    /// all written data.
    fn reads_back(&self) -> bool {
        false
    }
}

impl Source for OpStream {
    fn draw(&mut self, _now: u64, out: &mut Vec<Op>) {
        if self.draw_alike(BATCH_MAX, out) {
            return;
        }
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
        fn batches_are_the_stream_in_order(
            seed: u64,
            read in prop_oneof![Just(0u32), Just(100), 1u32..100],
            flush_every in prop_oneof![Just(None), (1u32..9).prop_map(Some)],
            pattern in prop_oneof![
                Just(Pattern::UniformOnce), Just(Pattern::Uniform), Just(Pattern::Sequential)
            ],
        ) {
            // A pass ends within a batch.
            let region = Region::first(250 * 4096);
            let mix = Mix::read_percent(read);
            let workload =
                Workload { seed, flush_every, ..Workload::new("w", pattern, mix, 4096, region) };
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
