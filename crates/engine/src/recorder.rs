//! The statistics of one worker, reported once per interval.
//!
//! The hot path stores each service time; times are added to the histogram in groups. Adding each
//! one right after reading the clock stalls the loop on its bucket, which costs a quarter of an
//! operation on the null backend. At the end of an interval the counts are moved (not copied) to
//! the sampler's thread, which sums the totals, so the worker touches only one set of histograms.
//! At the end of a job, the operations counted and those that failed must add up to those issued.
//! Errors are off the hot path: they are counted by kind, and the first addresses of each kind are
//! kept.

use std::sync::mpsc::{Sender, SyncSender};

use record::IoErrors;
use rig::{Dump, Job, KindStats, Kinds, Logged, ThreadUsage, TimeSplit};
use workload::{Op, OpKind};

use crate::counts::Counts;
use crate::patience::Pulse;

/// Maximum addresses kept per kind of error.
const ADDRESSES_KEPT: usize = 16;

/// A worker's report to the sampler. `job` is the worker's number.
#[derive(Debug)]
pub(crate) enum Report {
    /// The counts of an interval with activity; `whole` unless the workload ended within it.
    Interval { job: u32, index: u64, whole: bool, kinds: Box<Kinds>, temperature_c: Option<f64> },
    /// Discard everything reported for this worker's job so far.
    Reset { job: u32 },
    /// Completed operations, in order.
    Log { job: u32, ops: Vec<Logged> },
    /// The worker is done and sends no more intervals.
    Done { job: u32, end: Box<JobEnd> },
}

/// A worker's final totals.
#[derive(Debug, Default)]
pub(crate) struct JobEnd {
    /// The worker's number.
    pub job: u32,
    /// Start of the workload, nanoseconds since the performance began.
    pub origin_ns: u64,
    /// First issue, nanoseconds since the workload began; 0 with a schedule. After a ramp-up, the
    /// time of its end; after a restart, the time of the restart.
    pub begin_ns: u64,
    /// Last completion, nanoseconds since the workload began.
    pub end_ns: u64,
    /// End of the workload's own operations, before reading back, nanoseconds since the workload
    /// began.
    pub issue_end_ns: u64,
    /// Time spent reading back before `issue_end_ns`, nanoseconds.
    pub checks_ns: u64,
    /// Blocks that failed verification, if requested.
    pub dumps: Vec<Dump>,
    /// Usage of the thread since `begin_ns`.
    pub usage: ThreadUsage,
    /// Operations issued since the ramp-up or the last restart.
    pub issued: u64,
    /// Distribution of the queue depth at each issue, including the operation issued.
    pub depths: Counts,
    /// Distribution of the number of operations submitted per turn.
    pub handed: Counts,
    /// Distribution of the number of operations completed per turn.
    pub returned: Counts,
    /// Number of final flushes, each a separate turn.
    pub flushes: u64,
    /// Operations issued late.
    pub late: u64,
    /// Operations due before the end but not issued.
    pub backlog: u64,
    /// Number of reads sampled.
    pub reads_sampled: u32,
    /// Number of sampled reads that returned only zeros.
    pub reads_zero: u32,
    /// Virtual time that was skipped, nanoseconds.
    pub skipped_ns: u64,
    /// Sectors verified.
    pub verified_sectors: u64,
    /// Actual queue depth of the backend, if below the requested one.
    pub depth_capped: Option<u32>,
    /// Features not granted by the kernel.
    pub missing: Vec<&'static str>,
    /// Errors.
    pub errors: Vec<IoErrors>,
    /// Why the worker stopped.
    pub stop: rig::StopReason,
}

impl JobEnd {
    /// Merges the totals of another worker of the same job.
    pub(crate) fn merge(&mut self, other: JobEnd) {
        self.origin_ns = self.origin_ns.min(other.origin_ns);
        self.begin_ns = self.begin_ns.min(other.begin_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        self.issue_end_ns = self.issue_end_ns.max(other.issue_end_ns);
        self.checks_ns = self.checks_ns.max(other.checks_ns);
        self.dumps.extend(other.dumps);
        self.usage.add(other.usage);
        self.issued += other.issued;
        self.depths.merge(&other.depths);
        self.handed.merge(&other.handed);
        self.returned.merge(&other.returned);
        self.flushes += other.flushes;
        self.late += other.late;
        self.backlog += other.backlog;
        self.reads_sampled += other.reads_sampled;
        self.reads_zero += other.reads_zero;
        self.skipped_ns += other.skipped_ns;
        self.verified_sectors += other.verified_sectors;
        self.errors.extend(other.errors);
        self.depth_capped = self.depth_capped.into_iter().chain(other.depth_capped).min();
        let new = other.missing.into_iter().filter(|feature| !self.missing.contains(feature));
        self.missing.extend(new.collect::<Vec<_>>());
        if self.stop != rig::StopReason::Errors {
            self.stop = other.stop;
        }
    }

    /// System calls that submitted operations.
    pub fn calls(&self) -> u64 {
        self.handed.busy() + self.flushes
    }

    /// CPU time of the thread, nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.usage.user_ns + self.usage.system_ns
    }
}

