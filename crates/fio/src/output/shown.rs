//! One result: a clone, or the combined clones of a group, with the figures shown in any format.

use record::Histogram;
use rig::KindStats;
use workload::OpKind;

use crate::job::DIRECTIONS;
use crate::run::JobRun;
use crate::{Job, UnifiedRw};

/// A result as shown.
pub(crate) struct Shown<'r> {
    pub job: &'r Job,
    pub runs: Vec<&'r JobRun<'r>>,
    /// Statistics of all clones, indexed by `OpKind as usize`.
    pub kinds: [Option<KindStats>; 4],
    /// All directions combined, if reported that way.
    mixed: Option<KindStats>,
    /// Whether the writes that `verify_only` leaves out count, as in fio, beside what was measured.
    counts_left_out: bool,
}

/// The figures of one direction, or of all combined.
pub(crate) struct ReportedSide<'s> {
    /// `None`: all combined.
    pub kind: Option<OpKind>,
    pub stats: &'s KindStats,
    /// Run time of the longest clone, nanoseconds.
    pub runtime_ns: u64,
    /// Bytes per second in each sample.
    pub bw: Samples,
    /// Operations per second in each sample.
    pub iops: Samples,
}

/// Samples of a rate over time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Samples {
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub deviation: f64,
    pub count: usize,
}

impl Samples {
    /// The samples of several clones. As in fio, rates and numbers of samples are added up.
    fn sum(clones: impl Iterator<Item = Vec<f64>>) -> Samples {
        let (mut total, mut squares) = (Samples::default(), 0.0);
        for values in clones.filter(|values| !values.is_empty()) {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            squares += values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
            total.min += values.iter().copied().fold(f64::INFINITY, f64::min);
            total.max += values.iter().copied().fold(0.0, f64::max);
            total.mean += mean;
            total.count += values.len();
        }
        if total.count > 1 {
            total.deviation = (squares / (total.count - 1) as f64).sqrt();
        }
        total
    }
}

