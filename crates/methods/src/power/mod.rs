//! `power`: does the drive fall asleep, and what does waking it cost?
//!
//! Reads without a rest show the latency of an awake drive. Every other round reverses the order of
//! the rests, so that heat and drift affect all of them alike. Reads go through the block interface,
//! because starting a workload takes longer than the shortest rest.

mod answer;
mod verdict;

use analysis::{binomial_tail, quantile};
use record::{Covers, MetricKey, Safety, TargetKind};
use workload::Permutation;

use script::whole::time_tight;
use script::{
    Budget, Conclusion, MethodInfo, MetricInfo, Options, Result, Round, Session, TestRegion,
    schedule, timed_read,
};

/// Rests, seconds.
const RESTS: [f64; 9] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

/// Rounds of all rests.
const ROUNDS: u32 = 3;

/// Reads without a rest, in each round.
const AWAKE_READS: u32 = 64;

/// Size of the region read, bytes: too large for a controller's cache.
const REGION: u64 = 256 << 20;

/// Bytes per read.
const BLOCK: u64 = 4096;

/// Default duration in seconds: the rests, and a fill.
const SECONDS: f64 = 460.0;

/// Seconds for the fill.
const FILL_SECONDS: f64 = 20.0;

/// A first read shows a wake-up if it takes at least this factor times the p90 of reads without a
/// rest, and at least this many nanoseconds more. Less is normal scatter.
const SLEEP_FACTOR: f64 = 1.5;
const SLEEP_NS: f64 = 30_000.0;

/// Slow first reads are attributed to chance if the probability of that many or more, at the rate
/// of slow reads without a rest, is at least this.
const CHANCE: f64 = 0.01;

/// Rests of at most [`REPEATED_REST_MAX`] seconds are repeated [`REPEATS`] times if their first
/// reads disagree.
const REPEATED_REST_MAX: f64 = 1.0;
const REPEATS: u32 = 6;

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "power",
    summary: "does it fall asleep, what does waking cost",
    about: "Times single random 4 KiB reads after rests of 10, 30, 100 and 300 ms and 1, 3, 10, 30 \
            and 100 s, in three rounds, every other one in reverse order, and 64 reads in a row in \
            each round. Rests of up to a second whose first reads disagree are repeated six times. \
            Reports the time of the first read after each rest, the shortest rest after which first \
            reads took at least 1.5 times as long (all of three, or seven of nine), and the time \
            that waking adds. If that rest is the shortest of all, the result is undetermined, \
            because an idle host processor or virtual machine takes as long to wake; a virtual drive \
            has no host. With \
            --time the longest rests are skipped until the others fit.",
    safety: Safety::Scratch,
    seconds: SECONDS,
    writes: "a scratch file of 256 MiB",
    primary: &[AWAKE.name, WAKE.name, "power-after-{100ms,1s,10s,100s}"],
    metrics: &[&[AWAKE, AWAKE_P90, AFTER, SLEEP, WAKE]],
    run,
    answer: answer::answer,
    conclusion: Conclusion::Script,
    ..MethodInfo::EMPTY
};

const AWAKE: MetricInfo = MetricInfo::ns("power-awake", "a random 4 KiB read right after another");
const AWAKE_P90: MetricInfo = MetricInfo::ns("power-awake.p90", "nine in ten of these are faster");
const AFTER: MetricInfo = MetricInfo::ns("power-after-{time}", "the first read after this rest");
const SLEEP: MetricInfo = MetricInfo::ns(
    "power-sleep",
    "the rest after which the drive sleeps, between two tested rests; absent if it does not",
);
const WAKE: MetricInfo =
    MetricInfo::ns("power-wake", "time that waking adds to a read after the longest rest");

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let part = options.sized(options.size.unwrap_or(REGION));
    let mut test_region = TestRegion::new(session.target(), &part, SECONDS)?;
    test_region.size_given = false;
    test_region.bytes = session.begin(&test_region, FILL_SECONDS)?;
    let rounds = if test_region.rounds_given { test_region.rounds } else { ROUNDS };
    let mut rests = Rests::new(&test_region, rounds, session.target().logical_block_bytes);
    session.rounds(rounds, None, |session, round| {
        session.step(AWAKE.name, round);
        for _ in 0..AWAKE_READS {
            let ns = rests.read(session)?;
            rests.awake.push(ns);
        }
        for index in schedule::order(rests.after.len(), round) {
            let seconds = rests.after[index].0;
            session.rest(&key(seconds).to_string(), seconds)?;
            let ns = rests.read(session)?;
            rests.after[index].1.push(ns);
        }
        rests.publish(session);
        Ok(Round::Again)
    })?;
    let short = rests.after.iter().map(|(rest, _)| *rest).filter(|rest| *rest <= REPEATED_REST_MAX);
    let seconds = f64::from(REPEATS) * short.sum::<f64>();
    let budget = Budget { seconds: 2.0 * seconds, ..Budget::default() };
    session.budget("rests-again", budget, |session| rests.repeat_unclear(session))?;
    rests.publish(session);
    rests.conclude(session, session.target().target.kind != TargetKind::Virtual);
    Ok(())
}

