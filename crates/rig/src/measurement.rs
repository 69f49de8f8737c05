//! The results of one execution of a workload.

use record::{Finding, Histogram, IoErrors, LatencyKind, Series, Statistic};
use workload::OpKind;

use crate::{BackendKind, DividedTime};

/// Counts and latencies of one op kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KindStats {
    /// Completed operations, excluding failed ones.
    pub ops: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Service time, from issue to completion, nanoseconds.
    pub service: Histogram,
    /// Response time, from intended start to completion; `None` in a closed loop, where it equals
    /// the service time.
    pub response: Option<Histogram>,
    /// The two parts of the service time, if the issue times submissions
    /// ([`crate::Issue::times_submission`]).
    pub submission: Option<SubmissionTimes>,
    /// Where the service time went, if that is known.
    pub split: Option<DividedTime>,
}

/// The parts of the service time, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubmissionTimes {
    /// From issue until the submitting call has returned.
    pub call: Histogram,
    /// From then to completion.
    pub rest: Histogram,
}

impl KindStats {
    /// Adds the statistics of another job or replicate.
    pub fn merge(&mut self, other: &KindStats) {
        self.ops += other.ops;
        self.bytes += other.bytes;
        self.service.merge(&other.service);
        match (&mut self.response, &other.response) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (None, Some(theirs)) => self.response = Some(theirs.clone()),
            (_, None) => {}
        }
        if let Some(times) = &other.submission {
            let sum = self.submission.get_or_insert_default();
            sum.call.merge(&times.call);
            sum.rest.merge(&times.rest);
        }
        if let Some(split) = &other.split {
            self.split.get_or_insert_default().add(split);
        }
    }

    /// Percentiles and maximum of the service time, and of the response time if there is one.
    pub fn statistics(&self) -> impl Iterator<Item = (LatencyKind, Statistic, u64)> {
        let response = self.response.iter().map(|times| (LatencyKind::Response, times));
        let clocks = std::iter::once((LatencyKind::Service, &self.service)).chain(response);
        clocks.flat_map(|(clock, times)| times.statistics().map(move |(s, ns)| (clock, s, ns)))
    }
}

/// Bytes that a file system's journal is taken to write with a flush at most: 16 blocks of 4 KiB.
/// An assumption without a source; a journal of data as well writes more.
const JOURNAL_BYTES_MAX: u64 = 64 << 10;

/// Traffic of the whole device, including that of other users.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceTraffic {
    /// Bytes read from the device.
    pub read_bytes: u64,
    /// Bytes written to the device.
    pub written_bytes: u64,
    /// Bytes discarded.
    pub discarded_bytes: u64,
    /// Mean number of requests in flight, from the device's weighted ticks.
    pub depth: f64,
    /// Share of time with requests in flight, 0 to 1, from the device's busy ticks.
    pub busy: f64,
    /// Bytes read from devices for this process alone, if the kernel counts them.
    pub own_read_bytes: Option<u64>,
}

impl DeviceTraffic {
    /// An upper bound on the bytes that the measurement read from the device: the device's reads or
    /// this process's reads, whichever is less. The process's count alone proves nothing: it
    /// includes reads of a loop device whose file is in memory.
    pub fn fetched_bytes(&self) -> u64 {
        self.own_read_bytes.map_or(self.read_bytes, |own| own.min(self.read_bytes))
    }

    /// The bytes that neither the measurement requested nor the journal of a file system may have
    /// written with its flushes: those of other programs.
    pub fn others_bytes(&self, requested: u64, flushes: u64) -> u64 {
        let unexplained = (self.read_bytes + self.written_bytes).saturating_sub(requested);
        unexplained.saturating_sub(flushes * JOURNAL_BYTES_MAX)
    }
}

/// How one thread spent its time, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadLoad {
    /// Its whole time.
    pub wall_ns: u64,
    /// Time on a processor.
    pub cpu_ns: u64,
    /// Time in which it could have run but waited for a processor; 0 if the kernel does not count
    /// it.
    pub waiting_ns: u64,
}

impl ThreadLoad {
    /// The share of its time in which it ran or waited for a processor, 0 to 1.
    pub fn busy(&self) -> f64 {
        (self.cpu_ns + self.waiting_ns) as f64 / self.wall_ns.max(1) as f64
    }
}

