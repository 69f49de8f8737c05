//! I/O priorities of single operations, independent of the job's priority.
//!
//! The kernel uses them if the scheduler or the drive supports priorities. They are drawn by
//! percentage shares for each direction and, if a rule specifies one, operation size.

use rig::Priorities;
use workload::{Op, OpKind};

/// The rules of a job, and the priorities drawn for the operations in its slots.
#[derive(Debug)]
pub(crate) struct SlotPriorities {
    rules: Priorities,
    draws: u64,
    /// The priority of the operation in each slot; 0: the job's priority.
    slots: Vec<u16>,
}

impl SlotPriorities {
    pub(crate) fn new(rules: Priorities) -> SlotPriorities {
        SlotPriorities { draws: rules.seed, rules, slots: Vec::new() }
    }

    /// Draws the priority of the operation in a slot; 0: the job's priority.
    pub(crate) fn give(&mut self, slot: u32, op: Op) -> u16 {
        let priority = self.draw(op);
        let slot = slot as usize;
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, 0);
        }
        self.slots[slot] = priority;
        priority
    }

    /// Removes the priority of the slot's previous operation: a flush or discard has none.
    pub(crate) fn clear(&mut self, slot: u32) {
        if let Some(priority) = self.slots.get_mut(slot as usize) {
            *priority = 0;
        }
    }

    /// The priority of the operation in a slot.
    pub(crate) fn priority(&self, slot: u32) -> u16 {
        self.slots.get(slot as usize).copied().unwrap_or(0)
    }

    fn draw(&mut self, op: Op) -> u16 {
        let rules = match op.kind {
            OpKind::Read => &self.rules.reads,
            OpKind::Write => &self.rules.writes,
            OpKind::Flush | OpKind::Discard => return 0,
        };
        // SplitMix64.
        self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.draws;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let draw = ((u128::from(z ^ (z >> 31)) * 100) >> 64) as u32;
        let mut sum = 0;
        let mut matching =
            rules.iter().filter(|rule| rule.bytes.is_none_or(|bytes| bytes == op.bytes));
        let hit = matching.find(|rule| {
            sum += rule.percent;
            draw < sum
        });
        hit.map_or(0, |rule| rule.priority)
    }
}

#[cfg(test)]
mod tests {
    use rig::PriorityRule;

    use super::*;

    #[test]
    fn shares_are_kept_by_direction_and_size() {
        let rule = |bytes, percent, priority| PriorityRule { bytes, percent, priority };
        let reads = vec![rule(Some(4096), 25, 1), rule(Some(4096), 75, 2)];
        let rules = Priorities { reads, writes: vec![rule(None, 20, 3)], seed: 7 };
        let mut priorities = SlotPriorities::new(rules);
        let mut count = |kind, bytes| {
            let mut counts = [0u32; 4];
            for slot in 0..10_000 {
                let given = priorities.give(slot % 4, Op { kind, offset: 0, bytes });
                assert_eq!(priorities.priority(slot % 4), given);
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
