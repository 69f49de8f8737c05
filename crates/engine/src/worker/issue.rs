//! The worker's loop: submits operations, waits, and counts completions.

use std::io;
use std::sync::atomic::Ordering;

use rig::StopReason;
use workload::{Op, OpKind, Pace};

use super::{Limits, NAP_NS, Phase, Slot, Worker};
use crate::backend::{Backend, Completion, Wait};
use crate::standstill::LATE_NS;

/// An open-loop operation issued this long after its due time counts as late, nanoseconds. This is
/// well above the jitter of a wake-up and well below the delay of a schedule that has run out of
/// slots.
const OP_LATE_NS: u64 = 100_000;

impl<B: Backend> Worker<'_, B> {
    /// Issues operations until the part ends, a ruling stops the loop, or the next turn would wait
    /// beyond `horizon`. In the last case it returns the time of that turn on the backend's clock,
    /// and the next call continues there.
    pub(super) fn issue_until<P: Pace>(
        &mut self,
        pacer: &mut P,
        horizon: u64,
    ) -> io::Result<Option<u64>> {
        let (batch, depth) = (self.workload.batch, self.workload.depth);
        let is_open = pacer.is_open();
        let Limits { time_ns, bytes: mut bytes_left, ops: ops_max } = self.part;
        let mut now = self.now();
        // The timestamp of the last turn, while it is recent enough to be reused.
        let mut stamp = Some(now);
        let reason = 'part: loop {
            if now >= time_ns {
                break StopReason::Time;
            }
            if self.stop.load(Ordering::Relaxed) {
                break StopReason::Interrupted;
            }
            let mut submitted = 0;
            while submitted < batch {
                let Some(&slot) = self.free.last() else { break };
                let Some(due) = pacer.next_due(now) else { break };
                // Each source has `depth` slots.
                let number = if self.sources.len() == 1 { 0 } else { (slot / depth) as usize };
                let source = &mut self.sources[number];
                let Some(op) = source.peek(now) else {
                    let Some(pause_ns) = source.take_pause() else {
                        break 'part StopReason::TraceEnd;
                    };
                    pacer.pause(now, pause_ns);
                    break;
                };
                if bytes_left == 0 || self.issued >= ops_max {
                    break 'part StopReason::Amount;
                }
                let recent = stamp.take().filter(|_| !source.starts_batch());
                source.take();
                bytes_left = bytes_left.saturating_sub(u64::from(op.bytes));
                let issued = self.issue(op, due, recent);
                self.end.late += u64::from(is_open && issued.saturating_sub(due) > OP_LATE_NS);
                submitted += 1;
            }
            self.end.handed.add(submitted as usize);
            let wait = self.wait(pacer.wake_at(), submitted == batch, time_ns);
            if let Some(wake) = self.beyond(wait, horizon) {
                self.part.bytes = bytes_left;
                return Ok(Some(wake));
            }
            self.backend.turn(wait, &mut self.done)?;
            self.end.returned.add(self.done.len());
            let before = now;
            now = self.now();
            if is_open && !self.backend.is_virtual() && now - before >= LATE_NS {
                pacer.postpone(self.stood_still(before, wait, now));
                now = self.now();
            }
            stamp = (self.done.len() <= 1).then_some(now);
            if now >= self.recorder.interval_end() {
                self.publish(now);
                stamp = None;
                if self.leaper.is_some() {
                    now = self.leap(now, &mut bytes_left);
                }
            }
            if self.count_completed(now) {
                stamp = None;
            }
            if self.called {
                self.part.bytes = bytes_left;
                self.phase = self.attend();
                return Ok(None);
            }
        };
        self.phase = Phase::Drain(reason);
        Ok(None)
    }

    /// The time at which a turn would return, if it is beyond the horizon. Only virtual drives know
    /// this time and have a horizon.
    #[inline(always)]
    pub(super) fn beyond(&self, wait: Wait, horizon: u64) -> Option<u64> {
        if !self.backend.is_virtual() {
            return None;
        }
        self.backend.returns_at(wait).filter(|at| *at > horizon)
    }

    /// Issues an operation on a free slot and returns the time of issue. Reading the clock costs as
    /// much as the rest of a turn. `stamp`, the time at which the last turn ended, saves one
    /// reading; the service time is then a few nanoseconds too long.
    // Forced inline: passing an operation through memory stalls the processor.
    #[inline(always)]
    pub(super) fn issue(&mut self, op: Op, due: u64, stamp: Option<u64>) -> u64 {
        let slot = self.free.pop().expect("the caller has seen a free slot");
        let in_flight = self.open - self.free.len();
        self.end.depths.add(in_flight);
        if let Some(verifier) = &mut self.verifier {
            verifier.issue(slot, op, self.backend.buffer(slot, op.bytes));
        } else if op.kind == OpKind::Write && self.backend.carries_data() {
            let buffer = self.backend.buffer(slot, op.bytes);
            match self.borrowed {
                None => self.filler.touch(buffer, self.issued + 1),
                Some(borrowed) => borrowed.copy_to(op.offset, buffer),
            }
        }
        let prepared = op.kind == OpKind::Write || self.verifier.is_some();
        let issued = stamp.filter(|_| !prepared).unwrap_or_else(|| self.now());
        // Rebuilt field by field, so that the padding is not copied.
        let Op { kind, offset, bytes } = op;
        self.slots[slot as usize] = Slot { op: Op { kind, offset, bytes }, due, issued };
        self.backend.push(slot, op);
        self.issued += 1;
        issued
    }

    /// How long the next turn waits: for completions if every slot is taken, not at all if there is
    /// more to submit, and otherwise at most until the next due time.
    #[inline]
    fn wait(&self, wake_at: Option<u64>, more: bool, limit: u64) -> Wait {
        if self.free.is_empty() {
            return Wait::For(self.issue.complete_min.min(self.open as u32));
        }
        match wake_at {
            // A closed loop with free slots: submit the next batch first.
            None => Wait::No,
            Some(_) if more => Wait::No,
            Some(due) => {
                let (wake, now) =
                    (due.min(limit).saturating_sub(self.backend.spin_ns()), self.now());
                if wake <= now {
                    return Wait::No;
                }
                // Virtual time jumps, and nothing can end a job in between.
                let nap = if self.backend.is_virtual() { wake } else { wake.min(now + NAP_NS) };
                Wait::Until(self.origin.saturating_add(nap))
            }
        }
    }

    /// Frees the slots of completed operations and counts them. Returns whether the time is out of
    /// date because a group was counted.
    #[inline(always)]
    pub(super) fn count_completed(&mut self, now: u64) -> bool {
        let mut outdated = false;
        while let Some(Completion { slot, result }) = self.done.pop() {
            self.free.push(slot);
            // Load field by field, as the slot was stored: a wider load after the stores stalls.
            let Slot { op: Op { kind, bytes, .. }, due, issued } = &self.slots[slot as usize];
            let (kind, bytes, due, issued) = (*kind, *bytes, *due, *issued);
            if result == i64::from(bytes) || result == 0 && !moves_data(kind) {
                self.failures = 0;
                outdated |= self.recorder.count(kind, bytes, now - issued, now.saturating_sub(due));
                if self.backend.is_virtual() {
                    let split = self.backend.split(slot);
                    self.recorder.count_split(kind, now - issued, &split);
                }
                if self.looks {
                    self.look_at(slot, now, now - issued);
                }
            } else {
                self.failed(slot, result);
            }
        }
        outdated
    }

    /// Reports the counts of an interval. At the end of the ramp-up, all counts start again.
    #[cold]
    fn publish(&mut self, now: u64) {
        let temperature_c = self.backend.temperature();
        if self.recorder.publish(now, temperature_c) {
            self.count_from(self.issue.ramp_ns);
        }
    }

    /// Waits for everything in flight. Returns the time of the next turn if it is beyond the
    /// horizon.
    pub(super) fn drain(&mut self, horizon: u64) -> io::Result<Option<u64>> {
        while self.free.len() < self.open {
            let wait = Wait::For(1);
            if let Some(wake) = self.beyond(wait, horizon) {
                return Ok(Some(wake));
            }
            self.backend.turn(wait, &mut self.done)?;
            let now = self.now();
            if now >= self.recorder.interval_end() {
                self.publish(now);
            }
            self.count_completed(now);
        }
        Ok(None)
    }
}

#[inline]
fn moves_data(kind: OpKind) -> bool {
    matches!(kind, OpKind::Read | OpKind::Write)
}
