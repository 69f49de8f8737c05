//! The operations of an access specification: lines drawn by their shares, reads and random
//! addresses by their percentages. A sequential address follows the previous access. Each line
//! counts its own bursts: after the last access of one, the worker pauses for the line's delay.

use workload::{BATCH_MAX, Op, OpKind, Region, Source};

use super::icf::AccessLine;

/// The accesses of one worker.
pub(super) struct Accesses {
    lines: Vec<AccessLine>,
    region: Region,
    /// Minimum alignment of the drive, bytes.
    block: u64,
    /// End of the previous access, from the start of the region.
    next: u64,
    state: u64,
    /// Accesses of each line in its current burst; `None`: the pacing has the pauses.
    bursts: Option<Vec<u32>>,
    /// Pause due before the next access, nanoseconds.
    pause_ns: u64,
}

impl Accesses {
    pub fn new(lines: &[AccessLine], region: Region, block: u32, seed: u64) -> Accesses {
        Accesses {
            lines: lines.to_vec(),
            region,
            block: u64::from(block.max(1)),
            next: 0,
            state: seed,
            bursts: None,
            pause_ns: 0,
        }
    }

    /// The same accesses, with the pauses of each line.
    pub fn with_pauses(self) -> Accesses {
        Accesses { bursts: Some(vec![0; self.lines.len()]), ..self }
    }

    /// A random number below `most`, by splitmix64.
    fn below(&mut self, most: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ mixed >> 31) * u128::from(most.max(1))) >> 64) as u64
    }

    /// Draws the index of a line.
    fn line(&mut self) -> usize {
        let mut drawn = self.below(100) as u32;
        for (index, line) in self.lines.iter().enumerate() {
            match drawn.checked_sub(line.share) {
                Some(left) => drawn = left,
                None => return index,
            }
        }
        self.lines.len() - 1
    }

    /// Counts an access of a line in its burst.
    fn count(&mut self, index: usize) {
        let (AccessLine { delay_ms, burst, .. }, Some(bursts)) =
            (self.lines[index], &mut self.bursts)
        else {
            return;
        };
        bursts[index] += 1;
        if bursts[index] >= burst {
            bursts[index] = 0;
            self.pause_ns = u64::from(delay_ms) * 1_000_000;
        }
    }

    fn next_op(&mut self) -> Op {
        let index = self.line();
        self.count(index);
        let line = self.lines[index];
        let size = u64::from(line.size);
        let grid = alignment(&line).max(self.block);
        let room = self.region.bytes.saturating_sub(size);
        let random = self.below(100) < u64::from(line.random);
        let offset = if random {
            self.below(room / grid + 1) * grid
        } else {
            self.next.next_multiple_of(grid)
        };
        let offset = if offset > room { 0 } else { offset };
        self.next = offset + size;
        let reads = self.below(100) < u64::from(line.reads);
        let kind = if reads { OpKind::Read } else { OpKind::Write };
        Op { kind, offset: self.region.start + offset, bytes: line.size }
    }
}

impl Source for Accesses {
    fn draw(&mut self, _now: u64, out: &mut Vec<Op>) {
        for _ in 0..BATCH_MAX {
            out.push(self.next_op());
            if self.pause_ns > 0 {
                return;
            }
        }
    }

    fn pause_ns(&mut self, _now: u64) -> u64 {
        std::mem::take(&mut self.pause_ns)
    }
}

/// The alignment of a line in bytes: as specified, or the size of its transfers. IOMeter itself
/// uses 512 bytes there, which costs a factor of 8 in document 003.
pub(super) fn alignment(line: &AccessLine) -> u64 {
    u64::from(if line.align > 0 { line.align } else { line.size })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: AccessLine = AccessLine {
        size: 8192,
        share: 75,
        reads: 67,
        random: 100,
        delay_ms: 0,
        burst: 1,
        align: 0,
    };

    #[test]
    fn accesses_follow_the_shares_and_are_aligned_within_the_region() {
        let stream = AccessLine { size: 65536, share: 25, reads: 0, random: 0, ..LINE };
        let region = Region { start: 1 << 20, bytes: (10 << 20) + 4096 };
        let mut accesses = Accesses::new(&[LINE, stream], region, 512, 7);
        let mut ops = Vec::new();
        while ops.len() < 20_000 {
            accesses.draw(0, &mut ops);
        }
        let share = |of: &dyn Fn(&Op) -> bool| {
            ops.iter().filter(|op| of(op)).count() as f64 / ops.len() as f64
        };
        assert!((share(&|op| op.bytes == 8192) - 0.75).abs() < 0.02);
        assert!((share(&|op| op.kind == OpKind::Read) - 0.67 * 0.75).abs() < 0.02);
        for op in &ops {
            assert!(region.start <= op.offset && op.end() <= region.end());
            assert!((op.offset - region.start).is_multiple_of(u64::from(op.bytes)));
        }
    }

    #[test]
    fn shares_of_nothing_and_of_all_are_exact() {
        for (reads, random) in [(0, 0), (0, 100), (100, 0), (100, 100)] {
            let line = AccessLine { share: 100, reads, random, ..LINE };
            let mut accesses = Accesses::new(&[line], Region::first(1 << 20), 512, 1);
            let mut next = 0;
            for _ in 0..2000 {
                let op = accesses.next_op();
                assert_eq!(op.kind == OpKind::Read, reads == 100);
                assert!(random == 100 || op.offset == next, "{} after {next}", op.offset);
                next = op.end() % (1 << 20);
            }
        }
    }

    #[test]
    fn each_line_pauses_after_its_own_bursts() {
        let often = AccessLine { share: 50, delay_ms: 2, burst: 3, ..LINE };
        let seldom = AccessLine { size: 65536, delay_ms: 50, burst: 10, ..often };
        let never = AccessLine { size: 4096, share: 0, delay_ms: 0, burst: 1, ..often };
        let new = |lines: &[AccessLine]| Accesses::new(lines, Region::first(1 << 20), 512, 3);
        let mut accesses = new(&[often, seldom, never]).with_pauses();
        let (mut counts, mut pauses, mut out) = ([0, 0], [0, 0], Vec::new());
        for _ in 0..1000 {
            out.clear();
            accesses.draw(0, &mut out);
            for op in &out {
                counts[usize::from(op.bytes == 65536)] += 1;
            }
            match accesses.pause_ns(0) {
                0 => {}
                2_000_000 => pauses[0] += 1,
                50_000_000 => pauses[1] += 1,
                other => panic!("{other}"),
            }
            assert_eq!([counts[0] / 3, counts[1] / 10], pauses);
        }
        assert!(pauses[0] > 100 && pauses[1] > 100, "{pauses:?}");
        let mut plain = new(&[often]);
        plain.draw(0, &mut out);
        assert_eq!(plain.pause_ns(0), 0, "the pacing has the pauses of a single line");
    }

    #[test]
    fn sequential_accesses_are_contiguous_and_wrap_at_the_end() {
        let line = AccessLine { share: 100, random: 0, ..LINE };
        let mut accesses = Accesses::new(&[line], Region::first(20 << 10), 512, 1);
        let offsets: Vec<u64> = (0..4).map(|_| accesses.next_op().offset).collect();
        assert_eq!(offsets, [0, 8192, 0, 8192]);
        let odd = AccessLine { align: 512, random: 100, share: 100, ..LINE };
        let mut accesses = Accesses::new(&[odd], Region::first(1 << 20), 512, 1);
        assert!((0..100).any(|_| !accesses.next_op().offset.is_multiple_of(4096)));
    }
}
