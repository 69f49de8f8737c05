//! What a worker does when its referee has spoken, or when too much has failed: rare, and apart from
//! the loop, which only looks at one flag.

use std::io;

use rig::StopReason;
use workload::Op;

use super::State;
use crate::backend::Backend;
use crate::recorder::JobEnd;
use crate::referee::{Referee, Ruling};
use crate::sys::thread;

/// What a job's referee said last, and what the loop has still to do about it.
pub(super) struct Bench {
    referee: Option<Box<dyn Referee>>,
    ruling: Ruling,
    /// Too much has failed.
    hopeless: bool,
}

/// How the loop goes on.
pub(super) enum Next {
    GoOn,
    /// The time runs anew from now.
    Anew,
    End(StopReason),
}

impl Bench {
    pub(super) fn new(referee: Option<Box<dyn Referee>>) -> Bench {
        Bench { referee, ruling: Ruling::GoOn, hopeless: false }
    }

    /// Whether the job was given up.
    pub(super) fn is_hopeless(&self) -> bool {
        self.hopeless
    }

    /// Whether completions are to be shown.
    pub(super) fn watches(&self) -> bool {
        self.referee.as_ref().is_some_and(|referee| referee.watches())
    }

    /// Operations in flight at first, of `depth` at most.
    pub(super) fn first_depth(&self, depth: u32) -> u32 {
        let first = self.referee.as_ref().and_then(|referee| referee.first_depth());
        first.map_or(depth, |first| first.clamp(1, depth))
    }
}

impl<B: Backend> State<'_, B> {
    /// Shows a completion to the referee. What is in flight when it wants a change is not shown.
    pub(super) fn show(&mut self, op: &Op, service_ns: u64, now: u64) {
        let Some(referee) = &mut self.bench.referee else { return };
        if self.bench.ruling != Ruling::GoOn {
            return;
        }
        let ruling = referee.completed(op, service_ns, now);
        self.bench.ruling = ruling;
        self.called |= ruling != Ruling::GoOn;
    }

    /// Whether a failure counts towards giving up.
    pub(super) fn forgiven(&mut self, op: &Op, result: i64) -> bool {
        self.bench.referee.as_mut().is_some_and(|referee| referee.forgives(op, result))
    }

    /// Too much has failed: the job ends with this turn.
    pub(super) fn give_up(&mut self) {
        self.bench.hopeless = true;
        self.called = true;
    }

    /// Does what the referee wants, or ends the job where that is no use.
    #[cold]
    pub(super) fn attend(&mut self) -> io::Result<Next> {
        self.called = false;
        if self.bench.hopeless {
            return Ok(Next::End(StopReason::Errors));
        }
        let ruling = self.bench.ruling;
        match ruling {
            Ruling::GoOn => return Ok(Next::GoOn),
            Ruling::End => return Ok(Next::End(StopReason::Amount)),
            Ruling::Fail => return Ok(Next::End(StopReason::Errors)),
            Ruling::Depth(_) | Ruling::Anew => self.drain()?,
        }
        self.bench.ruling = Ruling::GoOn;
        if self.bench.hopeless {
            return Ok(Next::End(StopReason::Errors));
        }
        if let Ruling::Depth(depth) = ruling {
            self.open_slots(depth);
            return Ok(Next::GoOn);
        }
        self.begin_anew();
        Ok(Next::Anew)
    }

    /// Forgets what was seen of the job so far.
    fn begin_anew(&mut self) {
        let now = self.now();
        self.recorder.begin_anew(now);
        self.used_before = thread::usage();
        let JobEnd { depth_capped, missing, .. } = std::mem::take(&mut self.end);
        self.end = JobEnd { begin_ns: now, depth_capped, missing, ..JobEnd::default() };
    }

    /// So many slots take part from now on. Nothing is in flight.
    fn open_slots(&mut self, depth: u32) {
        let depth = depth.clamp(1, self.slots.len() as u32);
        self.free.clear();
        self.free.extend((0..depth).rev());
        self.open = depth as usize;
    }
}
