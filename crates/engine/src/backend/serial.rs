//! Backends with one operation at a time, whatever the requested depth. The calling thread carries
//! out each [`Transfer`] in the turn that submits it.

use std::io;
use std::time::Duration;

use workload::{Op, OpKind};

use super::Files;
use super::{Backend, Completion, Wait};
use super::{cold, negative};
use crate::clock::Clock;
use crate::sys::arena::Arena;

/// A synchronous method of moving data.
pub(crate) trait Transfer {
    /// The files it works on.
    fn files(&self) -> &Files<'_>;

    /// Reads into the buffer, or writes from it. Returns the bytes moved.
    fn transfer(&self, op: Op, buffer: &mut [u8]) -> io::Result<usize>;

    /// Makes earlier writes durable. Returns 0 or a negative error number.
    fn flush(&self, op: Op) -> i64 {
        cold::perform(self.files(), op)
    }
}

/// A backend around a synchronous transfer.
pub(crate) struct Serial<T> {
    clock: Clock,
    arena: Arena,
    way: T,
    queued: Option<(u32, Op)>,
}

impl<T: Transfer> Serial<T> {
    pub(super) fn new(way: T, clock: Clock, arena: Arena) -> Serial<T> {
        Serial { clock, arena, way, queued: None }
    }

    #[inline]
    fn perform(&mut self, slot: u32, op: Op) -> i64 {
        let transferred = match op.kind {
            OpKind::Read | OpKind::Write => self.way.transfer(op, self.arena.slot(slot, op.bytes)),
            OpKind::Flush => return self.way.flush(op),
            OpKind::Discard => return cold::perform(self.way.files(), op),
        };
        transferred.map_or_else(|e| negative(&e), |bytes| bytes as i64)
    }
}

impl<T: Transfer> Backend for Serial<T> {
    #[inline]
    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn depth_max(&self) -> u32 {
        1
    }

    #[inline]
    fn buffer(&mut self, slot: u32, bytes: u32) -> &mut [u8] {
        self.arena.slot(slot, bytes)
    }

    #[inline]
    fn push(&mut self, slot: u32, op: Op) {
        debug_assert!(self.queued.is_none());
        self.queued = Some((slot, op));
    }

    fn files(&self) -> Option<&Files<'_>> {
        Some(self.way.files())
    }

    #[inline]
    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        if let Some((slot, op)) = self.queued.take() {
            let result = self.perform(slot, op);
            done.push(Completion { slot, result });
        } else if let Wait::Until(time) = wait {
            std::thread::sleep(Duration::from_nanos(time.saturating_sub(self.clock.now())));
        }
        Ok(())
    }
}