fn key(seconds: f64) -> MetricKey {
    AFTER.member(&[&time_tight(seconds)])
}

/// The times so far.
struct Rests {
    /// Reads without a rest, nanoseconds.
    awake: Vec<f64>,
    /// Rests in seconds, and the first reads after them.
    after: Vec<(f64, Vec<f64>)>,
    /// Bytes per read.
    block: u64,
    /// The order of the read offsets, without repetition, and the number of reads.
    order: Permutation,
    count: u64,
}

impl Rests {
    fn new(test_region: &TestRegion, rounds: u32, logical_block: u32) -> Rests {
        let round_seconds = (test_region.seconds - FILL_SECONDS).max(1.0) / f64::from(rounds);
        let fitting = RESTS.into_iter().filter(|rest| {
            let upto: f64 = RESTS.iter().filter(|other| *other <= rest).sum();
            upto <= round_seconds
        });
        let block = BLOCK.max(u64::from(logical_block));
        Rests {
            awake: Vec::new(),
            after: fitting.map(|rest| (rest, Vec::new())).collect(),
            block,
            order: Permutation::new(test_region.bytes / block, test_region.seed_of(1)),
            count: 0,
        }
    }

    /// Reads a block not read before; returns its time in nanoseconds.
    fn read(&mut self, session: &mut Session<'_>) -> Result<f64> {
        let offset = self.order.get(self.count % self.order.len()) * self.block;
        self.count += 1;
        timed_read(session, offset, self.block)
    }

    /// Repeats short rests whose first reads disagree: more reads distinguish sleep from other
    /// delays.
    fn repeat_unclear(&mut self, session: &mut Session<'_>) -> Result<()> {
        for index in 0..self.after.len() {
            let (seconds, samples) = &self.after[index];
            let seconds = *seconds;
            if seconds > REPEATED_REST_MAX || Slow::from_times(&self.awake, samples) != Slow::Some {
                continue;
            }
            for _ in 0..REPEATS {
                session.rest(&key(seconds).to_string(), seconds)?;
                let ns = self.read(session)?;
                self.after[index].1.push(ns);
            }
        }
        Ok(())
    }

    fn publish(&self, session: &mut Session<'_>) {
        let (median, high) = (quantile(&self.awake, 0.5), quantile(&self.awake, 0.9));
        session.put(AWAKE, Some(median));
        session.put(AWAKE_P90, Some(high));
        for (seconds, samples) in self.after.iter().filter(|(_, samples)| !samples.is_empty()) {
            session.put_metric(analysis::metric(key(*seconds), AFTER.unit, samples.clone()));
        }
        session.checkpoint();
    }

    /// Decides from all rounds whether the drive sleeps: one slow read is no evidence. A virtual
    /// drive has no host that could be what wakes.
    fn conclude(&self, session: &mut Session<'_>, has_host: bool) {
        let median = quantile(&self.awake, 0.5);
        let sleep = match (sleep(&self.awake, &self.after), self.after.first()) {
            (Sleep::Always, Some((shortest, _))) if !has_host => Sleep::After(0.0, *shortest),
            (sleep, _) => sleep,
        };
        if let Sleep::After(low, high) = sleep {
            let [low, high] = [low, high].map(|seconds| seconds * 1e9);
            let metric = SLEEP.single((low + high) / 2.0);
            session.put_metric(metric.between(low, high, Covers::Resolution));
            let longest = self.after.last().map_or(0.0, |(_, samples)| quantile(samples, 0.5));
            session.put(WAKE, Some(longest - median));
        }
        session.conclude(vec![verdict::verdict(median, &self.after, sleep)]);
        session.checkpoint();
    }
}

