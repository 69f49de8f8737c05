//! A queue pair of an NVMe controller. Submission is a store to memory, and completions are polled,
//! so the processor is busy while an operation is in flight.
//!
//! Slots are page-aligned memory, which the controller accesses by DMA. The queue's owner handles
//! silent drives by abort and reset (`owner.rs`). Operations ended by a reset fail with a timeout.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use nvme::{Completed, IoRequest, PushError, Range, RequestKind};
use workload::{Op, OpKind};

use super::bus::Bus;
use super::owner::QueuePair;
use super::traffic::Turn;
use super::{ATTEND_EVERY, error_number};
use crate::backend::{Backend, Completion, Wait};
use crate::clock::Clock;

pub(crate) struct QueueBackend<B: Bus> {
    pair: QueuePair<B>,
    clock: Clock,
    depth: u32,
    /// The write command; write-through if a write completes only when its data are durable.
    write: RequestKind,
    /// The operation of each slot.
    ops: Vec<Op>,
    /// Slots of operations that wait for room in the ring.
    held: VecDeque<u32>,
    refused: Vec<Completion>,
    in_flight: u32,
    turn: Turn,
    /// End of the last turn.
    turned_at: u64,
}

impl<B: Bus> QueueBackend<B> {
    pub(crate) fn new(
        pair: QueuePair<B>,
        clock: Clock,
        depth: u32,
        durable: bool,
    ) -> QueueBackend<B> {
        QueueBackend {
            pair,
            clock,
            depth,
            write: if durable { RequestKind::WriteThrough } else { RequestKind::Write },
            ops: vec![Op::FLUSH; depth as usize],
            held: VecDeque::new(),
            refused: Vec::new(),
            in_flight: 0,
            turn: Turn::default(),
            turned_at: clock.now(),
        }
    }

    /// Puts the operation of a slot into the ring.
    #[inline]
    fn submit(&mut self, slot: u32) -> Result<(), PushError> {
        let op = self.ops[slot as usize];
        let place = self.pair.owner.place;
        let (lba, blocks) = (op.offset >> place.block_bits, op.bytes >> place.block_bits);
        let kind = match op.kind {
            OpKind::Read => RequestKind::Read,
            OpKind::Write => self.write,
            OpKind::Flush => RequestKind::Flush,
            OpKind::Discard => return self.pair.push_discard(slot, &[Range { lba, blocks }]),
        };
        self.pair.push(slot, IoRequest { kind, place, lba, blocks, at: 0 })
    }

    /// Submits the operations that wait for room.
    #[cold]
    fn submit_held(&mut self) {
        while let Some(slot) = self.held.pop_front() {
            match self.submit(slot) {
                Ok(()) => {}
                Err(PushError::Full) => return self.held.push_front(slot),
                Err(_) => self.refuse(slot),
            }
        }
    }

    #[cold]
    fn refuse(&mut self, slot: u32) {
        self.refused.push(Completion { slot, result: -i64::from(libc::EINVAL) });
    }

    /// Adds the time since the last turn to the statistics, and passes them to the traffic counters
    /// once they cover enough busy time.
    #[inline]
    fn account(&mut self) {
        /// Busy time after which the statistics are passed on: little compared with the sampling
        /// interval of 100 ms.
        const KEPT_NS: u64 = 5_000_000;
        let now = self.clock.now();
        let elapsed_ns = now - self.turned_at;
        self.turned_at = now;
        if self.in_flight > 0 {
            self.turn.busy_ns += elapsed_ns;
            self.turn.weighted_ns += elapsed_ns * u64::from(self.in_flight);
        }
        if self.turn.busy_ns >= KEPT_NS {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        self.pair.owner.traffic.add(std::mem::take(&mut self.turn));
    }

    /// Appends completed operations to `done`; returns their number.
    #[inline]
    fn collect(&mut self, done: &mut Vec<Completion>) -> u32 {
        let QueueBackend { pair, ops, turn, .. } = self;
        let (start, mut reads) = (done.len(), false);
        pair.poll(|completed| {
            let completion = completion(ops, turn, completed);
            reads |= ops[completed.slot].kind == OpKind::Read;
            done.push(completion);
        });
        if reads {
            for completion in &done[start..] {
                let op = ops[completion.slot as usize];
                if op.kind == OpKind::Read && completion.result > 0 {
                    pair.after_read(completion.slot, op.bytes);
                }
            }
        }
        (done.len() - start) as u32
    }

    /// Handles overdue commands and resets; returns the number of operations that this ended.
    #[cold]
    fn attend(&mut self, done: &mut Vec<Completion>) -> io::Result<u32> {
        let QueueBackend { pair, ops, turn, .. } = self;
        let start = done.len();
        pair.attend(|completed| done.push(completion(ops, turn, completed)))?;
        // Operations that a reset removed from the ring are in `done`. Those waiting for room
        // follow now.
        self.submit_held();
        self.pair.ring();
        Ok((done.len() - start) as u32)
    }
}

/// The result of an operation, and its traffic.
#[inline]
fn completion(ops: &[Op], turn: &mut Turn, completed: Completed) -> Completion {
    let Op { kind, bytes, .. } = ops[completed.slot];
    let slot = completed.slot as u32;
    if !completed.status.is_ok() {
        return Completion { slot, result: -i64::from(error_number(completed.status)) };
    }
    match kind {
        OpKind::Read => turn.read += u64::from(bytes),
        OpKind::Write => turn.written += u64::from(bytes),
        OpKind::Discard => turn.discarded += u64::from(bytes),
        OpKind::Flush => return Completion { slot, result: 0 },
    }
    Completion { slot, result: i64::from(bytes) }
}

impl<B: Bus> Backend for QueueBackend<B> {
    #[inline]
    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn depth_max(&self) -> u32 {
        self.depth
    }