impl<'r> Shown<'r> {
    /// The clones of one result; at least one.
    pub(super) fn new(runs: Vec<&'r JobRun<'r>>) -> Shown<'r> {
        let mut kinds = [const { None::<KindStats> }; 4];
        for run in &runs {
            for (mine, theirs) in kinds.iter_mut().zip(&run.did.seen.kinds) {
                if let Some(added) = theirs {
                    mine.get_or_insert_with(KindStats::default).merge(added);
                }
            }
        }
        let job = runs[0].job;
        let did = DIRECTIONS.map(|kind| kinds[kind as usize].as_ref());
        let mixed = match job.reporting.unified {
            UnifiedRw::None => None,
            UnifiedRw::Mixed | UnifiedRw::Both => did.into_iter().flatten().cloned().reduce(sum),
        };
        Shown { job, runs, kinds, mixed, counts_left_out: false }
    }

    /// The same result, in which the writes that `verify_only` leaves out count or not.
    pub(super) fn counting_left_out(self, counts_left_out: bool) -> Shown<'r> {
        Shown { counts_left_out, ..self }
    }

    /// The job of the last clone, whose options apply to the whole result in some fields of fio.
    pub(super) fn last_job(&self) -> &'r Job {
        self.runs.last().map_or(self.job, |run| run.job)
    }

    /// The directions with operations.
    pub(crate) fn sides(&self) -> Vec<ReportedSide<'_>> {
        DIRECTIONS.into_iter().filter_map(|kind| self.side(kind)).collect()
    }

    /// The sides to report: separate directions, all combined, or both.
    pub(crate) fn reported(&self) -> Vec<ReportedSide<'_>> {
        let sides = match self.job.reporting.unified {
            UnifiedRw::Mixed => Vec::new(),
            UnifiedRw::None | UnifiedRw::Both => self.sides(),
        };
        sides.into_iter().chain(self.mixed()).collect()
    }

    /// All directions combined, if reported that way.
    pub(crate) fn mixed(&self) -> Option<ReportedSide<'_>> {
        Some(self.side_of(None, self.mixed.as_ref()?, &DIRECTIONS))
    }

    /// One direction, if it had operations.
    pub(crate) fn side(&self, kind: OpKind) -> Option<ReportedSide<'_>> {
        Some(self.side_of(Some(kind), self.kinds[kind as usize].as_ref()?, &[kind]))
    }

    fn side_of<'s>(
        &'s self,
        kind: Option<OpKind>,
        stats: &'s KindStats,
        kinds: &[OpKind],
    ) -> ReportedSide<'s> {
        let times = self.runs.iter().flat_map(|run| {
            kinds
                .iter()
                .filter(|kind| self.kinds[**kind as usize].is_some())
                .map(|kind| runtime_ns(run, *kind))
        });
        let runtime_ns = times.max().unwrap_or(0);
        let reporting = &self.job.reporting;
        let samples = |window, pick: fn(&Sums) -> u64| {
            let runs = self.runs.iter().filter(|run| {
                kinds.iter().any(|kind| run.did.seen.kinds[*kind as usize].is_some())
            });
            Samples::sum(runs.map(|run| samples(run, kinds, window, pick)))
        };
        let bw = samples(reporting.bw_avg_time.as_nanos() as u64, |k| k.1);
        let iops = samples(reporting.iops_avg_time.as_nanos() as u64, |k| k.0);
        ReportedSide { kind, stats, runtime_ns, bw, iops }
    }

    /// The error number of the first clone that failed; 0 for none.
    pub(crate) fn error(&self) -> i32 {
        self.runs.iter().map(|run| run.error()).find(|code| *code != 0).unwrap_or(0)
    }

    /// Whether any direction has operations.
    pub(crate) fn has_operations(&self) -> bool {
        DIRECTIONS.iter().any(|kind| self.kinds[*kind as usize].is_some())
    }

    /// Flushes that were issued between operations.
    pub(crate) fn flushes(&self) -> Option<&KindStats> {
        self.kinds[OpKind::Flush as usize].as_ref()
    }

    /// What counts in a direction without having been issued: as many writes as were read instead.
    pub(super) fn left_out(&self, kind: OpKind) -> KindStats {
        let runs = self.runs.iter().filter(|run| {
            kind == OpKind::Write && run.job.verify.only && run.job.access.rw.writes()
        });
        let mut left_out = KindStats::default();
        let reads = runs.filter_map(|run| run.did.seen.kinds[OpKind::Read as usize].as_ref());
        for read in reads.filter(|_| self.counts_left_out) {
            (left_out.ops, left_out.bytes) = (left_out.ops + read.ops, left_out.bytes + read.bytes);
        }
        left_out
    }

    /// The sum of a quantity over the clones.
    pub(crate) fn sum(&self, of: impl Fn(&JobRun<'_>) -> u64) -> u64 {
        self.runs.iter().map(|run| of(run)).sum()
    }

    /// Start of its first clone, milliseconds since 1970.
    pub(crate) fn began_unix_ms(&self) -> u64 {
        let times = self.runs.iter().map(|run| run.began_unix_ns + run.did.origin_ns);
        times.min().unwrap_or(0) / 1_000_000
    }

    /// Time from start to end of the longest clone, nanoseconds.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        let times = self.runs.iter().map(|run| run.did.end_ns.saturating_sub(run.did.begin_ns));
        times.max().unwrap_or(0)
    }

    /// Percentages of seven classes over the clones.
    pub(crate) fn shares(&self, of: impl Fn(&JobRun<'_>) -> [u64; 7]) -> [f64; 7] {
        let mut sums = [0; 7];
        for run in &self.runs {
            sums.iter_mut().zip(of(run)).for_each(|(sum, n)| *sum += n);
        }
        let total = sums.iter().sum::<u64>().max(1) as f64;
        sums.map(|n| n as f64 * 100.0 / total)
    }

    /// Share of operations by latency, percent: up to 2, 4, 10, 20, 50, 100, 250, 500, 750, 1000
    /// ns; the same in us; the same in ms, then 2000 ms, and more.
    pub(crate) fn latency_classes(&self) -> ([f64; 10], [f64; 10], [f64; 12]) {
        let (mut ns, mut us, mut ms) = ([0.0; 10], [0.0; 10], [0.0; 12]);
        let stats = [OpKind::Read, OpKind::Write, OpKind::Discard].map(|k| &self.kinds[k as usize]);
        let total: u64 = stats.iter().copied().flatten().map(|k| k.ops).sum();
        let percent_per_op = 100.0 / total.max(1) as f64;
        for (low, width, n) in stats.into_iter().flatten().flat_map(|k| k.service.buckets()) {
            let middle = low + width / 2;
            let share = n as f64 * percent_per_op;
            match middle {
                ..1_000 => ns[class(middle)] += share,
                1_000..1_000_000 => us[class(middle / 1_000)] += share,
                1_000_000..1_000_000_000 => ms[class(middle / 1_000_000)] += share,
                1_000_000_000..2_000_000_000 => ms[10] += share,
                _ => ms[11] += share,
            }
        }
        (ns, us, ms)
    }
}

