//! Measurement, results and logs of a job, and its behaviour after errors.

use std::time::Duration;

/// The parts of the results to show.
#[derive(Clone, Debug, PartialEq)]
pub struct Reporting {
    /// `group_reporting`: one result for the group, not one for each clone.
    pub group: bool,
    /// `clat_percentiles`: of completion latency; true by default, false with `gtod_reduce`.
    pub clat_percentiles: bool,
    /// `lat_percentiles`: of total latency.
    pub lat_percentiles: bool,
    /// `slat_percentiles`: of submission latency.
    pub slat_percentiles: bool,
    /// `percentile_list=`: 1 to 20 percentiles, ascending.
    pub percentiles: Vec<f64>,
    /// Number of decimals in the list, with which fio prints all percentiles.
    pub percentile_precision: u32,
    /// `disk_util`: show disk statistics; true by default.
    pub disk_util: bool,
    /// `disable_slat`: no submission latency. Also set by `gtod_reduce`.
    pub disable_slat: bool,
    /// `disable_lat`: no total latency. Also set by `gtod_reduce`.
    pub disable_lat: bool,
    /// `disable_clat`: no completion latency. Also set by `gtod_reduce`.
    pub disable_clat: bool,
    /// `gtod_reduce`: the clock is read less often, and no latencies are shown.
    pub gtod_reduce: bool,
    /// `unified_rw_reporting=`.
    pub unified: UnifiedRw,
    /// `bwavgtime=`: length of a sample of bandwidth; 500 ms by default.
    pub bw_avg_time: Duration,
    /// `iopsavgtime=`: of IOPS; 500 ms by default.
    pub iops_avg_time: Duration,
    /// `unit_base=`: true for results in bits rather than bytes.
    pub bits: bool,
    /// `stats`: false omits the job from the results.
    pub stats: bool,
}

impl Default for Reporting {
    fn default() -> Reporting {
        let percentiles = [
            1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9,
            99.95, 99.99,
        ];
        Reporting {
            group: false,
            clat_percentiles: true,
            lat_percentiles: false,
            slat_percentiles: false,
            percentiles: percentiles.to_vec(),
            percentile_precision: 2,
            disk_util: true,
            disable_slat: false,
            disable_lat: false,
            disable_clat: false,
            gtod_reduce: false,
            unified: UnifiedRw::None,
            bw_avg_time: Duration::from_millis(500),
            iops_avg_time: Duration::from_millis(500),
            bits: false,
            stats: true,
        }
    }
}

/// `unified_rw_reporting=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnifiedRw {
    /// Each direction separately.
    #[default]
    None,
    /// All directions together, as `mixed`.
    Mixed,
    Both,
}

/// Logs over time. A prefix is the option's value or the job's name, to which fio adds `_bw.N.log`
/// and so on. `N` counts clones from 1 over the whole plan, unless `shared_file` is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logs {
    /// `write_bw_log=`: prefix of the bandwidth log.
    pub bw: Option<String>,
    /// `write_iops_log=`: of the IOPS log.
    pub iops: Option<String>,
    /// `write_lat_log=`: of the three latency logs.
    pub lat: Option<String>,
    /// `write_iolog=`: name of the log of all operations.
    pub iolog: Option<String>,
    /// `write_hist_log=`: of the log of histograms.
    pub histogram: Option<String>,
    /// `log_hist_msec=`: time that a line of it covers; zero: it has no lines, as in fio.
    pub histogram_window: Duration,
    /// `log_hist_coarseness=`: 2 to this power is the number of bins that it adds up.
    pub histogram_coarseness: u32,
    /// `log_avg_msec=`: one line per interval of this length; zero: one line per operation.
    pub average: Duration,
    /// `log_max_value` (`log_window_value`): the largest value of an interval rather than the mean.
    pub max_value: bool,
    /// `log_window_value=both`: mean and largest.
    pub both_values: bool,
    /// `log_offset`: offsets as well.
    pub offset: bool,
    /// `log_issue_time`: the time of issue as well.
    pub issue_time: bool,
    /// `log_prio`: the priority itself rather than whether it is real time.
    pub priority: bool,
    /// `log_store_compressed`: samples rather than lines, compressed.
    pub compressed: bool,
    /// `log_unix_epoch`, `log_alternate_epoch`: times since 1970 rather than since the job began.
    pub unix_epoch: bool,
    /// `per_job_logs=0`: all clones into one file.
    pub shared_file: bool,
}

