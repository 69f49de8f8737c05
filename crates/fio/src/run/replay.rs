//! Repeats an I/O log: its operations in order, each as long after the one before as in the log.
//!
//! As in fio, an operation that is late delays those after it: there is no burst to catch up. Waits
//! of version 2 run from the wait before, so operations with the same time do not move it.

use std::sync::Arc;

use workload::{BATCH_MAX, Op, Source};

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
}

impl Repetition {
    /// The log of clone `number`, at its start.
    pub(super) fn new(replay: &Replay, number: u32, shift: u32) -> Repetition {
        let time_scale = (!replay.no_stall).then_some(replay.time_scale);
        Repetition { log: replay.log(number).clone(), shift, time_scale, next: 0, late_ns: 0 }
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
        let due_ns = self.due_ns(self.next);
        let previous_ns = self.next.checked_sub(1).and_then(|index| self.due_ns(index));
        if let Some(due_ns) = due_ns.filter(|due_ns| Some(*due_ns) != previous_ns) {
            self.late_ns = self.late_ns.max(now.saturating_sub(due_ns));
        }
        while out.len() < BATCH_MAX {
            let Some(op) = self.address(self.next) else { return };
            out.push(op);
            self.next += 1;
            if self.due_ns(self.next) != due_ns {
                return;
            }
        }
    }

    fn pause_ns(&mut self, now: u64) -> u64 {
        let due_ns = self.due_ns(self.next).map_or(0, |due| due.saturating_add(self.late_ns));
        due_ns.saturating_sub(now)
    }

    fn reads_back(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times and operations of a run in which each operation takes `service_ns`.
    fn repeated(words: &Replay, service_ns: u64) -> Vec<(u64, Op)> {
        let mut source = Repetition::new(words, 0, 20);
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
    fn one_that_is_late_delays_the_others() {
        // The third is due at 3000 but issued at 5000; the last follows 6000 later.
        assert_eq!(times(&replay(LOG), 2000), [1000, 3000, 5000, 11_000]);
    }
}
