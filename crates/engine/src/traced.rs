//! What the kernel's trace shows of the requests of a measurement; collected in `sys/bpf`.

use std::collections::BTreeMap;
use std::iter::Sum;

/// Counts of the requests of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestCounts {
    /// All requests that found room in the block layer, and their bytes.
    pub queued: u64,
    pub queued_bytes: u64,
    /// Of those followed: issued to the drive.
    pub issued: u64,
    /// How often the block layer divided one.
    pub splits: u64,
}

impl RequestCounts {
    /// Counts since an earlier reading.
    pub(crate) fn since(self, before: RequestCounts) -> RequestCounts {
        RequestCounts {
            // What found no room is counted until the block layer says so.
            queued: self.queued.saturating_sub(before.queued),
            queued_bytes: self.queued_bytes.saturating_sub(before.queued_bytes),
            issued: self.issued - before.issued,
            splits: self.splits - before.splits,
        }
    }
}

/// Requests that were followed until the drive completed them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Completions {
    pub count: u64,
    /// The sums of their times, nanoseconds: from the system call to the block layer, in the block
    /// layer, and in the drive.
    pub held_ns: u64,
    pub queue_ns: u64,
    pub device_ns: u64,
}

impl Completions {
    /// The sum of all their times, nanoseconds.
    pub(crate) fn total_ns(self) -> u64 {
        self.held_ns + self.queue_ns + self.device_ns
    }

    /// Those since an earlier reading.
    fn since(self, before: Completions) -> Completions {
        Completions {
            count: self.count - before.count,
            held_ns: self.held_ns - before.held_ns,
            queue_ns: self.queue_ns - before.queue_ns,
            device_ns: self.device_ns - before.device_ns,
        }
    }
}

impl Sum for Completions {
    fn sum<I: Iterator<Item = Completions>>(parts: I) -> Completions {
        parts.fold(Completions::default(), |sum, part| Completions {
            count: sum.count + part.count,
            held_ns: sum.held_ns + part.held_ns,
            queue_ns: sum.queue_ns + part.queue_ns,
            device_ns: sum.device_ns + part.device_ns,
        })
    }
}

/// The requests of another process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OtherProcess {
    /// Its name: foreign text.
    pub name: String,
    pub requests: u64,
    pub bytes: u64,
}

/// What the trace has counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traced {
    /// Reads and writes of this process.
    pub data: [RequestCounts; 2],
    /// The completed ones among them by [`rig::DividedTime::class`] of the sum of their times.
    pub completed: [BTreeMap<usize, Completions>; 2],
    /// Completions that a thread has seen, and their times from the drive's completion until then.
    pub seen: u64,
    pub seen_ns: u64,
    /// Reads and writes of metadata, and flushes, of this process.
    pub metadata: [RequestCounts; 2],
    pub flushes: u64,
    /// Other processes that used the drive.
    pub others: Vec<OtherProcess>,
}

impl Traced {
    /// The completed requests of a direction.
    pub(crate) fn completions(&self, direction: usize) -> Completions {
        self.completed[direction].values().copied().sum()
    }

    /// What was counted since an earlier reading.
    pub(crate) fn since(self, before: &Traced) -> Traced {
        let processes = self.others.into_iter().map(|other| {
            let earlier = before.others.iter().find(|process| process.name == other.name);
            let (requests, bytes) =
                earlier.map_or((0, 0), |earlier| (earlier.requests, earlier.bytes));
            OtherProcess {
                // Two processors that count the first requests of a name may lose some.
                requests: other.requests.saturating_sub(requests),
                bytes: other.bytes.saturating_sub(bytes),
                ..other
            }
        });
        Traced {
            data: [0, 1].map(|side| self.data[side].since(before.data[side])),
            completed: [0, 1].map(|side| {
                let classes = self.completed[side].iter().map(|(class, completions)| {
                    let earlier = before.completed[side].get(class).copied().unwrap_or_default();
                    (*class, completions.since(earlier))
                });
                classes.filter(|(_, completions)| completions.count > 0).collect()
            }),
            seen: self.seen - before.seen,
            seen_ns: self.seen_ns - before.seen_ns,
            metadata: [0, 1].map(|side| self.metadata[side].since(before.metadata[side])),
            flushes: self.flushes - before.flushes,
            others: processes.filter(|other| other.requests > 0).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_since_the_reading_before() {
        let other = |requests| OtherProcess { name: "dd".into(), requests, bytes: 4096 * requests };
        let traced = |others, classes: &[(usize, u64)]| {
            let completions =
                |count| Completions { count, device_ns: 9 * count, ..Default::default() };
            let classes = classes.iter().map(|(class, count)| (*class, completions(*count)));
            let completed = [classes.collect(), BTreeMap::new()];
            Traced { completed, others: vec![other(others)], ..Traced::default() }
        };
        let since = traced(5, &[(7, 3), (8, 4), (9, 5)]).since(&traced(3, &[(7, 3), (8, 1)]));
        assert_eq!(since, traced(2, &[(8, 3), (9, 5)]));
        assert_eq!((since.completions(0).count, since.completions(0).total_ns()), (8, 72));
        let since = traced(1, &[]).since(&traced(3, &[]));
        assert_eq!(since.others, Vec::new(), "lost counts of a process are none");
    }
}