impl Logs {
    /// Whether a log needs every operation.
    pub(crate) fn each_op(&self) -> bool {
        let has_log = self.bw.is_some() || self.iops.is_some() || self.lat.is_some();
        let has_histogram = self.histogram.is_some() && !self.histogram_window.is_zero();
        has_log && self.average.is_zero() || has_histogram || self.iolog.is_some()
    }
}

/// Behaviour after an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// `continue_on_error=`: kinds of errors that are counted but do not end the job.
    pub go_on: ErrorSet,
    /// `ignore_error=` for reads: error numbers that are not even counted.
    pub ignore_read: Vec<i32>,
    /// For writes.
    pub ignore_write: Vec<i32>,
    /// For verification, which only knows EILSEQ.
    pub ignore_verify: Vec<i32>,
}

impl Errors {
    /// Whether a job with blocks that failed verification ends without an error.
    pub(crate) fn forgives_faults(&self) -> bool {
        let codes = &self.ignore_verify;
        self.go_on.verify && (codes.is_empty() || codes.contains(&rig::errno::EILSEQ))
    }
}

/// Kinds of errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorSet {
    /// Of reads.
    pub read: bool,
    /// Of writes.
    pub write: bool,
    /// Found by verification.
    pub verify: bool,
}

/// `steadystate=` with `steadystate_duration=`: the job ends once the criterion has been met for
/// that long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// The quantity.
    pub criterion: Criterion,
    /// Whether to use the slope of a line through it, rather than the largest deviation from its
    /// mean.
    pub slope: bool,
    /// The tolerance.
    pub limit: Threshold,
    /// `ss_dur=`: window over which it must be met: a multiple of `interval`, at least two.
    pub duration: Duration,
    /// `ss_ramp=`: time before the first check.
    pub ramp: Duration,
    /// `ss_interval=`: time between checks; 1 s by default, never less.
    pub interval: Duration,
}

impl Steady {
    /// The number of checks in `ss_dur`, at least 2.
    pub(crate) fn windows(&self) -> usize {
        (self.duration.as_micros() / self.interval.as_micros().max(1)) as usize
    }

    /// The threshold as fio's `--debug=parse` says it.
    pub(crate) fn threshold_in_fios_words(&self) -> String {
        let (name, value) = match (self.limit, self.criterion) {
            (Threshold::Percent(percent), _) => ("", format!("{percent:.6}%")),
            (Threshold::Absolute(limit), Criterion::Iops) => ("IOPS ", format!("{limit:.6}")),
            (Threshold::Absolute(limit), Criterion::Bandwidth) => ("BW ", format!("{limit:.0}")),
            (Threshold::Absolute(ns), Criterion::Latency) => ("latency ", format!("{ns:.0} nsec")),
        };
        format!("set steady state {name}threshold to {value}")
    }
}

/// The quantity that must be steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// Operations per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean total latency, nanoseconds.
    Latency,
}

/// The tolerance of a criterion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// Percent of the mean.
    Percent(f64),
    /// In units of the criterion (for a slope: per second).
    Absolute(f64),
}

/// `latency_target=`: searches for the largest queue depth, up to `iodepth`, that meets a latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyTarget {
    /// The target latency.
    pub target: Duration,
    /// `latency_window=`: time for each depth tried.
    pub window: Duration,
    /// `latency_percentile=`: percent of operations that must meet it; 100 by default.
    pub percentile: f64,
    /// `latency_run`: keep adjusting the depth instead of ending with a result.
    pub run: bool,
}
