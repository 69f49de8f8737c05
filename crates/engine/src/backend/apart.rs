//! Wraps an asynchronous backend and makes the call that submits operations one of its own, so that
//! its duration is known: fio reports it as submission latency.
//!
//! It costs a system call a turn, as in fio. Without the wrapper, one call submits and waits.

use std::io;

use workload::Op;

use super::{Backend, Completion, Wait};

pub(crate) struct SubmitApart<'b> {
    inner: Box<dyn Backend + 'b>,
    /// Slots pushed since the last turn.
    pushed: Vec<u32>,
    /// The time at which the operation of each slot had been submitted.
    submitted: Vec<u64>,
}

impl<'b> SubmitApart<'b> {
    pub(crate) fn new(inner: impl Backend + 'b) -> SubmitApart<'b> {
        SubmitApart { inner: Box::new(inner), pushed: Vec::new(), submitted: Vec::new() }
    }
}

impl Backend for SubmitApart<'_> {
    pass_on!();

    fn depth_max(&self) -> u32 {
        self.inner.depth_max()
    }

    fn submitted(&self, slot: u32) -> Option<u64> {
        self.submitted.get(slot as usize).copied()
    }

    fn push(&mut self, slot: u32, op: Op) {
        self.pushed.push(slot);
        self.inner.push(slot, op);
    }

    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        if self.pushed.is_empty() {
            return self.inner.turn(wait, done);
        }
        let before = done.len();
        self.inner.turn(Wait::No, done)?;
        let completed = (done.len() - before) as u32;
        let now = self.inner.now();
        for slot in self.pushed.drain(..) {
            let index = slot as usize;
            if self.submitted.len() <= index {
                self.submitted.resize(index + 1, 0);
            }
            self.submitted[index] = now;
        }
        match wait {
            Wait::For(least) if completed < least => {
                self.inner.turn(Wait::For(least - completed), done)
            }
            Wait::Until(_) if completed == 0 => self.inner.turn(wait, done),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Completes one operation in a turn that does not wait, and the requested number in one that does.
    struct Slow<'t> {
        flying: Vec<u32>,
        waits: &'t RefCell<Vec<Wait>>,
    }

    impl Backend for Slow<'_> {
        fn now(&self) -> u64 {
            7
        }

        fn buffer(&mut self, _slot: u32, _bytes: u32) -> &mut [u8] {
            &mut []
        }

        fn push(&mut self, slot: u32, _op: Op) {
            self.flying.push(slot);
        }

        fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
            self.waits.borrow_mut().push(wait);
            let count = match wait {
                Wait::For(least) => least as usize,
                _ => 1,
            };
            let completed = self.flying.drain(..count);
            done.extend(completed.map(|slot| Completion { slot, result: 4096 }));
            Ok(())
        }
    }

    #[test]
    fn a_turn_waits_for_what_the_submitting_call_did_not_return() {
        for (wait, waits) in [
            (Wait::No, &[Wait::No][..]),
            (Wait::For(1), &[Wait::No]),
            (Wait::For(3), &[Wait::No, Wait::For(2)]),
            (Wait::Until(9), &[Wait::No]),
        ] {
            let waited = RefCell::default();
            let mut apart = SubmitApart::new(Slow { flying: Vec::new(), waits: &waited });
            (0..4).for_each(|slot| apart.push(slot, Op::FLUSH));
            apart.turn(wait, &mut Vec::new()).expect("a turn");
            assert_eq!(*waited.borrow(), waits);
            assert_eq!(apart.submitted(3), Some(7));
        }
    }
}
