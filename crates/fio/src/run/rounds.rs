//! The rounds of a clone: its operations, and the verification of its writes.
//!
//! fio repeats a job `loops` times and reads back after each round, or, with `verify_backlog`,
//! whenever enough writes have accumulated. Each switch between writing and reading back ends a
//! part: the queue is drained first, so that no block is read while it is being written.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use workload::{After, BATCH_MAX, Op, OpKind, Source};

use super::stream::{Outline, Stream};

/// The writes of a clone that are read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checks {
    /// Nothing.
    None,
    /// All writes, after each round.
    Rounds,
    /// A batch whenever `blocks` writes wait, and the rest after each round.
    Backlog { blocks: usize, batch: usize },
}

/// A clone's operations.
#[derive(Debug)]
pub(super) struct Rounds {
    stream: Stream,
    checks: Checks,
    /// Bytes of the smallest block.
    grid: u64,
    /// Whether the files are emptied between rounds.
    empties: bool,
    /// Whether rounds are separated by reading back or emptying.
    apart: bool,
    /// With `verify_only`: the blocks read so far. Writes become reads, and nothing else is issued.
    only_reads: Option<Seen>,
    phase: Phase,
    /// Writes to be read back, each with its number among all operations drawn.
    waiting: VecDeque<(u64, Op)>,
    /// Operations drawn since the beginning of the job.
    given: u64,
    /// The stream at the start of the round, for drawing the same operations again.
    begin: Option<Box<Stream>>,
    /// Operations issued before this part.
    issued_before: u64,
    /// Operations of the job issued in this round, without those that read back.
    drawn: u64,
}

#[derive(Debug)]
enum Phase {
    Work,
    /// The backlog is full.
    Due,
    /// Reads back `left` of the waiting writes; `last` if it is the last batch of this round.
    Batch {
        left: usize,
        last: bool,
    },
    /// Draws this many operations of the round again and reads their writes back, each block once.
    Again(Box<Stream>, u64, Seen),
}

/// Blocks that have been read back, one bit each. As in fio, only the later of two writes to a
/// block can be checked.
#[derive(Debug, Default)]
struct Seen {
    grid: u64,
    words: HashMap<u64, u64>,
}

impl Seen {
    fn new(grid: u64) -> Seen {
        Seen { grid: grid.max(1), words: HashMap::new() }
    }

    /// Adds the blocks of an operation; returns whether any of them is new.
    fn add(&mut self, op: &Op) -> bool {
        let blocks = op.offset / self.grid..op.end().div_ceil(self.grid);
        blocks.fold(false, |new, block| {
            let word = self.words.entry(block / 64).or_default();
            let bit = 1 << (block % 64);
            let added = *word & bit == 0;
            *word |= bit;
            new || added
        })
    }
}

impl Rounds {
    pub(super) fn new(outline: Outline, checks: Checks, empties: bool) -> Rounds {
        let grid = outline.access.min_bs();
        let only_reads =
            (outline.verify_only && outline.access.rw.writes()).then(|| Seen::new(grid));
        let apart = checks != Checks::None || empties;
        let stream = Stream::new(Arc::new(outline));
        let begin = (checks == Checks::Rounds).then(|| Box::new(stream.clone()));
        Rounds {
            stream,
            checks,
            grid,
            empties,
            apart,
            only_reads,
            phase: Phase::Work,
            waiting: VecDeque::new(),
            given: 0,
            begin,
            issued_before: 0,
            drawn: 0,
        }
    }

    /// The next operation of the job itself.
    #[inline]
    fn work(&mut self) -> Option<Op> {
        if let Some(seen) = &mut self.only_reads {
            loop {
                let check = next_check(&mut self.stream, seen, &mut { u64::MAX });
                if check.is_some() || !self.stream.next_pass() {
                    return check;
                }
            }
        }
        let op = match self.stream.draw() {
            None if !self.apart && self.stream.next_pass() => self.stream.draw()?,
            op => op?,
        };
        if op.kind != OpKind::Write {
            return Some(op);
        }
        if let Checks::Backlog { blocks, .. } = self.checks {
            self.waiting.push_back((self.given + 1, op));
            if self.waiting.len() >= blocks {
                self.phase = Phase::Due;
            }
        }
        Some(op)
    }

