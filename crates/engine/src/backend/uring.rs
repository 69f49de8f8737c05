//! io_uring: one system call submits and waits.

use std::io;

use io_uring::IoUring;
use workload::{Op, OpKind};

use super::Files;
use super::{Backend, Completion, Wait, cold};
use crate::clock::Clock;
use crate::priority::SlotPriorities;
use crate::sys::arena::Arena;
use crate::sys::ring::Ring;

pub(crate) struct Uring<'r> {
    ring: Ring<'r>,
    arena: Arena,
    files: Files<'r>,
    clock: Clock,
    /// Discards, which not every kernel supports on a ring; the next turn carries them out.
    cold: Vec<(u32, Op)>,
    priorities: Option<SlotPriorities>,
}

impl<'r> Uring<'r> {
    /// A backend on a ring made by [`crate::sys::ring::make`] on this thread.
    pub(crate) fn new(
        ring: &'r mut IoUring,
        clock: Clock,
        files: Files<'r>,
        arena: Arena,
        priorities: Option<SlotPriorities>,
    ) -> Uring<'r> {
        let ring = Ring::new(ring, files, &arena);
        Uring { ring, arena, files, clock, cold: Vec::new(), priorities }
    }
}

impl Backend for Uring<'_> {
    #[inline]
    fn now(&self) -> u64 {
        self.clock.now()
    }

    #[inline]
    fn buffer(&mut self, slot: u32, bytes: u32) -> &mut [u8] {
        self.arena.slot(slot, bytes)
    }

    #[inline]
    fn push(&mut self, slot: u32, op: Op) {
        if op.kind == OpKind::Discard {
            self.cold.push((slot, op));
            return;
        }
        let priority = self.priorities.as_mut().map_or(0, |rules| rules.give(slot, op));
        self.ring.push(op, slot, self.arena.pointer(slot), priority);
    }

    fn files(&self) -> Option<&Files<'_>> {
        Some(&self.files)
    }

    fn priority(&self, slot: u32) -> u16 {
        self.priorities.as_ref().map_or(0, |rules| rules.of(slot))
    }

    #[inline]
    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        for (slot, op) in self.cold.drain(..) {
            done.push(Completion { slot, result: cold::perform(&self.files, op) });
        }
        let (want, timeout) = match wait {
            Wait::No => (0, None),
            _ if !done.is_empty() => (0, None),
            Wait::For(least) => (least as usize, None),
            Wait::Until(time) => (1, Some(time.saturating_sub(self.clock.now()))),
        };
        self.ring.enter(want, timeout)?;
        self.ring.collect(|slot, result| {
            done.push(Completion { slot, result: i64::from(result) });
        });
        Ok(())
    }

    fn missing(&self) -> Vec<&'static str> {
        self.ring.missing()
    }
}

impl Drop for Uring<'_> {
    fn drop(&mut self) {
        // The worker drains before dropping the ring, but after an error operations can still be in
        // flight. Memory to which the kernel may write is never freed.
        if !self.ring.settle() {
            self.arena.leak();
        }
    }
}