/// The class of a value below 1000.
fn class(value: u64) -> usize {
    const BOUNDS: [u64; 9] = [2, 4, 10, 20, 50, 100, 250, 500, 750];
    BOUNDS.iter().position(|bound| value < *bound).unwrap_or(9)
}

/// Time that a clone spent in one direction. Written blocks are read back after the writes.
fn runtime_ns(run: &JobRun<'_>, kind: OpKind) -> u64 {
    let did = &run.did;
    let issuing = did.issue_end_ns.saturating_sub(did.begin_ns + did.checks_ns);
    let reading_back = did.end_ns.saturating_sub(did.issue_end_ns) + did.checks_ns;
    match kind {
        OpKind::Read if run.job.reads() || run.job.verify.only => issuing + reading_back,
        OpKind::Read => reading_back,
        _ => issuing,
    }
}

fn sum(mut a: KindStats, b: KindStats) -> KindStats {
    a.merge(&b);
    a
}

/// A rate in each complete window of a clone's time.
fn samples(run: &JobRun<'_>, of: &[OpKind], window_ns: u64, pick: fn(&Sums) -> u64) -> Vec<f64> {
    let (_, sums) = windows(run, window_ns.max(run.interval_ns));
    let seconds = window_ns.max(run.interval_ns) as f64 / 1e9;
    let rates = sums.iter().map(|kinds| {
        of.iter().map(|kind| pick(&kinds[*kind as usize])).sum::<u64>() as f64 / seconds
    });
    rates.collect()
}

/// Operations, bytes, total and longest service time in nanoseconds.
type Sums = (u64, u64, u64, u64);

/// The sums of a clone, by complete windows of its time, and the number of the first window: 0
/// unless earlier intervals were dropped.
pub(super) fn windows(run: &JobRun<'_>, window_ns: u64) -> (u64, Vec<[Sums; 4]>) {
    let per_window = (window_ns / run.interval_ns).max(1);
    let job_seen = &run.did.seen;
    let ramp = run.ramp_intervals();
    let origin = run.did.origin_ns / run.interval_ns + ramp;
    let measured_ns = run.did.end_ns.saturating_sub(ramp * run.interval_ns);
    let count = measured_ns / (per_window * run.interval_ns);
    let start = match job_seen.intervals.first() {
        Some(kept) if job_seen.forgotten > 0 => {
            kept.index.saturating_sub(origin).div_ceil(per_window).min(count)
        }
        _ => 0,
    };
    let mut sums = vec![[(0, 0, 0, 0); 4]; (count - start) as usize];
    let begin = origin + start * per_window;
    for interval in &job_seen.intervals {
        let Some(number) = interval.index.checked_sub(begin) else { continue };
        let Some(window) = sums.get_mut((number / per_window) as usize) else { continue };
        for (sum, add) in window.iter_mut().zip(interval.kinds) {
            *sum = (sum.0 + add.0, sum.1 + add.1, sum.2 + add.2, sum.3.max(add.3));
        }
    }
    (start, sums)
}

impl ReportedSide<'_> {
    /// Its name in results.
    pub(crate) fn name(&self) -> &'static str {
        self.kind.map_or("mixed", OpKind::name)
    }

    /// Bytes per second.
    pub(crate) fn bytes_per_s(&self) -> f64 {
        self.stats.bytes as f64 * 1e9 / self.runtime_ns.max(1) as f64
    }

    /// Operations per second.
    pub(crate) fn per_s(&self) -> f64 {
        self.stats.ops as f64 * 1e9 / self.runtime_ns.max(1) as f64
    }

    /// Whole milliseconds of its time, at least 1.
    pub(crate) fn runtime_ms(&self) -> u64 {
        (self.runtime_ns as f64 / 1e6).round().max(1.0) as u64
    }
}

