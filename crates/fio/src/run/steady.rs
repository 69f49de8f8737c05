//! `steadystate=`: ends a job once its rate or latency has been steady for a while. As in fio, the
//! last `ss_dur` is judged in windows of `ss_interval`: by the slope of a line through them, or by
//! the largest deviation from their mean.
//!
//! Windows consist of the rig's intervals, which are complete: an operation counts in the interval
//! of its completion, however late that is reported. With `group_reporting`, the jobs of a group
//! are judged and ended together.

use rig::{IntervalObserver, JobSeen};

use super::clones::JobClone;
use crate::{Criterion, Steady, Threshold};

/// The steady state of a job or of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadySeen {
    /// The requested criterion.
    pub asked: Steady,
    /// Whether it ended because it was steady.
    pub attained: bool,
    /// The slope or the largest deviation, in percent of the mean if the limit is.
    pub criterion: f64,
    /// Largest deviation from the mean, in units of the criterion.
    pub deviation: f64,
    /// Slope, in units of the criterion per window.
    pub slope: f64,
    /// The last windows in order, at most those of `ss_dur`.
    pub windows: Vec<Window>,
}

/// The rates of one window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Operations per second.
    pub iops: u64,
    /// Bytes per second.
    pub bw: u64,
    /// Mean latency, nanoseconds; 0 without operations.
    pub lat: u64,
}

impl SteadySeen {
    pub(super) fn new(asked: Steady) -> SteadySeen {
        SteadySeen {
            asked,
            attained: false,
            criterion: 0.0,
            deviation: 0.0,
            slope: 0.0,
            windows: Vec::new(),
        }
    }

    /// The mean of a rate over the windows; 0 without any.
    pub fn mean(&self, of: fn(&Window) -> u64) -> u64 {
        self.windows.iter().map(of).sum::<u64>() / (self.windows.len() as u64).max(1)
    }

    /// Adds a window, and judges the last `ss_dur` if there are enough.
    fn add(&mut self, window: Window) {
        let count = self.asked.windows();
        if self.windows.len() == count {
            self.windows.remove(0);
        }
        self.windows.push(window);
        if self.windows.len() < count {
            return;
        }
        let looked_at: fn(&Window) -> u64 = match self.asked.criterion {
            Criterion::Iops => |w| w.iops,
            Criterion::Bandwidth => |w| w.bw,
            Criterion::Latency => |w| w.lat,
        };
        let values: Vec<f64> = self.windows.iter().map(|w| looked_at(w) as f64).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let measure = if self.asked.slope {
            self.slope = slope(&values);
            self.slope
        } else {
            self.deviation = values.iter().map(|v| (v - mean).abs()).fold(0.0, f64::max);
            self.deviation
        };
        let (limit, criterion) = match self.asked.limit {
            Threshold::Percent(limit) => (limit, 100.0 * measure / mean),
            Threshold::Absolute(limit) => (limit, measure),
        };
        self.criterion = criterion;
        // No operations are not steady: 0/0 is not a number.
        self.attained = criterion.abs() < limit;
    }
}

/// Slope of the least-squares line through equidistant values.
fn slope(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let (sum_x, sum_x2) = (n * (n - 1.0) / 2.0, (n - 1.0) * n * (2.0 * n - 1.0) / 6.0);
    let sum_y: f64 = values.iter().sum();
    let sum_xy: f64 = (0u32..).zip(values).map(|(x, y)| f64::from(x) * y).sum();
    (sum_xy - sum_x * sum_y / n) / (sum_x2 - sum_x * sum_x / n)
}

/// All jobs of a stage that end when steady.
#[derive(Debug, Default)]
pub(super) struct SteadyWatch {
    interval_ns: u64,
    groups: Vec<SteadyGroup>,
}

/// Jobs that are judged together.
#[derive(Debug)]
struct SteadyGroup {
    /// Numbers of the jobs in their stage.
    members: Vec<u32>,
    seen: SteadySeen,
    /// Whether the first intervals may be incomplete, because a ramp ended within them.
    ramped: bool,
    /// Number of intervals in a window, and the next window's first interval, once known.
    per_window: u64,
    next: Option<u64>,
}

