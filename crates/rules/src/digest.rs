//! The part of a measurement that the rules need, without its histograms; about a hundred are kept.

use record::{Finding, FindingKind, MetricKey, Statistic};
use rig::{BackendKind, DeviceTraffic, Measurement, Temperature, TimeSplit};
use workload::{Caching, Mix, OpKind, Workload};

use crate::plateau::{Plateau, plateau};
use crate::rate_change::rate_change;
use crate::time_series::{Fall, TimeSeries};

/// One execution of one workload, as used by the rules of [`crate`].
#[derive(Clone, Debug)]
pub struct Digest {
    pub name: String,
    /// Keys of the metrics reported from it: one per direction if its name is a cell's.
    pub metrics: Vec<String>,
    /// Measured for a rule only, and not reported.
    pub probe: bool,
    pub mix: Mix,
    pub random: bool,
    pub direct: bool,
    /// Reads and writes completed.
    pub ops: [u64; 2],
    /// Bytes transferred by them.
    pub bytes: [u64; 2],
    /// Time from the first issue to the last completion, including the last flush.
    pub seconds: f64,
    /// Nominal depth over all jobs; `None` in an open loop.
    pub depth_nominal: Option<u32>,
    /// Mean depth of reads and writes outside flushes, from their service times.
    pub depth: f64,
    pub device: Option<DeviceTraffic>,
    pub temperature: Option<Temperature>,
    /// Processor time of the issuing threads, as a share of one processor each, or that of the
    /// busiest one if it is larger; 0: unknown.
    pub cpu_share: f64,
    /// Time in which the busiest thread waited for a processor without being held by a quota, 0 to
    /// `seconds`.
    pub waiting_s: f64,
    /// Where the time of reads and writes went, if known.
    pub splits: [Option<TimeSplit>; 2],
    pub findings: Vec<Finding>,
    /// Largest block, bytes.
    pub block_bytes: u32,
    /// Flushes completed.
    pub flushes: u64,
    /// Time without completions while operations were in flight, excluding the final flush.
    pub stalled_s: f64,
    /// Time for which a quota kept the threads off the processor, 0 to `seconds`.
    pub throttled_s: f64,
    /// Bytes per second of both directions by interval, excluding standstills of the process.
    pub rates: Vec<f64>,
    /// The fall of its rate, if the mean is of neither level.
    pub fall: Option<Fall>,
    /// The rate that it kept after a burst, if it had one.
    pub plateau: Option<Plateau>,
    /// Time of the flushes.
    pub flush_s: f64,
    /// Median and mean time of a read, nanoseconds; 0 without reads.
    pub read_ns: [f64; 2],
    /// Time that the fastest tenth of the reads stays below, nanoseconds; 0 without reads.
    pub fast_read_ns: f64,
    /// Time that all reads but the slowest hundredth stay below, nanoseconds; 0 without reads.
    pub slow_read_ns: f64,
    /// Median time of a write, nanoseconds; 0 without writes.
    pub write_ns: f64,
}

