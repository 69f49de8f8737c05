//! The part of a measurement that the rules need, without its histograms; about a hundred are kept.

use record::{Finding, FindingKind, MetricKey};
use rig::{BackendKind, DeviceTraffic, Measurement, Temperature};
use workload::{Caching, Mix, OpKind, Workload};

/// A stall is at least so long, nanoseconds: ten times as long as a person notices, and longer than
/// the pauses of a busy machine ...
const STALL_NS_LEAST: u64 = 100_000_000;

/// ... and this many times as long as half of the operations: a slow card is slow, not stalled.
const STALL_MEDIANS_LEAST: u64 = 20;

/// One execution of one workload, as used by the rules of [`crate::verdict`].
#[derive(Clone, Debug)]
pub struct Digest {
    pub(crate) name: String,
    /// Keys of the metrics reported from it: of each direction, where its name is a cell's.
    pub(crate) metrics: Vec<String>,
    /// Measured for a rule only; its figures are not reported.
    pub(crate) probe: bool,
    pub(crate) mix: Mix,
    pub(crate) random: bool,
    pub(crate) direct: bool,
    /// Reads and writes completed.
    pub(crate) ops: [u64; 2],
    /// Bytes transferred by them.
    pub(crate) bytes: [u64; 2],
    /// From the first issue to the last completion, including the last flush.
    pub(crate) seconds: f64,
    /// Nominal depth over all jobs; `None` in an open loop.
    pub(crate) depth_nominal: Option<u32>,
    /// Mean number of reads and writes in flight outside flushes, from their own times.
    pub(crate) depth: f64,
    pub(crate) device: Option<DeviceTraffic>,
    pub(crate) temperature: Option<Temperature>,
    /// Processor time of the issuing threads, as a share of one processor each; 0: unknown.
    pub(crate) cpu_share: f64,
    pub(crate) findings: Vec<Finding>,
    /// Largest block, bytes.
    pub(crate) block_bytes: u32,
    /// Flushes completed.
    pub(crate) flushes: u64,
    /// Time in which nothing completed although operations were in flight, without the final flush.
    pub(crate) stalled_s: f64,
    /// Time for which a quota kept the threads off the processor, 0 to `seconds`.
    pub(crate) throttled_s: f64,
    /// Bytes per second of both directions, by interval.
    pub(crate) rates: Vec<f64>,
    /// Time of the flushes.
    pub(crate) flush_s: f64,
    /// Median and mean time of a read, nanoseconds; 0 without reads.
    pub(crate) read_ns: [f64; 2],
}

impl Digest {
    /// The digest of a measurement.
    pub fn of(workload: &Workload, m: &Measurement) -> Digest {
        let kinds = [m.kind(OpKind::Read), m.kind(OpKind::Write)];
        let in_flight_ns: u128 = kinds.iter().flatten().map(|k| k.service.sum()).sum();
        let flush_ns = m.kind(OpKind::Flush).map_or(0, |k| k.service.sum());
        let elapsed_ns = u128::from(m.elapsed_ns);
        let busy_ns = elapsed_ns.saturating_sub(flush_ns).max(1);
        let threads_ns = (elapsed_ns * u128::from(workload.jobs)).max(1);
        Digest {
            name: workload.name.clone(),
            metrics: metrics_of(workload),
            probe: false,
            mix: workload.mix,
            random: workload.pattern.is_random(),
            direct: m.direct && workload.caching == Caching::Bypass,
            ops: kinds.map(|k| k.map_or(0, |k| k.ops)),
            bytes: kinds.map(|k| k.map_or(0, |k| k.bytes)),
            seconds: m.seconds(),
            depth_nominal: (!workload.pacing.is_open()).then(|| workload.depth * workload.jobs),
            depth: in_flight_ns as f64 / busy_ns as f64,
            device: m.device,
            temperature: m.temperature,
            // Polling keeps a processor busy whatever the drive does: its share is unknown.
            cpu_share: match m.backend == BackendKind::Nvme.name() {
                true => 0.0,
                false => m.cpu_ns as f64 / threads_ns as f64,
            },
            findings: m.findings.clone(),
            block_bytes: workload.blocks.max(),
            flushes: m.kind(OpKind::Flush).map_or(0, |k| k.ops),
            stalled_s: stalled_ns(workload, m) as f64 / 1e9,
            throttled_s: (m.throttled_ns.min(m.elapsed_ns)) as f64 / 1e9,
            rates: rates(m),
            flush_s: flush_ns as f64 / 1e9,
            read_ns: kinds[0].map_or([0.0; 2], |k| {
                let median = k.service.quantile(0.5).unwrap_or(0);
                [median as f64, k.service.mean().unwrap_or(0.0)]
            }),
        }
    }

    /// The workloads whose figures are reported; all of them if a method reports none.
    pub(crate) fn reported(seen: &[Digest]) -> impl Iterator<Item = &Digest> {
        let any = seen.iter().any(|digest| !digest.probe);
        seen.iter().filter(move |digest| !any || !digest.probe)
    }

    /// Bytes per second of the faster direction, because a link carries both at once.
    pub(crate) fn throughput(&self) -> f64 {
        let bytes = self.bytes[0].max(self.bytes[1]);
        if self.seconds > 0.0 { bytes as f64 / self.seconds } else { 0.0 }
    }

    /// Bytes per second of both directions.
    pub(crate) fn both_ways(&self) -> f64 {
        let bytes = self.bytes[0] + self.bytes[1];
        if self.seconds > 0.0 { bytes as f64 / self.seconds } else { 0.0 }
    }