/// The channel for reports to the sampler.
#[derive(Clone, Debug)]
pub(crate) enum ReportSender {
    /// From other threads: a worker blocks if it reports faster than the sampler reads.
    Bounded(SyncSender<Report>),
    /// In virtual time, where the sampler can share the worker's thread, so sending must not block.
    Unbounded(Sender<Report>),
}

impl ReportSender {
    /// Sends a report. The sampler outlives the workers; if it is gone, the report is not needed.
    fn send(&self, report: Report) {
        match self {
            ReportSender::Bounded(sender) => drop(sender.send(report)),
            ReportSender::Unbounded(sender) => drop(sender.send(report)),
        }
    }
}

/// Number of service times added to the histogram as a group.
const GROUP: usize = 64;

/// The statistics of one kind of operation.
struct Tally {
    stats: KindStats,
    /// Service times not yet in the histogram, and their number.
    waiting: [u64; GROUP],
    length: usize,
}

impl Tally {
    /// `open`: the load is open-loop, so operations have due times.
    fn new(open: bool) -> Tally {
        let stats = KindStats { response: open.then(Default::default), ..KindStats::default() };
        Tally { stats, waiting: [0; GROUP], length: 0 }
    }

    /// Adds a service time. Returns whether it filled a group, which was then counted.
    #[inline(always)]
    fn add(&mut self, service_ns: u64) -> bool {
        // `length` is always below GROUP; the remainder lets the compiler omit the bounds check.
        self.waiting[self.length % GROUP] = service_ns;
        self.length += 1;
        let complete = self.length == GROUP;
        if complete {
            self.count_waiting();
        }
        complete
    }

    #[inline(never)]
    fn count_waiting(&mut self) {
        self.stats.service.record_all(&self.waiting[..std::mem::take(&mut self.length)]);
    }

    /// Returns the statistics and clears them; `None` if no operation completed.
    fn take(&mut self, open: bool) -> Option<KindStats> {
        self.count_waiting();
        self.stats.ops = self.stats.service.count();
        (self.stats.ops > 0).then(|| std::mem::replace(self, Tally::new(open)).stats)
    }
}

pub(crate) struct Recorder {
    job: u32,
    /// Whether the load is open-loop, so that operations have due times.
    open: bool,
    kinds: Box<[Tally; 4]>,
    interval_ns: u64,
    index: u64,
    interval_end: u64,
    /// End of the ramp-up, when statistics are reset, nanoseconds since the job began; 0 after
    /// that.
    ramp_ns: u64,
    /// The interval of the measurement in which the job begins.
    first: u64,
    /// Operations whose counts have been reported or discarded.
    counted: u64,
    out: ReportSender,
    pub(crate) pulse: Pulse,
    workload: String,
    pub(crate) errors: Vec<IoErrors>,
    /// Whether to keep the counts of the last whole interval, and those.
    keeps: bool,
    whole: Option<Kinds>,
}

impl Recorder {
    /// Creates the recorder of a worker. Statistics are reset after the ramp-up.
    pub(crate) fn new(
        worker: u32,
        job: &Job,
        interval_ns: u64,
        (out, pulse): (ReportSender, Pulse),
    ) -> Recorder {
        let (open, ramp_ns) = (job.workload.pacing.is_open(), job.issue.ramp_ns);
        let kinds = Box::new([(); 4].map(|()| Tally::new(open)));
        Recorder {
            job: worker,
            open,
            kinds,
            interval_ns,
            index: 0,
            interval_end: if ramp_ns > 0 { ramp_ns.min(interval_ns) } else { interval_ns },
            ramp_ns,
            first: 0,
            counted: 0,
            out,
            pulse,
            workload: job.workload.name.clone(),
            errors: Vec::new(),
            keeps: false,
            whole: None,
        }
    }

    /// Sets the time at which the job begins, nanoseconds since the performance began.
    pub(crate) fn begins_after(&mut self, ns: u64) {
        self.first = ns / self.interval_ns;
    }

    /// Counts a completed operation. Returns whether a whole group was counted, which takes longer.
    #[inline(always)]
    pub(crate) fn count(
        &mut self,
        kind: OpKind,
        bytes: u32,
        service_ns: u64,
        response_ns: u64,
    ) -> bool {
        let tally = &mut self.kinds[kind as usize];
        tally.stats.bytes += u64::from(bytes);
        if let Some(response) = &mut tally.stats.response {
            response.record(response_ns);
        }
        tally.add(service_ns)
    }

    /// Counts where a service time went.
    #[inline]
    pub(crate) fn count_split(&mut self, kind: OpKind, service_ns: u64, parts: &TimeSplit) {
        let split = self.kinds[kind as usize].stats.split.get_or_insert_default();
        split.add_one(&parts.of_one(service_ns));
    }

    /// Counts the parts of a service time, beside the time itself.
    #[cold]
    pub(crate) fn count_submission(&mut self, kind: OpKind, call_ns: u64, rest_ns: u64) {
        let submission = self.kinds[kind as usize].stats.submission.get_or_insert_default();
        submission.call.record(call_ns);
        submission.rest.record(rest_ns);
    }

