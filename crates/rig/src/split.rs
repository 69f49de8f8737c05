//! Where the time of operations goes between the call that submits them and the completion seen.
//!
//! Every part has its own measurement; none is what the others leave. The difference between their
//! sum and the service time is a figure too: the time not explained.

use record::{Metric, MetricInfo, MetricKey, Statistic, Unit};

/// A part of the time of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitPart {
    /// From the call until the block layer has the request: system call, file system, limits.
    Held,
    /// In the block layer, until the request is issued to the drive.
    Queue,
    /// In the drive. Without privileges, the time in the block layer is included.
    Drive,
    /// What the link adds to the time of the drive; on a real drive it is part of that.
    Link,
    /// In the layers between the target and the drive: what the target's own device took longer than
    /// the drive, as with encryption.
    Layer,
    /// From the completion by the drive until it is seen, without the time waiting for a processor.
    Completion,
    /// Waiting for a processor.
    Waiting,
    /// Processor time of this host.
    Host,
}

impl SplitPart {
    /// All of them, in the order of the screen.
    pub const ALL: [SplitPart; 8] = [
        SplitPart::Drive,
        SplitPart::Link,
        SplitPart::Layer,
        SplitPart::Held,
        SplitPart::Queue,
        SplitPart::Completion,
        SplitPart::Waiting,
        SplitPart::Host,
    ];

    /// The last word of its metric of all operations.
    pub fn statistic(self) -> Statistic {
        match self {
            SplitPart::Held => Statistic::TimeHeld,
            SplitPart::Queue => Statistic::TimeQueue,
            SplitPart::Drive => Statistic::TimeDrive,
            SplitPart::Link => Statistic::TimeLink,
            SplitPart::Layer => Statistic::TimeLayer,
            SplitPart::Completion => Statistic::TimeCompletion,
            SplitPart::Waiting => Statistic::TimeWaiting,
            SplitPart::Host => Statistic::TimeHost,
        }
    }

    /// The last word of its metric of the slowest operations; `None` for what is only known of a
    /// thread, not of an operation.
    fn statistic_of_slowest(self) -> Option<Statistic> {
        match self {
            SplitPart::Held => Some(Statistic::SlowHeld),
            SplitPart::Queue => Some(Statistic::SlowQueue),
            SplitPart::Drive => Some(Statistic::SlowDrive),
            SplitPart::Link => Some(Statistic::SlowLink),
            SplitPart::Host => Some(Statistic::SlowHost),
            SplitPart::Layer | SplitPart::Completion | SplitPart::Waiting => None,
        }
    }
}

/// The time of some operations and its parts: sums over them, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSplit {
    /// Number of operations.
    pub ops: u64,
    /// Their service times.
    pub total_ns: u64,
    parts_ns: [u64; SplitPart::ALL.len()],
}

impl TimeSplit {
    /// These operations and their service times, without parts.
    pub fn new(ops: u64, total_ns: u64) -> TimeSplit {
        TimeSplit { ops, total_ns, ..TimeSplit::default() }
    }

    /// The same with this much more in a part.
    #[must_use]
    pub fn with(mut self, part: SplitPart, ns: u64) -> TimeSplit {
        self.parts_ns[part as usize] += ns;
        self
    }

    /// The same parts, of one operation with this service time.
    #[must_use]
    pub fn of_one(self, total_ns: u64) -> TimeSplit {
        TimeSplit { ops: 1, total_ns, ..self }
    }

    /// The sum of a part, nanoseconds.
    pub fn part_ns(&self, part: SplitPart) -> u64 {
        self.parts_ns[part as usize]
    }

    /// The time in none of the parts, nanoseconds.
    pub fn unexplained_ns(&self) -> u64 {
        self.total_ns.saturating_sub(self.parts_ns.iter().sum())
    }

    /// The share of the time in this part, 0 to 1.
    pub fn share(&self, part: SplitPart) -> f64 {
        (self.part_ns(part) as f64 / self.total_ns.max(1) as f64).min(1.0)
    }

    /// Adds the operations of another split.
    pub fn add(&mut self, other: &TimeSplit) {
        self.ops += other.ops;
        self.total_ns += other.total_ns;
        for (mine, theirs) in self.parts_ns.iter_mut().zip(other.parts_ns) {
            *mine += theirs;
        }
    }

