//! The null backend: operations complete without any action. The cost of a workload on it is the
//! cost of the instrument itself.
//!
//! It honors the queue depth: operations stay in flight until the worker waits for completions.
//! Then as many complete as were submitted, or as it waits for if those are more, oldest first. A
//! turn that submits nothing, or waits until a time, completes all.

use std::io;

use workload::Op;

use super::{Backend, Completion, Wait};
use crate::clock::Clock;
use crate::sys::arena::Arena;

pub(crate) struct Null {
    clock: Clock,
    arena: Arena,
    /// Operations in flight, as a ring.
    flying: Vec<Completion>,
    /// Index of the oldest of them.
    oldest: usize,
    /// Operations submitted since the last turn.
    handed: Vec<Completion>,
}

impl Null {
    pub(crate) fn new(clock: Clock, arena: Arena) -> Null {
        let slots = arena.slots() as usize;
        let [flying, handed] = [(); 2].map(|()| Vec::with_capacity(slots));
        Null { clock, arena, flying, oldest: 0, handed }
    }

    /// Adds the submitted operations to those in flight, and moves the `count` oldest to `done`.
    #[inline(never)]
    fn complete(&mut self, count: usize, done: &mut Vec<Completion>) {
        self.flying.rotate_left(std::mem::take(&mut self.oldest));
        self.flying.append(&mut self.handed);
        done.extend(self.flying.drain(..count.min(self.flying.len())));
    }
}

impl Backend for Null {
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
        self.handed.push(Completion { slot, result: i64::from(op.bytes) });
    }

    // Forced inline: the call costs a tenth of an operation.
    #[inline(always)]
    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        match wait {
            // A steady state whose operations complete in the turn that submits them.
            Wait::For(_) if self.flying.is_empty() && done.is_empty() => {
                std::mem::swap(done, &mut self.handed);
            }
            // A steady state with others in flight: the newest takes the place of the oldest.
            Wait::For(0 | 1) if self.handed.len() == 1 && !self.flying.is_empty() => {
                if let Some(newest) = self.handed.pop() {
                    done.push(std::mem::replace(&mut self.flying[self.oldest], newest));
                }
                self.oldest += 1;
                if self.oldest == self.flying.len() {
                    self.oldest = 0;
                }
            }
            Wait::For(least) => self.complete(self.handed.len().max(least as usize), done),
            // More operations are about to be submitted.
            Wait::No if !self.handed.is_empty() => self.complete(0, done),
            Wait::No | Wait::Until(_) => self.complete(usize::MAX, done),
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
    fn the_oldest_complete_first_and_none_is_lost() {
        let arena = Arena::new(8, 512).expect("memory");
        let (mut null, mut done) = (Null::new(Clock::new(), arena), Vec::new());
        let mut turn = |slots: &[u32], wait| {
            slots.iter().for_each(|slot| null.push(*slot, Op::FLUSH));
            null.turn(wait, &mut done).expect("a turn");
            done.iter().map(|done| done.slot).collect::<Vec<_>>()
        };
        assert_eq!(turn(&[0], Wait::For(1)), [0]);
        assert_eq!(turn(&[1], Wait::For(1)), [0, 1], "with some not yet taken");
        assert_eq!(turn(&[2, 3, 4], Wait::No), [0, 1]);
        assert_eq!(turn(&[5], Wait::For(1)), [0, 1, 2]);
        assert_eq!(turn(&[6], Wait::For(1)), [0, 1, 2, 3]);
        assert_eq!(turn(&[7], Wait::For(2)), [0, 1, 2, 3, 4, 5]);
        assert_eq!(turn(&[], Wait::Until(0)), [0, 1, 2, 3, 4, 5, 6, 7]);
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
