//! A priority for the drive that goes with single operations, not with the job.
//!
//! The kernel passes it on where the scheduler or the drive knows priorities. Which operation gets
//! which is drawn from shares in percent, by direction and, where the rule says so, by size.

use workload::{Op, OpKind};

/// A share of the operations of one direction, and its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityRule {
    /// Operations of that many bytes only; all where none is given.
    pub bytes: Option<u32>,
    /// Percent of them, 0 to 100; rules for the same operations add up to 100 at most.
    pub percent: u32,
    /// Class (0 to 3) in the upper three bits, level (0 to 7) in the lowest: as `ioprio_set` has it.
    pub priority: u16,
}

/// Rules for reads and writes.
#[derive(Clone, Debug)]
pub struct Priorities {
    rules: [Vec<PriorityRule>; 2],
    draws: u64,
    /// The priority that the operation of each slot was given; 0 for that of the job.
    slots: Vec<u16>,
}

impl Priorities {
    /// Rules for reads and for writes; which operations they hit depends on the seed alone.
    pub fn new(reads: Vec<PriorityRule>, writes: Vec<PriorityRule>, seed: u64) -> Priorities {
        Priorities { rules: [reads, writes], draws: seed, slots: Vec::new() }
    }

    /// The priority of the operation that goes on a slot; 0 for that of the job.
    pub(crate) fn give(&mut self, slot: u32, op: Op) -> u16 {
        let priority = self.draw(op);
        let slot = slot as usize;
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, 0);
        }
        self.slots[slot] = priority;
        priority
    }

    /// What the operation of a slot was given.
    pub(crate) fn of(&self, slot: u32) -> u16 {
        self.slots.get(slot as usize).copied().unwrap_or(0)
    }

    fn draw(&mut self, op: Op) -> u16 {
        let rules = match op.kind {
            OpKind::Read => &self.rules[0],
            OpKind::Write => &self.rules[1],
            OpKind::Flush | OpKind::Discard => return 0,
        };
        // SplitMix64.
        self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.draws;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let draw = ((u128::from(z ^ (z >> 31)) * 100) >> 64) as u32;
        let mut sum = 0;
        let mut own = rules.iter().filter(|rule| rule.bytes.is_none_or(|bytes| bytes == op.bytes));
        let hit = own.find(|rule| {
            sum += rule.percent;
            draw < sum
        });
        hit.map_or(0, |rule| rule.priority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_kept_by_direction_and_size() {
        let rule = |bytes, percent, priority| PriorityRule { bytes, percent, priority };
        let reads = vec![rule(Some(4096), 25, 1), rule(Some(4096), 75, 2)];
        let mut priorities = Priorities::new(reads, vec![rule(None, 20, 3)], 7);
        let mut count = |kind, bytes| {
            let mut counts = [0u32; 4];
            for slot in 0..10_000 {
                let given = priorities.give(slot % 4, Op { kind, offset: 0, bytes });
                assert_eq!(priorities.of(slot % 4), given);
                counts[given as usize] += 1;
            }
            counts
        };
        let small = count(OpKind::Read, 4096);
        assert_eq!((small[0], small[3]), (0, 0));
        assert!((2300..2700).contains(&small[1]), "{small:?}");
        assert_eq!(count(OpKind::Read, 8192), [10_000, 0, 0, 0]);
        let writes = count(OpKind::Write, 512);
        assert!((1800..2200).contains(&writes[3]) && writes[0] == 10_000 - writes[3], "{writes:?}");
        assert_eq!(count(OpKind::Discard, 4096)[0], 10_000);
    }
}
