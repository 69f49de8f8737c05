//! The cause of a mix of reads and writes: the cause of the side that takes most of its time.
//!
//! If the times of both sides, measured alone at the same depth, add up to the time of the mix, the
//! mix has the cause of the slower side. The reads are those after a rest, or of data just written,
//! whichever add up better: a mix reads what it writes. If reads of new data, writes and the mix have
//! one rate, so has any command: the cause is that of the writes. If the mix is faster than both sums,
//! it still has the cause of the reads if it is slower than its writes alone, or the writes have the
//! same cause. A read after a rest that takes no longer than other reads has their cause.

use record::{Order, VerdictKind};
use workload::{Mix, OpKind};

use super::Ruling;
use super::grid::{Grid, SAME};
use super::subject::Subject;
use crate::Digest;

/// Ratios of the sum of both times to the time of the mix that count as adding up. The times
/// overlap in a drive that serves both sides at once.
const ADDS_UP: std::ops::Range<f64> = 0.6..1.6;

/// Share of the time from which a side limits the mix.
const MOST: f64 = 0.5;

/// Minimum ratio of the writes' IOPS to those of a mix that its reads hold back.
const HELD_BACK: f64 = 1.3;

/// Causes that act on a command whatever else runs. A link carries both directions at once, and
/// limits of the machine are measured for the mix itself.
const FOLLOWED: [VerdictKind; 9] = [
    VerdictKind::MappingUnit,
    VerdictKind::DeviceDepth,
    VerdictKind::Usb,
    VerdictKind::PerCommand,
    VerdictKind::FlashBound,
    VerdictKind::Controller,
    VerdictKind::DeviceCache,
    VerdictKind::OpenBlocks,
    VerdictKind::HostCeiling,
];

/// Adds each mix that nothing explains to the verdict on its slower side.
pub(super) fn follow(seen: &[Digest], rulings: &mut [Ruling]) {
    let subjects = Subject::reported(seen);
    let grid = Grid::from_digests(seen);
    for mixed in subjects.iter().filter(|s| s.first().mix.read > 0 && s.first().mix.write > 0) {
        if rulings.iter().any(|ruling| ruling.explains(mixed)) {
            continue;
        }
        let of_new_data = mixed.first().depth_nominal.and_then(|depth| grid.just_written(depth));
        let side = slower_side(&subjects, mixed, of_new_data, rulings);
        let Some(side) = side else { continue };
        let mut causes = rulings.iter_mut().filter(|r| r.explains(side));
        if let Some(ruling) = causes.find(|r| FOLLOWED.contains(&r.verdict.kind)) {
            *ruling = ruling.clone().explaining(mixed, None);
        }
    }
}

/// Maximum ratio of a read after a rest to other reads at which both count as equal.
const USUAL: f64 = 1.5;

/// Adds the read after a rest to the verdict on single reads, if it takes no longer than they do.
pub(super) fn follow_rested(seen: &[Digest], rulings: &mut [Ruling]) {
    let grid = Grid::from_digests(seen);
    let usual = grid.find(OpKind::Read, Order::Random, 1, 1);
    let Some((rested, usual)) = grid.after_rest().zip(usual) else { return };
    let [usual_ns, rested_ns] = [usual, rested].map(|reads| reads.median(|run| run.read_ns[1]));
    if usual_ns <= 0.0 || rested_ns > USUAL * usual_ns {
        return;
    }
    let mut causes = rulings.iter_mut().filter(|r| r.explains(usual));
    let cause = causes.find(|ruling| {
        let kind = &ruling.verdict.kind;
        FOLLOWED.contains(kind) || *kind == VerdictKind::Link
    });
    if let Some(ruling) = cause {
        *ruling = ruling.clone().explaining(rested, None);
    }
}

