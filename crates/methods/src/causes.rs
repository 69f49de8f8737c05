//! Interventions that tell causes apart: the same random work with one thing changed.
//!
//! A figure alone fits many causes. More in flight, larger blocks, or the same blocks in order move it
//! under some of them and not under others; `verdict/contenders.rs` draws the conclusions. Only
//! figures that no direct evidence explains are tested, within a budget declared in the plan.

use record::Order;
use workload::OpKind::{Read, Write};
use workload::{Mix, OpKind, Pattern, Stop, Workload};

use crate::session::{Budget, Session};
use crate::test_region::TestRegion;
use crate::{MethodError, Round};

/// Depth of the deep cells.
pub(crate) const DEPTH: u32 = 32;

/// More in flight than any cell has.
pub(crate) const DEEPER: u32 = 128;

/// Larger blocks, as multiples of the small ones.
pub(crate) const LARGER: [u32; 2] = [4, 16];

/// Seeds of the tests, apart from those of cells and checks.
const SEED: u32 = 40;

/// A test writes this share of the region at most.
const PASSES_MAX: f64 = 0.125;

/// One thing changed in the deep random cell of `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    kind: OpKind,
    order: Order,
    /// Multiple of the small block.
    blocks: u32,
    depth: u32,
}

const fn change(kind: OpKind, order: Order, blocks: u32, depth: u32) -> Change {
    Change { kind, order, blocks, depth }
}

/// The tests, the most telling first.
const CHANGES: [Change; 10] = [
    change(Read, Order::Random, LARGER[0], DEPTH),
    change(Write, Order::Random, LARGER[1], DEPTH),
    change(Read, Order::Random, 1, DEEPER),
    change(Write, Order::Sequential, 1, DEPTH),
    change(Read, Order::Sequential, 1, DEPTH),
    change(Write, Order::Random, LARGER[0], DEPTH),
    change(Read, Order::Random, LARGER[0], 1),
    change(Read, Order::Random, LARGER[1], 1),
    change(Write, Order::Random, LARGER[1], 1),
    change(Write, Order::Random, 1, DEEPER),
];

impl Change {
    fn workload(self, test_region: &TestRegion, index: u32, seconds: f64) -> Workload {
        let block = test_region.small * self.blocks;
        let (pattern, order) = match self.order {
            Order::Sequential => (Pattern::Sequential, "in-order"),
            Order::Random | Order::Mixed => (Pattern::UniformOnce, "random"),
        };
        let size = record::size_word(u64::from(block));
        let name = format!("cause-{}-{order}-{size}-{}", self.kind.name(), self.depth);
        let mut w = Workload::new(name, pattern, Mix::of(self.kind), block, test_region.region());
        (w.depth, w.seed) = (self.depth, test_region.seed_of(SEED + index));
        w.stop = Stop::after_ns((seconds * 1e9) as u64);
        if self.kind == Write {
            w.flush_at_end = true;
            w.stop.bytes = Some((PASSES_MAX * w.region.bytes as f64) as u64);
        }
        w
    }
}

/// Runs the tests of the figures of a kind that are still unexplained, within `seconds`: right after those
/// figures, so that both find the drive in the same state.
pub(crate) fn run(
    session: &mut Session<'_>,
    test_region: &TestRegion,
    kind: OpKind,
    seconds: f64,
) -> Result<(), MethodError> {
    let changes = (0..).zip(CHANGES).filter(|(_, change)| change.kind == kind);
    let changes: Vec<(u32, Change)> = changes.collect();
    let each = seconds / changes.len() as f64;
    let bytes = (PASSES_MAX * 5.0 * test_region.bytes as f64) as u64;
    let budget = Budget { seconds, bytes, ..Budget::default() };
    session.budget(&format!("causes-{}", kind.name()), budget, |session| {
        for (index, change) in changes {
            let w = change.workload(test_region, index, each);
            session.rounds(1, None, |session, round| {
                if session.is_open(change.kind) {
                    session.probe(&w, round)?;
                }
                Ok(Round::Again)
            })?;
        }
        Ok(())
    })?;
    session.checkpoint();
    Ok(())
}
