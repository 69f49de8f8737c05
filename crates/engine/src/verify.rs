//! Keeps track of the written blocks and checks reads against them.
//!
//! There is one sequence number per smallest block of a job's slice. If a write or a discard was in
//! flight together with another operation on the same block, the outcome is undefined on a block
//! device, and the block is not checked until a later write to it does not overlap another
//! operation.
//!
//! With a pattern instead of stamps, the number gives the block's position in its write, because
//! each write starts the pattern again.

use rig::Dump;
use workload::stamp::{self, Fault, Proof, Stamp};
use workload::{Content, Filler, Op, OpKind, Region, Workload};

/// Not written by this run.
const UNWRITTEN: u32 = 0;
/// Of unknown content: discarded, or written by an overlapping or failed operation.
const OPEN: u32 = u32::MAX;

pub(crate) struct Verifier {
    seed: u64,
    proof: Proof,
    /// Content around the stamps, if it is blended.
    filler: Option<Filler>,
    slice: Region,
    grid: u64,
    /// Mask of the address bits for the offset within a file.
    place: u64,
    /// Whether blocks that this run has not written are checked, too: a run that only reads checks
    /// the writes of an earlier run with the same seed.
    expects_all: bool,
    sequences: Vec<u32>,
    next: u32,
    in_flight: Vec<Option<InFlight>>,
    bytes: u64,
}

#[derive(Clone, Copy)]
struct InFlight {
    op: Op,
    sequence: u32,
    overlapped: bool,
}

impl Verifier {
    /// A verifier for a job with this many slots. The offset within a file takes `place_bits` bits
    /// of an address.
    pub(crate) fn new(workload: &Workload, job: u32, slots: u32, place_bits: u32) -> Verifier {
        let slice = workload.slice(job);
        let grid = u64::from(workload.blocks.min());
        let blocks = slice.bytes / grid + 1;
        Verifier {
            seed: workload.seed,
            proof: workload.proof.clone(),
            filler: matches!(workload.content, Content::Blend(_))
                .then(|| Filler::new(workload.content.clone(), workload.seed)),
            slice,
            grid,
            place: (1 << place_bits) - 1,
            expects_all: !workload.mix.changes_data(),
            sequences: vec![UNWRITTEN; blocks as usize],
            next: 1,
            in_flight: vec![None; slots as usize],
            bytes: 0,
        }
    }

    /// The number of 512-byte sectors checked.
    pub(crate) fn sectors(&self) -> u64 {
        self.bytes / stamp::SECTOR as u64
    }

