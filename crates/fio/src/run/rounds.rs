//! The rounds of a clone: its operations, and the verification of its writes.
//!
//! fio repeats a job `loops` times and reads back after each round, or, with `verify_backlog`,
//! whenever enough writes have accumulated. Each switch between writing and reading back ends a
//! part: the queue is drained first, so that no block is read while it is being written. Asserted:
//! only issued writes are read back, and a round that is drawn again has the same operations.

use std::sync::Arc;

use workload::{After, BATCH_MAX, Op, OpKind, Source};

use super::pieces::Pieces;
use super::stream::{OpStream, Outline};

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
    stream: OpStream,
    checks: Checks,
    /// Whether the files are emptied between rounds.
    empties: bool,
    /// Whether rounds are separated by reading back or emptying.
    has_breaks: bool,
    /// With `verify_only`: writes become reads, and nothing else is issued.
    only_reads: bool,
    phase: Phase,
    /// Writes to be read back, if they are not drawn again.
    waiting: Pieces,
    overlaps: bool,
    /// Whether the writes of a round are drawn again to read them back; else they wait.
    is_redrawn: bool,
    /// Operations drawn since the beginning of the job.
    given: u64,
    /// How many of them precede the last flush, if only those are read back.
    flushed: Option<u64>,
    /// The stream at the start of the round, for drawing the same operations again.
    begin: Option<Box<OpStream>>,
    /// Operations issued before this part.
    issued_before: u64,
    /// Operations of the job issued in this round, without those that read back.
    drawn: u64,
    /// With `only_reads`: operations and bytes read in this pass.
    read_back: (u64, u64),
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
    /// Draws this many operations of the round again and reads their writes back.
    Again(Box<OpStream>, u64),
}

impl Rounds {
    pub(super) fn new(outline: Outline, checks: Checks, empties: bool) -> Rounds {
        let flushed = outline.checks_flushed_only.then_some(0);
        let only_reads = outline.verify_only && outline.access.rw.writes();
        let overlaps = outline.may_overlap();
        // With a throttle, the draws depend on the time.
        let is_redrawn = checks == Checks::Rounds && !overlaps && outline.throttle.is_none();
        let has_breaks = checks != Checks::None || empties;
        let stream = OpStream::new(Arc::new(outline));
        let begin = is_redrawn.then(|| Box::new(stream.clone()));
        Rounds {
            stream,
            checks,
            empties,
            has_breaks,
            only_reads,
            phase: Phase::Work,
            waiting: Pieces::new(overlaps),
            overlaps,
            is_redrawn,
            given: 0,
            flushed,
            begin,
            issued_before: 0,
            drawn: 0,
            read_back: (0, 0),
        }
    }

    /// The next read of a job with `verify_only`.
    fn next_read(&mut self) -> Option<Op> {
        loop {
            if let Some((_, read)) = self.waiting.pop() {
                self.read_back = (self.read_back.0 + 1, self.read_back.1 + u64::from(read.bytes));
                return Some(read);
            }
            while let Some(op) = self.stream.draw() {
                if op.kind != OpKind::Write {
                    continue;
                }
                self.waiting.push(0, op);
                if !self.overlaps {
                    break;
                }
            }
            if self.waiting.len() == 0 {
                // As in fio, the writes that are left out count, and after a pass its reads, too.
                let (ops, bytes) = std::mem::take(&mut self.read_back);
                self.stream.count_read_back(ops, bytes);
                if !self.stream.next_pass() {
                    return None;
                }
            }
        }
    }

    /// The next operation of the job itself.
    #[inline]
    fn work(&mut self) -> Option<Op> {
        if self.only_reads {
            return self.next_read();
        }
        let op = match self.stream.draw() {
            None if !self.has_breaks && self.stream.next_pass() => self.stream.draw()?,
            op => op?,
        };
        if op.kind != OpKind::Write {
            return Some(op);
        }
        match self.checks {
            Checks::Backlog { blocks, .. } => {
                self.waiting.push(self.given + 1, op);
                if self.waiting.len() >= blocks {
                    self.phase = Phase::Due;
                }
            }
            Checks::Rounds if !self.is_redrawn => self.waiting.push(self.given + 1, op),
            Checks::Rounds | Checks::None => {}
        }
        Some(op)
    }

    #[cold]
    fn check(&mut self) -> Option<Op> {
        match &mut self.phase {
            Phase::Work | Phase::Due => None,
            Phase::Batch { left, .. } => {
                *left = left.checked_sub(1)?;
                let (number, check) = self.waiting.pop()?;
                assert!(number <= self.issued_before, "only what was issued is read back");
                self.stream.count_read_back(1, u64::from(check.bytes));
                Some(check)
            }
            Phase::Again(stream, left) => {
                let check = next_check(stream, left)?;
                self.stream.count_read_back(1, u64::from(check.bytes));
                Some(check)
            }
        }
    }

    /// At the end of a round, starts reading back if there is anything to read.
    fn checks_of_round(&mut self, over: bool) -> Option<After> {
        // Of this round, the operations whose writes are read back.
        let mut ops = self.drawn;
        if let Some(flushed) = self.flushed {
            self.waiting.retain_issued(flushed);
            ops = ops.min(flushed.saturating_sub(self.issued_before - self.drawn));
        }
        let last = over || !self.stream.has_next_pass(self.stream.pass_bytes());
        match self.checks {
            Checks::None => return None,
            Checks::Rounds if self.is_redrawn => {
                let begin = self.begin.take()?;
                self.phase = Phase::Again(begin, ops);
            }
            Checks::Rounds | Checks::Backlog { .. } if self.waiting.len() == 0 => return None,
            Checks::Rounds | Checks::Backlog { .. } => {
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
        self.begin = self.is_redrawn.then(|| Box::new(self.stream.clone()));
        (self.phase, self.drawn) = (Phase::Work, 0);
        After::More { emptied: self.empties }
    }
}

/// The next write among at most `left` operations, as a read.
fn next_check(stream: &mut OpStream, left: &mut u64) -> Option<Op> {
    while *left > 0 {
        *left -= 1;
        let op = stream.draw()?;
        if op.kind == OpKind::Write {
            return Some(Op { kind: OpKind::Read, ..op });
        }
    }
    None
}

impl Source for Rounds {
    fn draw(&mut self, now: u64, out: &mut Vec<Op>) {
        self.stream.set_now(now);
        let batch_max = if self.stream.is_timed() { 1 } else { BATCH_MAX };
        while out.len() < batch_max {
            let op = match self.phase {
                Phase::Work => self.work(),
                _ => self.check(),
            };
            let Some(op) = op else { return };
            out.push(op);
            if let (OpKind::Flush, Some(flushed)) = (op.kind, &mut self.flushed) {
                *flushed = self.given;
            }
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
        let issued_since = self.issued_before..=self.given;
        assert!(issued_since.contains(&issued), "what is issued was drawn, and stays issued");
        // A write that was drawn but never issued is not read back.
        self.waiting.retain_issued(issued);
        // Nor is one of which it is not known whether a flush followed it.
        self.flushed = self.flushed.map(|flushed| if flushed < issued { flushed } else { 0 });
        self.given = issued;
        let count = issued - std::mem::replace(&mut self.issued_before, issued);
        match (&self.phase, self.checks) {
            (Phase::Work, _) => {
                self.drawn += count;
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
            (Phase::Again(_, rest), _) => {
                assert_eq!(*rest, 0, "a round drawn again has as many operations");
                self.next_round()
            }
            _ => self.next_round(),
        }
    }
}
