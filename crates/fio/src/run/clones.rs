//! The clones of a plan's jobs: `numjobs=4` makes four of one job.

use rig::FileUse;
use workload::{Content, OpKind};

use super::overwrites;
use super::state::VerifyState;
use super::stream::Outline;
use super::walk::Span;
use crate::{Access, Amount, IoLog, Job, Rw, VerifyKind};

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
    /// The regions of files that it can reach.
    pub files: Vec<FileUse>,
    /// The used parts of the files.
    pub spans: Vec<Span>,
    /// The content of its writes.
    pub content: Content,
    /// How far the writes that it checks got.
    pub state: Option<VerifyState>,
    /// Whether it stands in for fio on a real machine: buffers and calls are fio's.
    pub as_is: bool,
}

impl JobClone<'_> {
    pub(super) fn seed(&self) -> u64 {
        self.job.seed(self.number)
    }

    /// Distinguishes its content from that of other jobs' clones with the same seed.
    pub(super) fn salt(&self) -> u64 {
        self.serial.wrapping_mul(0xd6e8_feb8_6659_fd93)
    }

    pub(super) fn content_seed(&self) -> u64 {
        self.seed() ^ self.salt()
    }

    /// Whether the calls that submit its operations are timed: as in fio, those of engines that do
    /// not wait for them in the same call.
    pub(super) fn times_submission(&self) -> bool {
        let job = self.job;
        self.as_is && job.engine.asynchronous() && !job.reporting.disable_slat
    }

    /// Whether a log needs every operation. The times of submission have no sums by interval.
    pub(super) fn logs_each_op(&self) -> bool {
        let logs = &self.job.logs;
        // Latencies by priority have no sums, either.
        let by_priority = self.job.has_priorities() && self.job.engine.moves_data();
        logs.each_op() || logs.lat.is_some() && self.times_submission() || by_priority
    }

    /// Used bytes of its files.
    pub(super) fn bytes(&self) -> u64 {
        self.spans.iter().map(|span| span.bytes).sum()
    }

    /// Number of address bits for the offset within a file.
    pub(super) fn place_bits(&self) -> u32 {
        rig::place_bits(&self.files)
    }

    /// The I/O log that it repeats.
    pub(super) fn log(&self) -> Option<&IoLog> {
        self.job.replay.as_ref().map(|replay| &**replay.log(self.number))
    }

    /// Whether it writes anything.
    pub(super) fn writes(&self) -> bool {
        if let Some(log) = self.log() {
            return log.count(OpKind::Write) > 0;
        }
        self.job.access.rw.writes() && !self.job.verify.only
    }

    /// Its operations.
    pub(super) fn outline(&self) -> Outline {
        let (job, file_bytes) = (self.job, self.bytes());
        let size = match job.space.size {
            // Files with an explicit size may be larger.
            Some(Amount::Bytes(size)) => file_bytes.min(size),
            _ => file_bytes,
        };
        // A share limits each pass, an amount all of them.
        let pass_bytes =
            job.space.pass_share.map_or(size, |share| share.bytes_of(file_bytes).min(size));
        let io_size = match job.space.io_size {
            Some(Amount::Bytes(bytes)) => Some(bytes),
            _ => None,
        };
        // As in fio, sprandom sets it, whatever is given.
        let flash_bytes = job
            .access
            .sprandom
            .as_ref()
            .map(|model| overwrites::flash_bytes(model, file_bytes, job.access.min_bs()));
        let io_size = flash_bytes.or(io_size);
        let limit_bytes = io_size.unwrap_or(pass_bytes);
        // As in fio, further clones of a job with several open files have no zones.
        let zone = job.access.zone.filter(|_| self.number == 0 || job.files.openfiles <= 1);
        Outline {
            access: Access {
                mix_read_percent: super::rates::mix_read_percent(job),
                zone,
                ..job.access.clone()
            },
            service: job.files.service,
            open_max: job.files.openfiles.max(1) as usize,
            shift: self.place_bits(),
            files: self.spans.clone(),
            pass_bytes,
            limit_bytes,
            counted: job.engine.asynchronous(),
            by_bytes: io_size.is_some(),
            loops: job.schedule.loops.max(1),
            // Once all blocks are read, nothing is left to check.
            time_based: job.schedule.time_based && !job.verify.only,
            ops_max: job.space.number_ios.filter(|_| !job.schedule.time_based).map(|ios| {
                // fio's number applies to each loop, but ends all of them together.
                ios.saturating_mul(u64::from(job.schedule.loops.max(1)))
            }),
            reads_back: job.verifies() && job.access.rw.writes(),
            verifies: job.access.rw.writes()
                && job.verify.kind != VerifyKind::None
                && job.verify.do_verify,
            only_verifies: matches!(job.access.rw, Rw::Read | Rw::RandRead)
                && job.verify.kind != VerifyKind::None,
            // fio never flushes between a trim and its write.
            flush_every: if job.access.rw.writes() && !job.access.rw.trims() {
                [job.syncing.fsync, job.syncing.fdatasync]
            } else {
                [0; 2]
            },
            verify_only: job.verify.only,
            checks_flushed_only: job.verify.flushed_only,
            checks_max: self.state.as_ref().map(VerifyState::writes_done),
            leaves_out: self.state.as_ref().map(|state| state.failed.clone()).unwrap_or_default(),
            rates: super::rates::both(job),
            throttle: super::rates::throttle(job, self.seed()),
            seed: self.seed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use workload::{After, Op, OpKind, Region, Source};

    use super::super::rounds::{Checks, Rounds};
    use super::super::stream::OpStream;
    use super::*;
    use crate::testing;

    /// A job over the first `bytes` bytes of a file that ends at `file_end`.
    fn outline((bytes, file_end): (u64, u64), words: &[&str]) -> Outline {
        let size = format!("--size={bytes}");
        let plan = testing::plan(&[&["--name=a", &size, "--rw=write"], words].concat());
        let clone = JobClone {
            job: &plan.jobs[0],
            number: 0,
            serial: 0,
            stage: 0,
            waits_for: None,
            files: vec![FileUse { path: "f".into(), region: Region::first(file_end) }],
            spans: vec![Span { start: 0, again: 0, bytes, file_end }],
            content: Content::default(),
            state: None,
            as_is: false,
        };
        clone.outline()
    }

    /// The operations of all passes, at most 1000.
    fn ops(part: (u64, u64), words: &[&str]) -> Vec<Op> {
        drawn(outline(part, words))
    }

    fn drawn(outline: Outline) -> Vec<Op> {
        let mut stream = OpStream::new(Arc::new(outline));
        let mut ops = Vec::new();
        loop {
            ops.extend(std::iter::from_fn(|| stream.draw()).take(1000));
            // The engine asks again after each batch, even after one that ended the stream.
            assert_eq!(stream.draw().filter(|_| ops.len() < 1000), None);
            if ops.len() >= 1000 || !stream.next_pass() {
                return ops;
            }
        }
    }

    fn count(ops: &[Op], kind: OpKind) -> usize {
        ops.iter().filter(|op| op.kind == kind).count()
    }

    /// The operations of all rounds, with those that read back.
    fn all_ops(part: (u64, u64), words: &[&str]) -> Vec<Op> {
        checked(outline(part, words), Checks::Rounds)
    }

    fn checked(outline: Outline, checks: Checks) -> Vec<Op> {
        let mut rounds = Rounds::new(outline, checks, false);
        let (mut ops, mut batch) = (Vec::new(), Vec::new());
        loop {
            rounds.draw(0, &mut batch);
            if batch.is_empty() && rounds.after(ops.len() as u64, false) == After::End {
                return ops;
            }
            ops.append(&mut batch);
        }
    }

    /// Number of flushes among 256 writes.
    fn flushes(words: &[&str]) -> usize {
        count(&ops((1 << 20, 1 << 20), words), OpKind::Flush)
    }

    #[test]
    fn a_rest_below_a_block_ends_the_job_with_its_flushes() {
        let small = (10 << 10, 10 << 10);
        for flush in ["--fdatasync=1", "--fsync=1"] {
            for rw in ["--rw=write", "--rw=randwrite"] {
                let ops = ops(small, &[rw, flush]);
                let found = (count(&ops, OpKind::Write), count(&ops, OpKind::Flush));
                assert_eq!(found, (2, 2), "{rw} {flush}");
            }
            let mixed = ops(small, &["--rw=rw", flush]);
            assert!(mixed.len() <= 8, "{mixed:?}");
        }
        let etcd = ops((22 << 10, 22 << 10), &["--bs=2300", "--fdatasync=1"]);
        assert_eq!((count(&etcd, OpKind::Write), count(&etcd, OpKind::Flush)), (9, 9));
    }

    /// Numbers of operations of fio 3.33 for the same words.
    #[test]
    fn jobs_have_as_many_operations_as_in_fio() {
        const K: u64 = 1024;
        let mib = 1 << 20;
        let zones = ["--zonemode=strided", "--zonesize=16k", "--zoneskip=4k"];
        for (part, words, expected) in [
            ((250 * K, mib), &["--rw=read", "--bs=64k"][..], 4),
            ((250 * K, 250 * K), &["--rw=read", "--bs=64k"], 3),
            ((5 * K, 5 * K), &["--rw=read:2"], 1),
            ((64 * K, 64 * K), &["--io_size=300k", "--loops=2"], 80),
            ((64 * K, 64 * K), &["--io_size=300k", "--loops=2", "--ioengine=libaio"], 80),
            ((64 * K, 64 * K), &["--io_size=50%", "--io_size=48k", "--ioengine=libaio"], 12),
            ((128 * K, 128 * K), &zones, 26),
            ((64 * K, 64 * K), &["--number_ios=7", "--loops=2"], 14),
            ((10 * K, 10 * K), &["--fdatasync=1", "--loops=2"], 4 + 5),
            ((100 * K, mib), &["--rw=write:4k"], 13),
        ] {
            let found = ops(part, words).len();
            assert_eq!(found, expected, "{part:?} {words:?}");
        }
    }

    #[test]
    fn sizes_go_by_order_where_that_is_asked_for() {
        let sizes = |rw: &str| -> Vec<_> {
            let words = [rw, "--bs=4k,16k", "--bs_is_seq_rand=1"];
            ops((1 << 20, 1 << 20), &words).iter().map(|op| op.bytes >> 12).take(6).collect()
        };
        assert_eq!(sizes("--rw=write"), [1; 6]);
        assert_eq!(sizes("--rw=randread"), [4; 6]);
        assert_eq!(sizes("--rw=randread:3"), [4, 1, 1, 4, 1, 1]);
    }

    #[test]
    fn an_offset_that_is_a_share_moves_once_the_file_is_there() {
        let zones = ["--zonemode=strided", "--zonesize=16k", "--zoneskip=16k", "--io_size=48k"];
        // 16 operations of the first pass, or 8 of the first two zones.
        for (words, before) in [(&["--loops=2"][..], 16), (&zones, 8)] {
            let mut outline = outline((65536, 65536), words);
            outline.files[0].again = 16384;
            assert_eq!(drawn(outline)[before].offset, 16384, "{words:?}");
        }
    }

    #[test]
    fn zones_reach_the_whole_file() {
        let zones = ["--zonemode=strided", "--zonesize=16k", "--zoneskip=64k"];
        for (words, bytes) in [(&[][..], 65536 + 4096), (&zones[..], 1 << 20)] {
            let outline = outline((65536, 1 << 20), words);
            assert_eq!(outline.files[0].reach(&outline.access), Region::first(bytes), "{words:?}");
        }
    }

    #[test]
    fn writes_are_read_back_as_in_fio() {
        let zones = ["--zonemode=strided", "--zonesize=16k", "--zonerange=64k", "--zoneskip=16k"];
        for (part, words, writes, reads) in [
            // The offsets are no multiples of the block.
            (65536, &["--bs=2300", "--rw=randwrite"][..], 28, 28),
            // A zone ends the pass, and reading back opens the file again.
            (262_144, &[&zones[..], &["--bs=2300"]].concat(), 62, 62),
            (65536, &["--bs=4k", "--loops=2"], 32, 32),
        ] {
            let words = [words, &["--verify=crc32c"]].concat();
            let ops = all_ops((part, part), &words);
            let counts = (count(&ops, OpKind::Write), count(&ops, OpKind::Read));
            assert_eq!(counts, (writes, reads), "{words:?}");
        }
        // What a later write overlaps is not read.
        let words = ["--rw=randwrite", "--ba=512", "--verify=crc32c"];
        let ops = all_ops((65536, 65536), &words);
        let mut reads: Vec<_> = ops.iter().filter(|op| op.kind == OpKind::Read).collect();
        reads.sort_by_key(|op| op.offset);
        assert!(reads.len() < 16 && reads.windows(2).all(|two| two[0].end() <= two[1].offset));
    }

    #[test]
    fn what_is_read_back_counts_towards_number_ios() {
        let outline = outline((65536, 65536), &["--number_ios=30", "--verify=crc32c"]);
        let ops = checked(outline, Checks::Backlog { blocks: 8, batch: 8 });
        assert_eq!((count(&ops, OpKind::Write), count(&ops, OpKind::Read)), (16, 16));
        let words = ["--bs=1k", "--number_ios=30", "--verify=crc32c", "--verify_only"];
        let ops = checked(super::tests::outline((65536, 65536), &words), Checks::None);
        assert_eq!(ops.len(), 30, "those that verify_only leaves out count in their place");
    }

    /// Numbers of operations of fio 3.42 for the same words; older ones read every place once.
    #[test]
    fn a_job_that_verifies_reads_repeats_its_loops() {
        let zones = ["--zonemode=strided", "--zonesize=8k", "--zoneskip=8k"];
        for (words, reads) in [
            (&["--rw=read"][..], 48),
            (&["--rw=randread"], 48),
            (&["--rw=read", "--io_size=200k", "--ioengine=libaio", "--iodepth=4"], 64),
            (&["--rw=read", "--number_ios=10"], 30),
            (&["--rw=randread", "--norandommap"], 48),
            (&["--rw=rw", "--rwmixread=100"], 48),
            (&[&["--rw=read"][..], &zones].concat(), 48),
        ] {
            let verify = ["--verify=md5", "--loops=3"];
            let ops = ops((65536, 65536), &[&verify[..], words].concat());
            assert_eq!(count(&ops, OpKind::Read), reads, "{words:?}");
        }
    }

    /// In fio with an asynchronous engine; otherwise a job would check what nobody wrote.
    #[test]
    fn a_job_that_verifies_for_a_time_reads_what_the_same_job_wrote() {
        let words = ["--norandommap", "--verify=md5", "--ioengine=libaio"];
        let writes = ops((65536, 65536), &[&words[..], &["--rw=randwrite"]].concat());
        let places: HashSet<u64> = writes.iter().map(|op| op.offset).collect();
        let timed = ["--rw=randread", "--time_based", "--runtime=1"];
        let reads = ops((65536, 65536), &[&words[..], &timed].concat());
        assert_eq!(reads.len(), 1008, "passes of 16 until there are 1000");
        assert!(reads.iter().all(|op| places.contains(&op.offset)));
    }

    #[test]
    fn passes_repeat_unless_randrepeat_is_off_or_a_seed_is_given() {
        let loops = ["--loops=2"];
        for words in [
            &["--rw=randread"][..],
            &["--rw=randrw", "--bsrange=1k-8k"],
            &["--rw=randread", "--random_distribution=zipf:1.2", "--ioengine=libaio"],
            &["--rw=randwrite", "--random_generator=lfsr"],
        ] {
            let of_passes = |more: &[&str]| {
                let mut outline = outline((65536, 65536), &[&loops[..], words, more].concat());
                let both = drawn(outline.clone());
                outline.loops = 1;
                let first = drawn(outline);
                both[first.len()..].starts_with(&first)
            };
            assert!(of_passes(&[]), "{words:?}");
            assert!(!of_passes(&["--randrepeat=0"]), "{words:?}");
            assert!(!of_passes(&["--randrepeat=1", "--randseed=7"]), "{words:?}");
        }
    }

    #[test]
    fn every_write_follows_the_trim_of_its_place() {
        let zones = ["--rw=randtrimwrite", "--bs=4k", "--zonemode=strided", "--zonesize=4k"];
        for words in [
            &["--rw=trimwrite", "--bsrange=1k-8k"][..],
            &["--rw=randtrimwrite", "--bsrange=1k-8k", "--norandommap"],
            &zones,
        ] {
            let ops = ops((65536, 65536), words);
            let of_kind = |kind| ops.iter().filter(move |op: &&Op| op.kind == kind);
            let trims = of_kind(OpKind::Discard).map(|op| (op.offset, op.bytes));
            let writes: Vec<_> = of_kind(OpKind::Write).map(|op| (op.offset, op.bytes)).collect();
            assert!(writes.len() > 8, "{ops:?}");
            assert_eq!(trims.take(writes.len()).collect::<Vec<_>>(), writes, "{words:?}");
        }
    }

    #[test]
    fn the_first_of_n_operations_is_random_and_no_block_begins_in_a_smaller_zone() {
        let ops = ops((1 << 20, 1 << 20), &["--rw=randread:4", "--randseed=3"]);
        let steps: Vec<_> = ops.windows(2).map(|two| two[1].offset == two[0].end()).collect();
        assert_eq!((ops[0].offset > 0, &steps[..4]), (true, &[true, true, true, false][..]));
        let zones = ["--rw=randread", "--bs=64k", "--zonemode=strided", "--zonesize=32k"];
        assert_eq!(super::tests::ops((1 << 20, 1 << 20), &zones), []);
    }

    #[test]
    fn a_register_visits_every_block_without_a_map() {
        let words = ["--rw=randread", "--random_generator=lfsr", "--norandommap"];
        let ops = ops((1 << 20, 1 << 20), &words);
        assert_eq!(ops.iter().map(|op| op.offset).collect::<HashSet<_>>().len(), 256);
    }

    #[test]
    fn no_job_exceeds_its_bound() {
        for words in [
            &["--rw=randwrite", "--bsrange=1k-16k", "--norandommap"][..],
            &["--io_size=300k", "--loops=3"],
            &["--bs=3k", "--loops=2"],
            &["--rw=randwrite", "--io_size=40k", "--norandommap", "--ioengine=libaio"],
        ] {
            let bytes_max = outline((65536, 65536), words).bytes_max().expect("a bound");
            let bytes: u64 = ops((65536, 65536), words).iter().map(|op| u64::from(op.bytes)).sum();
            assert!(bytes <= bytes_max, "{words:?}: {bytes}, at most {bytes_max}");
        }
    }

    /// A round that is drawn again at another time has the same operations: their number is asserted.
    #[test]
    fn a_mix_with_a_rate_reads_back_what_it_wrote() {
        let words = ["--rw=randrw", "--rate=,2m", "--verify=crc32c"];
        let mut rounds = Rounds::new(outline((1 << 20, 1 << 20), &words), Checks::Rounds, false);
        let (mut writes, mut reads, mut batch) = (HashSet::new(), HashSet::new(), Vec::new());
        let (mut now_ns, mut issued, mut is_check) = (0, 0, false);
        loop {
            rounds.draw(now_ns, &mut batch);
            (now_ns, issued) = (now_ns + 500_000, issued + batch.len() as u64);
            if batch.is_empty() {
                match rounds.after(issued, false) {
                    After::Check { .. } => is_check = true,
                    After::More { .. } => is_check = false,
                    After::End => break,
                }
            }
            for op in batch.drain(..) {
                if op.kind == OpKind::Write {
                    writes.insert(op.offset);
                } else if is_check {
                    reads.insert(op.offset);
                }
            }
        }
        assert!(writes.len() > 8, "{writes:?}");
        assert_eq!(reads, writes);
    }

    #[test]
    fn a_write_that_was_never_issued_is_not_read_back() {
        let words = ["--rw=randwrite", "--norandommap", "--verify=crc32c"];
        let mut rounds = Rounds::new(outline((65536, 65536), &words), Checks::Rounds, false);
        let mut batch = Vec::new();
        rounds.draw(0, &mut batch);
        assert!(batch.len() > 1);
        assert_eq!(rounds.after(1, true), After::Check { last: true });
        let write = batch.swap_remove(0);
        batch.clear();
        rounds.draw(0, &mut batch);
        assert_eq!(batch, [Op { kind: OpKind::Read, ..write }]);
    }

    #[test]
    #[should_panic(expected = "what is issued was drawn")]
    fn operations_that_were_not_drawn_cannot_be_issued() {
        let mut rounds = Rounds::new(outline((65536, 65536), &[]), Checks::Rounds, false);
        rounds.after(1, false);
    }

    #[test]
    fn both_periods_of_flushes_apply() {
        assert_eq!(flushes(&["--fsync=10"]), 25);
        assert_eq!(flushes(&["--fdatasync=3"]), 85);
        // As in fio 3.33: 25 fsync, and 77 fdatasync after other writes.
        assert_eq!(flushes(&["--fsync=10", "--fdatasync=3"]), 25 + 77);
    }
}
