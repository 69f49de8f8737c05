//! Stalls in a measurement: periods in which operations were in flight but none completed.
//!
//! In a closed loop, a stall appears as one slow operation per slot, which no percentile shows. The
//! time series shows it as silent intervals. Two causes are not counted: the final flush, and
//! standstills of the process, whose rows have no value and whose operations have no latency.

use workload::Workload;

use crate::Measurement;

/// Shortest stall, nanoseconds: ten times the shortest delay a person notices, and longer than the
/// pauses of a busy machine.
pub const STALL_NS_MIN: u64 = 100_000_000;

/// Shortest stall as a multiple of the median operation, so that a slow card does not count as
/// stalled.
const MEDIANS_MIN: u64 = 20;

impl Measurement {
    /// Bytes per second in both directions, for each whole interval; `None` during a standstill of
    /// the process. The final flush and the interval in which it began are left out, because they
    /// would look like a falling rate.
    pub fn rates(&self) -> Vec<Option<f64>> {
        let columns = self.series.columns.iter();
        let mut sums = vec![Some(0.0); self.series.t_ns.len()];
        for column in columns.filter(|c| ["read", "write"].contains(&c.name.as_str())) {
            // A column begins with the first operation of its direction.
            let silent = column.values.iter().take_while(|value| value.is_none()).count();
            for (sum, value) in sums.iter_mut().zip(&column.values).skip(silent) {
                *sum = sum.zip(*value).map(|(sum, value)| sum + value);
            }
        }
        let last = sums.iter().rposition(|rate| *rate > Some(0.0)).unwrap_or(0);
        sums.truncate(last.max(1));
        sums
    }

    /// Total time of all stalls, nanoseconds; 0 if there are none. Silent intervals show stalls at
    /// any depth; with long intervals or at depth 1, the longest operation shows one, too.
    pub fn stalled_ns(&self, workload: &Workload) -> u64 {
        let (longest, median) = (self.service_ns(1.0), self.service_ns(0.5));
        if longest < STALL_NS_MIN.max(MEDIANS_MIN.saturating_mul(median)) {
            return 0;
        }
        let ends = self.series.t_ns.iter().copied();
        let begins = std::iter::once(0).chain(ends.clone());
        let spans: Vec<u64> =
            ends.zip(begins).map(|(end, begin)| end.saturating_sub(begin)).collect();
        let silent = spans.iter().zip(self.rates()).filter(|(_, rate)| *rate == Some(0.0));
        let silent: u64 = silent.map(|(span, _)| span).sum();
        let coarse = spans.iter().any(|span| *span > longest / 2);
        let alone = workload.depth * workload.jobs == 1;
        if alone || coarse { silent.max(longest).min(self.elapsed_ns) } else { silent }
    }

    /// Service time at this quantile, nanoseconds: the greater of reads and writes, or 0 without
    /// either.
    pub fn service_ns(&self, quantile: f64) -> u64 {
        let times = self.transfers().filter_map(|(_, stats)| stats.service.quantile(quantile));
        times.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use record::{Series, Unit};
    use workload::{Mix, OpKind, Pattern, Region};

    use super::*;
    use crate::KindStats;

    /// A measurement of 10 s: writes at this depth, none in the intervals `silent`, and a flush in
    /// the last half second.
    fn interrupted(
        depth: u32,
        silent: std::ops::Range<u64>,
        longest_ns: u64,
    ) -> (Measurement, Workload) {
        let region = Region::first(1 << 30);
        let mut w = Workload::new("a", Pattern::Sequential, Mix::WRITE, 1 << 20, region);
        w.depth = depth;
        let mut stats = KindStats { ops: 1000, bytes: 1000 << 20, ..KindStats::default() };
        (0..1000).for_each(|_| stats.service.record(2_000_000));
        stats.service.record(longest_ns);
        let mut m = Measurement { elapsed_ns: 10_000_000_000, ..Measurement::default() };
        m.kinds[OpKind::Write as usize] = Some(stats);
        m.series = Series::new("a", 0, 0);
        for i in 0..100 {
            let busy = !silent.contains(&i) && i < 95;
            let rate = Some(if busy { 100e6 } else { 0.0 });
            m.series.push((i + 1) * 100_000_000, &[("write", Unit::BytesPerSecond, rate)]);
        }
        (m, w)
    }

    fn stalled(depth: u32, silent: std::ops::Range<u64>, longest_ns: u64) -> u64 {
        let (m, w) = interrupted(depth, silent, longest_ns);
        m.stalled_ns(&w)
    }

    #[test]
    fn silent_intervals_are_a_stall_and_a_final_flush_is_not() {
        assert_eq!(stalled(8, 40..50, 1_000_000_000), 1_000_000_000);
        assert_eq!(stalled(8, 40..40, 500_000_000), 0, "other operations completed meanwhile");
        assert_eq!(stalled(8, 40..50, 99_000_000), 0, "too short");
        let (m, _) = interrupted(8, 40..40, 1_000_000_000);
        assert_eq!(m.rates().len(), 94, "without the interval in which the flush began");
    }

    #[test]
    fn a_standstill_is_not_a_stall_but_silence_before_the_first_operation_is() {
        let (mut m, w) = interrupted(8, 40..44, 400_000_000);
        m.series.columns[0].values[60..75].fill(None);
        assert_eq!(m.stalled_ns(&w), 400_000_000);
        assert_eq!(m.rates()[59..61], [Some(100e6), None]);
        m.series.columns[0].values[0..3].fill(None);
        assert_eq!(m.stalled_ns(&w), 700_000_000);
    }

    #[test]
    fn at_depth_1_the_longest_operation_is_the_stall() {
        assert!(stalled(1, 40..40, 500_000_000) >= 500_000_000);
        assert_eq!(stalled(1, 40..40, 39_000_000), 0, "less than a tenth of a second");
    }
}