    /// End of the current interval, nanoseconds since the job began.
    #[inline]
    pub(crate) fn interval_end(&self) -> u64 {
        self.interval_end
    }

    /// Reports the counts and continues in the interval that contains `now`. `temperature_c` is
    /// set if the backend knows the temperature. Returns whether the ramp-up has ended, so that all
    /// counts start again.
    #[cold]
    pub(crate) fn publish(&mut self, now: u64, temperature_c: Option<f64>) -> bool {
        self.pulse.beat();
        let open = self.open;
        if now < self.ramp_ns {
            self.interval_end = self.ramp_ns.min(now.saturating_add(self.interval_ns));
            return false;
        }
        let kinds = Box::new(self.kinds.each_mut().map(|tally| tally.take(open)));
        self.counted += kinds.iter().flatten().map(|kind| kind.ops).sum::<u64>();
        if std::mem::take(&mut self.ramp_ns) > 0 {
            self.enter_interval(now / self.interval_ns);
            return true;
        }
        if kinds.iter().any(Option::is_some) {
            let (job, whole) = (self.job, now >= self.interval_end);
            let index = self.first + self.index;
            self.whole = (self.keeps && whole).then(|| (*kinds).clone());
            let report = Report::Interval { job, index, whole, kinds, temperature_c };
            self.out.send(report);
        }
        self.enter_interval((now / self.interval_ns).max(self.index + 1));
        false
    }

    /// Keeps the counts of the last whole interval for [`Recorder::take_whole`].
    pub(crate) fn keep_intervals(&mut self) {
        self.keeps = true;
    }

    /// The counts of the whole interval that was reported last, once.
    pub(crate) fn take_whole(&mut self) -> Option<Kinds> {
        self.whole.take()
    }

    /// Length of an interval, nanoseconds.
    pub(crate) fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// Reports the counts of an earlier interval again, for the current one, and continues in the
    /// next.
    pub(crate) fn repeat(&mut self, kinds: Kinds, temperature_c: Option<f64>) {
        self.pulse.beat();
        self.counted += kinds.iter().flatten().map(|kind| kind.ops).sum::<u64>();
        let (job, index, kinds) = (self.job, self.first + self.index, Box::new(kinds));
        self.out.send(Report::Interval { job, index, whole: true, kinds, temperature_c });
        self.enter_interval(self.index + 1);
    }

    /// Discards everything counted so far except errors, here and in the reports.
    #[cold]
    pub(crate) fn restart(&mut self, now: u64) {
        self.ramp_ns = 0;
        for tally in self.kinds.iter_mut() {
            self.counted += tally.take(self.open).map_or(0, |stats| stats.ops);
        }
        self.out.send(Report::Reset { job: self.job });
        self.enter_interval(now / self.interval_ns);
    }

    fn enter_interval(&mut self, index: u64) {
        self.index = index;
        self.interval_end = (index + 1) * self.interval_ns;
    }

    /// Reports logged operations.
    #[cold]
    pub(crate) fn log(&mut self, ops: Vec<Logged>) {
        self.out.send(Report::Log { job: self.job, ops });
    }

    /// Counts an error: a negative errno or a short transfer.
    #[cold]
    pub(crate) fn error(&mut self, op: Op, result: i64) {
        let kind = match result {
            moved if moved >= 0 => "short transfer".to_string(),
            code => rig::errno::name(-code as i32),
        };
        self.fault(op.kind.name(), &kind, op.offset);
    }

    /// Counts a fault of any kind at an address.
    #[cold]
    pub(crate) fn fault(&mut self, op: &str, kind: &str, offset: u64) {
        let index = self.errors.iter().position(|e| e.op == op && e.kind == kind);
        let index = index.unwrap_or_else(|| {
            self.errors.push(IoErrors::new(op, kind, self.workload.as_str(), 0));
            self.errors.len() - 1
        });
        let errors = &mut self.errors[index];
        errors.count += 1;
        if errors.first_offsets.len() < ADDRESSES_KEPT {
            errors.first_offsets.push(offset);
        }
    }

    /// Reports the remaining counts and the end of a job that completed this many operations.
    pub(crate) fn finish(mut self, mut end: JobEnd, completed: u64) {
        self.publish(end.end_ns, None);
        assert_eq!(self.counted, completed, "operations counted and completed");
        end.job = self.job;
        end.errors = std::mem::take(&mut self.errors);
        self.out.send(Report::Done { job: self.job, end: Box::new(end) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_every_worker_are_kept() {
        let end = |depth_capped, missing: &[&'static str]| JobEnd {
            depth_capped,
            missing: missing.to_vec(),
            ..JobEnd::default()
        };
        let mut merged = end(None, &["registered files"]);
        merged.merge(end(Some(8), &["registered files", "fixed buffers"]));
        merged.merge(end(Some(16), &[]));
        assert_eq!(merged.depth_capped, Some(8));
        assert_eq!(merged.missing, ["registered files", "fixed buffers"]);
    }
}