/// Whether the drive sleeps.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sleep {
    /// After a rest between these, seconds.
    After(f64, f64),
    /// Not after any of the rests.
    Never,
    /// Some first reads took longer, but not consistently after longer rests.
    Unclear,
    /// After every rest, even the shortest: the host's own wake-up looks the same.
    Always,
}

/// Share of slow first reads after a rest.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slow {
    /// No more than among reads without a rest, and too few for a drive that sleeps.
    None,
    Some,
    /// Three in four or more.
    All,
}

impl Slow {
    fn from_times(awake: &[f64], times: &[f64]) -> Slow {
        let high = quantile(awake, 0.9);
        // Other work delays reads with and without a preceding rest equally often.
        let [count, delayed] = [times, awake].map(|times| {
            let slow =
                times.iter().filter(|ns| **ns >= SLEEP_FACTOR * high && **ns >= high + SLEEP_NS);
            slow.count()
        });
        let total = times.len();
        let share = (delayed + 1) as f64 / (awake.len() + 2) as f64;
        if 4 * count >= 3 * total && count > 0 {
            Slow::All
        } else if 4 * count <= total && binomial_tail(count, total, share) >= CHANCE {
            Slow::None
        } else {
            Slow::Some
        }
    }
}

/// Finds the shortest rest such that first reads are slow after it and all longer rests.
fn sleep(awake: &[f64], after: &[(f64, Vec<f64>)]) -> Sleep {
    let counts: Vec<Slow> = after.iter().map(|(_, ns)| Slow::from_times(awake, ns)).collect();
    if counts.iter().all(|slow| *slow == Slow::None) {
        return Sleep::Never;
    }
    let onset = counts.iter().rposition(|slow| *slow != Slow::All).map_or(0, |last| last + 1);
    let early = counts[..onset].iter().any(|slow| *slow != Slow::None);
    match after.get(onset) {
        Some(_) if onset == 0 => Sleep::Always,
        Some((rest, _)) if !early => Sleep::After(after[onset - 1].0, *rest),
        _ => Sleep::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_begins_at_the_first_rest_from_which_all_reads_are_slow() {
        let after = |times: [[f64; 2]; 4]| -> Vec<(f64, Vec<f64>)> {
            let rests = [0.1, 1.0, 10.0, 100.0].into_iter();
            rests.zip(times).map(|(rest, us)| (rest, us.map(|us| us * 1e3).to_vec())).collect()
        };
        let (fast, slow) = ([80.0, 90.0], [900.0, 1000.0]);
        let awake = [85e3; 192];
        let found = |times| sleep(&awake, &after(times));
        assert_eq!(found([fast, fast, fast, fast]), Sleep::Never);
        assert_eq!(found([fast, slow, slow, slow]), Sleep::After(0.1, 1.0));
        // The onset is unknown, and the host may be what sleeps.
        assert_eq!(found([slow, slow, slow, slow]), Sleep::Always);
        // One slow read is a disturbance. Slow reads that end at a longer rest are not sleep.
        assert_eq!(found([fast, [80.0, 900.0], fast, fast]), Sleep::Unclear);
        assert_eq!(found([fast, slow, fast, fast]), Sleep::Unclear);
        assert_eq!(found([fast, [80.0, 900.0], slow, slow]), Sleep::Unclear);
    }

    #[test]
    fn a_few_slow_first_reads_are_chance_only_if_likely_at_the_rate_of_others() {
        let times = |slow: usize, of: usize| -> Vec<f64> {
            (0..of).map(|i| if i < slow { 900e3 } else { 80e3 }).collect()
        };
        let slow = |count: usize, of: usize, others: usize| {
            Slow::from_times(&times(others, 192), &times(count, of))
        };
        assert_eq!(slow(0, 3, 0), Slow::None);
        assert_eq!(slow(1, 3, 0), Slow::Some);
        assert_eq!(slow(3, 3, 0), Slow::All);
        assert_eq!([slow(6, 9, 0), slow(7, 9, 0)], [Slow::Some, Slow::All]);
        // One of nine may be a delay by other work; two are too many for a rate of 1 in 194.
        assert_eq!([slow(1, 9, 0), slow(2, 9, 0)], [Slow::None, Slow::Some]);
        assert_eq!([slow(2, 9, 10), slow(3, 9, 10)], [Slow::None, Slow::Some]);
    }
}
