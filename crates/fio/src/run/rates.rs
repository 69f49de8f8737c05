//! The rates of a job: `rate=` and `rate_iops=` as the pacing of all operations, or as a throttle
//! of the only direction with a rate.

use std::time::Duration;

use workload::{Open, Pacing, Think};

use super::stream::Throttle;
use crate::{Blocks, Job, PerKind, RateProcess};

/// Operations per second of each direction with a rate.
fn rates(job: &Job) -> PerKind<Option<f64>> {
    let mean = |blocks: &Blocks| match blocks {
        Blocks::Fixed(bytes) => *bytes as f64,
        // Exact if sizes are multiples of `min` and `min` divides `max`, otherwise approximate.
        Blocks::Range { min, max } => (*min + *max) as f64 / 2.0,
        Blocks::Split(shares) => {
            let sum = shares.iter().map(|s| s.bytes as f64 * f64::from(s.percent)).sum::<f64>();
            sum / shares.iter().map(|s| f64::from(s.percent)).sum::<f64>().max(1.0)
        }
    };
    let by_bytes = |rate: Option<u64>, blocks: &Blocks| rate.map(|rate| rate as f64 / mean(blocks));
    let (pace, blocks) = (&job.pace, &job.access.blocks);
    let one = |ops: Option<u32>, bytes, blocks| ops.map(f64::from).or(by_bytes(bytes, blocks));
    let rw = job.access.rw;
    let used = |used: bool, rate: Option<f64>| rate.filter(|_| used);
    PerKind {
        read: used(rw.reads(), one(pace.rate_iops.read, pace.rate.read, &blocks.read)),
        write: used(rw.writes(), one(pace.rate_iops.write, pace.rate.write, &blocks.write)),
        trim: used(rw.trims(), one(pace.rate_iops.trim, pace.rate.trim, &blocks.trim)),
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
    match half_rated(job) {
        true => Pacing::Closed,
        false => schedule(job, rates(job).each().into_iter().flatten().sum()),
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

/// The share of reads in a mix; if both directions have rates, it follows from them.
pub(super) fn mix_read_percent(job: &Job) -> u32 {
    match rates(job) {
        PerKind { read: Some(read), write: Some(write), .. } => {
            (100.0 * read / (read + write)).round() as u32
        }
        _ => job.access.mix_read_percent,
    }
}

/// The pauses of a job.
pub(super) fn think(job: &Job) -> Option<Think> {
    let think = job.pace.think;
    let nanos = |time: Duration| time.as_nanos() as u64;
    (!think.time.is_zero()).then(|| Think {
        every: think.blocks,
        period_ns: Some(nanos(think.iotime)).filter(|period| *period > 0),
        pause_ns: nanos(think.time),
        spin_ns: nanos(think.spin),
        moves_schedule: job.pace.ignore_thinktime,
    })
}
