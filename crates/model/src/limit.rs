//! A limit that a provider sets on a volume, in front of the drive: operations or bytes per second,
//! with a burst.
//!
//! A leaky bucket, as hypervisors have it: every command adds itself, the bucket empties at the
//! limit's rate, and a command waits while more than the burst is in it. So a volume at rest serves
//! a burst at the speed of the drive, and has it again after a rest.
//!
//! Asserted at every command: a limit never admits commands out of order.

use workload::{Op, OpKind};

use crate::spec::LimitSpec;

/// What one limit counts.
#[derive(Clone, Debug)]
struct Bucket {
    /// Time for which a unit fills the bucket, picoseconds.
    ps_per_unit: u64,
    /// Time that the bucket holds, picoseconds.
    burst_ps: u64,
    /// When the bucket is empty, picoseconds.
    empty_ps: u64,
}

impl Bucket {
    /// A limit per second with a burst of this many units; `None` without a limit.
    fn new(per_s: f64, burst: f64) -> Option<Bucket> {
        let unit_ps = (per_s > 0.0).then(|| 1e12 / per_s)?;
        let burst_ps = (burst * unit_ps) as u64;
        Some(Bucket { ps_per_unit: (unit_ps as u64).max(1), burst_ps, empty_ps: 0 })
    }

    /// The time, at `now_ps` or later, at which so many units are admitted.
    fn admit(&mut self, now_ps: u64, units: u64) -> u64 {
        let admitted_ps = now_ps.max(self.empty_ps.saturating_sub(self.burst_ps));
        self.empty_ps = self.empty_ps.max(admitted_ps) + units * self.ps_per_unit;
        admitted_ps
    }
}

/// The limits of a volume.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    ops: Option<Bucket>,
    bytes: Option<Bucket>,
    last_ns: u64,
}

impl Limits {
    pub fn new(spec: &LimitSpec) -> Limits {
        Limits {
            ops: Bucket::new(*spec.iops, *spec.burst_ops),
            bytes: Bucket::new(*spec.mb_s * 1e6, *spec.burst_mb * 1e6),
            last_ns: 0,
        }
    }

    /// The time at which a command that arrives at `now_ns` passes both limits, nanoseconds. Flushes
    /// and discards wait for their turn, and use up nothing.
    #[inline]
    pub fn admit(&mut self, now_ns: u64, op: &Op) -> u64 {
        if self.ops.is_none() && self.bytes.is_none() {
            return now_ns;
        }
        let (ops, bytes) = match op.kind {
            OpKind::Read | OpKind::Write => (1, u64::from(op.bytes)),
            OpKind::Flush | OpKind::Discard => (0, 0),
        };
        let now_ns = now_ns.max(self.last_ns);
        let now_ps = now_ns * 1000;
        let ops_ps = self.ops.as_mut().map_or(now_ps, |bucket| bucket.admit(now_ps, ops));
        let admitted_ps = self.bytes.as_mut().map_or(ops_ps, |bucket| bucket.admit(ops_ps, bytes));
        let admitted_ns = admitted_ps.div_ceil(1000);
        assert!(admitted_ns >= self.last_ns, "a limit admits commands in order");
        self.last_ns = admitted_ns;
        admitted_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figure;

    fn limits(iops: f64, mb_s: f64, burst_ops: f64, burst_mb: f64) -> Limits {
        let guess = Figure::guess;
        Limits::new(&LimitSpec {
            iops: guess(iops),
            mb_s: guess(mb_s),
            burst_ops: guess(burst_ops),
            burst_mb: guess(burst_mb),
        })
    }

    fn read(bytes: u32) -> Op {
        Op { kind: OpKind::Read, offset: 0, bytes }
    }

    #[test]
    fn a_burst_passes_at_once_and_again_after_a_rest() {
        let mut limits = limits(1000.0, 0.0, 50.0, 0.0);
        let times: Vec<u64> = (0..100).map(|_| limits.admit(0, &read(4096))).collect();
        assert_eq!(times.iter().filter(|time| **time == 0).count(), 51);
        assert_eq!((times[51], times[99]), (1_000_000, 49_000_000), "one a millisecond");
        let rested_ns = 49_000_000 + 20_000_000;
        let later: Vec<u64> = (0..25).map(|_| limits.admit(rested_ns, &read(4096))).collect();
        assert_eq!(later.iter().filter(|time| **time == rested_ns).count(), 20, "20 ms of rest");
    }

    #[test]
    fn bytes_are_limited_whatever_the_block_size() {
        for block in [4096, 1 << 20] {
            let mut limits = limits(0.0, 10.0, 0.0, 0.0);
            let before_last = 10_000_000 / block;
            let last_ns =
                (0..=before_last).map(|_| limits.admit(0, &read(block))).last().expect("commands");
            assert_eq!(last_ns, 100 * u64::from(before_last * block), "10 bytes a microsecond");
        }
    }

    #[test]
    fn the_smaller_of_two_limits_counts_and_none_holds_nothing() {
        let mut both = limits(1000.0, 1.0, 0.0, 0.0);
        let last_ns = (0..=100).map(|_| both.admit(0, &read(4096))).last().expect("commands");
        assert_eq!(last_ns, 409_600_000, "a megabyte a second is less than 1,000 blocks");
        let mut none = limits(0.0, 0.0, 0.0, 0.0);
        assert_eq!([5, 3, 9].map(|now| none.admit(now, &read(4096))), [5, 3, 9]);
    }
}
