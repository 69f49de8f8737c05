//! A closed loop over a virtual drive at a given depth.
#![allow(dead_code, reason = "each test file uses a part")]

pub mod oracle;
pub mod written;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::ftl::superblock::mix;
use model::{CommandStatus, Drive, DriveSpec};
use workload::{Op, OpKind};

pub const MB: f64 = 1e6;
pub const GB: f64 = 1e9;

/// Whether this system addresses the map of a preset: a 32-bit one refuses drives of 2 TB.
pub fn is_addressable(preset: &str) -> bool {
    usize::BITS >= 64 || !preset.ends_with("-2t")
}

/// A drive, its clock, and the commands in flight.
pub struct Bench {
    pub drive: Drive,
    pub now: u64,
    pub depth: usize,
    seed: u64,
}

impl Bench {
    pub fn new(spec: &DriveSpec) -> Bench {
        Bench { drive: Drive::new(spec, 1), now: 0, depth: 32, seed: 0 }
    }

    pub fn preset(name: &str) -> Bench {
        Bench::new(&DriveSpec::preset(name).expect("a known drive"))
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.seed += 1;
        ((u128::from(mix(self.seed)) * u128::from(n)) >> 64) as u64
    }

    /// Issues operations while `next(time since the start)` returns one. Calls `seen(op, done)` for
    /// every completion. Returns the elapsed seconds.
    pub fn run(
        &mut self,
        mut next: impl FnMut(&mut Bench, u64) -> Option<Op>,
        mut seen: impl FnMut(&Op, u64),
    ) -> f64 {
        let start = self.now;
        let mut flight = BinaryHeap::new();
        loop {
            if flight.len() == self.depth {
                let Reverse(done) = flight.pop().expect("depth is not 0");
                self.now = self.now.max(done);
            }
            let Some(op) = next(self, self.now - start) else { break };
            let end = self.drive.submit(self.now, &op);
            assert_eq!(end.status, CommandStatus::Ok, "{op:?}");
            assert!(end.done_ns >= self.now, "time runs backwards");
            seen(&op, end.done_ns);
            flight.push(Reverse(end.done_ns));
        }
        self.now = flight.into_iter().map(|Reverse(done)| done).fold(self.now, u64::max);
        (self.now - start) as f64 / 1e9
    }

    /// Runs sequential operations over a range. Returns the rate of each of `parts` equal parts,
    /// bytes/s.
    pub fn sweep(
        &mut self,
        kind: OpKind,
        from: u64,
        to: u64,
        bytes: u32,
        parts: usize,
    ) -> Vec<f64> {
        let mut at = from;
        let width = (to - from) / parts as u64;
        let mut ends = vec![0; parts];
        let start = self.now;
        self.run(
            |_, _| {
                let left = to - at;
                let op = Op { kind, offset: at, bytes: u64::from(bytes).min(left) as u32 };
                at += u64::from(op.bytes);
                (left > 0).then_some(op)
            },
            |op, done| {
                let part = (((op.offset - from) / width) as usize).min(parts - 1);
                ends[part] = done.max(ends[part]);
            },
        );
        let mut last = start;
        let rate = |end: u64| {
            let time = end.saturating_sub(std::mem::replace(&mut last, end)).max(1);
            width as f64 / (time as f64 / 1e9)
        };
        ends.into_iter().map(rate).collect()
    }

    /// Writes the whole drive sequentially in 128 KiB blocks. Returns the rates of 400 parts,
    /// bytes/s.
    pub fn fill(&mut self) -> Vec<f64> {
        let bytes = self.drive.bytes();
        let rates = self.sweep(OpKind::Write, 0, bytes, 128 << 10, 400);
        self.drive.check();
        rates
    }

    /// Runs random operations on the range from `shift` to `range` for a time. Returns bytes/s.
    pub fn random(
        &mut self,
        kind: OpKind,
        bytes: u32,
        range: u64,
        shift: u64,
        seconds: f64,
    ) -> f64 {
        let (limit, blocks) = ((seconds * 1e9) as u64, (range - shift) / u64::from(bytes));
        let mut done = 0;
        let time = self.run(
            |bench, elapsed| {
                let offset = bench.below(blocks) * u64::from(bytes) + shift;
                (elapsed < limit).then_some(Op { kind, offset, bytes })
            },
            |op, _| done += u64::from(op.bytes),
        );
        done as f64 / time
    }

    pub fn idle(&mut self, seconds: f64) {
        self.now += (seconds * 1e9) as u64;
        self.drive.idle(self.now);
    }

    pub fn discard_all(&mut self) {
        let bytes = self.drive.bytes();
        for offset in (0..bytes).step_by(1 << 31) {
            let len = (bytes - offset).min(1 << 31) as u32;
            let end =
                self.drive.submit(self.now, &Op { kind: OpKind::Discard, offset, bytes: len });
            assert_eq!(end.status, CommandStatus::Ok);
            self.now = end.done_ns;
        }
        self.drive.check();
    }
}

/// Mean rate of parts of equal size: the harmonic mean.
pub fn mean(rates: &[f64]) -> f64 {
    rates.len() as f64 / rates.iter().map(|r| 1.0 / r).sum::<f64>()
}
