//! RATE LIMIT: does something below this machine limit the rate, as providers do with volumes?
//!
//! Reads after a rest are as fast as the drive until a bucket is used up, and then keep one rate to
//! the operation; a drive has no cache that serves a while of random reads and is ready again after
//! a second. What passes fast is all of the bucket only if it is no more after a longer rest. Blocks of
//! another size follow at once: if as many pass, the limit counts operations, and bytes if as many
//! bytes do. All figures at that rate have the limit, those of writes, too.
//!
//! A limit that this machine sets is known to the kernel (`group.rs`) and overrides this rule. Work
//! beside the run explains the figures of the workloads that waited for a processor, not the others.

use record::{Order, Unit, VerdictKind};
use rig::{Bus, TargetInfo};
use workload::Mix;
use workload::OpKind::Read;
use workload::units::{decimal, throughput};

use super::Ruling;
use super::cpu_shared::cpu_shared;
use super::grid::{Grid, within};
use super::rule::{Role, Rule};
use super::subject::{Subject, listed};
use crate::Digest;
use crate::changes::{DEPTH, LARGER, LimitTest, is_limit_test, is_other_size_of};
use crate::plateau::Plateau;

/// Maximum difference between the rates after two rests, and between the rate of a workload and the
/// limit: what is left in a bucket counts, too.
const SAME_RATE: f64 = 0.05;

/// The same for what makes a test worth its time.
const LOOKS_SAME: f64 = 0.15;

/// A queue that speeds up small reads by more than this has no limit of operations near the rate of
/// single ones.
const QUEUE_GAIN_MAX: f64 = 3.0;

/// A burst that is larger by more than this, and by some operations, after a rest twice as long is a
/// part of what the bucket holds: a bucket that is not full regains twice as much.
const GROWS: f64 = 0.1;
const GROWS_OPS: f64 = 3.0;

pub static RULE: Rule = Rule {
    role: Role::Cause,
    overridden_by: &[&super::ram::RULE, &super::group::QUOTA, &super::group::IO],
    judge: |facts| {
        let shared = Vec::from_iter(cpu_shared(facts.seen));
        let limits = rate_limit(facts.seen).into_iter();
        limits.filter_map(|limit| limit.of_the_rest(&shared)).collect()
    },
};

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Operations,
    Bytes,
}

impl Counted {
    /// So many of a workload's bytes in these units.
    fn of_bytes(self, bytes: f64, block_bytes: u32) -> f64 {
        match self {
            Counted::Operations => bytes / f64::from(block_bytes),
            Counted::Bytes => bytes,
        }
    }

    /// A workload's rate in these units.
    fn rate(self, subject: &Subject<'_>) -> f64 {
        let bytes = subject.sum(|run| (run.bytes[0] + run.bytes[1]) as f64);
        self.of_bytes(bytes, subject.first().block_bytes) / subject.seconds().max(1e-9)
    }

    fn limit_in_words(self, per_s: f64) -> String {
        match self {
            Counted::Operations => format!("{per_s:.0} operations per second"),
            Counted::Bytes => throughput(per_s),
        }
    }

    fn burst_in_words(self, burst: f64) -> String {
        match self {
            Counted::Operations => format!("{burst:.0} operations"),
            Counted::Bytes => decimal(burst as u64),
        }
    }
}

pub fn rate_limit(seen: &[Digest]) -> Vec<Ruling> {
    let subjects = Subject::all(seen);
    let tests = subjects.iter().filter(|subject| {
        let first = subject.first();
        let is_test = is_limit_test(subject.name()) || (first.is_run() && first.random);
        first.mix == Mix::READ && is_test
    });
    tests.filter_map(|test| ruling(test, &subjects)).collect()
}

/// The limit that a test shows: each of its runs has a burst, and all keep one rate.
fn ruling(test: &Subject<'_>, subjects: &[Subject<'_>]) -> Option<Ruling> {
    let plateaus: Option<Vec<Plateau>> = test.runs().map(|run| run.plateau).collect();
    let plateaus = plateaus?;
    let n = plateaus.len() as f64;
    let rate = plateaus.iter().map(|p| p.rate).sum::<f64>() / n;
    if plateaus.iter().any(|plateau| !within(plateau.rate, rate, SAME_RATE)) {
        return None;
    }
    let block_bytes = test.first().block_bytes;
    let other = subjects.iter().find(|s| is_other_size_of(s.name(), block_bytes));
    let counted = match other {
        Some(other) => counted(rate, block_bytes, other)?,
        // Blocks of one size do not tell; their operations are counted.
        None if test.first().is_run() => Counted::Operations,
        None => return None,
    };
    let limit = counted.of_bytes(rate, block_bytes);
    let limited = subjects.iter().filter(|s| within(counted.rate(s), limit, SAME_RATE));
    let figures: Vec<&Subject<'_>> = limited.filter(|s| !s.first().probe).collect();
    let (burst_bytes, is_part) = whole_burst(&plateaus, block_bytes);
    let burst = counted.of_bytes(burst_bytes, block_bytes);
    let least = if is_part { "at least " } else { "" };
    let text = format!(
        "Something below this machine, such as a provider's limit of the volume, holds {} to {}; \
         {least}{} pass faster after a rest.",
        listed(figures.iter().copied()),
        counted.limit_in_words(limit),
        counted.burst_in_words(burst)
    );
    let (of_limit, of_burst) = match counted {
        Counted::Operations => (Unit::Iops, Unit::Number),
        Counted::Bytes => (Unit::BytesPerSecond, Unit::Bytes),
    };
    let ruling = Ruling::yes(VerdictKind::RateLimit, text)
        .next_test("the same on a volume with a higher limit: these figures should rise with it")
        .with("limit per second", limit, of_limit)
        .with(format!("{least}burst after a rest"), burst, of_burst);
    (!figures.is_empty()).then(|| ruling.explaining_all(&figures))
}

