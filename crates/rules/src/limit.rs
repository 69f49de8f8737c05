//! What a test shows of a limit: what it counts, how much of that a second, and what passes faster
//! after a rest.

use super::cpu_shared::waits;
use super::grid::within;
use super::subject::Subject;
use crate::Digest;
use crate::changes::{LIMIT_RESTS, is_limit_test, is_other_size_of};

/// Maximum difference between rates of one limit.
pub const SAME_RATE: f64 = 0.05;

/// Bursts after a rest and one twice as long that differ by more than this, and by some operations,
/// are parts of what the bucket holds: one that is not full regains twice as much.
const DIFFERS: f64 = 0.1;
const DIFFERS_OPS: f64 = 3.0;

/// Operations of a burst whose number is exact to a tenth.
const EXACT_OPS: f64 = 10.0;

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Operations,
    Bytes,
}

impl Counted {
    /// So many of a workload's bytes in these units.
    pub fn of_bytes(self, bytes: f64, block_bytes: u32) -> f64 {
        match self {
            Counted::Operations => bytes / f64::from(block_bytes),
            Counted::Bytes => bytes,
        }
    }

    /// A workload's rate in these units.
    pub fn rate(self, subject: &Subject<'_>) -> f64 {
        let bytes = subject.sum(|run| (run.bytes[0] + run.bytes[1]) as f64);
        self.of_bytes(bytes, subject.first().block_bytes) / subject.seconds().max(1e-9)
    }
}

/// A limit that a test shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownLimit {
    pub counted: Counted,
    /// What is counted, per second.
    pub per_s: f64,
    /// What is counted that passes faster after a rest.
    pub burst: f64,
    /// Whether that may be only a part of what the bucket holds.
    pub is_part: bool,
    /// Whether two runs show it, during which no thread waited for a processor.
    pub is_sure: bool,
}

impl ShownLimit {
    /// The limit that holds the runs of a test to one rate after a burst.
    pub fn from_test(test: &Subject<'_>, subjects: &[Subject<'_>]) -> Option<ShownLimit> {
        let (rate, block_bytes) = (kept_rate(test)?, test.first().block_bytes);
        let counted = match other_rates(subjects, block_bytes) {
            Some(other) => counted([rate / f64::from(block_bytes), rate], other)?,
            // Blocks of one size do not tell; their operations are counted.
            None if test.first().is_run() => Counted::Operations,
            None => return None,
        };
        let (burst_bytes, is_part) = whole_burst(test, rate);
        Some(ShownLimit {
            counted,
            per_s: counted.of_bytes(rate, block_bytes),
            burst: counted.of_bytes(burst_bytes, block_bytes),
            is_part,
            is_sure: emptied(test).count() > 1 && !waits(test),
        })
    }

    /// Whether two tests show one limit.
    pub fn is_same(&self, another: &ShownLimit) -> bool {
        self.counted == another.counted && within(self.per_s, another.per_s, SAME_RATE)
    }
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

/// The runs of a test from the first on that empties the bucket: earlier ones may be too short for what
/// was in it before the test.
fn emptied<'a>(test: &Subject<'a>) -> impl Iterator<Item = &'a Digest> {
    test.runs().skip_while(|run| run.plateau.is_none())
}

/// Whether a test emptied the bucket only after its first run, so that no second run shows its limit.
pub fn is_emptied_late(test: &Subject<'_>) -> bool {
    test.first().plateau.is_none() && emptied(test).count() == 1
}

/// Bytes per second that all runs of a test that empty the bucket keep after a burst.
fn kept_rate(test: &Subject<'_>) -> Option<f64> {
    let rates: Option<Vec<f64>> = emptied(test).map(|run| Some(run.plateau?.rate)).collect();
    let rates = rates.filter(|rates| !rates.is_empty() && !is_emptied_late(test))?;
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    rates.iter().all(|rate| within(*rate, mean, SAME_RATE)).then_some(mean)
}

/// The most bytes that pass fast after a rest, and whether they may be only a part of what a bucket
/// holds: nothing is known of the rest before a single run, and few blocks are known to one. What a
/// rest brings back at the kept rate may be all that it had time for, even if as much was left before.
fn whole_burst(test: &Subject<'_>, rate: f64) -> (f64, bool) {
    let longest_rest_s =
        test.runs().last().map_or(0.0, |run| LIMIT_RESTS[LIMIT_RESTS.len() - 1] * run.seconds);
    let block_bytes = f64::from(test.first().block_bytes);
    let bursts = Vec::from_iter(test.runs().filter_map(|run| Some(run.plateau?.burst_bytes)));
    let [least, most] =
        [f64::min, f64::max].map(|of_two| bursts.iter().copied().reduce(of_two).unwrap_or(0.0));
    if most < EXACT_OPS * block_bytes {
        return (most - block_bytes, true);
    }
    let margin = (DIFFERS * least).max(DIFFERS_OPS * block_bytes);
    let is_all_regained = most >= (1.0 - DIFFERS) * rate * longest_rest_s;
    (most, bursts.len() == 1 || most > least + margin || is_all_regained)
}
