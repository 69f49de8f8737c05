//! The rates of a job: `rate=` and `rate_iops=` as the pacing of all operations, or as a throttle
//! of the only direction with a rate.

use workload::{Open, Pacing, Think};

use super::positions::uses;
use super::stream::Throttle;
use crate::{Blocks, Job, PerKind, RateProcess};

/// Operations per second of each direction with a rate. As in fio, `rate_iops=` counts operations of
/// the smallest size, and an operation of a random schedule has that size.
fn rates(job: &Job) -> PerKind<Option<f64>> {
    let pace = &job.pace;
    let [read, write, trim] = [0, 1, 2].map(|kind| {
        let blocks = job.access.blocks.each()[kind];
        let smallest = blocks.min() as f64;
        let per_s = pace.rate_iops.each()[kind].map(|rate| f64::from(rate) * smallest);
        let bytes_per_s = pace.rate.each()[kind].map(|rate| rate as f64).or(per_s);
        let size = match pace.process {
            RateProcess::Linear => mean_size(blocks, job.access.bs_unaligned),
            RateProcess::Poisson => smallest,
        };
        bytes_per_s.filter(|_| uses(job.access.rw, kind)).map(|rate| rate / size)
    });
    PerKind { read, write, trim }
}

/// Mean size of operations, bytes; `unaligned`: sizes of a range are not multiples of its minimum.
fn mean_size(blocks: &Blocks, unaligned: bool) -> f64 {
    match blocks {
        Blocks::Fixed(bytes) => *bytes as f64,
        // Draws are uniform over `max` sizes from `min` on, and those above `max` become `max`.
        Blocks::Range { min, max } if unaligned => {
            let (low, high) = (*min as f64, *max as f64);
            (high - low + 1.0) * (low + high) / 2.0 / high + low - 1.0
        }
        // The same, rounded down: each multiple of `min` within `max`, and `max` for the rest.
        Blocks::Range { min, max } => {
            let (low, high, steps) = (*min as f64, *max as f64, (*max / (*min).max(1)) as f64);
            (low * low * steps * (steps + 1.0) / 2.0 + (high - steps * low) * high) / high
        }
        Blocks::Split(shares) => {
            let sum = shares.iter().map(|s| s.bytes as f64 * f64::from(s.percent)).sum::<f64>();
            sum / shares.iter().map(|s| f64::from(s.percent)).sum::<f64>().max(1.0)
        }
    }
}

/// Whether only one of two directions has a rate.
pub(super) fn half_rated(job: &Job) -> bool {
    let rates = rates(job);
    job.access.rw.reads() && job.access.rw.writes() && rates.read.is_some() != rates.write.is_some()
}

/// The pacing of a job's operations.
pub(super) fn pacing(job: &Job) -> Pacing {
    // A throttle enforces the rate of a single direction.
    if half_rated(job) {
        Pacing::Closed
    } else {
        schedule(job, rates(job).each().into_iter().flatten().sum())
    }
}

fn schedule(job: &Job, rate: f64) -> Pacing {
    match job.pace.process {
        _ if rate == 0.0 => Pacing::Closed,
        RateProcess::Linear => Pacing::Fixed { rate },
        RateProcess::Poisson => Pacing::Poisson { rate },
    }
}

/// The schedule of the only direction with a rate in a mix.
pub(super) fn throttle(job: &Job, seed: u64) -> Option<Throttle> {
    if !half_rated(job) {
        return None;
    }
    let rates = rates(job);
    let (kind, rate) = match (rates.read, rates.write) {
        (Some(rate), _) => (0, rate),
        (None, rate) => (1, rate?),
    };
    Some(Throttle::new(kind, Open::new(&schedule(job, rate), 0, 1, seed)))
}

/// Bytes per second of reads and of writes, if both have a rate and are due at regular times. A
/// mix without one direction stays without it.
pub(super) fn both(job: &Job) -> Option<[f64; 2]> {
    let PerKind { read: Some(read), write: Some(write), .. } = rates(job) else { return None };
    let is_mix = (1..100).contains(&job.access.mix_read_percent);
    let blocks = &job.access.blocks;
    let [read_bytes, write_bytes] =
        [&blocks.read, &blocks.write].map(|blocks| mean_size(blocks, job.access.bs_unaligned));
    (is_mix && job.pace.process == RateProcess::Linear)
        .then_some([read * read_bytes, write * write_bytes])
}

/// The share of reads in a mix; if both directions have rates and are due at random times, it follows
/// from them, unless the mix has no part of one direction.
pub(super) fn mix_read_percent(job: &Job) -> u32 {
    let share = job.access.mix_read_percent;
    if both(job).is_some() {
        return share;
    }
    match rates(job) {
        PerKind { read: Some(read), write: Some(write), .. } if (1..100).contains(&share) => {
            (100.0 * read / (read + write)).round() as u32
        }
        _ => share,
    }
}

/// The pauses of a job.
pub(super) fn think(job: &Job) -> Option<Think> {
    let think = job.pace.think;
    let [period_ns, pause_ns, spin_ns] =
        [think.iotime, think.time, think.spin].map(|time| time.as_nanos() as u64);
    (!think.time.is_zero()).then(|| Think {
        every: think.blocks,
        period_ns: Some(period_ns).filter(|period| *period > 0),
        pause_ns,
        spin_ns,
        moves_schedule: job.pace.ignore_thinktime,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of all equally probable draws, as drawn by the stream.
    fn mean_of_draws(min: u64, max: u64, unaligned: bool) -> f64 {
        let draw = |n: u64| {
            let drawn = min + n;
            let whole = if unaligned { drawn } else { drawn / min * min };
            whole.clamp(min, max)
        };
        (0..max).map(draw).sum::<u64>() as f64 / max as f64
    }

    #[test]
    fn the_mean_of_a_range_is_that_of_its_draws() {
        for (min, max) in [(4096, 16384), (4096, 5120), (40_960, 65_536), (512, 1 << 17), (1, 7)] {
            for unaligned in [false, true] {
                let found = mean_size(&Blocks::Range { min, max }, unaligned);
                let expected = mean_of_draws(min, max, unaligned);
                let error = (found - expected).abs() / expected;
                assert!(error < 1e-9, "{min}-{max} {unaligned}: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn operations_of_a_rate_have_the_smallest_size() {
        let words = ["--name=a", "--size=1m", "--bssplit=4k/50:12k/50", "--rate_iops=100"];
        let rate = |process: &str| match pacing(
            &crate::testing::plan(&[&words[..], &[process]].concat()).jobs[0],
        ) {
            Pacing::Fixed { rate } | Pacing::Poisson { rate } => rate,
            pacing => panic!("{pacing:?}"),
        };
        assert!((rate("--rate_process=linear") - 50.0).abs() < 1e-9);
        assert!((rate("--rate_process=poisson") - 100.0).abs() < 1e-9);
    }

    #[test]
    fn a_rate_in_bytes_is_kept_with_unaligned_blocks() {
        let words = ["--name=a", "--size=1m", "--bsrange=4k-16k", "--bs_unaligned", "--rate=10m"];
        let plan = crate::testing::plan(&words);
        let rate = 10.0 * f64::from(1 << 20) / mean_of_draws(4096, 16384, true);
        let Pacing::Fixed { rate: found } = pacing(&plan.jobs[0]) else { panic!("no schedule") };
        assert!((found - rate).abs() < 1e-6, "{found}, not {rate}");
    }
}