/// What a limit counts that holds blocks of this size to this rate in bytes: no more of it passes with
/// blocks of another size. If more of neither passes, as much of it does, because another limit may
/// hold them.
fn counted(rate: f64, block_bytes: u32, other: &Subject<'_>) -> Option<Counted> {
    let share = |counted: Counted| counted.rate(other) / counted.of_bytes(rate, block_bytes);
    let held = [Counted::Operations, Counted::Bytes].into_iter();
    let held = Vec::from_iter(held.filter(|counted| share(*counted) <= 1.0 + SAME_RATE));
    match held[..] {
        [only] => Some(only),
        _ => held.into_iter().find(|counted| share(*counted) >= 1.0 - SAME_RATE),
    }
}

/// The bytes that pass fast after the longest rest, and whether they may be only a part of what a
/// bucket holds: nothing is known of the rest before a single run.
fn whole_burst(plateaus: &[Plateau], block_bytes: u32) -> (f64, bool) {
    let [first, last] = [plateaus.first(), plateaus.last()]
        .map(|plateau| plateau.map_or(0.0, |plateau| plateau.burst_bytes));
    let margin = (GROWS * first).max(GROWS_OPS * f64::from(block_bytes));
    (last, plateaus.len() == 1 || last > first + margin)
}

/// The tests whose reads look as if a limit held them: what they do after a rest tells. Providers
/// limit volumes, not cards and sticks, and what the link carries needs no test.
pub fn limits_to_test(target: &TargetInfo, seen: &[Digest]) -> Vec<LimitTest> {
    if matches!(target.bus, Bus::Usb | Bus::Sd | Bus::Emmc) || target.ram {
        return Vec::new();
    }
    let (grid, ceiling) = (Grid::from_digests(seen), super::link::ceiling(target));
    let small = grid.small_at_limit();
    [small, grid.large_at_limit(ceiling, small.is_some())].into_iter().flatten().collect()
}

impl Grid<'_> {
    /// Small random reads that a queue speeds up little, or whose number, or bytes, per second
    /// larger blocks reach. Short tests differ by what was left in a bucket.
    fn small_at_limit(&self) -> Option<LimitTest> {
        let [single, deep] = [1, DEPTH].map(|depth| self.random(Read, 1, depth));
        let (single, deep) = single.zip(deep)?;
        let is_reached = self.random(Read, LARGER[0], DEPTH).is_some_and(|larger| {
            larger >= (1.0 - LOOKS_SAME) * deep
                || within(larger * f64::from(LARGER[0]), deep, LOOKS_SAME)
        });
        let small = LimitTest { block: self.small()?, random: true };
        (is_reached || deep <= QUEUE_GAIN_MAX * single).then_some(small)
    }

    /// Large reads in order, below what the link carries, if smaller random ones reach their bytes
    /// per second, or have a limit of their own that keeps them from it. Tested are blocks of the
    /// size above the smallest that reach them: more of them pass than of large ones, and they are
    /// too large for a limit of operations.
    fn large_at_limit(&self, ceiling: Option<f64>, is_small_limited: bool) -> Option<LimitTest> {
        let single = self.in_order(Read, 1)?;
        if ceiling.is_some_and(|ceiling| single.throughput() >= (1.0 - LOOKS_SAME) * ceiling) {
            return None;
        }
        // A block passes while anything is left in a bucket.
        let bytes = single.sum(|run| run.bytes[0].saturating_sub(run.block_bytes.into()) as f64);
        let single_rate = bytes / single.seconds().max(1e-9);
        let sizes = [1, LARGER[0], LARGER[1]];
        let smallest = sizes.iter().position(|blocks| {
            let random = self.find(Read, Order::Random, *blocks, DEPTH);
            random.is_some_and(|random| random.throughput() >= (1.0 - LOOKS_SAME) * single_rate)
        });
        let above = smallest.and_then(|smallest| sizes.get(smallest + 1));
        let test = match above {
            Some(blocks) => LimitTest { block: blocks * self.small()?, random: true },
            None => LimitTest { block: single.first().block_bytes, random: false },
        };
        (smallest.is_some() || is_small_limited).then_some(test)
    }
}
