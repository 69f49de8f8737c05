//! Knows what was written where, and checks what is read against it.
//!
//! One sequence number per smallest block of a job's slice. Where two operations on one block were
//! in flight together, the outcome is open by the rules of block devices, and the block is not
//! checked until it was written again alone.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use workload::stamp::{self, Fault};
use workload::{Op, OpKind, Region, Workload};

/// Not written by this run.
const UNWRITTEN: u32 = 0;
/// Written by operations that overlapped, or whose outcome is unknown.
const OPEN: u32 = u32::MAX;

pub(crate) struct Verifier {
    seed: u64,
    slice: Region,
    grid: u64,
    /// Whether blocks that this run has not written must hold stamps of the same seed (a run that
    /// only reads checks what an earlier one wrote).
    expects_all: bool,
    sequences: Vec<u32>,
    next: u32,
    in_flight: Vec<Option<InFlight>>,
    pub(crate) sectors: u64,
}

#[derive(Clone, Copy)]
struct InFlight {
    op: Op,
    sequence: u32,
    overlapped: bool,
}

impl Verifier {
    pub(crate) fn new(workload: &Workload, job: u32, slots: u32) -> Verifier {
        let slice = workload.slice(job);
        let grid = u64::from(workload.blocks.min());
        let blocks = slice.bytes / grid + 1;
        Verifier {
            seed: workload.seed,
            slice,
            grid,
            expects_all: !workload.mix.changes_data(),
            sequences: vec![UNWRITTEN; blocks as usize],
            next: 1,
            in_flight: vec![None; slots as usize],
            sectors: 0,
        }
    }

    /// Called before an operation is pushed; stamps the buffer of a write.
    pub(crate) fn issue(&mut self, slot: u32, op: Op, buffer: &mut [u8]) {
        let mut overlapped = false;
        for other in self.in_flight.iter_mut().flatten() {
            let touching = other.op.offset < op.end() && op.offset < other.op.end();
            if touching && (op.kind != OpKind::Read || other.op.kind != OpKind::Read) {
                (other.overlapped, overlapped) = (true, true);
            }
        }
        let sequence = self.next;
        if op.kind == OpKind::Write {
            stamp::write(buffer, op.offset, u64::from(sequence), self.seed);
            self.next = if self.next == OPEN - 1 { 1 } else { self.next + 1 };
        }
        self.in_flight[slot as usize] = Some(InFlight { op, sequence, overlapped });
    }

    /// Called when an operation completed; checks the buffer of a read. Gives the first fault.
    pub(crate) fn complete(&mut self, slot: u32, ok: bool, buffer: &[u8]) -> Option<(Fault, u64)> {
        let InFlight { op, sequence, overlapped } = self.in_flight[slot as usize].take()?;
        match op.kind {
            OpKind::Read if ok && !overlapped => self.check(op.offset, buffer),
            OpKind::Write => {
                self.mark(op, if ok && !overlapped { sequence } else { OPEN });
                None
            }
            OpKind::Discard => {
                self.mark(op, OPEN);
                None
            }
            OpKind::Read | OpKind::Flush => None,
        }
    }

    fn mark(&mut self, op: Op, sequence: u32) {
        let first = (op.offset - self.slice.start) / self.grid;
        let last = (op.end() - self.slice.start).div_ceil(self.grid);
        self.sequences[first as usize..last as usize].fill(sequence);
    }

    fn check(&mut self, offset: u64, buffer: &[u8]) -> Option<(Fault, u64)> {
        let mut first = None;
        for (i, block) in buffer.chunks(self.grid as usize).enumerate() {
            let at = offset + i as u64 * self.grid;
            let known = self.sequences[((at - self.slice.start) / self.grid) as usize];
            let expected = match known {
                OPEN => continue,
                UNWRITTEN if !self.expects_all => continue,
                UNWRITTEN => None,
                sequence => Some(u64::from(sequence)),
            };
            self.sectors += (block.len() / stamp::SECTOR) as u64;
            if let Err(fault) = stamp::check(block, at, expected, self.seed) {
                first.get_or_insert((fault, at));
            }
        }
        first
    }

    /// Reads back everything that was written, outside of the measured time.
    pub(crate) fn read_back(
        &mut self,
        file: &File,
        buffer: &mut [u8],
        mut fault: impl FnMut(Fault, u64),
    ) -> io::Result<()> {
        let blocks = (buffer.len() as u64 / self.grid).max(1);
        let count = (self.slice.bytes / self.grid) as usize;
        let mut at = 0;
        while at < count {
            let end = (at + blocks as usize).min(count);
            let written = |s: &u32| *s != UNWRITTEN && *s != OPEN;
            if self.sequences[at..end].iter().any(written) {
                let offset = self.slice.start + at as u64 * self.grid;
                let bytes = (end - at) * self.grid as usize;
                file.read_exact_at(&mut buffer[..bytes], offset)?;
                if let Some((kind, address)) = self.check(offset, &buffer[..bytes]) {
                    fault(kind, address);
                }
            }
            at = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{Mix, Pattern};

    fn verifier() -> Verifier {
        let region = Region::first(16 * 4096);
        let workload = Workload::new("w", Pattern::Uniform, Mix::read_percent(50), 4096, region);
        Verifier::new(&workload, 0, 4)
    }

    fn op(kind: OpKind, block: u64) -> Op {
        Op { kind, offset: block * 4096, bytes: 4096 }
    }

    #[test]
    fn a_lost_write_is_stale_and_a_good_one_is_good() {
        let mut verifier = verifier();
        let (mut old, mut new) = (vec![0; 4096], vec![0; 4096]);
        for buffer in [&mut old, &mut new] {
            verifier.issue(0, op(OpKind::Write, 3), buffer);
            assert_eq!(verifier.complete(0, true, &[]), None);
        }
        verifier.issue(1, op(OpKind::Read, 3), &mut []);
        assert_eq!(verifier.complete(1, true, &new), None);
        verifier.issue(1, op(OpKind::Read, 3), &mut []);
        assert_eq!(verifier.complete(1, true, &old), Some((Fault::Stale, 3 * 4096)));
        assert_eq!(verifier.sectors, 16);
    }

    #[test]
    fn what_was_in_flight_together_is_not_judged() {
        let mut verifier = verifier();
        let mut buffer = vec![0; 4096];
        verifier.issue(0, op(OpKind::Write, 3), &mut buffer);
        verifier.issue(1, op(OpKind::Write, 3), &mut buffer);
        verifier.complete(1, true, &[]);
        verifier.complete(0, true, &[]);
        verifier.issue(1, op(OpKind::Read, 3), &mut []);
        assert_eq!(verifier.complete(1, true, &[0; 4096]), None);
        assert_eq!(verifier.sectors, 0);
    }
}