    /// Called before an operation is pushed; fills the buffer of a write.
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
            self.dress(op.offset, sequence, buffer);
            self.next = if self.next == OPEN - 1 { 1 } else { self.next + 1 };
        }
        self.in_flight[slot as usize] = Some(InFlight { op, sequence, overlapped });
    }

    /// Fills a buffer with the content of a write.
    fn dress(&mut self, offset: u64, sequence: u32, buffer: &mut [u8]) {
        let stamp = Stamp { offset, sequence: u64::from(sequence), seed: self.seed };
        let start = offset & self.place;
        match (&self.proof, &mut self.filler) {
            (Proof::Motif(motif), _) => motif.paint(buffer, 0, start),
            (Proof::Stamps { layout, around: Some(motif) }, _) => {
                motif.paint(buffer, 0, start);
                stamp::seal(buffer, stamp, *layout);
            }
            (Proof::Stamps { layout, around: None }, Some(filler)) => {
                filler.touch(buffer, stamp.sequence);
                stamp::seal(buffer, stamp, *layout);
            }
            (Proof::Stamps { layout, around: None }, None) => {
                stamp::write(buffer, stamp, *layout);
            }
        }
    }

    /// Called when an operation completes; checks the buffer of a read. Returns the first fault.
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
        let blocks = u64::from(op.bytes).div_ceil(self.grid);
        let marks = &mut self.sequences[first as usize..(first + blocks) as usize];
        match self.proof {
            Proof::Motif(_) if sequence != OPEN => (1..).zip(marks).for_each(|(n, m)| *m = n),
            _ => marks.fill(sequence),
        }
    }

    /// Checks the content read from an address. Returns the first fault.
    pub(crate) fn check(&mut self, offset: u64, buffer: &[u8]) -> Option<(Fault, u64)> {
        let mut first = None;
        for (i, block) in buffer.chunks(self.grid as usize).enumerate() {
            let address = offset + i as u64 * self.grid;
            let sequence = self.sequences[((address - self.slice.start) / self.grid) as usize];
            if sequence == OPEN || (sequence == UNWRITTEN && !self.expects_all) {
                continue;
            }
            self.bytes += block.len() as u64;
            let fault = match &self.proof {
                Proof::Stamps { layout, .. } => {
                    let expected = (sequence != UNWRITTEN).then_some(u64::from(sequence));
                    let checked = stamp::check(block, address, expected, self.seed, *layout);
                    checked.err().map(|fault| (fault, address))
                }
                Proof::Motif(motif) => {
                    // Writes of another run are assumed to begin at the same addresses as the
                    // reads.
                    let before =
                        if sequence == UNWRITTEN { i as u64 } else { u64::from(sequence) - 1 };
                    let distance = before * self.grid;
                    let start = (address - distance.min(address)) & self.place;
                    let differs = motif.differs(block, distance, start);
                    differs.map(|byte| (Fault::Flipped, address + byte as u64))
                }
            };
            first = first.or(fault);
        }
        first
    }

    /// The block at `fault` of an operation that read `buffer`, and its expected content.
    pub(crate) fn dump(&mut self, op: Op, fault: u64, buffer: &[u8]) -> Dump {
        let distance = (fault - op.offset) / self.grid * self.grid;
        let (address, last) = (op.offset + distance, buffer.len());
        let block = &buffer[distance as usize..last.min((distance + self.grid) as usize)];
        Dump { address, found: block.to_vec(), expected: self.expected(op, address, block) }
    }

    /// The expected content of an address, if known.
    fn expected(&mut self, op: Op, at: u64, found: &[u8]) -> Option<Vec<u8>> {
        let mut block = vec![0; found.len()];
        let sequence = self.sequences[((at - self.slice.start) / self.grid) as usize];
        if let Proof::Motif(motif) = &self.proof {
            let unwritten = sequence == UNWRITTEN;
            let distance =
                if unwritten { at - op.offset } else { (u64::from(sequence) - 1) * self.grid };
            motif.paint(&mut block, distance, (at - distance.min(at)) & self.place);
            return Some(block);
        }
        let Proof::Stamps { layout, around: None } = &self.proof else { return None };
        if self.filler.is_some() {
            // The content around the stamps was drawn for that write alone.
            return None;
        }
        // A stamp of an earlier run contains the number of its write.
        let sequence = if sequence == UNWRITTEN {
            let mut sectors = found.chunks_exact(layout.sector);
            let stamp = sectors.find_map(|sector| stamp::read_sector(sector, layout.at));
            stamp?.sequence as u32
        } else {
            sequence
        };
        self.dress(at, sequence, &mut block);
        Some(block)
    }

    /// The first read at or after `from`, in steps of `bytes`, that contains blocks of known
    /// content written by this run; `None` at the end of the slice.
    pub(crate) fn next_written(&self, from: u64, bytes: u32) -> Option<Op> {
        let blocks = (u64::from(bytes) / self.grid).max(1) as usize;
        let whole = (self.slice.bytes / self.grid) as usize;
        let first = (from.saturating_sub(self.slice.start) / self.grid) as usize;
        let (number, piece) = self.sequences[first.min(whole)..whole]
            .chunks(blocks)
            .enumerate()
            .find(|(_, piece)| piece.iter().any(|s: &u32| *s != UNWRITTEN && *s != OPEN))?;
        let offset = self.slice.start + (first + number * blocks) as u64 * self.grid;
        Some(Op { kind: OpKind::Read, offset, bytes: piece.len() as u32 * self.grid as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{Mix, Motif, Pattern};

    fn verifier() -> Verifier {
        let region = Region::first(16 * 4096);
        let workload = Workload::new("w", Pattern::Uniform, Mix::read_percent(50), 4096, region);
        Verifier::new(&workload, 0, 4, 63)
    }

    fn patterned() -> Verifier {
        let motif =
            Motif { bytes: b"abc--------".to_vec(), offsets_at: vec![3], ..Motif::default() };
        Verifier { proof: Proof::Motif(motif), ..verifier() }
    }

    #[test]
    fn a_pattern_is_checked_at_any_offset() {
        let mut verifier = patterned();
        let write = Op { kind: OpKind::Write, offset: 4096, bytes: 4 * 4096 };
        let mut buffer = vec![0; 4 * 4096];
        verifier.issue(0, write, &mut buffer);
        assert_eq!(buffer[3..5], [0, 16], "the offset of the write");
        verifier.complete(0, true, &[]);
        let (third, at) = (&mut buffer[2 * 4096..3 * 4096], 3 * 4096);
        verifier.issue(1, op(OpKind::Read, 3), &mut []);
        assert_eq!(verifier.complete(1, true, third), None);
        third[100] ^= 1;
        verifier.issue(1, op(OpKind::Read, 3), &mut []);
        assert_eq!(verifier.complete(1, true, third), Some((Fault::Flipped, at + 100)));
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
        assert_eq!(verifier.sectors(), 16);
    }

    #[test]
    fn overlapping_writes_are_not_judged() {
        let mut verifier = verifier();
        let mut buffer = vec![0; 4096];
        verifier.issue(0, op(OpKind::Write, 3), &mut buffer);
        verifier.issue(1, op(OpKind::Write, 3), &mut buffer);
        verifier.complete(1, true, &[]);
        verifier.complete(0, true, &[]);
        verifier.issue(1, op(OpKind::Read, 3), &mut []);
        assert_eq!(verifier.complete(1, true, &[0; 4096]), None);
        assert_eq!(verifier.sectors(), 0);
    }
}
