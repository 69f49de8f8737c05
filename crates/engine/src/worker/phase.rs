//! The phases of a job, from the first operation to the final flush.
//!
//! A part of a job ends at a limit, at the end of its operations, or by a ruling. Then the
//! operations in flight complete, and the source decides the next phase: another part, reading
//! back, or the end. At its end, a part must not have issued more operations than planned.

use std::io;

use rig::{Continuation, StopReason};
use workload::{After, Closed, Op, Pace};

use super::{Limits, Worker};
use crate::backend::{Backend, negative};

/// The state of a worker between two steps.
#[derive(Debug, PartialEq)]
pub(super) enum Phase {
    /// Issues the operations of a part.
    Issue,
    /// Waits for the operations in flight, then applies a ruling.
    Settle(Continuation),
    /// Waits for the operations in flight, then ends the part for this reason.
    Drain(StopReason),
    /// Flushes each file, starting with the last of these addresses. Then the job ends, or the last
    /// reading back follows.
    Flush { left: Vec<u64>, then_reads: bool },
    /// All work is done.
    Ended,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerStep {
    /// The next turn returns at this time of the backend's clock.
    Wake(u64),
    /// The job has ended; only its report is missing.
    Ended,
}

impl<B: Backend> Worker<'_, B> {
    /// Works until the next turn would wait beyond `horizon` on the backend's clock, or to the end.
    pub(crate) fn step<P: Pace>(&mut self, pacer: &mut P, horizon: u64) -> io::Result<WorkerStep> {
        loop {
            if self.backend.is_virtual() && self.backend.now() > horizon {
                return Ok(WorkerStep::Wake(self.backend.now()));
            }
            let wake = match self.phase {
                // Reading back follows no schedule.
                Phase::Issue if self.reading.is_some() => self.issue_until(&mut Closed, horizon)?,
                Phase::Issue => self.issue_until(pacer, horizon)?,
                Phase::Settle(ruling) => self.settle(ruling, horizon)?,
                Phase::Drain(reason) => self.end_part(reason, horizon)?,
                Phase::Flush { .. } => self.flush(horizon)?,
                Phase::Ended => return Ok(WorkerStep::Ended),
            };
            if let Some(wake) = wake {
                return Ok(WorkerStep::Wake(wake));
            }
        }
    }

    /// Begins a part of the job's own operations.
    pub(super) fn begin_part(&mut self) {
        self.begin_within(self.limits());
    }

    fn begin_within(&mut self, limits: Limits) {
        self.part = limits;
        self.issued_before = self.issued;
        self.phase = Phase::Issue;
        if !self.backend.is_virtual() {
            self.stood_ns = self.stood_by_now();
        }
    }

    /// Begins a part that reads back.
    fn begin_check(&mut self, last: bool) {
        let now = self.now();
        if last {
            self.end.issue_end_ns = now;
        }
        self.reading = Some((now, last));
        self.begin_within(Limits::NONE);
    }

    /// Ends a part once the operations in flight have completed, and begins the next phase.
    fn end_part(&mut self, reason: StopReason, horizon: u64) -> io::Result<Option<u64>> {
        if let Some(wake) = self.drain(horizon)? {
            return Ok(Some(wake));
        }
        let planned = self.part.ops.max(self.issued_before);
        assert!(self.issued <= planned, "{} operations of {planned} planned", self.issued);
        let reason = if self.control.gave_up() { StopReason::Errors } else { reason };
        match self.reading.take() {
            None => self.end.stop = reason,
            Some((began, last)) => {
                // The reason that ended the job's own operations applies, unless reading back ended
                // early.
                if reason != StopReason::TraceEnd {
                    self.end.stop = reason;
                }
                if !last {
                    self.end.checks_ns += self.now() - began;
                }
            }
        }
        self.begin_next()?;
        Ok(None)
    }

    fn begin_next(&mut self) -> io::Result<()> {
        let cut_short = matches!(self.end.stop, StopReason::Interrupted | StopReason::Errors);
        // A worker with several sources has only one part.
        let after = match &mut self.sources[..] {
            [source] if !cut_short => source.after(self.end.stop != StopReason::TraceEnd),
            _ => After::End,
        };
        match after {
            After::More { emptied } => {
                if emptied {
                    self.backend.empty()?;
                }
                self.begin_part();
            }
            After::Check { last } if last && self.flushes => self.begin_flush(true),
            After::Check { last } => self.begin_check(last),
            After::End if self.flushes => self.begin_flush(false),
            After::End => self.phase = Phase::Ended,
        }
        Ok(())
    }

    /// Begins the final flush, during which nothing completes.
    fn begin_flush(&mut self, then_reads: bool) {
        self.flushes = false;
        self.recorder.pulse.flush_begins();
        let left = self.backend.starts().into_iter().rev().collect();
        self.phase = Phase::Flush { left, then_reads };
    }

    /// Begins the phase after the final flush. If a failure of the flush ended the job, the data
    /// are not read back.
    fn flushed(&mut self, then_reads: bool) {
        if self.control.gave_up() {
            self.end.stop = StopReason::Errors;
            self.phase = Phase::Ended;
        } else if then_reads {
            self.begin_check(true);
        } else {
            self.phase = Phase::Ended;
        }
    }

    fn flush(&mut self, horizon: u64) -> io::Result<Option<u64>> {
        loop {
            if let Some(wake) = self.drain(horizon)? {
                return Ok(Some(wake));
            }
            let Phase::Flush { left, then_reads } = &mut self.phase else { return Ok(None) };
            let then_reads = *then_reads;
            match left.pop() {
                None => {
                    self.recorder.pulse.flush_ends();
                    self.flushed(then_reads);
                    return Ok(None);
                }
                Some(offset) if self.issue.flush_uncounted => {
                    if let Err(e) = self.backend.sync(offset) {
                        self.recorder.error(Op { offset, ..Op::FLUSH }, negative(&e));
                        self.give_up();
                    }
                }
                Some(offset) => {
                    let now = self.now();
                    self.issue(Op { offset, ..Op::FLUSH }, now, Some(now));
                    self.end.flushes += 1;
                }
            }
        }
    }
}
