//! FLASH BOUND by the state of the data: are data just written read faster?
//!
//! Commands, link, queue and map are the same for both. Only the flash that holds the data differs:
//! with one bit per cell, or still in the drive's memory, and later with several bits. So what the
//! reads lose after a rest is the time of the flash.

use record::{Order, Unit, VerdictKind};
use workload::OpKind::Read;

use super::Ruling;
use super::grid::Grid;
use super::rule::{Role, Rule};
use super::subject::{Subject, listed};
use crate::Digest;
use crate::changes::DEPTH;

/// Minimum ratio of the reads of data just written to those after a rest.
const FASTER_MIN: f64 = 1.1;

pub static RULE: Rule = Rule {
    role: Role::Rest,
    overridden_by: super::media::OUTSIDE_DRIVE,
    judge: |facts| just_written(facts.seen).into_iter().collect(),
};

pub fn just_written(seen: &[Digest]) -> Option<Ruling> {
    let grid = Grid::from_digests(seen);
    let gains = [DEPTH, 1].into_iter().filter_map(|depth| {
        let rested = grid.find(Read, Order::Random, 1, depth)?;
        Some((rested, grid.just_written(depth)?.iops() / rested.iops().max(1e-9)))
    });
    let slower: Vec<(&Subject<'_>, f64)> = gains.filter(|(_, gain)| *gain >= FASTER_MIN).collect();
    let (_, gain) = slower.first()?;
    let text = format!(
        "Data just written are read {gain:.1} times as fast as after a rest: flash is the limit of \
         {}.",
        listed(slower.iter().map(|(rested, _)| *rested))
    );
    let ruling = Ruling::yes(VerdictKind::FlashBound, text)
        .next_test("ssdyno run -m sustain: how long new data stay where they are read fast")
        .with("reads of data just written / after a rest", *gain, Unit::Number);
    Some(ruling.explaining_each(slower.iter().map(|(rested, gain)| (*rested, 1.0 - 1.0 / gain))))
}
