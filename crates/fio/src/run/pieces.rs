//! Writes that wait to be read back, in fio's order.
//!
//! If every block is written once, they are a queue. Otherwise they are sorted by file and offset,
//! and a write removes those that it overlaps, even in part: their content is lost.

use std::collections::{BTreeMap, VecDeque};

use workload::{Op, OpKind};

/// Writes, each with its number among all operations drawn.
#[derive(Debug)]
pub(super) enum Pieces {
    Queue(VecDeque<(u64, Op)>),
    /// By address.
    Sorted(BTreeMap<u64, (u64, Op)>),
}

impl Pieces {
    /// `is_sorted`: whether writes may overlap.
    pub(super) fn new(is_sorted: bool) -> Pieces {
        if is_sorted { Pieces::Sorted(BTreeMap::new()) } else { Pieces::Queue(VecDeque::new()) }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Pieces::Queue(queue) => queue.len(),
            Pieces::Sorted(tree) => tree.len(),
        }
    }

    /// Adds a write.
    pub(super) fn push(&mut self, number: u64, op: Op) {
        let tree = match self {
            Pieces::Queue(queue) => return queue.push_back((number, op)),
            Pieces::Sorted(tree) => tree,
        };
        // Those in the tree do not overlap each other, so their ends are sorted, too.
        while let Some((&address, (_, last))) = tree.range(..op.end()).next_back() {
            if last.end() <= op.offset {
                break;
            }
            tree.remove(&address);
        }
        tree.insert(op.offset, (number, op));
    }

    /// Removes the next write; returns its number, and the read that checks it.
    pub(super) fn pop(&mut self) -> Option<(u64, Op)> {
        let (number, op) = match self {
            Pieces::Queue(queue) => queue.pop_front()?,
            Pieces::Sorted(tree) => tree.pop_first()?.1,
        };
        Some((number, Op { kind: OpKind::Read, ..op }))
    }

    /// Drops the writes with numbers above `issued`, which were never issued.
    pub(super) fn retain_issued(&mut self, issued: u64) {
        match self {
            Pieces::Queue(queue) => {
                while queue.back().is_some_and(|(number, _)| *number > issued) {
                    queue.pop_back();
                }
            }
            Pieces::Sorted(tree) => tree.retain(|_, (number, _)| *number <= issued),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_removes_those_that_it_overlaps() {
        let mut pieces = Pieces::new(true);
        let writes = [(0, 4), (8, 4), (4, 4), (2, 4), (12, 4), (13, 1)];
        for (number, (offset, bytes)) in (1..).zip(writes) {
            pieces.push(number, Op { kind: OpKind::Write, offset, bytes });
        }
        assert_eq!(pieces.len(), 3);
        pieces.retain_issued(5);
        let reads: Vec<_> = std::iter::from_fn(|| pieces.pop()).map(|(_, op)| op.offset).collect();
        assert_eq!(reads, [2, 8]);
    }
}
