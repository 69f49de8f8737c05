//! Where the time of operations goes, in a line: `of 107 us: drive 69, this host 34, not explained 4`.

use record::{Metric, MetricKey, Run, SLOW_PARTS, SPLIT_PARTS, Statistic, TargetKind};

use crate::names::{label, row_of};

/// Share of the drive from which a split tells a reader of one page nothing.
const OF_DRIVE_MIN: f64 = 0.9;

/// The mean time of the operations of a workload, or of the slowest of them, with its parts.
#[derive(Debug, PartialEq)]
pub(crate) struct SplitTime {
    /// The metric whose time it is.
    pub(crate) key: MetricKey,
    is_of_slowest: bool,
    pub(crate) total_ns: f64,
    /// Name and nanoseconds of each part that is large enough to be shown.
    pub(crate) parts: Vec<(&'static str, f64)>,
}

/// Whether a metric is part of a split, and not shown on its own.
pub(crate) fn is_of_split(metric: &Metric) -> bool {
    let parts = SPLIT_PARTS.iter().chain(&SLOW_PARTS).map(|(part, _)| *part);
    let mut statistics = parts.chain([Statistic::TimeTotal, Statistic::SlowTotal]);
    let statistic = MetricKey::statistic_of(&metric.name);
    statistics.any(|part| statistic == Some(part))
}

impl SplitTime {
    /// The splits of a run, in the order of its metrics.
    pub(crate) fn from_run(run: &Run) -> Vec<SplitTime> {
        run.metrics.iter().filter_map(|total| SplitTime::new(run, total)).collect()
    }

    /// What the kernel's trace would add to the splits of a run on a real drive, if it was not
    /// permitted; empty where nothing was split, as on a virtual drive.
    pub(crate) fn missing(run: &Run) -> Option<&'static str> {
        let is_real = run.target.kind != TargetKind::Virtual && run.origin.is_none();
        let is_untraced =
            has_statistic(run, Statistic::TimeTotal) && !has_statistic(run, Statistic::TimeHeld);
        (is_real && is_untraced).then_some(
            "as root, unless --where is off, the time before, in and after the block layer is shown too",
        )
    }

    /// The split of this total; `None` for any other metric.
    fn new(run: &Run, total: &Metric) -> Option<SplitTime> {
        let statistic = MetricKey::statistic_of(&total.name)?;
        let is_of_slowest = statistic == Statistic::SlowTotal;
        let names: &[(Statistic, &str)] = match statistic {
            Statistic::TimeTotal => &SPLIT_PARTS,
            Statistic::SlowTotal => &SLOW_PARTS,
            _ => return None,
        };
        let total_ns = total.value.filter(|ns| *ns > 0.0)?;
        let key = total.key().without_statistic();
        let parts = record::split_parts(names, total_ns, |statistic| {
            run.metric(&key.clone().with(statistic).to_string())?.value
        });
        Some(SplitTime { key, is_of_slowest, total_ns, parts })
    }

    /// Whether it is that of all random operations of a cell, one at a time.
    pub(crate) fn is_single_random(&self) -> bool {
        let cell = self.key.as_cell().filter(|cell| cell.words.is_empty());
        let is_single =
            cell.is_some_and(|cell| cell.depth == 1 && cell.order == record::Order::Random);
        is_single && !self.is_of_slowest
    }

    /// Whether the drive and its link have nearly all of it.
    pub(crate) fn is_of_drive(&self) -> bool {
        let of_drive = self.parts.iter().filter(|(name, _)| ["drive", "link"].contains(name));
        of_drive.map(|(_, ns)| ns).sum::<f64>() >= OF_DRIVE_MIN * self.total_ns
    }

    /// `rand 4 KiB q1 read: of 107 us: drive 69, this host 34, not explained 4`; of the slowest,
    /// `rand 4 KiB q1 read: slowest: of 12.4 ms: drive 12.0, block layer 0.4`.
    pub(crate) fn in_words(&self) -> String {
        let direction = self.key.direction().map(|op| op.name());
        let cell = self.key.as_cell().map(|cell| label(&row_of(cell), None));
        let operations = cell.as_deref().into_iter().chain(direction).collect::<Vec<_>>().join(" ");
        let slowest = self.is_of_slowest.then(|| "slowest".to_string());
        let name = std::iter::once(operations).filter(|name| !name.is_empty()).chain(slowest);
        let name = name.map(|part| part + ": ").collect::<String>();
        format!("{name}{}", record::split_in_words(self.total_ns, &self.parts))
    }
}

fn has_statistic(run: &Run, statistic: Statistic) -> bool {
    run.metrics.iter().any(|metric| metric.key().statistic == Some(statistic))
}

#[cfg(test)]
mod tests {
    use record::{Target, Unit};

    use super::*;

    fn run(metrics: &[(&str, f64)]) -> Run {
        let metric = |(name, ns): &(&str, f64)| Metric::single(*name, Unit::Nanoseconds, *ns);
        let metrics = metrics.iter().map(metric).collect();
        Run { metrics, ..Run::new("quick", Target::default()) }
    }

    #[test]
    fn a_split_is_a_line_with_its_parts_in_the_unit_of_the_whole() {
        let run = run(&[
            ("rand-read-4KiB-q1.time-total", 107_000.0),
            ("rand-read-4KiB-q1.time-waiting", 4_000.0),
            ("rand-read-4KiB-q1.time-drive", 69_400.0),
            ("rand-read-4KiB-q1.time-queue", 500.0),
            ("rand-read-4KiB-q1.time-unexplained", 33_100.0),
            ("time-total", 2_000_000.0),
            ("time-drive", 1_950_000.0),
            ("time-unexplained", 50_000.0),
            ("slow-total", 20_000_000.0),
            ("slow-queue", 19_000_000.0),
            ("slow-drive", 1_000_000.0),
            ("slow-unexplained", 0.0),
            ("read.time-total", 999.0),
            ("read.time-drive", 999.0),
            ("rand-read-4KiB-q1.slow-total", 1_000.0),
            ("rand-read-4KiB-q1.slow-drive", 1_000.0),
        ]);
        let lines: Vec<_> = SplitTime::from_run(&run).iter().map(SplitTime::in_words).collect();
        let expected = [
            "rand 4 KiB q1 read: of 107 us: drive 69, waiting for a processor 4, not explained 33",
            "of 2.00 ms: drive 1.95, not explained 0.05",
            "slowest: of 20.0 ms: drive 1.0, block layer 19.0",
            "read: of 999 ns: drive 999",
            "rand 4 KiB q1 read: slowest: of 1.00 us: drive 1.00",
        ];
        assert_eq!(lines, expected);
        assert!(run.metrics.iter().all(is_of_split));
    }
}