/// Temperature over a measurement, degrees Celsius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Temperature {
    /// At the start.
    pub start_c: f64,
    /// At the end.
    pub end_c: f64,
    /// Maximum.
    pub max_c: f64,
}

/// The reason a workload ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StopReason {
    /// The end of its run time.
    #[default]
    Time,
    /// Its limit of bytes, operations or coverage.
    Amount,
    /// The end of its trace.
    TraceEnd,
    /// An interrupt by the user.
    Interrupted,
    /// Too many errors, or the target vanished.
    Errors,
}

/// The results of one execution of a workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    /// The workload's name.
    pub name: String,
    /// Time from the first issue to the last completion, including the final flush, nanoseconds.
    pub elapsed_ns: u64,
    /// Statistics indexed by `OpKind as usize`; `None` for kinds that did not occur.
    pub kinds: [Option<KindStats>; 4],
    /// Time series.
    pub series: Series,
    /// Mean number of operations in flight, computed from their service times (Little's law).
    pub effective_depth: f64,
    /// Operations issued more than 100 us after their due time, usually because no slot was free.
    pub late_ops: u64,
    /// Processor time of the issuing threads, nanoseconds.
    pub cpu_ns: u64,
    /// The issuing thread that ran or waited for a processor most.
    pub busiest: ThreadLoad,
    /// Time that a control group's quota kept threads off the processor, nanoseconds.
    pub throttled_ns: u64,
    /// Mean number of operations submitted per system call.
    pub batch_mean: f64,
    /// Device traffic during the workload; `None` if the device cannot be observed.
    pub device: Option<DeviceTraffic>,
    /// Temperature; `None` without a sensor.
    pub temperature: Option<Temperature>,
    /// Backend used; `None` on a virtual drive, which has its own.
    pub backend: Option<BackendKind>,
    /// Whether I/O bypassed the page cache.
    pub direct: bool,
    /// Sectors whose content was checked.
    pub verified_sectors: u64,
    /// Doubts about the figures.
    pub findings: Vec<Finding>,
    /// I/O and verify errors.
    pub errors: Vec<IoErrors>,
    /// Reason it ended.
    pub stop: StopReason,
}

impl Measurement {
    /// Statistics of one kind, if it occurred.
    pub fn kind(&self, kind: OpKind) -> Option<&KindStats> {
        self.kinds[kind as usize].as_ref()
    }

    /// Statistics of the reads and of the writes, if there were any.
    pub fn transfers(&self) -> impl Iterator<Item = (OpKind, &KindStats)> {
        let kinds = [OpKind::Read, OpKind::Write].into_iter();
        kinds.filter_map(|kind| Some((kind, self.kind(kind)?)))
    }

    /// Seconds from first issue to last completion.
    pub fn seconds(&self) -> f64 {
        self.elapsed_ns as f64 / 1e9
    }

    /// Bytes per second of one kind; reads and writes together for `None`.
    pub fn throughput(&self, kind: Option<OpKind>) -> Option<f64> {
        self.per_second(kind, |k| k.bytes)
    }

    /// Operations per second of one kind; reads and writes together for `None`.
    pub fn iops(&self, kind: Option<OpKind>) -> Option<f64> {
        self.per_second(kind, |k| k.ops)
    }

    fn per_second(&self, kind: Option<OpKind>, amount: fn(&KindStats) -> u64) -> Option<f64> {
        let stats: Vec<_> = match kind {
            Some(kind) => self.kind(kind).into_iter().collect(),
            None => self.transfers().map(|(_, stats)| stats).collect(),
        };
        if stats.is_empty() || self.elapsed_ns == 0 {
            return None;
        }
        Some(stats.into_iter().map(amount).sum::<u64>() as f64 / self.seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_reads_of_a_loop_device_do_not_count_as_reads_of_the_disk() {
        let (disk, process) = (29 << 20, Some(900 << 20));
        let traffic = |read_bytes, own_read_bytes| DeviceTraffic {
            read_bytes,
            own_read_bytes,
            ..DeviceTraffic::default()
        };
        assert_eq!(traffic(disk, process).fetched_bytes(), disk);
        // The reads of another program on the same disk are not counted.
        assert_eq!(traffic(900 << 20, Some(8 << 20)).fetched_bytes(), 8 << 20);
        assert_eq!(traffic(disk, None).fetched_bytes(), disk);
    }
}
