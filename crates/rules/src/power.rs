//! POWER STATE: does the first read after a rest wait for the drive to wake?
//!
//! A continuous load never shows this; interactive use and lightly loaded servers do. A drive that
//! goes to sleep later than the short rest of the test is not detected.

use record::{Unit, VerdictKind};
use workload::OpKind::Read;
use workload::units::latency;

use super::Ruling;
use super::grid::Grid;
use super::rule::{Role, Rule};
use crate::Digest;

/// Minimum time of a read that wakes the drive, as a multiple of a usual read.
const RATIO_MIN: f64 = 3.0;

/// Time added to that, because caches of the processor and kernel also go cold, nanoseconds. A
/// guess.
const LONGER_NS_MIN: f64 = 200_000.0;

pub static RULE: Rule = Rule {
    role: Role::Cause,
    overridden_by: super::media::LIMITS_OF_HOST,
    judge: |facts| power(facts.seen).into_iter().collect(),
};

pub fn power(seen: &[Digest]) -> Option<Ruling> {
    let grid = Grid::from_digests(seen);
    let rested = grid.after_rest()?;
    // Where some reads are much longer than most, such a one may follow the rest by chance.
    let usual = grid.find(Read, record::Order::Random, 1, 1)?;
    let usual_ns = usual.median(|run| run.read_ns[0].max(run.read_ns[1]));
    let first_ns = rested.median(|run| run.read_ns[1]);
    if usual_ns <= 0.0 || first_ns < RATIO_MIN * usual_ns + LONGER_NS_MIN {
        return None;
    }
    let text = format!(
        "The first read after a rest takes {}, others {}: the drive wakes from a power state.",
        latency(first_ns),
        latency(usual_ns)
    );
    Some(
        Ruling::yes(VerdictKind::PowerState, text)
            .explaining(rested, Some(1.0 - usual_ns / first_ns))
            .next_test("the same with power saving of link and drive off (APST, ALPM)")
            .with("first read after a rest", first_ns, Unit::Nanoseconds)
            .with("usual read", usual_ns, Unit::Nanoseconds),
    )
}