    /// Means per operation: the whole, the parts with any time, and the time not explained.
    pub fn metrics(&self, key: &MetricKey) -> Vec<Metric> {
        if self.ops == 0 {
            return Vec::new();
        }
        let ends = [Statistic::TimeTotal, Statistic::TimeUnexplained];
        self.means(key, ends, |part| Some(part.statistic()))
    }

    /// Means per operation under these words: of the whole and of what is not explained, and of
    /// the parts with any time between them.
    fn means(
        &self,
        key: &MetricKey,
        [whole, rest]: [Statistic; 2],
        word: impl Fn(SplitPart) -> Option<Statistic>,
    ) -> Vec<Metric> {
        let parts = SplitPart::ALL.into_iter().filter(|part| self.part_ns(*part) > 0);
        let parts = parts.filter_map(|part| Some((word(part)?, self.part_ns(part))));
        let whole = std::iter::once((whole, self.total_ns));
        let rest = std::iter::once((rest, self.unexplained_ns()));
        let means = whole.chain(parts).chain(rest).map(|(statistic, ns)| {
            let key = key.clone().with(statistic);
            Metric::single(key, Unit::Nanoseconds, ns as f64 / self.ops as f64)
        });
        means.collect()
    }

    /// The mean time of an operation and its parts; `None` without operations.
    pub fn in_words(&self) -> Option<String> {
        let means = self.metrics(&MetricKey::parse(""));
        let mean_ns =
            |statistic| means.iter().find(|m| m.key().statistic == Some(statistic))?.value;
        let total_ns = mean_ns(Statistic::TimeTotal)?;
        Some(record::split_in_words(
            total_ns,
            &record::split_parts(&record::SPLIT_PARTS, total_ns, mean_ns),
        ))
    }
}

/// Classes of times for each factor of two, a power of two.
const CLASSES_PER_OCTAVE: u64 = 4;

/// Largest share of the operations that are the slowest.
const SLOW_SHARE_MAX: f64 = 0.01;

/// How much longer than all operations the slowest must take, as a factor.
const SLOWER_MIN: f64 = 2.0;

/// Where the time of some operations goes: of all of them, and of those that take about as long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DividedTime {
    /// All operations.
    pub whole: TimeSplit,
    /// By [`DividedTime::class`]. Each has its own sums; together they need not be the whole.
    classes: Vec<TimeSplit>,
}

impl From<TimeSplit> for DividedTime {
    fn from(whole: TimeSplit) -> DividedTime {
        DividedTime { whole, classes: Vec::new() }
    }
}

impl DividedTime {
    /// The number of classes: every time has one below.
    pub const CLASSES: usize = 64 * CLASSES_PER_OCTAVE as usize;

    /// The class of a time in nanoseconds: four for each factor of two, from 4 ns.
    #[inline]
    pub fn class(ns: u64) -> usize {
        let ns = ns.max(CLASSES_PER_OCTAVE);
        let octave = u64::from(ns.ilog2());
        let quarter = (ns >> (octave - u64::from(CLASSES_PER_OCTAVE.ilog2()))) % CLASSES_PER_OCTAVE;
        (octave * CLASSES_PER_OCTAVE + quarter) as usize
    }

    /// Adds an operation.
    #[inline]
    pub fn add_one(&mut self, split: &TimeSplit) {
        self.whole.add(split);
        self.add_class(DividedTime::class(split.total_ns), split);
    }

    /// Adds operations that take about as long, which the whole has already.
    #[inline]
    pub fn add_class(&mut self, class: usize, split: &TimeSplit) {
        if self.classes.len() <= class {
            self.classes.resize(class + 1, TimeSplit::default());
        }
        self.classes[class].add(split);
    }

    /// Adds the operations of another.
    pub fn add(&mut self, other: &DividedTime) {
        self.whole.add(&other.whole);
        for (class, split) in other.classes.iter().enumerate().filter(|(_, split)| split.ops > 0) {
            self.add_class(class, split);
        }
    }

    /// The slowest operations, at most one in a hundred, if they take much longer than the others.
    pub fn slowest(&self) -> Option<TimeSplit> {
        let mut sum = TimeSplit::default();
        self.classes.iter().for_each(|split| sum.add(split));
        let mut slowest = TimeSplit::default();
        for split in self.classes.iter().rev() {
            if (slowest.ops + split.ops) as f64 > SLOW_SHARE_MAX * sum.ops as f64 {
                break;
            }
            slowest.add(split);
        }
        let mean_ns = |split: &TimeSplit| split.total_ns as f64 / split.ops.max(1) as f64;
        (mean_ns(&slowest) > SLOWER_MIN * mean_ns(&sum)).then_some(slowest)
    }