/// Standard deviation of a histogram, from the middles of its buckets.
pub(super) fn deviation(histogram: &Histogram) -> f64 {
    let Some(mean) = histogram.mean() else { return 0.0 };
    let squares = histogram.buckets().map(|(low, width, n)| {
        let middle = low as f64 + (width - 1) as f64 / 2.0;
        n as f64 * (middle - mean).powi(2)
    });
    (squares.sum::<f64>() / histogram.count().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rig::JobInterval;

    use super::*;
    use crate::testing;

    const INTERVAL_NS: u64 = 100_000_000;

    /// A clone with these numbers of reads of 4 KiB, by interval of its stage. It ran for `ns`.
    fn clone<'p>(job: &'p Job, reads: &[(u64, u64)], ns: u64) -> JobRun<'p> {
        let mut run = testing::job_run(job);
        let interval = |&(index, ops): &(u64, u64)| {
            let mut kinds = [(0, 0, 0, 0); 4];
            kinds[OpKind::Read as usize] = (ops, ops * 4096, ops * 1000, 1000);
            JobInterval { index, kinds }
        };
        run.did.seen.intervals = reads.iter().map(interval).collect();
        run.did.seen.kinds[OpKind::Read as usize] = Some(KindStats::default());
        run.did.end_ns = ns;
        run
    }

    /// Reads per window of one interval, and the number of the first window.
    fn reads(run: &JobRun<'_>) -> (u64, Vec<u64>) {
        let (first, sums) = windows(run, INTERVAL_NS);
        (first, sums.iter().map(|window| window[OpKind::Read as usize].0).collect())
    }

    #[test]
    fn samples_of_clones_are_added_up() {
        let job = Job::default();
        let ten = |ops: u64| (0..10).map(|index| (index, ops)).collect::<Vec<_>>();
        let mut runs = [100, 100, 50].map(|ops| clone(&job, &ten(ops), 10 * INTERVAL_NS));
        // A clone without reads has no samples of them.
        runs[2].did.seen.kinds = [const { None }; 4];
        let shown = Shown::new(runs.iter().collect());
        let side = shown.side(OpKind::Read).expect("reads");
        let each = Samples { min: 2000.0, max: 2000.0, mean: 2000.0, deviation: 0.0, count: 4 };
        assert_eq!(side.iops, each);
        assert_eq!(side.bw.mean, 2000.0 * 4096.0);
        let uneven = Samples::sum([vec![1.0, 3.0], Vec::new(), vec![4.0, 8.0]].into_iter());
        assert_eq!((uneven.min, uneven.max, uneven.mean, uneven.count), (5.0, 11.0, 8.0, 4));
        assert!((uneven.deviation - (10.0f64 / 3.0).sqrt()).abs() < 1e-9, "{uneven:?}");
    }

    #[test]
    fn windows_begin_with_the_job_even_if_it_is_silent() {
        let job = Job::default();
        let mut late = clone(&job, &[(5, 3), (7, 1)], 5 * INTERVAL_NS);
        late.did.origin_ns = 3 * INTERVAL_NS + 7;
        assert_eq!(reads(&late), (0, vec![0, 0, 3, 0, 1]));
        // Counts of a time whose beginning was dropped keep their place.
        late.did.seen.forgotten = 1;
        assert_eq!(reads(&late), (2, vec![3, 0, 1]));
    }

    #[test]
    fn the_incomplete_interval_after_a_ramp_is_omitted() {
        let mut job = Job::default();
        job.schedule.ramp_time = Duration::from_millis(209);
        let mut ramped = clone(&job, &[(2, 1), (3, 10), (4, 10)], 509_000_000);
        ramped.did.begin_ns = 209_000_000;
        assert_eq!(reads(&ramped), (0, vec![10, 10]));
        ramped.did.begin_ns = 2 * INTERVAL_NS;
        assert_eq!(reads(&ramped), (0, vec![1, 10, 10]));
    }
}
