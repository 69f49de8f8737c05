//! `rate_min=` and `rate_iops_min=`: ends a job that falls below its minimum rate. As in fio, the
//! rate is checked once per `rate_cycle`, not in the first two seconds, and only on completions.

use crate::{Job, PerKind};

/// Time before the first check, nanoseconds.
const SETTLE_NS: u64 = 2_000_000_000;

/// The minimum rates of one clone.
pub(super) struct Least {
    bytes_per_s: PerKind<Option<u64>>,
    ops_per_s: PerKind<Option<u32>>,
    cycle_ns: u64,
    begin_ns: u64,
    /// Amount done so far.
    done: [Tally; 3],
    /// Time of the last check, and the amount done by then.
    last: [Option<(u64, Tally)>; 3],
}

#[derive(Clone, Copy, Default)]
struct Tally {
    bytes: u64,
    ops: u64,
}

impl Least {
    /// The minimum rates of a job that starts counting at `begin_ns`, if it has any.
    pub(super) fn new(job: &Job, begin_ns: u64) -> Option<Least> {
        let pace = &job.pace;
        let bytes = pace.rate_min.each().iter().any(|rate| rate.is_some());
        let ops = pace.rate_iops_min.each().iter().any(|rate| rate.is_some());
        (bytes || ops).then(|| Least {
            bytes_per_s: pace.rate_min,
            ops_per_s: pace.rate_iops_min,
            cycle_ns: (pace.cycle.as_nanos() as u64).max(1),
            begin_ns,
            done: [Tally::default(); 3],
            last: [None; 3],
        })
    }

    /// Resets all counts.
    pub(super) fn restart(&mut self, now_ns: u64) {
        self.begin_ns = now_ns;
        (self.done, self.last) = ([Tally::default(); 3], [None; 3]);
    }

    /// Counts an operation; returns the reason if a rate was missed.
    pub(super) fn missed(&mut self, kind: usize, bytes: u32, now_ns: u64) -> Option<String> {
        self.done[kind].bytes += u64::from(bytes);
        self.done[kind].ops += 1;
        if now_ns.saturating_sub(self.begin_ns) < SETTLE_NS {
            return None;
        }
        (0..3).find_map(|kind| self.look(kind, now_ns))
    }

    fn look(&mut self, kind: usize, now_ns: u64) -> Option<String> {
        let (bytes, ops) = (*self.bytes_per_s.each()[kind], *self.ops_per_s.each()[kind]);
        let total = self.done[kind];
        if (bytes.is_none() && ops.is_none()) || total.ops == 0 {
            return None;
        }
        if let Some((last_ns, before)) = self.last[kind] {
            let spent = now_ns - last_ns;
            if spent < self.cycle_ns {
                return None;
            }
            let [byte_rate, op_rate] = [total.bytes - before.bytes, total.ops - before.ops]
                .map(|amount| (u128::from(amount) * 1_000_000_000 / u128::from(spent)) as u64);
            match (bytes, ops) {
                (Some(least), _) if byte_rate < least => {
                    return Some(format!("rate_min={least}B/s not met, got {byte_rate}B/s"));
                }
                (None, Some(least)) if op_rate < u64::from(least) => {
                    return Some(format!("rate_iops_min={least} not met, got {op_rate} IOPS"));
                }
                _ => {}
            }
        }
        self.last[kind] = Some((now_ns, total));
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MS: u64 = 1_000_000;

    fn least(bytes: Option<u64>, ops: Option<u32>) -> Least {
        let mut job = Job::default();
        job.pace.rate_min.read = bytes;
        job.pace.rate_iops_min.read = ops;
        job.pace.cycle = Duration::from_millis(500);
        Least::new(&job, 0).expect("a minimum rate")
    }

    /// The time at which a job with an operation of 4 KiB every `every_ms` misses its rate.
    fn misses(least: &mut Least, every_ms: u64) -> Option<(u64, String)> {
        (1..10_000).find_map(|i| Some((i * every_ms, least.missed(0, 4096, i * every_ms * MS)?)))
    }

    #[test]
    fn a_low_rate_is_detected_one_cycle_after_the_first_two_seconds() {
        let (at, why) = misses(&mut least(None, Some(101)), 10).expect("missed");
        assert_eq!((at, why.as_str()), (2500, "rate_iops_min=101 not met, got 100 IOPS"));
        let (at, why) = misses(&mut least(Some(409_601), None), 10).expect("missed");
        assert_eq!((at, why.as_str()), (2500, "rate_min=409601B/s not met, got 409600B/s"));
    }

    #[test]
    fn a_job_at_its_minimum_rate_continues() {
        assert_eq!(misses(&mut least(None, Some(100)), 10), None);
        assert_eq!(misses(&mut least(Some(409_600), None), 10), None);
    }

    #[test]
    fn the_other_direction_is_not_checked() {
        let mut least = least(None, Some(1000));
        assert!((1..1000).all(|i| least.missed(1, 4096, i * 10 * MS).is_none()));
        assert!(Least::new(&Job::default(), 0).is_none());
    }
}