/// The side that takes most of the time of a mix; `None` if the sides do not explain it. `new_data`:
/// reads of data just written, if measured.
fn slower_side<'s, 'a>(
    subjects: &'s [Subject<'a>],
    mixed: &Subject<'_>,
    new_data: Option<&'s Subject<'a>>,
    rulings: &[Ruling],
) -> Option<&'s Subject<'a>> {
    let mix = mixed.first();
    let [reads, writes] = [OpKind::Read, OpKind::Write].map(|kind| {
        subjects.iter().find(|s| {
            let first = s.first();
            let is_same = first.random == mix.random && first.block_bytes == mix.block_bytes;
            let plain = record::MetricKey::parse(&first.name);
            is_same
                && first.mix == Mix::from_kind(kind)
                && first.depth_nominal == mix.depth_nominal
                && plain.as_cell().is_none_or(|cell| cell.words.is_empty())
        })
    });
    let (reads, writes) = reads.zip(writes)?;
    let total = mixed.sum(|run| (run.ops[0] + run.ops[1]) as f64).max(1.0);
    let share = mixed.sum(|run| run.ops[0] as f64) / total;
    let rested = Sum::new(mixed, share, reads, writes);
    let new_data = new_data.filter(|reads_new| reads_new.iops() > (1.0 + SAME) * reads.iops());
    let new = new_data.map(|reads| Sum::new(mixed, share, reads, writes));
    let best = match new {
        Some(new) if new.error() < rested.error() => new,
        _ => rested,
    };
    if best.overlap >= ADDS_UP.end {
        let is_held_back = writes.iops() >= HELD_BACK * mixed.iops();
        let [read_cause, write_cause] = [reads, writes].map(|side| {
            let cause = rulings.iter().find(|ruling| ruling.explains(side));
            cause.map(|ruling| &ruling.verdict.kind)
        });
        let is_common = read_cause.is_some() && read_cause == write_cause;
        let is_slower = reads.iops() < mixed.iops();
        return (is_slower && (is_held_back || is_common)).then_some(reads);
    }
    if best.overlap < ADDS_UP.start {
        return None;
    }
    let is_of_new_data = new_data.is_some_and(|reads_new| best.reads.name() == reads_new.name());
    let is_one_rate =
        [best.reads, writes].iter().all(|side| (side.iops() / mixed.iops() - 1.0).abs() <= SAME);
    let is_of_writes = best.read_share < MOST || (is_of_new_data && is_one_rate);
    Some(if is_of_writes { writes } else { best.reads })
}

/// The times of both sides of a mix, measured alone.
struct Sum<'s, 'a> {
    reads: &'s Subject<'a>,
    /// Ratio of their sum to the time of the mix.
    overlap: f64,
    /// Share of the reads in their sum.
    read_share: f64,
}

impl<'s, 'a> Sum<'s, 'a> {
    /// `share`: reads among the operations of the mix.
    fn new(
        mixed: &Subject<'_>,
        share: f64,
        reads: &'s Subject<'a>,
        writes: &Subject<'_>,
    ) -> Sum<'s, 'a> {
        let (read_s, write_s) = (share / reads.iops(), (1.0 - share) / writes.iops());
        let sum_s = read_s + write_s;
        Sum { reads, overlap: sum_s * mixed.iops(), read_share: read_s / sum_s }
    }