    #[inline]
    fn buffer(&mut self, slot: u32, bytes: u32) -> &mut [u8] {
        self.pair.slot(slot, bytes)
    }

    #[inline]
    fn push(&mut self, slot: u32, op: Op) {
        self.ops[slot as usize] = op;
        self.in_flight += 1;
        let block = (1u64 << self.pair.owner.place.block_bits) - 1;
        if (op.offset | u64::from(op.bytes)) & block != 0 {
            return self.refuse(slot);
        }
        if !self.held.is_empty() {
            return self.held.push_back(slot);
        }
        match self.submit(slot) {
            Ok(()) => {}
            Err(PushError::Full) => self.held.push_back(slot),
            Err(_) => self.refuse(slot),
        }
    }

    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.pair.ring();
        let mut completed = self.refused.len() as u32;
        done.append(&mut self.refused);
        if let (Wait::Until(time), 0) = (wait, self.in_flight) {
            let left = time.saturating_sub(self.clock.now());
            std::thread::sleep(Duration::from_nanos(left));
            self.turned_at = self.clock.now();
            return Ok(());
        }
        let in_flight = self.in_flight;
        for turn in 1u64.. {
            // Pause before every poll, even a single one: a simulated controller runs in this call.
            nvme::Clock::pause(&*self.pair.owner.host);
            completed += self.collect(done);
            if !self.held.is_empty() {
                self.submit_held();
                self.pair.ring();
            }
            if turn.is_multiple_of(ATTEND_EVERY) || self.pair.is_reset() {
                completed += self.attend(done)?;
            }
            let is_enough = match wait {
                Wait::No => true,
                Wait::For(least) => completed >= least.min(in_flight),
                Wait::Until(time) => completed > 0 || self.clock.now() >= time,
            };
            if is_enough {
                break;
            }
        }
        self.account();
        self.in_flight -= completed;
        if self.in_flight == 0 {
            self.hand_over();
        }
        Ok(())
    }

    /// Slot 0 is free, because the worker has waited for everything.
    fn sync(&mut self, _address: u64) -> io::Result<()> {
        let place = self.pair.owner.place;
        let flush = IoRequest { kind: RequestKind::Flush, place, lba: 0, blocks: 0, at: 0 };
        self.pair.carry_out(|pair| pair.push(0, flush))
    }

    /// Slot 0 is free, because the worker has waited for everything.
    fn read_back(&mut self, address: u64, buffer: &mut [u8]) -> io::Result<bool> {
        let place = self.pair.owner.place;
        let bytes = buffer.len() as u32;
        let (lba, blocks) = (address >> place.block_bits, bytes >> place.block_bits);
        let read = IoRequest { kind: RequestKind::Read, place, lba, blocks, at: 0 };
        self.pair.carry_out(|pair| pair.push(0, read))?;
        self.pair.after_read(0, bytes);
        buffer.copy_from_slice(self.pair.slot(0, bytes));
        Ok(true)
    }
}

/// Adds the remaining statistics to the traffic counters.
impl<B: Bus> Drop for QueueBackend<B> {
    fn drop(&mut self) {
        self.hand_over();
    }
}
