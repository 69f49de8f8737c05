//! No target at all: every operation completes in the turn that hands it over. What a workload
//! costs here is what the instrument itself costs.

use std::io;

use workload::Op;

use super::{Backend, Completion, Wait};
use crate::clock::Clock;
use crate::sys::arena::Arena;

pub(crate) struct Null {
    clock: Clock,
    arena: Arena,
    queued: Vec<Completion>,
}

impl Null {
    pub(crate) fn new(clock: Clock, arena: Arena) -> Null {
        let queued = Vec::with_capacity(arena.slots() as usize);
        Null { clock, arena, queued }
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
        self.queued.push(Completion { slot, result: i64::from(op.bytes) });
    }

    #[inline]
    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        // Trading the lists costs nothing; appending one entry is a call of memcpy.
        if done.is_empty() {
            std::mem::swap(done, &mut self.queued);
        } else {
            done.append(&mut self.queued);
        }
        if let (Wait::Until(time), true) = (wait, done.is_empty()) {
            let left = time.saturating_sub(self.clock.now());
            std::thread::sleep(std::time::Duration::from_nanos(left));
        }
        Ok(())
    }
}
