//! What the kernel's trace shows of the requests of a measurement; collected in `sys/bpf`.

/// Sums over the requests of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestSums {
    /// All requests that reached the block layer, and their bytes.
    pub queued: u64,
    pub queued_bytes: u64,
    /// Of those followed: issued to the drive, and completed by it.
    pub issued: u64,
    pub completed: u64,
    /// Times of the completed ones, nanoseconds: from the system call to the block layer, in the
    /// block layer, and in the drive.
    pub held_ns: u64,
    pub queue_ns: u64,
    pub device_ns: u64,
    /// How often the block layer divided one.
    pub splits: u64,
}

impl RequestSums {
    /// Sums since an earlier reading.
    pub(crate) fn since(self, before: RequestSums) -> RequestSums {
        RequestSums {
            queued: self.queued - before.queued,
            queued_bytes: self.queued_bytes - before.queued_bytes,
            issued: self.issued - before.issued,
            completed: self.completed - before.completed,
            held_ns: self.held_ns - before.held_ns,
            queue_ns: self.queue_ns - before.queue_ns,
            device_ns: self.device_ns - before.device_ns,
            splits: self.splits - before.splits,
        }
    }
}

/// Sums over the completed requests that took about as long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClassSums {
    pub class: usize,
    pub completed: u64,
    /// As in [`RequestSums`].
    pub held_ns: u64,
    pub queue_ns: u64,
    pub device_ns: u64,
}

impl ClassSums {
    /// Sums since an earlier reading.
    fn since(self, before: &[ClassSums]) -> ClassSums {
        let earlier = before.iter().find(|earlier| earlier.class == self.class);
        let earlier = earlier.copied().unwrap_or_default();
        ClassSums {
            class: self.class,
            completed: self.completed - earlier.completed,
            held_ns: self.held_ns - earlier.held_ns,
            queue_ns: self.queue_ns - earlier.queue_ns,
            device_ns: self.device_ns - earlier.device_ns,
        }
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
    pub data: [RequestSums; 2],
    /// The completed ones among them by [`rig::DividedTime::class`] of the sum of their times.
    pub classes: [Vec<ClassSums>; 2],
    /// Completions that a thread has seen, and their times from the drive's completion until then.
    pub seen: u64,
    pub seen_ns: u64,
    /// Reads and writes of metadata, and flushes, of this process.
    pub metadata: [RequestSums; 2],
    pub flushes: u64,
    /// Other processes that used the drive.
    pub others: Vec<OtherProcess>,
}

impl Traced {
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
            classes: [0, 1].map(|side| {
                let classes = self.classes[side].iter();
                let classes = classes.map(|sums| sums.since(&before.classes[side]));
                classes.filter(|sums| sums.completed > 0).collect()
            }),
            seen: self.seen - before.seen,
            // A completion may be counted from another return than its time: the sum can shrink.
            seen_ns: self.seen_ns.saturating_sub(before.seen_ns),
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
    fn sums_that_shrank_are_none() {
        let other = |requests| OtherProcess { name: "dd".into(), requests, bytes: 4096 * requests };
        let before = Traced { seen: 7, seen_ns: 500, others: vec![other(3)], ..Traced::default() };
        let after = Traced { seen: 9, seen_ns: 400, others: vec![other(1)], ..Traced::default() };
        let since = after.since(&before);
        assert_eq!((since.seen, since.seen_ns, since.others), (2, 0, Vec::new()));
    }
}