    /// Whether the rig's own checks reported this.
    pub(crate) fn found(&self, kind: &FindingKind) -> bool {
        self.findings.iter().any(|f| f.kind == *kind)
    }
}

/// The figures of a workload: one for each direction, or one where its name is no cell's.
fn metrics_of(workload: &Workload) -> Vec<String> {
    let kinds = [OpKind::Read, OpKind::Write].into_iter().filter(|k| workload.mix.weight(*k) > 0);
    let keys = kinds.map(|kind| MetricKey::of_direction(workload, kind).to_string());
    let mut metrics: Vec<String> = keys.collect();
    metrics.dedup();
    metrics
}

/// Bytes per second of both directions in each whole interval. Neither the final flush nor the interval
/// in which it began is part of it: that would look like a rate that falls.
fn rates(m: &Measurement) -> Vec<f64> {
    let rates = m.series.columns.iter().filter(|c| ["read", "write"].contains(&c.name.as_str()));
    let mut sums = vec![0.0; m.series.t_ns.len()];
    for column in rates {
        for (sum, value) in sums.iter_mut().zip(&column.values) {
            *sum += value.unwrap_or(0.0);
        }
    }
    let last = sums.iter().rposition(|rate| *rate > 0.0).unwrap_or(0);
    sums.truncate(last.max(1));
    sums
}

/// Time of stalls. Silent intervals show them at any depth; where intervals are long, and at depth
/// 1, the longest operation does.
fn stalled_ns(workload: &Workload, m: &Measurement) -> u64 {
    let kinds = [OpKind::Read, OpKind::Write].into_iter().filter_map(|kind| m.kind(kind));
    let (mut longest, mut median) = (0, 0);
    for kind in kinds {
        longest = longest.max(kind.service.max().unwrap_or(0));
        median = median.max(kind.service.quantile(0.5).unwrap_or(0));
    }
    if longest < STALL_NS_LEAST || longest < STALL_MEDIANS_LEAST.saturating_mul(median) {
        return 0;
    }
    let ends = m.series.t_ns.iter().copied();
    let begins = std::iter::once(0).chain(ends.clone());
    let spans: Vec<u64> = ends.zip(begins).map(|(end, begin)| end.saturating_sub(begin)).collect();
    let silent = spans.iter().zip(rates(m)).filter(|(_, rate)| *rate == 0.0);
    let silent: u64 = silent.map(|(span, _)| span).sum();
    let coarse = spans.iter().any(|span| *span > longest / 2);
    let alone = workload.depth * workload.jobs == 1;
    if alone || coarse { silent.max(longest).min(m.elapsed_ns) } else { silent }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Unit;
    use rig::KindStats;
    use workload::{Pattern, Region};

    /// One second of writes at depth 8, then one second of nothing but a flush.
    #[test]
    fn a_final_flush_does_not_lower_the_depth() {
        let second = 1_000_000_000;
        let stats = |ops, ns| {
            let mut stats = KindStats { ops, bytes: ops << 20, ..KindStats::default() };
            (0..ops).for_each(|_| stats.service.record(ns));
            Some(stats)
        };
        let mut m = Measurement { elapsed_ns: 2 * second, ..Measurement::default() };
        m.kinds[OpKind::Write as usize] = stats(80, second / 10);
        m.kinds[OpKind::Flush as usize] = stats(1, second);
        let region = Region::first(1 << 30);
        let mut w = Workload::new("a", Pattern::Sequential, Mix::WRITE, 1 << 20, region);
        w.depth = 8;
        let digest = Digest::of(&w, &m);
        assert_eq!((digest.depth, digest.depth_nominal), (8.0, Some(8)));
        assert_eq!(digest.throughput(), 40.0 * 1_048_576.0);
    }

    /// Writes at depth 8 for 10 s, without any in the intervals `silent`, then a flush.
    fn interrupted(silent: std::ops::Range<usize>, longest_ns: u64) -> Digest {
        let region = Region::first(1 << 30);
        let mut w = Workload::new("a", Pattern::Sequential, Mix::WRITE, 1 << 20, region);
        w.depth = 8;
        let mut stats = KindStats { ops: 1000, bytes: 1000 << 20, ..KindStats::default() };
        (0..1000).for_each(|_| stats.service.record(2_000_000));
        stats.service.record(longest_ns);
        let mut m = Measurement { elapsed_ns: 10_000_000_000, ..Measurement::default() };
        m.kinds[OpKind::Write as usize] = Some(stats);
        let mut series = record::Series::new("a", 0, 0);
        for i in 0..100usize {
            let busy = !silent.contains(&i) && i < 95;
            let rate = Some(if busy { 100e6 } else { 0.0 });
            series.push((i as u64 + 1) * 100_000_000, &[("write", Unit::BytesPerSecond, rate)]);
        }
        Digest::of(&w, &Measurement { series, ..m })
    }

    #[test]
    fn silent_intervals_are_a_stall_and_a_final_flush_is_none() {
        assert!((interrupted(40..50, 1_000_000_000).stalled_s - 1.0).abs() < 1e-9);
        assert_eq!(interrupted(40..40, 500_000_000).stalled_s, 0.0, "others went on meanwhile");
        assert_eq!(interrupted(40..50, 99_000_000).stalled_s, 0.0, "too short");
        assert_eq!(interrupted(40..40, 1_000_000_000).rates.len(), 94, "the last one is not whole");
    }
}