    #[cold]
    fn check(&mut self) -> Option<Op> {
        match &mut self.phase {
            Phase::Work | Phase::Due => None,
            Phase::Batch { left, .. } => {
                *left = left.checked_sub(1)?;
                let (_, op) = self.waiting.pop_front()?;
                self.stream.count_read_back(op.bytes);
                Some(Op { kind: OpKind::Read, ..op })
            }
            Phase::Again(stream, left, seen) => {
                let check = next_check(stream, seen, left)?;
                self.stream.count_read_back(check.bytes);
                Some(check)
            }
        }
    }

    /// At the end of a round, starts reading back if there is anything to read.
    fn checks_of_round(&mut self, over: bool) -> Option<After> {
        let last = over || !self.stream.has_next_pass(self.stream.pass_bytes());
        match self.checks {
            Checks::None => return None,
            Checks::Rounds => {
                let begin = self.begin.take()?;
                self.phase = Phase::Again(begin, self.drawn, Seen::new(self.grid));
            }
            Checks::Backlog { .. } if self.waiting.is_empty() => return None,
            Checks::Backlog { .. } => {
                self.phase = Phase::Batch { left: self.waiting.len(), last: true };
            }
        }
        Some(After::Check { last })
    }

    /// Starts another round, if any.
    fn next_round(&mut self) -> After {
        if !self.stream.next_pass() {
            return After::End;
        }
        self.begin = (self.checks == Checks::Rounds).then(|| Box::new(self.stream.clone()));
        (self.phase, self.drawn) = (Phase::Work, 0);
        After::More { emptied: self.empties }
    }
}

/// The next write among at most `left` operations, as a read of a block not read before.
fn next_check(stream: &mut Stream, seen: &mut Seen, left: &mut u64) -> Option<Op> {
    while *left > 0 {
        *left -= 1;
        let op = stream.draw()?;
        if op.kind == OpKind::Write && seen.add(&op) {
            return Some(Op { kind: OpKind::Read, ..op });
        }
    }
    None
}

impl Source for Rounds {
    fn draw(&mut self, now: u64, out: &mut Vec<Op>) {
        self.stream.at(now);
        let most = if self.stream.is_timed() { 1 } else { BATCH_MAX };
        while out.len() < most {
            let op = match self.phase {
                Phase::Work => self.work(),
                _ => self.check(),
            };
            let Some(op) = op else { return };
            out.push(op);
            self.given += 1;
            if matches!(self.phase, Phase::Due) {
                return;
            }
        }
    }

    fn reads_back(&self) -> bool {
        true
    }

    fn after(&mut self, issued: u64, over: bool) -> After {
        // A write that was drawn but never issued is not read back.
        while self.waiting.back().is_some_and(|(number, _)| *number > issued) {
            self.waiting.pop_back();
        }
        self.given = issued;
        let drawn = issued - std::mem::replace(&mut self.issued_before, issued);
        match (&self.phase, self.checks) {
            (Phase::Work, _) => {
                self.drawn += drawn;
                match self.checks_of_round(over) {
                    Some(check) => check,
                    None if over => After::End,
                    None => self.next_round(),
                }
            }
            (Phase::Due, Checks::Backlog { batch, .. }) if !over => {
                self.phase = Phase::Batch { left: batch, last: false };
                After::Check { last: false }
            }
            (Phase::Due, _) => self.checks_of_round(over).unwrap_or(After::End),
            (Phase::Batch { last: false, .. }, _) => {
                self.phase = Phase::Work;
                After::More { emptied: false }
            }
            _ if over => After::End,
            _ => self.next_round(),
        }
    }
}
