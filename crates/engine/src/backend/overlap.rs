//! Wraps an asynchronous backend and serializes operations that overlap one in flight, so that the
//! result of two overlapping writes does not depend on which is faster.
//!
//! The wait counts towards the service time, because the job has issued the operation.

use std::io;

use workload::{Op, OpKind};

use super::{Backend, Completion, Wait};

pub(crate) struct SerializeOverlap<'b> {
    inner: Box<dyn Backend + 'b>,
    /// Operations in flight in the inner backend.
    flying: Vec<(u32, Op)>,
    /// Operations held back, in order of submission.
    held: Vec<(u32, Op)>,
}

impl<'b> SerializeOverlap<'b> {
    pub(crate) fn new(inner: impl Backend + 'b) -> SerializeOverlap<'b> {
        SerializeOverlap { inner: Box::new(inner), flying: Vec::new(), held: Vec::new() }
    }

    /// Submits operations that no longer overlap one in flight.
    fn release(&mut self) {
        for (slot, op) in std::mem::take(&mut self.held) {
            if overlaps(&self.flying, &op) || overlaps(&self.held, &op) {
                self.held.push((slot, op));
            } else {
                self.flying.push((slot, op));
                self.inner.push(slot, op);
            }
        }
    }
}

/// Whether an operation overlaps one of these. Addresses include the file; a flush has no address.
fn overlaps(others: &[(u32, Op)], op: &Op) -> bool {
    let mut in_flight = others.iter().map(|(_, other)| other);
    op.kind != OpKind::Flush
        && in_flight.any(|other| op.offset < other.end() && other.offset < op.end())
}

impl Backend for SerializeOverlap<'_> {
    pass_on!();

    fn depth_max(&self) -> u32 {
        self.inner.depth_max()
    }

    fn push(&mut self, slot: u32, op: Op) {
        if overlaps(&self.flying, &op) || overlaps(&self.held, &op) {
            return self.held.push((slot, op));
        }
        self.flying.push((slot, op));
        self.inner.push(slot, op);
    }

    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        // Operations that are held back cannot complete.
        let wait = match wait {
            Wait::For(least) => Wait::For(least.min(self.flying.len() as u32).max(1)),
            other => other,
        };
        let before = done.len();
        self.inner.turn(wait, done)?;
        let completed = &done[before..];
        self.flying.retain(|(slot, _)| !completed.iter().any(|other| other.slot == *slot));
        if !self.held.is_empty() {
            self.release();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Completes the oldest operation in each turn, and records the submitted operations.
    struct Slow<'t> {
        flying: Vec<u32>,
        submitted: &'t RefCell<Vec<u32>>,
    }

    impl Backend for Slow<'_> {
        fn now(&self) -> u64 {
            0
        }

        fn buffer(&mut self, _slot: u32, _bytes: u32) -> &mut [u8] {
            &mut []
        }

        fn push(&mut self, slot: u32, _op: Op) {
            self.flying.push(slot);
            self.submitted.borrow_mut().push(slot);
        }

        fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
            if let Wait::For(least) = wait {
                assert!(least as usize <= self.flying.len(), "waits for ever");
            }
            let completed = (!self.flying.is_empty()).then(|| self.flying.remove(0));
            done.extend(completed.map(|slot| Completion { slot, result: 4096 }));
            Ok(())
        }
    }

    fn write(offset: u64) -> Op {
        Op { kind: OpKind::Write, offset, bytes: 4096 }
    }

    #[test]
    fn overlapping_operations_are_serialized_and_others_are_not() {
        let submitted = RefCell::default();
        let slow = Slow { flying: Vec::new(), submitted: &submitted };
        let mut serialized = SerializeOverlap::new(slow);
        // 1 overlaps 0. 3 overlaps only 1, which waits. 2 and the flush overlap nothing.
        for (slot, offset) in [(0, 0), (1, 2048), (2, 1 << 20), (3, 4096)] {
            serialized.push(slot, write(offset));
        }
        serialized.push(4, Op { offset: 0, ..Op::FLUSH });
        assert_eq!(*submitted.borrow(), [0, 2, 4]);
        let mut done = Vec::new();
        for order in [&[0, 2, 4, 1][..], &[0, 2, 4, 1], &[0, 2, 4, 1], &[0, 2, 4, 1, 3]] {
            serialized.turn(Wait::For(5), &mut done).expect("a turn");
            assert_eq!(*submitted.borrow(), order);
        }
        serialized.turn(Wait::For(5), &mut done).expect("a turn");
        let order: Vec<u32> = done.iter().map(|completion| completion.slot).collect();
        assert_eq!(order, [0, 2, 4, 1, 3]);
        assert!(serialized.held.is_empty() && serialized.flying.is_empty());
    }

    #[test]
    fn adjacent_operations_do_not_overlap() {
        let flying = [(0, write(4096))];
        assert!(!overlaps(&flying, &write(0)) && !overlaps(&flying, &write(8192)));
        assert!(overlaps(&flying, &write(4095 + 4096)) && overlaps(&flying, &write(1)));
    }
}
