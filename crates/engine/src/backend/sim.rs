//! A virtual drive: the model says when an operation is done, and time jumps there.
//!
//! Deterministic, and as fast as the model computes. No data move: a buffer is never touched.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use model::{Drive, Status};
use workload::{Calls, Op, OpKind};

use super::{Backend, Completion, Wait};

pub(crate) struct Sim<'d> {
    drive: &'d mut Drive,
    now: u64,
    /// Time done, slot and result of what is in flight, the earliest first.
    in_flight: BinaryHeap<Reverse<(u64, u32, i64)>>,
    /// What the host's stream calls take for a byte, nanoseconds; 0 where it makes none.
    byte_ns: u64,
    /// Bytes of reads that the host has yet to get out of the stream.
    unread_bytes: u64,
}

impl<'d> Sim<'d> {
    /// A backend on a drive whose time is `now`, and whose host calls as told.
    pub(crate) fn new(drive: &'d mut Drive, now: u64, calls: Calls) -> Sim<'d> {
        let byte_ns = match calls {
            Calls::Bytes { host_ns } => u64::from(host_ns),
            Calls::Best | Calls::Plain => 0,
        };
        Sim { drive, now, in_flight: BinaryHeap::new(), byte_ns, unread_bytes: 0 }
    }
}

impl Backend for Sim<'_> {
    /// Virtual time jumps exactly to the next due time.
    const SPIN_NS: u64 = 0;
    const CARRIES_DATA: bool = false;

    #[inline]
    fn now(&self) -> u64 {
        self.now
    }

    fn temperature(&mut self) -> Option<f64> {
        Some(self.drive.temperature(self.now))
    }

    fn depth_max(&self) -> u32 {
        u32::MAX
    }

    /// There is none: whoever asks carries data, and this backend does not.
    fn buffer(&mut self, _slot: u32, _bytes: u32) -> &mut [u8] {
        &mut []
    }

    fn read_zeros(&mut self, _slot: u32, op: &Op) -> bool {
        !self.drive.is_mapped(op.offset)
    }

    #[inline]
    fn push(&mut self, slot: u32, op: Op) {
        match op.kind {
            OpKind::Write => self.now += self.byte_ns * u64::from(op.bytes),
            OpKind::Read => self.unread_bytes += u64::from(op.bytes),
            OpKind::Flush | OpKind::Discard => {}
        }
        let completion = self.drive.submit(self.now, &op);
        let result = match completion.status {
            Status::Ok => i64::from(op.bytes),
            Status::Invalid => -i64::from(libc::EINVAL),
            Status::ReadOnly => -i64::from(libc::EROFS),
        };
        self.in_flight.push(Reverse((completion.done_ns, slot, result)));
    }

    #[inline]
    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        let next = self.in_flight.peek().map(|Reverse(first)| first.0);
        match (wait, next) {
            (Wait::No, _) | (Wait::For(_), None) => {}
            (Wait::For(_), Some(next)) => self.now = self.now.max(next),
            (Wait::Until(time), next) => {
                self.now = self.now.max(next.map_or(time, |next| next.min(time)));
            }
        }
        while let Some(&Reverse((time, slot, result))) = self.in_flight.peek() {
            if time > self.now {
                break;
            }
            self.in_flight.pop();
            done.push(Completion { slot, result });
        }
        if self.in_flight.is_empty() {
            self.now += self.byte_ns * std::mem::take(&mut self.unread_bytes);
        }
        Ok(())
    }
}
