//! DEVICE CACHE: does the drive respond faster within a small working set?
//!
//! The rule compares reads at depth 1 within working sets that grow fourfold. A cache in the drive
//! (or in the host of a virtual one) shows as a step in the median: small sets fit, large ones do
//! not. The smallest set must be fast at both ends of the region: otherwise its place is fast, not
//! its size. A cache that is larger than the largest set, or never filled, is not detected.

use analysis::compare;
use record::{Order, Unit, VerdictKind};
use workload::OpKind::{Read, Write};
use workload::units::{binary, latency};

use super::Ruling;
use super::grid::Grid;
use super::nearby::NEAR_GAIN;
use super::rule::{Role, Rule};
use crate::Digest;
use crate::changes::DEPTH;

/// There is a step if the lower end of its interval is above this ratio.
const STEP_MIN: f64 = 1.2;

/// There is no cache if the upper end is below this ratio; a real cache at least halves the time.
const STEP_MAX: f64 = 1.5;

/// Minimum share of a single write that a miss of the cache takes, if it explains the write.
const WRITE_SHARE_MIN: f64 = 0.2;

/// Minimum number of sizes; fewer cannot distinguish a step from a slope.
const SETS_MIN: usize = 3;

/// Median latency of reads at depth 1 within one working set, by round, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkingSet {
    pub bytes: u64,
    pub p50_ns: Vec<f64>,
}

/// The working sets of a drive.
#[derive(Clone, Debug)]
pub struct WorkingSets {
    /// Those at the start of the region, ascending.
    pub near: Vec<WorkingSet>,
    /// The smallest of them, at the other end of the region.
    pub far: WorkingSet,
}

/// Reads from memory reveal nothing about a cache of the drive.
pub static RULE: Rule = Rule {
    role: Role::Check,
    overridden_by: &[&super::ram::RULE],
    judge: |facts| {
        let sets = facts.checks.get::<WorkingSets>();
        let ruling = sets.map(|sets| {
            let ruling = device_cache(&sets.near, Some(&sets.far));
            of_single_operations(ruling, sets, facts.seen)
        });
        ruling.into_iter().collect()
    },
};

/// Lets the cache explain random reads at depth 1, by their extra time in the largest set over the
/// smallest; and writes that miss it, too, as a full queue of them shows: each waits at least as long as
/// a read.
fn of_single_operations(ruling: Ruling, sets: &WorkingSets, seen: &[Digest]) -> Ruling {
    if !ruling.applies() {
        return ruling;
    }
    let grid = Grid::from_digests(seen);
    let step = ruling.verdict.evidence.first().map_or(1.0, |evidence| evidence.value);
    let ruling = match grid.find(Read, Order::Random, 1, 1) {
        Some(reads) => ruling.explaining(reads, Some(1.0 - 1.0 / step)),
        None => ruling,
    };
    let writes = grid.near(Write).zip(grid.random(Write, 1, DEPTH));
    let missing = writes.is_some_and(|(near, all)| near >= NEAR_GAIN * all);
    let miss_s = match &sets.near[..] {
        [small, .., large] => (mean(large) - mean(small)) / 1e9,
        _ => 0.0,
    };
    match grid.find(Write, Order::Random, 1, 1).filter(|_| missing) {
        Some(writes) if miss_s * writes.iops() >= WRITE_SHARE_MIN => {
            ruling.explaining(writes, Some((miss_s * writes.iops()).min(1.0)))
        }
        _ => ruling,
    }
}