impl SteadyWatch {
    pub(super) fn new(clones: &[&JobClone<'_>], interval_ns: u64) -> SteadyWatch {
        let mut groups: Vec<(Option<u32>, SteadyGroup)> = Vec::new();
        for (number, clone) in (0..).zip(clones) {
            let Some(steady_state) = clone.job.steady else { continue };
            let key = clone.job.reporting.group.then_some(clone.job.group);
            if let Some((_, group)) = groups.iter_mut().find(|(k, _)| k.is_some() && *k == key) {
                group.members.push(number);
                continue;
            }
            let schedule = &clone.job.schedule;
            let group = SteadyGroup {
                members: vec![number],
                seen: SteadySeen::new(steady_state),
                ramped: !schedule.ramp_time.is_zero() || schedule.ramp_size > 0,
                per_window: (steady_state.interval.as_nanos() as u64 / interval_ns).max(1),
                next: None,
            };
            groups.push((key, group));
        }
        SteadyWatch { interval_ns, groups: groups.into_iter().map(|(_, group)| group).collect() }
    }

    /// The steady state of the job with this number.
    pub(super) fn seen(&self, job: u32) -> Option<SteadySeen> {
        let group = self.groups.iter().find(|group| group.members.contains(&job))?;
        Some(group.seen.clone())
    }
}

impl IntervalObserver for SteadyWatch {
    fn interval(&mut self, _now_ns: u64, jobs: &[JobSeen], end: &dyn Fn(u32)) {
        for group in self.groups.iter_mut().filter(|group| !group.seen.attained) {
            while let Some(window) = group.window(jobs, self.interval_ns) {
                group.seen.add(window);
                if group.seen.attained {
                    group.members.iter().for_each(|job| end(*job));
                    break;
                }
            }
        }
    }
}

impl SteadyGroup {
    /// The next window, once complete.
    fn window(&mut self, jobs: &[JobSeen], interval_ns: u64) -> Option<Window> {
        let members = || self.members.iter().filter_map(|job| jobs.get(*job as usize));
        let start = self.next.or_else(|| {
            let begins = members().filter_map(|job| Some(job.intervals.first()?.index)).min()?;
            let ramp = self.seen.asked.ramp.as_nanos() as u64 / interval_ns;
            Some(begins + u64::from(self.ramped) + ramp)
        })?;
        self.next = Some(start);
        let end = start + self.per_window;
        // A job that has not started does nothing.
        let goes_on = members().any(|job| job.closed >= end && job.closed < u64::MAX);
        if !goes_on || members().any(|job| job.closed > 0 && job.closed < end) {
            return None;
        }
        self.next = Some(end);
        let mut sums = (0, 0, 0);
        for job in members() {
            let first = job.intervals.partition_point(|interval| interval.index < start);
            let inside = job.intervals[first..].iter().take_while(|i| i.index < end);
            // Reads, writes and trims; flushes do not count.
            let kinds = inside.flat_map(|i| [i.kinds[0], i.kinds[1], i.kinds[3]]);
            kinds.for_each(|kind| {
                sums = (sums.0 + kind.0, sums.1 + kind.1, sums.2 + kind.2);
            });
        }
        let (ops, bytes, service_ns) = sums;
        let nanos = self.per_window * interval_ns;
        let [iops, bw] =
            [ops, bytes].map(|n: u64| (u128::from(n) * 1_000_000_000 / u128::from(nanos)) as u64);
        let lat = service_ns.checked_div(ops).unwrap_or(0);
        Some(Window { iops, bw, lat })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rig::JobInterval;

    use super::*;

    fn asked(criterion: Criterion, slope: bool, limit: Threshold) -> Steady {
        let second = Duration::from_secs(1);
        let duration = 4 * second;
        Steady { criterion, slope, limit, duration, ramp: Duration::ZERO, interval: second }
    }

    fn watch(asked: Steady, members: Vec<u32>) -> SteadyWatch {
        let seen = SteadySeen::new(asked);
        let group = SteadyGroup { members, seen, ramped: false, per_window: 10, next: None };
        SteadyWatch { interval_ns: 100_000_000, groups: vec![group] }
    }

    /// A job with these numbers of operations per second, of 4 KiB and 50 us each.
    fn job(by_second: &[u64]) -> JobSeen {
        let intervals = (0u64..).zip(by_second).flat_map(|(second, ops)| {
            (0..10).map(move |tenth| {
                let mut kinds = [(0, 0, 0, 0); 4];
                kinds[0] = (ops / 10, ops / 10 * 4096, ops / 10 * 50_000, 50_000);
                JobInterval { index: second * 10 + tenth, kinds }
            })
        });
        let intervals: Vec<_> = intervals.collect();
        JobSeen { closed: intervals.len() as u64, intervals, ..JobSeen::default() }
    }

    /// The ended jobs, and the steady state.
    fn found(asked: Steady, jobs: &[JobSeen]) -> (Vec<u32>, SteadySeen) {
        let mut watch = watch(asked, (0..jobs.len() as u32).collect());
        let ended = std::cell::RefCell::new(Vec::new());
        watch.interval(0, jobs, &|job| ended.borrow_mut().push(job));
        (ended.into_inner(), watch.seen(0).expect("a group"))
    }

    #[test]
    fn a_rate_within_the_limit_of_its_mean_is_steady() {
        let percent = asked(Criterion::Iops, false, Threshold::Percent(10.0));
        let (ended, seen) = found(percent, &[job(&[1000, 500, 510, 520, 530, 999])]);
        assert_eq!(ended, [0]);
        let iops: Vec<u64> = seen.windows.iter().map(|w| w.iops).collect();
        assert_eq!((iops, seen.deviation), (vec![500, 510, 520, 530], 15.0));
        assert!((seen.criterion - 100.0 * 15.0 / 515.0).abs() < 1e-9, "{seen:?}");
        assert_eq!((seen.mean(|w| w.iops), seen.mean(|w| w.lat)), (515, 50_000));
        // A deviation equal to the limit is not below it.
        let absolute = asked(Criterion::Iops, false, Threshold::Absolute(15.0));
        assert!(found(absolute, &[job(&[500, 510, 520, 530])]).0.is_empty());
    }

    #[test]
    fn a_slope_is_that_of_the_line_through_the_windows() {
        let steep = asked(Criterion::Iops, true, Threshold::Absolute(10.0));
        let (ended, seen) = found(steep, &[job(&[500, 510, 520, 530])]);
        assert_eq!((ended.len(), seen.slope, seen.attained), (0, 10.0, false));
        let (ended, seen) = found(steep, &[job(&[500, 510, 520, 530, 520])]);
        assert_eq!((ended, seen.slope), (vec![0], 4.0));
        let down = asked(Criterion::Bandwidth, true, Threshold::Percent(1.0));
        let (ended, seen) = found(down, &[job(&[530, 520, 510, 500])]);
        assert!(ended.is_empty() && (seen.criterion + 100.0 * 10.0 / 515.0).abs() < 1e-9);
    }

    #[test]
    fn a_group_is_judged_by_its_sum_and_ended_together() {
        let limit = asked(Criterion::Iops, false, Threshold::Percent(1.0));
        let (up, down) = (job(&[100, 200, 300, 400]), job(&[400, 300, 200, 100]));
        assert_eq!(found(limit, &[up.clone(), down]).0, [0, 1]);
        // A job that has not started delays nothing; a lagging job does.
        assert_eq!(found(limit, &[job(&[500; 4]), JobSeen::default()]).0, [0, 1]);
        assert!(found(limit, &[job(&[500; 4]), job(&[500; 3])]).0.is_empty());
    }

    #[test]
    fn too_few_windows_and_none_at_all_are_not_steady() {
        let limit = asked(Criterion::Iops, false, Threshold::Percent(50.0));
        assert!(found(limit, &[job(&[500; 3])]).0.is_empty());
        assert!(found(limit, &[job(&[0; 4])]).0.is_empty(), "0 of 0");
        let late = Steady { ramp: Duration::from_secs(2), ..limit };
        assert!(found(late, &[job(&[500; 5])]).0.is_empty());
        assert_eq!(found(late, &[job(&[9, 9, 500, 500, 500, 500])]).0, [0]);
    }

    #[test]
    fn latency_is_the_mean_of_all_completed_operations() {
        let limit = asked(Criterion::Latency, false, Threshold::Absolute(1.0));
        let (ended, seen) = found(limit, &[job(&[10, 100, 1000, 500])]);
        assert_eq!((ended, seen.mean(|w| w.lat)), (vec![0], 50_000));
    }
}
