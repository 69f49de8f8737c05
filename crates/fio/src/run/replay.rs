//! Repeats an I/O log: its operations in order, each as long after the one before as in the log.
//!
//! As in fio, an operation that is late delays those after it: there is no burst to catch up. Waits
//! of version 2 run from the wait before, so operations with the same time do not move it.
//!
//! A job that verifies reads the writes of its log back at the end: of those that overlap, the last.
//! fio reads each back and calls the content of the last one wrong.

use std::sync::Arc;

use workload::{After, BATCH_MAX, Op, OpKind, Source};

use super::pieces::Pieces;
use crate::{IoLog, Replay};

/// The operations of a clone that repeats a log.
#[derive(Debug)]
pub(super) struct Repetition {
    log: Arc<IoLog>,
    /// Number of address bits for the offset in a file.
    shift: u32,
    /// The rate in percent of the log's; `None`: as fast as possible.
    time_scale: Option<u32>,
    /// Index of the next operation.
    next: usize,
    /// The time by which the log is behind, nanoseconds.
    late_ns: u64,
    /// The writes to be read back after the log, each with its number in it, from 1; `None` if none
    /// is.
    to_check: Option<Pieces>,
    /// Whether the log is over, and its writes are read back.
    is_checking: bool,
}

impl Repetition {
    /// The log of clone `number`, at its start. `checks`: its writes are read back.
    pub(super) fn new(replay: &Replay, number: u32, shift: u32, checks: bool) -> Repetition {
        Repetition {
            log: replay.log(number).clone(),
            shift,
            time_scale: (!replay.no_stall).then_some(replay.time_scale),
            next: 0,
            late_ns: 0,
            to_check: checks.then(|| Pieces::new(true)),
            is_checking: false,
        }
    }

    /// The time at which an operation is due if none before was late, nanoseconds.
    fn due_ns(&self, index: usize) -> Option<u64> {
        let due_ns = u128::from(self.log.ops.get(index)?.due_us) * 1000;
        let scaled_ns = due_ns * 100 / u128::from(self.time_scale?);
        Some(u64::try_from(scaled_ns).unwrap_or(u64::MAX))
    }

    fn address(&self, index: usize) -> Option<Op> {
        let logged = self.log.ops.get(index)?;
        let offset = logged.op.offset | u64::from(logged.file) << self.shift;
        Some(Op { offset, ..logged.op })
    }
}

impl Source for Repetition {
    fn draw(&mut self, now: u64, out: &mut Vec<Op>) {
        if self.is_checking {
            let checks = std::iter::from_fn(|| self.to_check.as_mut()?.pop());
            out.extend(checks.map(|(_, check)| check).take(BATCH_MAX));
            return;
        }
        let due_ns = self.due_ns(self.next);
        let previous_ns = self.next.checked_sub(1).and_then(|index| self.due_ns(index));
        if let Some(due_ns) = due_ns.filter(|due_ns| Some(*due_ns) != previous_ns) {
            self.late_ns = self.late_ns.max(now.saturating_sub(due_ns));
        }
        while out.len() < BATCH_MAX {
            let Some(op) = self.address(self.next) else { return };
            out.push(op);
            self.next += 1;
            if let (Some(to_check), OpKind::Write) = (&mut self.to_check, op.kind) {
                to_check.push(self.next as u64, op);
            }
            if self.due_ns(self.next) != due_ns {
                return;
            }
        }
    }

    fn pause_ns(&mut self, now: u64) -> u64 {
        if self.is_checking {
            return 0;
        }
        let due_ns = self.due_ns(self.next).map_or(0, |due| due.saturating_add(self.late_ns));
        due_ns.saturating_sub(now)
    }

    fn reads_back(&self) -> bool {
        true
    }

    fn after(&mut self, issued: u64, _over: bool) -> After {
        match &mut self.to_check {
            Some(to_check) if !self.is_checking => to_check.retain_issued(issued),
            _ => return After::End,
        }
        self.is_checking = true;
        After::Check { last: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times and operations of a run in which each operation takes `service_ns`.
    fn repeated(words: &Replay, service_ns: u64) -> Vec<(u64, Op)> {
        let mut source = Repetition::new(words, 0, 20, false);
        let (mut now, mut issued) = (0, Vec::new());
        loop {
            let pause_ns = source.pause_ns(now);
            now += pause_ns;
            let mut batch = Vec::new();
            if pause_ns == 0 {
                source.draw(now, &mut batch);
                if batch.is_empty() {
                    return issued;
                }
            }
            for op in batch {
                issued.push((now, op));
                now += service_ns;
            }
        }
    }

    fn replay(text: &str) -> Replay {
        let log = IoLog::parse(text).expect("a log");
        Replay { logs: vec![Arc::new(log)], no_stall: false, time_scale: 100 }
    }

    const LOG: &str = "fio version 3 iolog\n0 f add\n0 g add\n1 f read 0 512\n1 g read 512 512\n\
                       3 f read 0 512\n9 g write 0 512\n";

    fn times(words: &Replay, service_ns: u64) -> Vec<u64> {
        repeated(words, service_ns).into_iter().map(|(now, _)| now).collect()
    }

    #[test]
    fn operations_keep_their_distance() {
        let mut words = replay(LOG);
        assert_eq!(times(&words, 10), [1000, 1010, 3000, 9000]);
        let offsets: Vec<_> = repeated(&words, 0).iter().map(|(_, op)| op.offset).collect();
        assert_eq!(offsets, [0, 1 << 20 | 512, 0, 1 << 20]);
        words.time_scale = 200;
        assert_eq!(times(&words, 10), [500, 510, 1500, 4500]);
        words.no_stall = true;
        assert_eq!(times(&words, 10), [0, 10, 20, 30]);
    }

    #[test]
    fn the_last_of_overlapping_writes_is_read_back_if_it_was_issued() {
        let text = "fio version 2 iolog\nf add\nf write 4096 512\nf write 0 1024\nf read 0 512\n\
                    f write 512 512\nf write 8192 512\n";
        let mut source = Repetition::new(&replay(text), 0, 20, true);
        let mut batch = Vec::new();
        source.draw(0, &mut batch);
        assert_eq!(batch.len(), 5);
        // The last one was not.
        assert_eq!(source.after(4, true), After::Check { last: true });
        batch.clear();
        source.draw(0, &mut batch);
        let checks: Vec<_> = batch.iter().map(|op| (op.kind, op.offset)).collect();
        assert_eq!(checks, [(OpKind::Read, 512), (OpKind::Read, 4096)]);
        assert_eq!(source.after(6, false), After::End);
    }

    #[test]
    fn one_that_is_late_delays_the_others() {
        // The third is due at 3000 but issued at 5000; the last follows 6000 later.
        assert_eq!(times(&replay(LOG), 2000), [1000, 3000, 5000, 11_000]);
    }
}
