//! The null backend: operations complete without any action. The cost of a workload on it is the
//! cost of the instrument itself.
//!
//! It honors the queue depth: operations stay in flight until the worker waits. Then as many
//! complete as were submitted, oldest first.

use std::io;

use workload::Op;

use super::{Backend, Completion, Wait};
use crate::clock::Clock;
use crate::sys::arena::Arena;

/// Maximum number of returned entries at the front of the list: they are removed all at once.
const COMPLETED_MAX: usize = 1024;

pub(crate) struct Null {
    clock: Clock,
    arena: Arena,
    /// Completions, oldest first: those returned already, then those in flight.
    list: Vec<Completion>,
    /// Number of entries returned already.
    returned: usize,
    /// Operations submitted since the last turn.
    handed: usize,
}

impl Null {
    pub(crate) fn new(clock: Clock, arena: Arena) -> Null {
        let list = Vec::with_capacity(arena.slots() as usize + COMPLETED_MAX);
        Null { clock, arena, list, returned: 0, handed: 0 }
    }
}

impl Backend for Null {
    #[inline]
    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn depth_max(&self) -> u32 {
        u32::MAX
    }

    #[inline]
    fn buffer(&mut self, slot: u32, bytes: u32) -> &mut [u8] {
        self.arena.slot(slot, bytes)
    }

    #[inline]
    fn push(&mut self, slot: u32, op: Op) {
        self.list.push(Completion { slot, result: i64::from(op.bytes) });
        self.handed += 1;
    }

    // Forced inline: the call costs a tenth of an operation.
    #[inline(always)]
    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        let handed = std::mem::take(&mut self.handed);
        let count = match wait {
            Wait::For(least) => handed.max(least as usize),
            // More operations are about to be submitted.
            Wait::No if handed > 0 => 0,
            Wait::No | Wait::Until(_) => usize::MAX,
        };
        if self.returned == 0 && count >= self.list.len() && done.is_empty() {
            std::mem::swap(done, &mut self.list);
        } else {
            // Moved one by one, because appending a list would call memcpy.
            let end = self.list.len().min(self.returned.saturating_add(count));
            while self.returned < end {
                done.push(self.list[self.returned]);
                self.returned += 1;
            }
            if self.returned == self.list.len() || self.returned >= COMPLETED_MAX {
                self.list.drain(..self.returned);
                self.returned = 0;
            }
        }
        if let (Wait::Until(time), true) = (wait, done.is_empty()) {
            let left = time.saturating_sub(self.clock.now());
            std::thread::sleep(std::time::Duration::from_nanos(left));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The depth at the issue of each operation, in a closed loop with `depth` slots.
    fn depths(depth: u32, batch: u32) -> Vec<u32> {
        let arena = Arena::new(depth as usize, 512).expect("memory");
        let mut null = Null::new(Clock::new(), arena);
        let (mut free, mut done) = (depth, Vec::new());
        let mut seen = Vec::new();
        while seen.len() < 500 {
            for slot in 0..batch.min(free) {
                null.push(slot, Op::FLUSH);
                free -= 1;
                seen.push(depth - free);
            }
            let wait = if free == 0 { Wait::For(1) } else { Wait::No };
            null.turn(wait, &mut done).expect("a turn");
            free += done.drain(..).count() as u32;
        }
        seen.split_off(depth as usize)
    }

    #[test]
    fn the_requested_depth_is_reached_and_kept() {
        assert!(depths(1, 1).iter().all(|depth| *depth == 1));
        assert!(depths(64, 1).iter().all(|depth| *depth == 64));
        assert!(depths(64, 16).iter().all(|depth| (49..=64).contains(depth)));
    }

    #[test]
    fn a_schedule_completes_in_its_next_turn() {
        let arena = Arena::new(8, 512).expect("memory");
        let (mut null, mut done) = (Null::new(Clock::new(), arena), Vec::new());
        null.push(0, Op::FLUSH);
        null.turn(Wait::No, &mut done).expect("a turn");
        assert!(done.is_empty());
        null.turn(Wait::No, &mut done).expect("a turn");
        assert_eq!(done.len(), 1);
    }
}
