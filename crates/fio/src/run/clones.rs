//! The clones of a plan's jobs: `numjobs=4` makes four of one job.

use rig::FileUse;
use workload::Content;

use super::stream::Outline;
use crate::{Access, Amount, Job};

/// One clone of a job.
#[derive(Debug)]
pub(super) struct JobClone<'p> {
    pub job: &'p Job,
    /// Its number among the clones of its job, from 0.
    pub number: u32,
    /// Its number among all clones of the plan, from 0.
    pub serial: u64,
    /// Its stage; a stonewall starts another.
    pub stage: usize,
    /// The job whose clones must all have ended before it starts.
    pub waits_for: Option<&'p Job>,
    /// The used parts of files.
    pub files: Vec<FileUse>,
    /// The content of its writes.
    pub content: Content,
}

impl JobClone<'_> {
    /// Its seed.
    pub(super) fn seed(&self) -> u64 {
        self.job.seed(self.number)
    }

    /// Distinguishes its content from that of other jobs' clones with the same seed.
    pub(super) fn salt(&self) -> u64 {
        self.serial.wrapping_mul(0xd6e8_feb8_6659_fd93)
    }

    /// Used bytes of its files.
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|used| used.region.bytes).sum()
    }

    /// Number of address bits for the offset within a file.
    pub(super) fn place_bits(&self) -> u32 {
        rig::place_bits(&self.files)
    }

    /// Whether it writes anything.
    pub(super) fn writes(&self) -> bool {
        self.job.access.rw.writes() && !self.job.verify.only
    }

    /// Its operations.
    pub(super) fn outline(&self) -> Outline {
        let (job, all) = (self.job, self.bytes());
        let pass_bytes = match job.space.io_size {
            Some(Amount::Bytes(bytes)) => bytes,
            Some(share) => share.of(all),
            None => match job.space.size {
                // Files with an explicit size may be larger.
                Some(Amount::Bytes(size)) => all.min(size),
                _ => all,
            },
        };
        Outline {
            access: Access {
                mix_read_percent: super::rates::mix_read_percent(job),
                ..job.access.clone()
            },
            service: job.files.service,
            shift: self.place_bits(),
            files: self.files.iter().map(|used| (used.region.start, used.region.bytes)).collect(),
            pass_bytes,
            by_bytes: job.space.io_size.is_some(),
            passes: (!job.schedule.time_based).then_some(job.schedule.loops),
            ops_max: job.space.number_ios.map_or(u64::MAX, |ios| {
                // fio's number applies to each loop, but ends all of them together.
                ios.saturating_mul(u64::from(job.schedule.loops.max(1)))
            }),
            flush_every: match job.access.rw.writes() {
                true => [job.syncing.fsync, job.syncing.fdatasync],
                false => [0; 2],
            },
            verify_only: job.verify.only,
            throttle: super::rates::throttle(job, self.seed()),
            seed: self.seed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use workload::{OpKind, Region};

    use super::super::stream::Stream;
    use super::*;
    use crate::testing;

    /// The kinds of the operations on a file of `bytes` bytes, at most 1000.
    fn kinds(bytes: u64, words: &[&str]) -> Vec<OpKind> {
        let size = format!("--size={bytes}");
        let plan = testing::plan(&[&["--name=a", &size, "--rw=write"], words].concat());
        let clone = JobClone {
            job: &plan.jobs[0],
            number: 0,
            serial: 0,
            stage: 0,
            waits_for: None,
            files: vec![FileUse { path: "f".into(), region: Region::first(bytes) }],
            content: Content::default(),
        };
        let mut stream = Stream::new(Arc::new(clone.outline()));
        // The engine asks again after each batch, even after one that ended the stream.
        let mut ended = 0;
        let draw = || {
            let op = stream.draw();
            ended += u32::from(op.is_none());
            (ended < 3).then_some(op)
        };
        std::iter::from_fn(draw).flatten().take(1000).map(|op| op.kind).collect()
    }

    fn count(kinds: &[OpKind], kind: OpKind) -> usize {
        kinds.iter().filter(|drawn| **drawn == kind).count()
    }

    /// Number of flushes among 256 writes.
    fn flushes(words: &[&str]) -> usize {
        count(&kinds(1 << 20, words), OpKind::Flush)
    }

    #[test]
    fn a_rest_below_a_block_ends_the_job_with_its_flushes() {
        for flush in ["--fdatasync=1", "--fsync=1"] {
            for rw in ["--rw=write", "--rw=randwrite"] {
                let kinds = kinds(10 << 10, &[rw, flush]);
                let found = (count(&kinds, OpKind::Write), count(&kinds, OpKind::Flush));
                assert_eq!(found, (2, 2), "{rw} {flush}");
            }
            let mixed = kinds(10 << 10, &["--rw=rw", flush]);
            assert!(mixed.len() <= 4, "{mixed:?}");
        }
        let etcd = kinds(22 << 10, &["--bs=2300", "--fdatasync=1"]);
        assert_eq!((count(&etcd, OpKind::Write), count(&etcd, OpKind::Flush)), (9, 9));
    }

    #[test]
    fn both_periods_of_flushes_apply() {
        assert_eq!(flushes(&["--fsync=10"]), 25);
        assert_eq!(flushes(&["--fdatasync=3"]), 85);
        // As in fio 3.33: 25 fsync, and 77 fdatasync after other writes.
        assert_eq!(flushes(&["--fsync=10", "--fdatasync=3"]), 25 + 77);
    }
}
