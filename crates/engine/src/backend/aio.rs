//! Linux AIO, for kernels and sandboxes without io_uring. It is asynchronous only with O_DIRECT:
//! through the page cache, `io_submit` itself does the I/O and the queue depth is only nominal,
//! which the effective depth shows.

use std::io;
use std::os::fd::AsRawFd;

use workload::{Op, OpKind};

use super::Files;
use super::{Backend, Completion, Wait, cold, negative};
use crate::clock::Clock;
use crate::priority::SlotPriorities;
use crate::sys::aio::{Context, Event, PREAD, PWRITE};
use crate::sys::arena::Arena;

pub(crate) struct Aio<'f> {
    // The context comes first: dropping it waits for operations that use the arena.
    context: Context,
    arena: Arena,
    files: Files<'f>,
    clock: Clock,
    events: Vec<Event>,
    cold: Vec<(u32, Op)>,
    in_flight: usize,
    priorities: Option<SlotPriorities>,
}

impl<'f> Aio<'f> {
    pub(crate) fn new(
        clock: Clock,
        files: Files<'f>,
        arena: Arena,
        priorities: Option<SlotPriorities>,
    ) -> io::Result<Aio<'f>> {
        let context = Context::new(arena.slots())?;
        let events = vec![Event::default(); arena.slots() as usize];
        let cold = Vec::new();
        Ok(Aio { context, arena, files, clock, events, cold, in_flight: 0, priorities })
    }

    #[cold]
    fn push_cold(&mut self, slot: u32, op: Op) {
        if let Some(priorities) = &mut self.priorities {
            priorities.clear(slot);
        }
        self.cold.push((slot, op));
    }

    /// Submits everything queued. An operation rejected by the kernel completes with its error,
    /// like an asynchronous one.
    fn submit(&mut self, done: &mut Vec<Completion>) -> io::Result<()> {
        while self.context.queued() > 0 {
            match self.context.submit() {
                Ok(taken) => self.in_flight += taken,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.raw_os_error() == Some(libc::EAGAIN) && self.in_flight > 0 => break,
                Err(e) => {
                    let Some(slot) = self.context.drop_first() else { return Err(e) };
                    done.push(Completion { slot, result: negative(&e) });
                }
            }
        }
        Ok(())
    }
}

impl Backend for Aio<'_> {
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
        let opcode = match op.kind {
            OpKind::Read => PREAD,
            OpKind::Write => PWRITE,
            OpKind::Flush | OpKind::Discard => return self.push_cold(slot, op),
        };
        let (file, offset) = self.files.locate(op.offset);
        let fd = file.as_raw_fd();
        self.context.push(slot, opcode, fd, self.arena.pointer(slot), op.bytes, offset);
        if let Some(rules) = &mut self.priorities {
            self.context.prioritise(slot, rules.give(slot, op));
        }
    }

    fn files(&self) -> Option<&Files<'_>> {
        Some(&self.files)
    }

    fn priority(&self, slot: u32) -> u16 {
        self.priorities.as_ref().map_or(0, |rules| rules.priority(slot))
    }

    #[inline]
    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.submit(done)?;
        for (slot, op) in self.cold.drain(..) {
            done.push(Completion { slot, result: cold::perform(&self.files, op) });
        }
        let (least, timeout) = match wait {
            _ if !done.is_empty() => (0, Some(0)),
            Wait::No => (0, Some(0)),
            // An operation that the kernel has not accepted yet cannot complete.
            Wait::For(least) => ((least as usize).min(self.in_flight), None),
            Wait::Until(time) => (1, Some(time.saturating_sub(self.clock.now()))),
        };
        if self.in_flight == 0 && timeout.is_none_or(|ns| ns == 0) {
            return Ok(());
        }
        let count = match self.context.collect(least, timeout, &mut self.events) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => 0,
            other => other?,
        };
        self.in_flight -= count;
        let events = self.events[..count].iter();
        done.extend(events.map(|e| Completion { slot: e.data as u32, result: e.result }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rig::{Priorities, PriorityRule};

    use super::*;

    /// Runs a test on a file of one block, unless this machine has no Linux AIO.
    fn on_aio(priorities: Option<SlotPriorities>, test: impl FnOnce(Aio<'_>)) {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(4096).expect("a block");
        let (list, arena) = ([&file], Arena::new(8, 4096).expect("memory"));
        let files = Files::new(&list, 63, false);
        match Aio::new(Clock::new(), files, arena, priorities) {
            Ok(aio) => test(aio),
            Err(e) => println!("skipped: Linux AIO is not available: {e}"),
        }
    }

    fn op(kind: OpKind) -> Op {
        Op { kind, offset: 0, bytes: 4096 }
    }

    #[test]
    fn a_turn_does_not_wait_for_more_than_is_in_flight() {
        on_aio(None, |mut aio| {
            let mut done = Vec::new();
            (0..2).for_each(|slot| aio.push(slot, op(OpKind::Read)));
            while done.len() < 2 {
                aio.turn(Wait::For(5), &mut done).expect("a turn");
            }
            assert!(done.iter().all(|completion| completion.result == 4096), "{done:?}");
        });
    }

    #[test]
    fn a_flush_has_no_priority() {
        let rule = PriorityRule { bytes: None, percent: 100, priority: 0x4001 };
        let rules = Priorities { reads: vec![rule], writes: Vec::new(), seed: 1 };
        on_aio(Some(SlotPriorities::new(rules)), |mut aio| {
            let (mut seen, mut done) = (Vec::new(), Vec::new());
            for op in [op(OpKind::Read), Op::FLUSH] {
                aio.push(0, op);
                aio.turn(Wait::For(1), &mut done).expect("a turn");
                seen.push(aio.priority(0));
                done.clear();
            }
            assert_eq!(seen, [0x4001, 0]);
        });
    }
}