    /// Factor between the sum and the time of the mix, at least 1.
    fn error(&self) -> f64 {
        self.overlap.max(1.0 / self.overlap)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{named, random};
    use super::*;

    #[test]
    fn a_mix_follows_the_side_that_takes_its_time() {
        let explained = |kind: VerdictKind, of: &str, mix: f64| {
            let ops = [(mix * 7.0) as u64, (mix * 3.0) as u64];
            let run = random(OpKind::Read, 1, 32, mix);
            let mixed = Digest { mix: Mix::read_percent(70), ops, ..named("mixed-4KiB-q32", run) };
            let seen =
                [random(OpKind::Read, 1, 32, 100e3), random(OpKind::Write, 1, 32, 10e3), mixed];
            let subjects = Subject::reported(&seen);
            let side = subjects.iter().find(|s| s.name() == of).expect("measured");
            let mut rulings = [Ruling::yes(kind, "").explaining(side, None)];
            follow(&seen, &mut rulings);
            rulings[0].explains(&subjects[2])
        };
        // 7 us of reads and 30 us of writes give 27,000 operations per second.
        assert!(explained(VerdictKind::FlashBound, "rand-write-4KiB-q32", 27e3));
        assert!(!explained(VerdictKind::FlashBound, "rand-read-4KiB-q32", 27e3));
        assert!(!explained(VerdictKind::FlashBound, "rand-write-4KiB-q32", 60e3), "no sum");
        assert!(!explained(VerdictKind::Link, "rand-write-4KiB-q32", 27e3));
    }

    /// 70 us of reads and 3 us of writes would be 13,700 operations per second.
    #[test]
    fn a_mix_whose_reads_find_new_data_follows_them_if_writes_alone_are_faster() {
        let follows = |mix: f64, writes: f64, write_cause: VerdictKind| {
            let ops = [(mix * 7.0) as u64, (mix * 3.0) as u64];
            let run = random(OpKind::Read, 1, 32, mix);
            let mixed = Digest { mix: Mix::read_percent(70), ops, ..named("mixed-4KiB-q32", run) };
            let alone = [random(OpKind::Read, 1, 32, 10e3), random(OpKind::Write, 1, 32, writes)];
            let seen = [&alone[..], &[mixed]].concat();
            let subjects = Subject::reported(&seen);
            let mut rulings = [VerdictKind::FlashBound, write_cause].map(|k| Ruling::yes(k, ""));
            rulings[0] = rulings[0].clone().explaining(&subjects[0], None);
            rulings[1] = rulings[1].clone().explaining(&subjects[1], None);
            follow(&seen, &mut rulings);
            rulings[0].explains(&subjects[2])
        };
        let (command, flash) = (VerdictKind::PerCommand, VerdictKind::FlashBound);
        assert!(follows(30e3, 100e3, command.clone()));
        assert!(follows(30e3, 39.1e3, command.clone()));
        assert!(!follows(30e3, 38.9e3, command), "the writes are as slow, for another cause");
        assert!(follows(30e3, 38.9e3, flash), "for the same cause");
    }

    /// What a mix of 70% reads follows: a cause of the reads after a rest, or that of the writes.
    fn followed(rested: f64, new_data: Option<f64>, writes: f64, mix: f64) -> &'static str {
        let ops = [(mix * 7.0) as u64, (mix * 3.0) as u64];
        let run = random(OpKind::Read, 1, 32, mix);
        let mixed = Digest { mix: Mix::read_percent(70), ops, ..named("mixed-4KiB-q32", run) };
        let mut seen = vec![random(OpKind::Read, 1, 32, rested)];
        seen.extend([random(OpKind::Write, 1, 32, writes), mixed]);
        seen.extend(new_data.map(|rate| {
            named("rand-read-just-written-4KiB-q32", random(OpKind::Read, 1, 32, rate))
        }));
        let subjects = Subject::reported(&seen);
        let kinds = [VerdictKind::FlashBound, VerdictKind::PerCommand];
        let mut rulings = kinds.map(|kind| Ruling::yes(kind, ""));
        rulings[0] = rulings[0].clone().explaining(&subjects[0], None);
        rulings[1] = rulings[1].clone().explaining(&subjects[1], None);
        follow(&seen, &mut rulings);
        match rulings.map(|ruling| ruling.explains(&subjects[2])) {
            [true, false] => "reads",
            [false, true] => "writes",
            _ => "none",
        }
    }

    #[test]
    fn a_mix_at_the_rate_of_new_data_does_not_have_the_cause_of_rested_reads() {
        assert_eq!(followed(221e3, None, 251e3, 251e3), "reads", "nothing tells them apart");
        assert_eq!(followed(221e3, Some(251e3), 251e3, 251e3), "writes", "any command");
        assert_eq!(followed(221e3, Some(251e3), 251e3, 229e3), "reads", "as after a rest");
        assert_eq!(followed(221e3, Some(237e3), 251e3, 251e3), "reads", "no difference");
        assert_eq!(followed(100e3, Some(200e3), 400e3, 235e3), "none", "reads of new data");
        assert_eq!(followed(100e3, Some(400e3), 100e3, 210e3), "writes", "they take most");
    }
}
