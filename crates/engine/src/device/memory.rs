//! A device in memory, for tests: it shows that a backend that is neither a descriptor nor a model
//! needs only one more variant of [`super::AnyDevice`], and that the worker need not know it.

use std::io;
use std::sync::Mutex;

use workload::{Op, OpKind, Region, Workload};

use super::{Device, IoAsk, UseBackend, arena};
use crate::backend::{Backend, Completion, Wait};
use crate::clock::Clock;
use crate::sys::arena::Arena;

/// Bytes that every queue of the device shares.
pub(crate) struct Memory(pub Mutex<Vec<u8>>);

impl Device for Memory {
    fn io<U: UseBackend>(&self, ask: &IoAsk<'_>, placed: io::Result<()>, user: U) -> U::Out {
        let arena = placed.and_then(|()| arena(ask, ask.workload.depth));
        let queue = |arena| Queue { memory: self, clock: ask.clock, arena, queued: Vec::new() };
        user.with(arena.map(queue))
    }

    fn bypasses_cache(&self, _workload: &Workload) -> bool {
        true
    }

    fn written_share(&self, _region: Region) -> Option<f64> {
        None
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, region: Region) -> io::Result<()> {
        let mut bytes = self.0.lock().expect("not poisoned");
        bytes[region.start as usize..region.end() as usize].fill(0);
        Ok(())
    }
}

/// A queue pair: operations are submitted, and completed by polling.
struct Queue<'m> {
    memory: &'m Memory,
    clock: Clock,
    arena: Arena,
    queued: Vec<(u32, Op)>,
}

impl Backend for Queue<'_> {
    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn depth_max(&self) -> u32 {
        u32::MAX
    }

    fn buffer(&mut self, slot: u32, bytes: u32) -> &mut [u8] {
        self.arena.slot(slot, bytes)
    }

    fn push(&mut self, slot: u32, op: Op) {
        self.queued.push((slot, op));
    }

    fn turn(&mut self, _wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        let mut bytes = self.memory.0.lock().expect("not poisoned");
        for (slot, op) in self.queued.drain(..) {
            let place = op.offset as usize..op.end() as usize;
            let buffer = self.arena.slot(slot, op.bytes);
            match op.kind {
                OpKind::Read => buffer.copy_from_slice(&bytes[place]),
                OpKind::Write => bytes[place].copy_from_slice(buffer),
                OpKind::Discard => bytes[place].fill(0),
                OpKind::Flush => {}
            }
            done.push(Completion { slot, result: i64::from(op.bytes) });
        }
        Ok(())
    }

    fn read_back(&self, address: u64, buffer: &mut [u8]) -> io::Result<bool> {
        let bytes = self.memory.0.lock().expect("not poisoned");
        let at = address as usize;
        buffer.copy_from_slice(&bytes[at..at + buffer.len()]);
        Ok(true)
    }
}