impl Digest {
    /// The digest of a measurement.
    pub fn from_measurement(workload: &Workload, m: &Measurement) -> Digest {
        let kinds = [m.kind(OpKind::Read), m.kind(OpKind::Write)];
        let in_flight_ns: u128 = kinds.iter().flatten().map(|k| k.service.sum()).sum();
        let flush_ns = m.kind(OpKind::Flush).map_or(0, |k| k.service.sum());
        let elapsed_ns = u128::from(m.elapsed_ns);
        let busy_ns = elapsed_ns.saturating_sub(flush_ns).max(1);
        let series = TimeSeries::from_measurement(m);
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
            // Polling keeps a processor busy regardless of the drive: its share is unknown.
            cpu_share: if m.backend == Some(BackendKind::Nvme) {
                0.0
            } else {
                let busiest = m.busiest.cpu_ns as f64 / m.busiest.wall_ns.max(1) as f64;
                busiest.max(m.cpu_ns as f64 / threads_ns as f64)
            },
            waiting_s: waiting_ns(m) as f64 / 1e9,
            splits: kinds.map(|k| k.and_then(|k| Some(k.split.as_ref()?.whole))),
            findings: m.findings.clone(),
            block_bytes: workload.blocks.max(),
            flushes: m.kind(OpKind::Flush).map_or(0, |k| k.ops),
            stalled_s: m.stalled_ns(workload) as f64 / 1e9,
            throttled_s: (m.throttled_ns.min(m.elapsed_ns)) as f64 / 1e9,
            rates: m.rates().into_iter().flatten().collect(),
            fall: rate_change(&series),
            plateau: plateau(&series, workload.blocks.max()),
            flush_s: flush_ns as f64 / 1e9,
            read_ns: kinds[0].map_or([0.0; 2], |k| {
                let median = k.service.quantile(0.5).unwrap_or(0);
                [median as f64, k.service.mean().unwrap_or(0.0)]
            }),
            fast_read_ns: kinds[0].and_then(|k| k.service.quantile(0.1)).unwrap_or(0) as f64,
            slow_read_ns: kinds[0].and_then(|k| k.service.quantile(0.99)).unwrap_or(0) as f64,
            write_ns: kinds[1].and_then(|k| k.service.quantile(0.5)).unwrap_or(0) as f64,
        }
    }

    /// The digest of a run's only workload, whose metrics contain no workload name.
    pub fn of_run(workload: &Workload, m: &Measurement) -> Digest {
        let figures = [Statistic::Throughput, Statistic::Iops];
        let metrics = figures.map(|figure| MetricKey::of_run(figure).to_string()).to_vec();
        Digest { metrics, ..Digest::from_measurement(workload, m) }
    }

    /// Whether this is a run's only workload.
    pub fn is_run(&self) -> bool {
        self.metrics.iter().any(|key| *key == MetricKey::of_run(Statistic::Throughput).to_string())
    }

    /// The workloads with reported metrics; all of them if a method reports none.
    pub fn reported(seen: &[Digest]) -> impl Iterator<Item = &Digest> {
        let has_reported = seen.iter().any(|digest| !digest.probe);
        seen.iter().filter(move |digest| !has_reported || !digest.probe)
    }

    /// Bytes per second of the faster direction, because a link carries both at once.
    pub fn throughput(&self) -> f64 {
        let bytes = self.bytes[0].max(self.bytes[1]);
        if self.seconds > 0.0 { bytes as f64 / self.seconds } else { 0.0 }
    }

    /// Bytes per second of both directions.
    pub fn both_ways(&self) -> f64 {
        let bytes = self.bytes[0] + self.bytes[1];
        if self.seconds > 0.0 { bytes as f64 / self.seconds } else { 0.0 }
    }

    /// Seconds in which the process was stopped or the machine suspended.
    pub fn stood_s(&self) -> f64 {
        let pauses = self.findings.iter().filter(|f| f.kind == FindingKind::StoodStill);
        let ns = pauses.flat_map(|finding| &finding.evidence).map(|evidence| evidence.value);
        ns.sum::<f64>() / 1e9
    }

    /// Whether the rig's own checks reported this.
    pub fn found(&self, kind: &FindingKind) -> bool {
        self.findings.iter().any(|f| f.kind == *kind)
    }
}

/// The time in which the busiest thread waited for a processor, as part of the elapsed time. The
/// kernel counts the time under a quota, too.
fn waiting_ns(m: &Measurement) -> u64 {
    m.busiest.waiting_ns.saturating_sub(m.throttled_ns).min(m.elapsed_ns)
}

/// The metrics of a workload: one per direction, or one if its name is not a cell's.
fn metrics_of(workload: &Workload) -> Vec<String> {
    let kinds = [OpKind::Read, OpKind::Write].into_iter().filter(|k| workload.mix.weight(*k) > 0);
    let keys = kinds.map(|kind| MetricKey::of_direction(workload, kind).to_string());
    let mut metrics: Vec<String> = keys.collect();
    metrics.dedup();
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;
    use rig::KindStats;
    use workload::{Pattern, Region};

    /// One second of writes at depth 8, then a flush of one second.
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
        let digest = Digest::from_measurement(&w, &m);
        assert_eq!((digest.depth, digest.depth_nominal), (8.0, Some(8)));
        assert_eq!(digest.throughput(), 40.0 * 1_048_576.0);
        let none = Digest { bytes: [0, 0], seconds: 0.0, ..digest };
        assert_eq!((none.throughput(), none.both_ways()), (0.0, 0.0), "no time, no rate");
    }

    #[test]
    fn all_jobs_together_have_the_depth_and_the_processors() {
        let mut w = Workload::new("a", Pattern::Uniform, Mix::READ, 4096, Region::first(1 << 30));
        (w.depth, w.jobs) = (8, 3);
        let m = Measurement { elapsed_ns: 1000, cpu_ns: 1500, ..Measurement::default() };
        let digest = Digest::from_measurement(&w, &m);
        assert_eq!((digest.depth_nominal, digest.cpu_share), (Some(24), 0.5));
        w.pacing = workload::Pacing::Fixed { rate: 10.0 };
        assert_eq!(Digest::from_measurement(&w, &m).depth_nominal, None, "a schedule has no depth");
    }
}
