//! Access to the target within a step: block transfers, preparations and pauses.
//!
//! Block requests, fills and pauses are charged to the active limits before they start;
//! [`Session::flush`] and other preparations are not charged. Methods have no other access to the
//! rig, so that no part of a script exceeds its plan.

use std::time::Duration;

use record::Health;
use rig::{
    BlockDone, BlockRequest, CommandRun, Event, Measurement, Preparation, Prepared, Rig, RigError,
};
use workload::Filler;

use super::limits::Cost;
use super::{Door, Session, complete};
use crate::Result;

impl Session<'_> {
    /// Nanoseconds since the start of the run, on the target's clock.
    pub fn elapsed_ns(&mut self) -> u64 {
        self.rig().elapsed_ns()
    }

    /// The drive's current wear, errors and temperature; `None` if it reports none.
    pub fn health(&mut self) -> Option<Health> {
        self.rig().health()
    }

    /// A RAM disc for comparison, if there is one. Its own I/O is charged to no budget.
    pub fn reference(&mut self) -> Option<&mut dyn Rig> {
        self.rig().reference()
    }

    /// Runs a user's program.
    pub fn command(&mut self, words: &[String]) -> Result<CommandRun> {
        Ok(self.rig().command(words)?)
    }

    /// Reports the share of a step that is done, 0 to 1.
    pub fn progress(&mut self, step: &str, done: f64) {
        self.rig().note(Event::Progress { name: step.into(), done: done.min(1.0) });
    }

    /// Prepares the target within the current step. A fill that exceeds a limit does not start.
    pub fn apply(&mut self, preparation: Preparation) -> Result<Prepared> {
        if let Preparation::Fill { region, .. } = &preparation {
            self.charge(Cost { bytes: region.bytes, ..Cost::default() })?;
        }
        let name = if preparation == Preparation::Restore { "compare" } else { "borrow" };
        let prepared = self.rig().prepare(preparation);
        match &prepared {
            Err(RigError::Unsteady(seen)) => self.doubt_reads(name, *seen),
            Ok(prepared) => self.doubt_reads(name, prepared.unsteady),
            Err(_) => {}
        }
        Ok(prepared?)
    }

    /// Idles within the current step. A pause is not cut short: it ends the limited part if less
    /// time is left.
    pub fn idle(&mut self, time: Duration) -> Result<()> {
        self.charge(Cost { ns: time.as_nanos() as u64, ..Cost::default() })?;
        Ok(self.rig().idle(time)?)
    }

    /// Maximum number of block requests in flight.
    pub fn queue_depth(&mut self) -> Result<u32> {
        Ok(self.rig().blocks()?.depth()?)
    }

    /// Submits a block request; if the queue is full, waits for one of those in flight.
    pub fn submit(&mut self, request: BlockRequest) -> Result<()> {
        self.charge(Cost::from_request(&request))?;
        Ok(self.rig().blocks()?.submit(request)?)
    }

    /// Submits a write that is never read back.
    pub fn submit_unkept(&mut self, request: BlockRequest) -> Result<()> {
        self.charge(Cost::from_request(&request))?;
        Ok(self.rig().blocks()?.submit_unkept(request)?)
    }

    /// Submits a write that is never read back, made unique by `filler`.
    pub fn submit_unique(&mut self, request: BlockRequest, filler: &mut Filler) -> Result<()> {
        self.charge(Cost::from_request(&request))?;
        Ok(self.rig().blocks()?.submit_unique(request, filler)?)
    }

    /// Appends completed block requests to `done`; with `wait`, waits for at least one.
    pub fn poll(&mut self, wait: bool, done: &mut Vec<BlockDone>) -> Result<()> {
        Ok(self.rig().blocks()?.poll(wait, done)?)
    }

    /// Makes all block writes durable.
    pub fn flush(&mut self) -> Result<()> {
        Ok(self.rig().blocks()?.flush()?)
    }

    /// Reads blocks, outside the queue.
    pub fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.charge(Cost { ops: 1, ..Cost::default() })?;
        Ok(self.rig().blocks()?.read(offset, buffer)?)
    }

    /// Returns the measurement if it is complete; see [`complete`].
    pub fn completed(&mut self, m: Measurement) -> Result<Measurement> {
        complete(self.rig(), m)
    }

    /// The rig, for the session alone.
    pub(super) fn rig(&mut self) -> &mut dyn Rig {
        match &mut self.door {
            Door::Drive(rig) => &mut **rig,
            Door::Plan(planner) => *planner,
        }
    }
}
