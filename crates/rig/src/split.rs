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
    /// From the completion by the drive until it is seen, without the time waiting for a processor.
    Completion,
    /// Waiting for a processor.
    Waiting,
    /// Processor time of this host.
    Host,
}

impl SplitPart {
    /// All of them, in the order of the screen.
    pub const ALL: [SplitPart; 7] = [
        SplitPart::Drive,
        SplitPart::Link,
        SplitPart::Held,
        SplitPart::Queue,
        SplitPart::Completion,
        SplitPart::Waiting,
        SplitPart::Host,
    ];

    /// The last word of its metrics.
    pub fn statistic(self) -> Statistic {
        match self {
            SplitPart::Held => Statistic::TimeHeld,
            SplitPart::Queue => Statistic::TimeQueue,
            SplitPart::Drive => Statistic::TimeDrive,
            SplitPart::Link => Statistic::TimeLink,
            SplitPart::Completion => Statistic::TimeCompletion,
            SplitPart::Waiting => Statistic::TimeWaiting,
            SplitPart::Host => Statistic::TimeHost,
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
    parts_ns: [u64; 7],
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
        let parts = SplitPart::ALL.into_iter().filter(|part| self.part_ns(*part) > 0);
        let parts = parts.map(|part| (part.statistic(), self.part_ns(part)));
        let whole = std::iter::once((Statistic::TimeTotal, self.total_ns));
        let rest = std::iter::once((Statistic::TimeUnexplained, self.unexplained_ns()));
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
        Some(record::split_in_words(total_ns, &record::split_parts(total_ns, mean_ns)))
    }

    /// The declaration of these metrics under the name of a family of metrics.
    pub const fn info(name: &'static str) -> MetricInfo {
        MetricInfo::ns(
            name,
            "where the mean service time (time-total) goes: in the drive and its queue, on a virtual \
             link, before the block layer, in its queue, from completion until seen, waiting for a \
             processor, processor time of this host, and in none of these; omitted if the kernel's \
             counts of the drive differ from those of the workload",
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
    fn parts_that_overlap_leave_nothing() {
        let split = TimeSplit::new(1, 10).with(SplitPart::Drive, 11);
        assert_eq!((split.unexplained_ns(), split.share(SplitPart::Drive)), (0, 1.0));
    }
}
