//! io_uring: one system call submits and waits.

use std::io;

use io_uring::IoUring;
use rig::RingFeatures;
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
    /// Discards, which not every kernel supports on a ring, and flushes that cannot be queued; the
    /// next turn carries them out.
    cold: Vec<(u32, Op)>,
    priorities: Option<SlotPriorities>,
    /// Number of entries of the ring, which the kernel limits.
    depth_max: u32,
    /// Whether flushes are not queued either, because a ring that polls for completions has none.
    flushes_cold: bool,
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
        let depth_max = ring.params().sq_entries();
        let ring = Ring::new(ring, files, &arena);
        let (cold, flushes_cold) = (Vec::new(), false);
        Uring { ring, arena, files, clock, cold, priorities, depth_max, flushes_cold }
    }

    /// The same backend for a ring with these features.
    pub(crate) fn with_features(mut self, features: RingFeatures) -> Uring<'r> {
        self.ring.force_async(features.async_every);
        self.flushes_cold = features.polls_completions;
        self
    }

    #[cold]
    fn push_cold(&mut self, slot: u32, op: Op) {
        if let Some(priorities) = &mut self.priorities {
            priorities.clear(slot);
        }
        self.cold.push((slot, op));
    }
}

impl Backend for Uring<'_> {
    #[inline]
    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn depth_max(&self) -> u32 {
        self.depth_max
    }

    #[inline]
    fn buffer(&mut self, slot: u32, bytes: u32) -> &mut [u8] {
        self.arena.slot(slot, bytes)
    }

    #[inline]
    fn push(&mut self, slot: u32, op: Op) {
        if op.kind == OpKind::Discard || self.flushes_cold && op.kind == OpKind::Flush {
            return self.push_cold(slot, op);
        }
        let priority = self.priorities.as_mut().map_or(0, |rules| rules.give(slot, op));
        self.ring.push(op, slot, self.arena.pointer(slot), priority);
    }

    fn files(&self) -> Option<&Files<'_>> {
        Some(&self.files)
    }

    fn priority(&self, slot: u32) -> u16 {
        self.priorities.as_ref().map_or(0, |rules| rules.priority(slot))
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

#[cfg(test)]
mod tests {
    use rig::{Priorities, PriorityRule};

    use super::*;
    use crate::sys::ring::make;

    #[test]
    fn the_depth_is_limited_to_the_entries_of_the_ring() {
        for (entries, depth_max) in [(8, 8), (100, 128), (65_536, 32_768)] {
            let mut ring = match make(entries, RingFeatures::default()) {
                Ok(ring) => ring,
                Err(e) => return println!("skipped: io_uring is not available: {e}"),
            };
            let file = tempfile::tempfile().expect("a file");
            let (list, arena) = ([&file], Arena::new(1, 4096).expect("memory"));
            let files = Files::new(&list, 63, false);
            let uring = Uring::new(&mut ring, Clock::new(), files, arena, None);
            assert_eq!(uring.depth_max(), depth_max);
        }
    }

    #[test]
    fn a_discard_has_no_priority() {
        let mut ring = match make(1, RingFeatures::default()) {
            Ok(ring) => ring,
            Err(e) => return println!("skipped: io_uring is not available: {e}"),
        };
        let file = tempfile::tempfile().expect("a file");
        file.set_len(4096).expect("a block");
        let (list, arena) = ([&file], Arena::new(1, 4096).expect("memory"));
        let files = Files::new(&list, 63, false);
        let rule = PriorityRule { bytes: None, percent: 100, priority: 0x4001 };
        let rules = Priorities { reads: vec![rule], writes: Vec::new(), seed: 1 };
        let priorities = Some(SlotPriorities::new(rules));
        let mut uring = Uring::new(&mut ring, Clock::new(), files, arena, priorities);
        let (mut seen, mut done) = (Vec::new(), Vec::new());
        for kind in [OpKind::Read, OpKind::Discard] {
            uring.push(0, Op { kind, offset: 0, bytes: 4096 });
            uring.turn(Wait::For(1), &mut done).expect("a turn");
            seen.push(uring.priority(0));
            done.clear();
        }
        assert_eq!(seen, [0x4001, 0]);
    }
}
