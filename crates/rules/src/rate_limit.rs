//! RATE LIMIT: does something below this machine limit the rate, as providers do with volumes?
//!
//! Reads after a rest are as fast as the drive until a bucket is used up, and then keep one rate to
//! the operation; a drive has no cache that serves a while of random reads and is ready again after
//! a second. What passes fast is all of the bucket only if it is no more after a longer rest. Blocks of
//! another size tell what is counted: no more of it passes. All figures at that rate have the limit,
//! those of writes, too.
//!
//! A limit that this machine sets is known to the kernel (`group.rs`) and overrides this rule. Work
//! beside the run explains the figures of the workloads that waited for a processor, not the others.

use record::{Unit, VerdictKind};
use workload::Mix;
use workload::units::{decimal, throughput};

use super::Ruling;
use super::cpu_shared::cpu_shared;
use super::grid::within;
use super::rule::{Role, Rule};
use super::subject::{Subject, listed};
use crate::Digest;
use crate::changes::{is_limit_test, is_other_size_of};

/// Maximum difference between rates of one limit.
const SAME_RATE: f64 = 0.05;

/// Maximum share of a rate that was left in the bucket: a workload that is faster is not held.
const LEFT: f64 = 0.15;

/// Bursts after a rest and one twice as long that differ by more than this, and by some operations,
/// are parts of what the bucket holds: one that is not full regains twice as much.
const DIFFERS: f64 = 0.1;
const DIFFERS_OPS: f64 = 3.0;

/// Operations of a burst whose number is exact to a tenth.
const EXACT_OPS: f64 = 10.0;

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
pub(super) enum Counted {
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
    let mut limits: Vec<(Counted, f64)> = Vec::new();
    let mut rulings = Vec::new();
    for test in tests {
        let Some((counted, per_s)) = shown_limit(test, &subjects) else { continue };
        let is_same =
            |known: &(Counted, f64)| known.0 == counted && within(per_s, known.1, SAME_RATE);
        if !limits.iter().any(is_same) {
            rulings.extend(ruling(test, &subjects));
            limits.push((counted, per_s));
        }
    }
    rulings
}

/// What a test shows that a limit counts, and how much of it a second: each of the test's runs has a
/// burst, and all keep one rate.
pub(super) fn shown_limit(test: &Subject<'_>, subjects: &[Subject<'_>]) -> Option<(Counted, f64)> {
    let (rate, block_bytes) = (kept_rate(test)?, test.first().block_bytes);
    let counted = match other_rates(subjects, block_bytes) {
        Some(other) => counted([rate / f64::from(block_bytes), rate], other)?,
        // Blocks of one size do not tell; their operations are counted.
        None if test.first().is_run() => Counted::Operations,
        None => return None,
    };
    Some((counted, counted.of_bytes(rate, block_bytes)))
}

/// The limit that a test shows, of which figures.
fn ruling(test: &Subject<'_>, subjects: &[Subject<'_>]) -> Option<Ruling> {
    let (counted, limit) = shown_limit(test, subjects)?;
    let (burst_bytes, is_part) = whole_burst(test);
    let burst = counted.of_bytes(burst_bytes, test.first().block_bytes);
    let limited = subjects.iter().filter(|subject| is_held(subject, counted, limit, burst));
    let figures: Vec<&Subject<'_>> = limited.filter(|s| !s.first().probe).collect();
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

/// Whether a limit holds a workload: its runs have the limit's rate, or keep it after a burst of their
/// own, or have little more, which was left in the bucket.
fn is_held(subject: &Subject<'_>, counted: Counted, limit: f64, burst: f64) -> bool {
    let block_bytes = subject.first().block_bytes;
    let is_limit = |rate| within(counted.of_bytes(rate, block_bytes), limit, SAME_RATE);
    let is_run_held = |run: &Digest| {
        let bytes = (run.bytes[0] + run.bytes[1]) as f64;
        let rate = bytes / run.seconds.max(1e-9);
        let left = (LEFT * limit).min(burst / run.seconds.max(1e-9));
        is_limit(rate)
            || run.plateau.is_some_and(|plateau| is_limit(plateau.rate))
            || (limit..=limit + left).contains(&counted.of_bytes(rate, block_bytes))
    };
    within(counted.rate(subject), limit, SAME_RATE) || subject.runs().all(is_run_held)
}

/// Operations and bytes per second of reads that meet the same limits in blocks of another size: of
/// those that follow a test, or else of another test.
fn other_rates(subjects: &[Subject<'_>], block_bytes: u32) -> Option<[f64; 2]> {
    let counts = [Counted::Operations, Counted::Bytes];
    let follow = subjects.iter().filter(|subject| is_other_size_of(subject.name(), block_bytes));
    let mut follow = follow.map(|subject| counts.map(|counted| counted.rate(subject)));
    let tests = subjects.iter().filter(|subject| {
        is_limit_test(subject.name()) && subject.first().block_bytes != block_bytes
    });
    let mut tests = tests.filter_map(|test| {
        let rate = kept_rate(test)?;
        Some(counts.map(|counted| counted.of_bytes(rate, test.first().block_bytes)))
    });
    follow.next().or_else(|| tests.next())
}

/// What a limit counts that holds blocks of one size to these operations and bytes per second, while
/// blocks of another size pass at other rates: no more of what it counts passes. If more of neither
/// does, as much of it does, because another limit may hold the other blocks.
fn counted(held: [f64; 2], other: [f64; 2]) -> Option<Counted> {
    let share = |counted: Counted| other[counted as usize] / held[counted as usize];
    let counts = [Counted::Operations, Counted::Bytes].into_iter();
    let possible = Vec::from_iter(counts.filter(|counted| share(*counted) <= 1.0 + SAME_RATE));
    match possible[..] {
        [only] => Some(only),
        _ => possible.into_iter().find(|counted| share(*counted) >= 1.0 - SAME_RATE),
    }
}

/// Bytes per second that all runs of a test keep after a burst.
fn kept_rate(test: &Subject<'_>) -> Option<f64> {
    let rates: Option<Vec<f64>> = test.runs().map(|run| Some(run.plateau?.rate)).collect();
    let rates = rates?;
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    rates.iter().all(|rate| within(*rate, mean, SAME_RATE)).then_some(mean)
}

/// The most bytes that pass fast after a rest, and whether they may be only a part of what a bucket
/// holds: nothing is known of the rest before a single run, and few blocks are known to one.
fn whole_burst(test: &Subject<'_>) -> (f64, bool) {
    let block_bytes = f64::from(test.first().block_bytes);
    let bursts = Vec::from_iter(test.runs().filter_map(|run| Some(run.plateau?.burst_bytes)));
    let [least, most] =
        [f64::min, f64::max].map(|of_two| bursts.iter().copied().reduce(of_two).unwrap_or(0.0));
    if most < EXACT_OPS * block_bytes {
        return (most - block_bytes, true);
    }
    let margin = (DIFFERS * least).max(DIFFERS_OPS * block_bytes);
    (most, bursts.len() == 1 || most > least + margin)
}
