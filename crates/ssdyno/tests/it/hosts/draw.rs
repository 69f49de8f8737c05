//! Draws a case from a seed: a workload, with no cause, one or two.

use fuzz::Random;

use super::cause::{Cause, Kind, SEVERITIES};

/// A workload, and the causes that it suffers.
#[derive(Clone, Debug)]
pub struct Case {
    pub rw: &'static str,
    pub block: &'static str,
    pub depth: u32,
    /// Whether the kernel's trace is on.
    pub is_traced: bool,
    /// Empty for a control.
    pub causes: Vec<Cause>,
}

/// The case of this number.
pub fn draw(seed: u64, number: u64) -> Case {
    let random = &mut Random::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(number << 20));
    let count = [0, 1, 1, 1, 1, 2, 2][random.below(7)];
    let mut causes: Vec<Cause> = Vec::new();
    while causes.len() < count {
        let kind = Kind::ALL[random.below(Kind::ALL.len())];
        let severity = random.below(SEVERITIES);
        if causes.iter().all(|cause| !is_exclusive(cause.kind, kind)) {
            causes.push(Cause { kind, severity });
        }
    }
    let depth = [1, 1, 4, 32][random.below(4)];
    let rw = ["randread", "randread", "read", "randwrite"][random.below(4)];
    let block = ["4k", "4k", "16k", "64k"][random.below(4)];
    let is_traced = random.below(2) == 0;
    Case { rw, block, depth, is_traced, causes }.with_needs()
}

/// Whether two causes set the same thing.
fn is_exclusive(one: Kind, other: Kind) -> bool {
    let is_load = |kind| matches!(kind, Kind::Scheduler | Kind::Neighbour);
    let is_busy = |kind| matches!(kind, Kind::Busy | Kind::Nice);
    let is_operation = |kind| matches!(kind, Kind::Throttle | Kind::Fsync | Kind::Full);
    one == other
        || (is_load(one) && is_load(other))
        || (is_busy(one) && is_busy(other))
        || (is_operation(one) && is_operation(other))
}

impl Case {
    pub fn has(&self, kind: Kind) -> bool {
        self.causes.iter().any(|cause| cause.kind == kind)
    }

    /// The workload on which its causes can act.
    fn with_needs(mut self) -> Case {
        if self.has(Kind::Throttle) || self.has(Kind::Scheduler) || self.has(Kind::Memory) {
            self.rw = "randread";
        }
        if self.has(Kind::Fsync) || self.has(Kind::Full) {
            self.rw = "randwrite";
        }
        if self.has(Kind::Tags) {
            self.depth = 32;
        }
        self
    }

    /// The case with only these causes.
    pub fn only(&self, keep: impl Fn(Kind) -> bool) -> Case {
        let causes = self.causes.iter().copied().filter(|cause| keep(cause.kind)).collect();
        Case { causes, ..self.clone() }
    }

    pub fn in_words(&self) -> String {
        let causes: Vec<String> = self.causes.iter().map(|cause| cause.in_words()).collect();
        let causes = if causes.is_empty() { "control".into() } else { causes.join(" and ") };
        let trace = if self.is_traced { ", traced" } else { "" };
        format!("{causes}: {} {} depth {}{trace}", self.rw, self.block, self.depth)
    }
}