/// Judges the working sets, in ascending order, and the smallest one at the other end.
pub fn device_cache(sets: &[WorkingSet], far: Option<&WorkingSet>) -> Ruling {
    let [small, .., large] = sets else {
        return no_room();
    };
    if sets.len() < SETS_MIN {
        return no_room();
    }
    let n = small.p50_ns.len().min(large.p50_ns.len());
    let smallest = (0..n).map(|i| {
        let far_ns = far.and_then(|far| far.p50_ns.get(i)).copied().unwrap_or(0.0);
        small.p50_ns[i].max(far_ns)
    });
    let smallest: Vec<f64> = smallest.collect();
    let step = compare(&smallest, &large.p50_ns[..n]);
    let ends = step.and_then(|c| c.low.zip(c.high));
    let Some((step, (low, high))) = step.zip(ends) else {
        return Ruling::unknown("Whether the drive has a read cache is unknown: too few reads.");
    };
    let ruling = if low > STEP_MIN {
        let (fast, slow) = (latency(mean(small)), latency(mean(large)));
        let text = format!(
            "The drive answers from a cache (of data or its own tables): reads take {fast} within \
             {} and {slow} within {}.",
            binary(last_fast(sets)),
            binary(large.bytes)
        );
        Ruling::yes(VerdictKind::DeviceCache, text)
    } else if high < STEP_MAX {
        let text = format!(
            "No read cache is visible at depth 1: reads within {} take at most {high:.1} times as long as \
             within {}.",
            binary(large.bytes),
            binary(small.bytes)
        );
        Ruling::no(VerdictKind::NoDeviceCache, text)
    } else {
        let text = "Whether the drive has a read cache is unknown: the reads scatter too much; \
                    more replicates can show it.";
        Ruling::unknown(text)
    };
    let ruling = ruling.with("largest / smallest set", step.ratio, Unit::Number);
    sets.iter().filter(|s| !s.p50_ns.is_empty()).fold(ruling, |ruling, set| {
        ruling.with(format!("p50 within {}", binary(set.bytes)), mean(set), Unit::Nanoseconds)
    })
}

fn no_room() -> Ruling {
    Ruling::unknown("Whether the drive has a read cache is unknown: there is no room for the test.")
}

/// The largest set closer to the fastest than to the slowest, on a logarithmic scale.
fn last_fast(sets: &[WorkingSet]) -> u64 {
    let (first, last) = (&sets[0], &sets[sets.len() - 1]);
    let middle = (mean(first) * mean(last)).sqrt();
    sets.iter().take_while(|s| mean(s) < middle).last().map_or(first.bytes, |s| s.bytes)
}

fn mean(set: &WorkingSet) -> f64 {
    analysis::estimate(&set.p50_ns).value.unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::*;

    fn sets(medians: &[f64], noise: f64) -> Vec<WorkingSet> {
        let wave = [1.0, -1.0, 0.6, -0.6];
        let of = |m: f64, i: usize| (0..4).map(move |r| m * (1.0 + noise * wave[(r + i) % 4]));
        let all = medians.iter().enumerate();
        all.map(|(i, &m)| WorkingSet { bytes: 1 << (20 + 2 * i), p50_ns: of(m, i).collect() })
            .collect()
    }

    #[test]
    fn a_step_is_found_with_its_place() {
        let ruling = device_cache(&sets(&[20e3, 20e3, 21e3, 80e3, 90e3], 0.03), None);
        assert_eq!(ruling.answer, Answer::Yes);
        assert!(ruling.verdict.text.contains("within 16 MiB"), "{}", ruling.verdict.text);
        assert_eq!(device_cache(&sets(&[80e3, 81e3, 79e3, 80e3], 0.03), None).answer, Answer::No);
    }

    #[test]
    fn a_fast_place_is_no_cache() {
        let within = sets(&[35e3, 36e3, 58e3, 60e3], 0.03);
        let far = |ns| sets(&[ns], 0.03).remove(0);
        assert_eq!(device_cache(&within, Some(&far(36e3))).answer, Answer::Yes);
        assert_eq!(device_cache(&within, Some(&far(59e3))).answer, Answer::No);
    }

    #[test]
    fn little_space_few_rounds_and_noise_are_inconclusive() {
        assert_eq!(device_cache(&sets(&[20e3, 80e3], 0.0), None).answer, Answer::Unknown);
        assert_eq!(device_cache(&[], None).answer, Answer::Unknown);
        assert_eq!(device_cache(&sets(&[20e3, 25e3, 30e3], 0.4), None).answer, Answer::Unknown);
        let mut once = sets(&[20e3, 80e3, 80e3], 0.0);
        once.iter_mut().for_each(|s| s.p50_ns.truncate(1));
        assert_eq!(device_cache(&once, None).answer, Answer::Unknown);
    }
}
