//! Handles the rulings of a job's control and gives up after too many failures. Both are rare and
//! outside the loop, which only checks one flag.

use std::io;

use rig::{Continuation, JobControl, StopReason};
use workload::Op;

use super::Worker;
use super::phase::Phase;
use crate::backend::Backend;
use crate::recorder::JobEnd;
use crate::sys::thread;

/// A job's control, and its last ruling.
pub(super) struct Control {
    by: Option<Box<dyn JobControl>>,
    /// Whether the control wants to see completions.
    watches: bool,
    ruling: Continuation,
    /// Whether too many operations have failed.
    gave_up: bool,
}

impl Control {
    pub(super) fn new(by: Option<Box<dyn JobControl>>) -> Control {
        let watches = by.as_ref().is_some_and(|control| control.watches());
        Control { by, watches, ruling: Continuation::GoOn, gave_up: false }
    }

    /// Whether the job was given up.
    pub(super) fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// Whether there is a control.
    pub(super) fn is_set(&self) -> bool {
        self.by.is_some()
    }

    /// Whether the control wants to see completions.
    pub(super) fn watches(&self) -> bool {
        self.watches
    }

    /// Queue depth at the start, at most `depth`.
    pub(super) fn first_depth(&self, depth: u32) -> u32 {
        let first = self.by.as_ref().and_then(|control| control.first_depth());
        first.map_or(depth, |first| first.clamp(1, depth))
    }
}

impl<B: Backend> Worker<'_, B> {
    /// Passes a completion to the control, unless a ruling is pending.
    pub(super) fn show(&mut self, op: &Op, service_ns: u64, now: u64) {
        let Some(control) = &mut self.control.by else { return };
        if self.control.ruling != Continuation::GoOn {
            return;
        }
        let ruling = control.completed(op, service_ns, now);
        self.control.ruling = ruling;
        self.called |= ruling != Continuation::GoOn;
    }

    /// Whether the control forgives a failure.
    pub(super) fn forgiven(&mut self, op: &Op, result: i64) -> bool {
        self.control.by.as_mut().is_some_and(|control| control.forgives(op, result))
    }

    /// Ends the job after this turn, because too many operations have failed.
    pub(super) fn give_up(&mut self) {
        self.control.gave_up = true;
        self.called = true;
    }

    /// The phase that follows a ruling or a failure.
    #[cold]
    pub(super) fn attend(&mut self) -> Phase {
        self.called = false;
        match self.control.ruling {
            _ if self.control.gave_up => Phase::Drain(StopReason::Errors),
            Continuation::GoOn => Phase::Issue,
            Continuation::End => Phase::Drain(StopReason::Amount),
            Continuation::Fail => Phase::Drain(StopReason::Errors),
            ruling @ (Continuation::Depth(_) | Continuation::Reset) => Phase::Settle(ruling),
        }
    }

    /// Applies a ruling once the operations in flight have completed.
    pub(super) fn settle(&mut self, ruling: Continuation, horizon: u64) -> io::Result<Option<u64>> {
        if let Some(wake) = self.drain(horizon)? {
            return Ok(Some(wake));
        }
        self.control.ruling = Continuation::GoOn;
        self.phase = Phase::Issue;
        match ruling {
            _ if self.control.gave_up => self.phase = Phase::Drain(StopReason::Errors),
            Continuation::Depth(depth) => self.open_slots(depth),
            _ => self.restart(),
        }
        Ok(None)
    }

    /// Resets the statistics of the job; its run time starts again.
    fn restart(&mut self) {
        let now = self.now();
        self.recorder.restart(now);
        self.log.clear();
        self.count_from(now);
        self.end.issue_end_ns = 0;
        self.part.time_ns = now.saturating_add(self.limits().time_ns);
    }

    /// Restarts the counts at this time of the job. Faulty blocks are kept, like errors.
    pub(super) fn count_from(&mut self, begin_ns: u64) {
        self.used_before = thread::usage();
        let before = std::mem::take(&mut self.end);
        self.end = JobEnd {
            origin_ns: before.origin_ns,
            begin_ns,
            issue_end_ns: before.issue_end_ns,
            depth_capped: before.depth_capped,
            missing: before.missing,
            dumps: before.dumps,
            stop: before.stop,
            ..JobEnd::default()
        };
        self.look_again();
    }

    /// Sets the queue depth. Nothing is in flight.
    fn open_slots(&mut self, depth: u32) {
        let depth = depth.clamp(1, self.slots.len() as u32);
        self.free.clear();
        self.free.extend((0..depth).rev());
        self.open = depth as usize;
    }
}
