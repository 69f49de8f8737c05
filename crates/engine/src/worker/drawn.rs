//! A source of operations, with the drawn batch that is not fully issued yet.

use workload::{After, BATCH_MAX, Op, Source};

pub(super) struct Drawn {
    source: Box<dyn Source>,
    batch: Vec<Op>,
    /// Index of the next operation in the batch.
    at: usize,
    /// Operations taken from earlier batches.
    before: u64,
    /// Pause before the next batch, nanoseconds.
    pause_ns: u64,
}

impl Drawn {
    pub(super) fn new(source: Box<dyn Source>) -> Drawn {
        Drawn { source, batch: Vec::with_capacity(BATCH_MAX), at: 0, before: 0, pause_ns: 0 }
    }

    pub(super) fn reads_back(&self) -> bool {
        self.source.reads_back()
    }

    /// The next operation, without taking it. `None` at the end of a part, and before a pause,
    /// which [`Drawn::take_pause`] returns.
    #[inline(always)]
    pub(super) fn peek(&mut self, now: u64) -> Option<Op> {
        if self.at == self.batch.len() {
            self.draw(now);
        }
        // Field by field, because a copy would include the padding.
        let Op { kind, offset, bytes } = *self.batch.get(self.at)?;
        Some(Op { kind, offset, bytes })
    }

    /// Whether the next operation is the first of its batch: drawing it took much longer than
    /// drawing the others.
    #[inline(always)]
    pub(super) fn starts_batch(&self) -> bool {
        self.at == 0
    }

    #[inline(always)]
    pub(super) fn take(&mut self) {
        self.at += 1;
    }

    /// Takes the next operation.
    pub(super) fn next(&mut self, now: u64) -> Option<Op> {
        let op = self.peek(now)?;
        self.take();
        Some(op)
    }

    #[inline(never)]
    fn draw(&mut self, now: u64) {
        self.begin_batch();
        self.pause_ns = self.source.pause_ns(now);
        if self.pause_ns == 0 {
            self.source.draw(now, &mut self.batch);
        }
    }

    /// Takes the pause before the next operation, if the source requested one.
    pub(super) fn take_pause(&mut self) -> Option<u64> {
        Some(std::mem::take(&mut self.pause_ns)).filter(|ns| *ns > 0)
    }

    fn begin_batch(&mut self) {
        self.before += self.at as u64;
        self.at = 0;
        self.batch.clear();
    }

    /// Ends a part: operations drawn but not taken return to the source.
    pub(super) fn after(&mut self, over: bool) -> After {
        self.begin_batch();
        self.source.after(self.before, over)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Returns ten operations per batch, numbered by their offsets, and records the number taken at
    /// the end of each part.
    struct Tens(u64, Arc<Mutex<Vec<u64>>>);

    impl Source for Tens {
        fn draw(&mut self, _now: u64, out: &mut Vec<Op>) {
            out.extend((self.0..self.0 + 10).map(|offset| Op { offset, ..Op::FLUSH }));
            self.0 += 10;
        }

        fn after(&mut self, taken: u64, _over: bool) -> After {
            self.1.lock().expect("not poisoned").push(taken);
            self.0 = taken;
            After::More { emptied: false }
        }
    }

    #[test]
    fn operations_that_were_never_issued_come_again() {
        let ends = Arc::new(Mutex::new(Vec::new()));
        let mut drawn = Drawn::new(Box::new(Tens(0, Arc::clone(&ends))));
        let mut taken = Vec::new();
        for part in [3, 0, 17, 10] {
            for _ in 0..part {
                taken.push(drawn.peek(0).expect("endless").offset);
                drawn.take();
            }
            // Peeked but not taken.
            drawn.peek(0);
            drawn.after(true);
        }
        assert_eq!(taken, (0..30).collect::<Vec<_>>());
        assert_eq!(*ends.lock().expect("not poisoned"), [3, 3, 20, 30]);
    }
}
