//! The null backend: operations complete without any action. The cost of a workload on it is the
//! cost of the instrument itself.
//!
//! It honors the queue depth: operations stay in flight until the worker waits. Then as many
//! complete as were submitted, oldest first.

use std::collections::VecDeque;
use std::io;

use workload::Op;

use super::{Backend, Completion, Wait};
use crate::clock::Clock;
use crate::sys::arena::Arena;

pub(crate) struct Null {
    clock: Clock,
    arena: Arena,
    in_flight: VecDeque<Completion>,
    /// Operations submitted since the last turn.
    handed: usize,
}

impl Null {
    pub(crate) fn new(clock: Clock, arena: Arena) -> Null {
        let in_flight = VecDeque::with_capacity(arena.slots() as usize);
        Null { clock, arena, in_flight, handed: 0 }
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
        self.in_flight.push_back(Completion { slot, result: i64::from(op.bytes) });
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
            Wait::No | Wait::Until(_) => self.in_flight.len(),
        };
        // Moved one by one, because appending a list would call memcpy.
        for _ in 0..count {
            let Some(completion) = self.in_flight.pop_front() else { break };
            done.push(completion);
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