    /// Means per operation: of all, and of the slowest.
    pub fn metrics(&self, key: &MetricKey) -> Vec<Metric> {
        let mut metrics = self.whole.metrics(key);
        if let Some(slowest) = self.slowest() {
            let ends = [Statistic::SlowTotal, Statistic::SlowUnexplained];
            metrics.extend(slowest.means(key, ends, SplitPart::statistic_of_slowest));
        }
        metrics
    }

    /// The declaration of these metrics under the name of a family of metrics.
    pub const fn info(name: &'static str) -> MetricInfo {
        MetricInfo::ns(
            name,
            "where the mean service time (time-total) goes: in the drive and its queue, on a virtual \
             link, in a layer above the drive, before the block layer, in its queue, from completion \
             until seen, waiting for a processor, processor time of this host, and in none of these; \
             slow-: the same of the slowest operations, at most 1%, until their completion, if they \
             take more than twice as long as all; omitted if the kernel's counts of the drive differ \
             from those of the workload",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_and_the_rest_are_the_whole() {
        let mut split = TimeSplit::new(10, 1000).with(SplitPart::Drive, 600);
        split = split.with(SplitPart::Waiting, 100).with(SplitPart::Waiting, 50);
        split.add(&TimeSplit::new(10, 1000).with(SplitPart::Drive, 800));
        assert_eq!((split.unexplained_ns(), split.share(SplitPart::Drive)), (450, 0.7));
        let metrics = split.metrics(&MetricKey::parse("rand-read-4KiB-q1"));
        let values: Vec<_> = metrics.iter().map(|m| (m.name.as_str(), m.value)).collect();
        let expected = [
            ("rand-read-4KiB-q1.time-total", Some(100.0)),
            ("rand-read-4KiB-q1.time-drive", Some(70.0)),
            ("rand-read-4KiB-q1.time-waiting", Some(7.5)),
            ("rand-read-4KiB-q1.time-unexplained", Some(22.5)),
        ];
        assert_eq!(values, expected);
        assert_eq!(TimeSplit::default().metrics(&MetricKey::parse("a")), []);
        let words = "of 100 ns: drive 70, waiting for a processor 8, not explained 22";
        assert_eq!(split.in_words().as_deref(), Some(words));
        assert_eq!(TimeSplit::default().in_words(), None);
    }

    #[test]
    fn the_slowest_are_one_in_a_hundred_that_take_much_longer() {
        let split_of = |ops, slow_ns| {
            let mut times = DividedTime::default();
            (0..ops).for_each(|_| {
                times.add_one(&TimeSplit::new(1, 100_000).with(SplitPart::Drive, 70_000));
            });
            for _ in 0..8 {
                let slow = TimeSplit::new(1, slow_ns).with(SplitPart::Queue, slow_ns - 70_000);
                times.add_one(&slow.with(SplitPart::Drive, 60_000));
            }
            times.slowest()
        };
        let slowest = split_of(1000, 12_000_000).expect("outliers");
        assert_eq!((slowest.ops, slowest.total_ns), (8, 96_000_000));
        assert_eq!(slowest.part_ns(SplitPart::Queue), 8 * 11_930_000);
        assert_eq!(slowest.unexplained_ns(), 8 * 10_000);
        assert_eq!(split_of(700, 12_000_000), None, "more than one in a hundred");
        assert_eq!(split_of(1000, 200_000), None, "hardly longer");
        assert_eq!(DividedTime::default().slowest(), None);
    }

    #[test]
    fn every_time_has_a_class_and_longer_ones_no_lower_one() {
        let times =
            (0..64).flat_map(|bit| [0, 1, 2, 3].map(|part| (1u64 << bit) + (part << bit) / 4));
        let mut times: Vec<u64> = times.collect();
        times.sort_unstable();
        let classes: Vec<usize> = times.iter().map(|ns| DividedTime::class(*ns)).collect();
        assert!(classes.is_sorted());
        assert_eq!(DividedTime::class(u64::MAX), DividedTime::CLASSES - 1);
        assert_eq!([4, 5, 7, 8, 9, 10].map(DividedTime::class), [8, 9, 11, 12, 12, 13]);
    }

    #[test]
    fn parts_that_overlap_leave_nothing() {
        let split = TimeSplit::new(1, 10).with(SplitPart::Drive, 11);
        assert_eq!((split.unexplained_ns(), split.share(SplitPart::Drive)), (0, 1.0));
    }
}
