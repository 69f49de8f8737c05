//! POSIX AIO, as fio's engine of that name: the C library's threads carry out the operations. Those
//! on one file may take turns: it is the library that decides.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use workload::{Op, OpKind};

use super::Files;
use super::{Backend, Completion, Wait, cold, negative};
use crate::clock::Clock;
use crate::sys::arena::Arena;
use crate::sys::posixaio::Requests;

pub(crate) struct Posixaio<'f> {
    requests: Requests,
    arena: Arena,
    files: Files<'f>,
    clock: Clock,
    queue: Vec<(u32, Op)>,
}

impl<'f> Posixaio<'f> {
    pub(crate) fn new(clock: Clock, files: Files<'f>, arena: Arena) -> Posixaio<'f> {
        let requests = Requests::new(arena.slots());
        Posixaio { requests, arena, files, clock, queue: Vec::new() }
    }

    /// Submits everything queued. An operation that the library rejects completes with its error,
    /// unless others in flight use its resources.
    fn submit(&mut self, done: &mut Vec<Completion>) {
        let mut queue = std::mem::take(&mut self.queue);
        let mut refused = None;
        for (index, &(slot, op)) in queue.iter().enumerate() {
            if op.kind == OpKind::Discard {
                done.push(Completion { slot, result: cold::perform(&self.files, op) });
                continue;
            }
            let (file, offset) = self.files.locate(op.offset);
            let buffer = (self.arena.pointer(slot), op.bytes);
            let kind = (op.kind, self.files.whole_flush());
            match self.requests.submit(slot, kind, file.as_raw_fd(), buffer, offset) {
                Ok(()) => {}
                Err(e)
                    if e.raw_os_error() == Some(libc::EAGAIN) && self.requests.in_flight() > 0 =>
                {
                    refused = Some(index);
                    break;
                }
                Err(e) => done.push(Completion { slot, result: negative(&e) }),
            }
        }
        queue.drain(..refused.unwrap_or(queue.len()));
        self.queue = queue;
    }

    fn collect(&mut self, done: &mut Vec<Completion>) {
        self.requests.collect(|slot, result| done.push(Completion { slot, result }));
    }
}

impl Backend for Posixaio<'_> {
    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn buffer(&mut self, slot: u32, bytes: u32) -> &mut [u8] {
        self.arena.slot(slot, bytes)
    }

    fn push(&mut self, slot: u32, op: Op) {
        self.queue.push((slot, op));
    }

    fn files(&self) -> Option<&Files<'_>> {
        Some(&self.files)
    }

    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        let before = done.len();
        self.submit(done);
        self.collect(done);
        loop {
            let completed = done.len() - before;
            let timeout = match wait {
                _ if self.requests.in_flight() == 0 => None,
                Wait::For(least) if completed < least as usize => Some(None),
                Wait::Until(time) if completed == 0 && self.clock.now() < time => {
                    Some(Some(Duration::from_nanos(time - self.clock.now())))
                }
                _ => None,
            };
            let Some(timeout) = timeout else { break };
            self.requests.wait(timeout)?;
            self.collect(done);
        }
        if let Wait::Until(time) = wait
            && done.len() == before
        {
            std::thread::sleep(Duration::from_nanos(time.saturating_sub(self.clock.now())));
        }
        Ok(())
    }
}

impl Drop for Posixaio<'_> {
    fn drop(&mut self) {
        // The library's threads use the blocks and the buffers until their requests have ended.
        while self.requests.in_flight() > 0 {
            if self.requests.wait(None).is_err() {
                self.arena.leak();
                self.requests.leak();
                return;
            }
            self.requests.collect(|_, _| {});
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn operations_are_carried_out_whatever_the_wait() {
        let file = tempfile::tempfile().expect("a file");
        file.write_all_at(&[7; 8 * 4096], 0).expect("written");
        let (list, arena) = ([&file], Arena::new(8, 4096).expect("memory"));
        let mut aio = Posixaio::new(Clock::new(), Files::new(&list, 63, false), arena);
        let mut done = Vec::new();
        for slot in 0..8 {
            aio.push(slot, Op { kind: OpKind::Read, offset: u64::from(slot) * 4096, bytes: 4096 });
        }
        aio.turn(Wait::For(3), &mut done).expect("a turn");
        assert!(done.len() >= 3);
        while done.len() < 8 {
            let soon = aio.now() + 1_000_000;
            aio.turn(Wait::Until(soon), &mut done).expect("a turn");
        }
        assert!(done.iter().all(|completion| completion.result == 4096), "{done:?}");
        assert!((0..8).all(|slot| aio.buffer(slot, 4096) == [7; 4096]));
        done.clear();
        aio.push(3, Op::FLUSH);
        aio.push(4, Op { kind: OpKind::Read, offset: 1 << 40, bytes: 4096 });
        aio.turn(Wait::For(2), &mut done).expect("a turn");
        assert!(done.iter().all(|completion| completion.result == 0), "{done:?}");
    }
}
