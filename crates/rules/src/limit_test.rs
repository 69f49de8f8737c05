//! The tests that show a limit: of which reads, in which blocks.
//!
//! The smallest blocks show a limit of operations, or one of bytes if they reach it. Behind a limit of
//! operations, that of bytes is shown by blocks well above those at which both are met, which use up
//! the bucket of bytes; a rate is as exact as operations are many, so they are no larger than needed.
//! Without a limit of operations, blocks of the size above the smallest that pass as many
//! bytes per second as large ones suffice.

use record::Order;
use rig::{Bus, TargetInfo};
use workload::OpKind::Read;

use super::grid::{Grid, within};
use super::limit::{Counted, ShownLimit, is_emptied_late};
use super::subject::Subject;
use crate::Digest;
use crate::changes::{DEPTH, LARGER, is_limit_test};

/// Maximum difference between rates that makes a test worth its time: short workloads differ by what
/// was left in a bucket.
const LOOKS_SAME: f64 = 0.15;

/// A queue that speeds up small reads by more than this has no limit of operations near the rate of
/// single ones.
const QUEUE_GAIN_MAX: f64 = 3.0;

/// Minimum size of blocks that show a limit of bytes, as a multiple of those at which that of
/// operations is met, too; and the operations per second that suffice for an exact rate. The larger
/// the blocks, the sooner they use up the bucket of bytes.
const ABOVE_BOTH: f64 = 4.0;
const EXACT_PER_S: f64 = 75.0;

/// Share of a test for which the operations in flight at its end may last, and their minimum.
const IN_FLIGHT: f64 = 0.1;
const IN_FLIGHT_MIN: f64 = 4.0;

/// A test for a limit: random reads from a rest on, in one block size. The kernel would merge reads in
/// order, and a limit counts what it makes of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitTest {
    /// Bytes a block.
    pub block: u32,
    /// Operations per second that seem to pass.
    pub per_s: f64,
    /// Bytes of the blocks that follow, to tell what is counted; `None` if those of an earlier test
    /// tell, or that test itself, which may have left much in the bucket.
    pub other: Option<u32>,
}

impl LimitTest {
    /// A test that blocks twice as large follow.
    pub fn small(block: u32, per_s: f64) -> LimitTest {
        LimitTest { block, per_s, other: Some(2 * block) }
    }

    /// A test that blocks half as large follow: the kernel would divide larger ones.
    pub fn large(block: u32, per_s: f64) -> LimitTest {
        LimitTest { block, per_s, other: Some(block / 2) }
    }

    /// A test with blocks of this size, but at most the large ones, at this rate.
    fn up_to(large: u32, block: u32, bytes_per_s: f64) -> LimitTest {
        if block < large {
            LimitTest::small(block, bytes_per_s / f64::from(block))
        } else {
            LimitTest::large(large, bytes_per_s / f64::from(large))
        }
    }

    /// Operations in flight in a test that lasts so many seconds: waiting for the last of them takes
    /// a small part of it.
    pub fn depth(&self, seconds: f64) -> u32 {
        (IN_FLIGHT * self.per_s * seconds).clamp(IN_FLIGHT_MIN, f64::from(DEPTH)) as u32
    }
}

/// Whether the target may be a volume with a limit: providers limit no cards and sticks.
pub(super) fn may_be_limited(target: &TargetInfo) -> bool {
    !matches!(target.bus, Bus::Usb | Bus::Sd | Bus::Emmc) && !target.ram
}

/// The next test of reads that look as if a limit held them; `None` if none or no other does. What
/// the link carries needs no test.
pub fn next_limit_test(target: &TargetInfo, seen: &[Digest]) -> Option<LimitTest> {
    if !may_be_limited(target) {
        return None;
    }
    let (grid, ceiling) = (Grid::from_digests(seen), super::link::ceiling(target));
    let subjects = Subject::all(seen);
    let tests: Vec<&Subject<'_>> =
        subjects.iter().filter(|subject| is_limit_test(subject.name())).collect();
    let small = grid.small_at_limit();
    match (&tests[..], small) {
        ([], Some(small)) => Some(small),
        ([], None) => grid.large_at_limit(ceiling, false),
        ([test], Some(small)) if test.first().block_bytes == small.block => {
            if is_emptied_late(test) {
                return Some(LimitTest { other: None, ..small });
            }
            match ShownLimit::from_test(test, &subjects) {
                Some(ShownLimit { counted: Counted::Bytes, .. }) => None,
                Some(ShownLimit { per_s, .. }) => grid.large_behind(ceiling, per_s),
                None => grid.large_at_limit(ceiling, true),
            }
        }
        _ => None,
    }
}

impl Grid<'_> {
    /// Small random reads that a queue speeds up little, or whose number, or bytes, per second
    /// larger blocks reach.
    fn small_at_limit(&self) -> Option<LimitTest> {
        let [single, deep] = [1, DEPTH].map(|depth| self.random(Read, 1, depth));
        let (single, deep) = single.zip(deep)?;
        let is_reached = self.random(Read, LARGER[0], DEPTH).is_some_and(|larger| {
            larger >= (1.0 - LOOKS_SAME) * deep
                || within(larger * f64::from(LARGER[0]), deep, LOOKS_SAME)
        });
        let small = LimitTest::small(self.small()?, deep);
        (is_reached || deep <= QUEUE_GAIN_MAX * single).then_some(small)
    }

    /// Block size and bytes per second of large reads in order, if these are below what the link
    /// carries.
    fn large_below(&self, ceiling: Option<f64>) -> Option<(u32, f64)> {
        let single = self.in_order(Read, 1)?;
        // A block passes while anything is left in a bucket.
        let bytes = single.sum(|run| run.bytes[0].saturating_sub(run.block_bytes.into()) as f64);
        let is_below =
            ceiling.is_none_or(|ceiling| single.throughput() < (1.0 - LOOKS_SAME) * ceiling);
        is_below.then(|| (single.first().block_bytes, bytes / single.seconds().max(1e-9)))
    }

    /// Large reads, if smaller random ones reach their bytes per second, or may have a limit of their
    /// own that keeps them from it.
    fn large_at_limit(&self, ceiling: Option<f64>, is_small_limited: bool) -> Option<LimitTest> {
        let (large, bytes_per_s) = self.large_below(ceiling)?;
        let small = self.small()?;
        let sizes = [1, LARGER[0], LARGER[1]];
        let smallest = sizes.iter().position(|blocks| {
            let random = self.find(Read, Order::Random, *blocks, DEPTH);
            random.is_some_and(|random| random.throughput() >= (1.0 - LOOKS_SAME) * bytes_per_s)
        });
        let larger = smallest.and_then(|smallest| sizes.get(smallest + 1));
        let block = larger.map_or(large, |blocks| blocks * small);
        let test = LimitTest::up_to(large, block, bytes_per_s);
        (smallest.is_some() || is_small_limited).then_some(test)
    }

    /// Reads in blocks well above those at which a limit of operations and the bytes per second of
    /// large reads are both met.
    fn large_behind(&self, ceiling: Option<f64>, ops_per_s: f64) -> Option<LimitTest> {
        let (large, bytes_per_s) = self.large_below(ceiling)?;
        let block = (ABOVE_BOTH * bytes_per_s / ops_per_s).max(bytes_per_s / EXACT_PER_S);
        let block = (block as u32).max(2 * self.small()?).next_power_of_two();
        let test = LimitTest::up_to(large, block, bytes_per_s);
        Some(LimitTest { other: None, ..test })
    }
}
