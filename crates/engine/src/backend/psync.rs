//! Synchronous `pread` and `pwrite`: one operation at a time, whatever depth was asked for. What a
//! plain program does, and the way that works on every kernel.

use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use workload::{Op, OpKind};

use super::cold::{self, negative};
use super::{Backend, Completion, Wait};
use crate::clock::Clock;
use crate::files::Files;
use crate::sys::arena::Arena;

pub(crate) struct Psync<'f> {
    clock: Clock,
    files: Files<'f>,
    arena: Arena,
    queued: Option<(u32, Op)>,
}

impl<'f> Psync<'f> {
    pub(crate) fn new(clock: Clock, files: Files<'f>, arena: Arena) -> Psync<'f> {
        Psync { clock, files, arena, queued: None }
    }

    #[inline]
    fn perform(&mut self, slot: u32, op: Op) -> i64 {
        let (file, offset) = self.files.at(op.offset);
        let result = match op.kind {
            OpKind::Read => file.read_at(self.arena.slot(slot, op.bytes), offset),
            OpKind::Write => file.write_at(self.arena.slot(slot, op.bytes), offset),
            OpKind::Flush | OpKind::Discard => return cold::perform(&self.files, op),
        };
        result.map_or_else(|e| negative(&e), |bytes| bytes as i64)
    }
}

impl Backend for Psync<'_> {
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
