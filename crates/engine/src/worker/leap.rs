//! Leaps of a worker on a virtual drive: of a long steady load, short stretches are timed and what
//! lies between them is skipped.
//!
//! A stretch is a number of whole intervals. How many operations an interval completes varies by more
//! than half on a drive that collects its superblocks; how much work its dies complete does not, if
//! they are what the load waits for. The time of an interval is therefore a weighted mean of both, in
//! proportion to the operations and to the work of the dies, and the weight is fitted to the stretches
//! timed last ([`Fit`]). A load is steady if their times agree with it, within a stated error; the time of
//! the stretch after a leap says how long the next one may be.
//!
//! In a leap, the drive takes the writes of these intervals without timing them ([`model::Drive::leap`]),
//! and their counts are reported again. The work that the drive does for these writes says how long
//! they take: if that is more than was reported, intervals with fewer operations follow.

use model::{Leap, WorkOfDies};
use rig::Kinds;
use workload::{BlockSizes, OpKind, Pacing, Pattern, Workload};

use super::Worker;
use crate::backend::Backend;
use crate::counts::Counts;

/// Intervals of a stretch, and of a group of them whose time is compared, at least: longer once there
/// are so many groups, up to a stretch. Collection comes in bursts, so that the times of short groups
/// vary, but cancel each other. Arbitrary: a superblock is filled in about ten intervals of a slow
/// drive.
const STRETCH: usize = 16;
const GROUP_MIN: usize = 4;
const GROUPS: usize = 8;

/// Standard error of the fitted time, at most, and the share by which the time of a stretch differs from
/// the one foreseen, at most, for leaps to grow; more if the groups before differed more. A stretch that
/// differs by more stays among those that the next fit is made of: it raises their error, and leaps end
/// until that is small again.
const ERROR: f64 = 0.01;

/// Leaps as a multiple of the intervals that stand for them: the first one and the longest. They double
/// while the stretch after them takes the time foreseen.
const GROWTH_MIN: f64 = 2.0;
const GROWTH_MAX: f64 = 8.0;
/// Longest leap, intervals.
const LEAP_MAX: f64 = 512.0;

/// Share of the drive that one leap may write.
const LEAP_PASSES: f64 = 1.0 / 16.0;

/// Intervals timed last that stand for the skipped ones: as few as the error permits, because the load
/// may drift.
const POOL_MIN: usize = 32;
const POOL_MAX: usize = 256;

/// Intervals by which the time that writes take may differ from the time reported for them before the
/// intervals that follow are chosen accordingly, and before the leap ends. To the latter comes what the
/// work that is left to the dies varies by.
const DEBT: f64 = 0.5;
const DEBT_MAX: f64 = 2.0;

/// Share by which the work of an operation may differ in a leap from that of the intervals timed. Beyond,
/// as when collection begins, what was timed says nothing.
const WORK_CHANGE: f64 = 0.1;

/// Share of its intervals that a workload times if it is steady from the beginning and may skip the others:
/// of so many, which write so many bytes.
pub(crate) fn timed_share(workload: &Workload, intervals: f64, write_bytes: f64) -> f64 {
    let issue = rig::Job::from_workload(workload).issue;
    if Leaper::new(workload, &issue, true).is_none() {
        return 1.0;
    }
    let region_bytes = workload.region.bytes as f64;
    let by_writes = LEAP_PASSES * region_bytes / (write_bytes / intervals).max(f64::MIN_POSITIVE);
    // The first and the last one are not skipped.
    let (mut timed, mut growth) = (2.0 + POOL_MIN as f64, GROWTH_MIN);
    let mut left = intervals - timed;
    while left > 0.0 {
        let leap = (growth * POOL_MIN as f64).min(LEAP_MAX).min(by_writes).floor();
        let stretch = (left - leap).clamp(0.0, STRETCH as f64);
        timed += stretch;
        left -= leap + stretch;
        growth = (2.0 * growth).min(GROWTH_MAX);
        if leap + stretch < 1.0 {
            return 1.0;
        }
    }
    (timed / intervals).min(1.0)
}

/// What an interval completed.
struct Interval {
    kinds: Kinds,
    ops: f64,
    /// Work that the dies completed, nanoseconds.
    work: f64,
    /// Work that they had left at its end, nanoseconds.
    left: f64,
}

/// How long operations take, as intervals before them did.
#[derive(Clone, Copy)]
struct Fit {
    /// Means of an interval.
    ops: f64,
    work: f64,
    /// Share of the time that goes with the operations; the rest goes with the work.
    share: f64,
    /// Standard deviation of the time of a group.
    spread: f64,
    /// Intervals of a group.
    group: f64,
    groups: f64,
    /// Range of the work that the dies had left, in intervals that it takes.
    lumps: f64,
}

impl Fit {
    /// Fits the times of groups of these intervals by least squares.
    fn new(intervals: &[Interval], writes: bool) -> Fit {
        let group = (intervals.len() / GROUPS).clamp(GROUP_MIN, STRETCH);
        let groups: Vec<[f64; 2]> = intervals.chunks(group).map(means).collect();
        let [ops, work] = means(intervals);
        let relative = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 1.0 };
        let groups: Vec<[f64; 2]> =
            groups.iter().map(|g| [relative(g[0], ops), relative(g[1], work)]).collect();
        // The time of each group is 1.
        let product: f64 = groups.iter().map(|[o, w]| (1.0 - w) * (o - w)).sum();
        let square: f64 = groups.iter().map(|[o, w]| (o - w) * (o - w)).sum();
        let is_mixed = writes && work > 0.0 && square > 0.0;
        let share = if is_mixed { (product / square).clamp(0.0, 1.0) } else { 1.0 };
        let misses = groups.iter().map(|[o, w]| 1.0 - share * o - (1.0 - share) * w);
        let squares: f64 = misses.map(|miss| miss * miss).sum();
        let (group, count) = (group as f64, groups.len() as f64);
        let spread = (squares / (count - 2.0).max(1.0)).sqrt();
        let left = || intervals.iter().map(|interval| interval.left);
        let range = left().fold(0.0, f64::max) - left().fold(f64::INFINITY, f64::min);
        let lumps = if writes && work > 0.0 { range / work } else { 0.0 };
        Fit { ops, work, share, spread, group, groups: count, lumps }
    }

    /// Intervals that so many operations with so much work take.
    fn time(&self, ops: f64, work: f64) -> f64 {
        let by_work = if self.share < 1.0 { (1.0 - self.share) * work / self.work } else { 0.0 };
        self.share * ops / self.ops.max(1e-9) + by_work
    }

    /// Standard error of [`Fit::time`], as a share.
    fn error(&self) -> f64 {
        self.spread / self.groups.sqrt()
    }

    /// Share by which the time of a stretch differs from the fitted one.
    fn miss(&self, stretch: &[Interval]) -> f64 {
        let [ops, work] = means(stretch);
        (self.time(ops, work) - 1.0).abs()
    }

    /// Standard deviation of the time of a stretch.
    fn chance(&self) -> f64 {
        self.spread * (self.group / STRETCH as f64).sqrt()
    }
}

/// Mean operations and work of intervals.
fn means(intervals: &[Interval]) -> [f64; 2] {
    let count = intervals.len().max(1) as f64;
    let [ops, work] = [|i: &Interval| i.ops, |i: &Interval| i.work];
    [
        intervals.iter().map(ops).sum::<f64>() / count,
        intervals.iter().map(work).sum::<f64>() / count,
    ]
}

/// The stretches of a job so far.
pub(super) struct Leaper {
    block: u32,
    /// Whether the load writes.
    writes: bool,
    /// Whether its places are those that its source draws next, or random ones.
    is_sequential: bool,
    start: u64,
    /// Blocks in the region.
    places: u64,
    /// State of the random offsets.
    dice: u64,
    /// Whether the first interval, which is not steady, has passed.
    warm: bool,
    stretch: Vec<Interval>,
    pool: Vec<Interval>,
    fit: Option<Fit>,
    growth: f64,
    /// The interval of the pool to report next.
    next: usize,
    /// Intervals by which the writes skipped so far take longer than was reported.
    debt: f64,
    /// Work of the dies at the beginning of the interval.
    work: WorkOfDies,
    at_begin: Totals,
}

/// Totals of the worker at the beginning of a stretch.
#[derive(Clone, Default)]
struct Totals {
    failed: u64,
    depths: Counts,
    handed: Counts,
    returned: Counts,
}

impl Leaper {
    /// The leaper of a workload; `None` if only timing every operation shows what it does.
    pub(super) fn new(workload: &Workload, issue: &rig::Issue, is_virtual: bool) -> Option<Leaper> {
        let BlockSizes::Fixed(block) = workload.blocks else { return None };
        let is_sequential = workload.pattern == Pattern::Sequential;
        let is_one = workload.jobs == 1 && workload.mix.only() == Some(OpKind::Write);
        let is_plain = (workload.pattern == Pattern::Uniform || is_sequential && is_one)
            && workload.pacing == Pacing::Closed
            && workload.mix.discard == 0
            && workload.flush_every.is_none()
            && workload.shift_bytes == 0
            && !(workload.verify || workload.sync_writes);
        let is_free = issue.think.is_none()
            && issue.flow.is_none()
            && issue.ramp_ns == 0
            && !(issue.log || issue.times_submission);
        let places = workload.region.bytes / u64::from(block);
        (is_virtual && is_plain && is_free && places > 0).then(|| Leaper {
            block,
            writes: workload.mix.write > 0,
            is_sequential,
            start: workload.region.start,
            places,
            dice: workload.seed ^ 0x1ea9,
            warm: false,
            stretch: Vec::new(),
            pool: Vec::new(),
            fit: None,
            growth: GROWTH_MIN / 2.0,
            next: 0,
            debt: 0.0,
            work: WorkOfDies::default(),
            at_begin: Totals::default(),
        })
    }

    /// Adds an interval, with the work of the dies at its end. Returns how many intervals may be
    /// skipped once it completes a stretch.
    fn add(&mut self, kinds: Kinds, work: WorkOfDies) -> Option<f64> {
        let before = std::mem::replace(&mut self.work, work);
        let [completed, completed_before] =
            [work, before].map(|work| work.begun_ns as f64 - work.left_ns as f64);
        self.stretch.push(Interval {
            ops: ops(&kinds) as f64,
            work: completed - completed_before,
            left: work.left_ns as f64,
            kinds,
        });
        if self.stretch.len() < STRETCH {
            return None;
        }
        if let Some(fit) = self.fit {
            let miss = fit.miss(&self.stretch);
            self.growth = if miss <= ERROR.max(2.0 * fit.chance()) {
                (2.0 * self.growth).min(GROWTH_MAX)
            } else {
                GROWTH_MIN
            };
        }
        self.pool.append(&mut self.stretch);
        let most = self.pool.len().min(POOL_MAX);
        let fit_of = |count: usize| (count, self.latest(count));
        let mut fits = (POOL_MIN..=most).step_by(STRETCH).map(fit_of);
        let steady = fits.find(|(_, fit)| fit.ops > 0.0 && fit.error() <= ERROR);
        let (count, fit) = steady.unwrap_or_else(|| (most, self.latest(most)));
        self.pool.drain(..self.pool.len() - count);
        self.fit = Some(fit);
        let longest = (self.growth * count as f64).min(LEAP_MAX);
        Some(if steady.is_some() { longest } else { 0.0 })
    }

    /// The fit to so many intervals timed last.
    fn latest(&self, count: usize) -> Fit {
        Fit::new(&self.pool[self.pool.len() - count..], self.writes)
    }

    /// The interval of the pool to report next: the one whose turn it is, unless what was reported so far
    /// takes longer or shorter and it would add to that.
    fn choose(&mut self, fit: &Fit) -> usize {
        for _ in 0..self.pool.len() {
            self.next = (self.next + 1) % self.pool.len();
            let excess = self.pool[self.next].ops - fit.ops;
            if self.debt.abs() <= DEBT || self.debt * excess <= 0.0 {
                break;
            }
        }
        self.next
    }

    /// The next random offset.
    fn offset(&mut self) -> u64 {
        // SplitMix64.
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = self.dice;
        let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let place = (u128::from(x ^ x >> 31) * u128::from(self.places)) >> 64;
        self.start + place as u64 * u64::from(self.block)
    }
}

fn ops(kinds: &Kinds) -> u64 {
    kinds.iter().flatten().map(|kind| kind.ops).sum()
}

fn bytes_of(kinds: &Kinds, kind: OpKind) -> u64 {
    kinds[kind as usize].as_ref().map_or(0, |stats| stats.bytes)
}

impl<B: Backend> Worker<'_, B> {
    /// Adds the interval that has just ended at `now`, and skips the following ones if the load is
    /// steady. Returns the time after them, and takes their bytes from those left.
    #[cold]
    pub(super) fn leap(&mut self, now: u64, bytes_left: &mut u64) -> u64 {
        let (Some(mut leaper), Some(kinds)) = (self.leaper.take(), self.recorder.take_whole())
        else {
            return now;
        };
        let mut after = now;
        if !leaper.warm || self.looks {
            leaper.warm = true;
            leaper.stretch.clear();
            self.begin_stretch(&mut leaper);
        } else if let Some(permitted) = leaper.add(kinds, self.backend.work_of_dies()) {
            let most = self.intervals_left(&leaper, now, *bytes_left);
            let is_sound = permitted > 0.0 && self.failed == leaper.at_begin.failed;
            let intervals = if is_sound { permitted.min(most) as u64 } else { 0 };
            if intervals > 0 {
                after = self.leap_over(&mut leaper, now, intervals, bytes_left);
            }
            self.begin_stretch(&mut leaper);
        }
        self.leaper = Some(leaper);
        after
    }

    fn begin_stretch(&mut self, leaper: &mut Leaper) {
        self.backend.begin_stretch();
        leaper.work = self.backend.work_of_dies();
        leaper.at_begin = Totals {
            failed: self.failed,
            depths: self.end.depths.clone(),
            handed: self.end.handed.clone(),
            returned: self.end.returned.clone(),
        };
    }

    /// Intervals that the part's limits, and the writes of a leap, leave.
    fn intervals_left(&self, leaper: &Leaper, now: u64, bytes_left: u64) -> f64 {
        let pool = &leaper.pool;
        let mean = |sum: u64| (sum as f64 / pool.len().max(1) as f64).max(f64::MIN_POSITIVE);
        let write_bytes: u64 = pool.iter().map(|i| bytes_of(&i.kinds, OpKind::Write)).sum();
        let read_bytes: u64 = pool.iter().map(|i| bytes_of(&i.kinds, OpKind::Read)).sum();
        let by_time = self.part.time_ns.saturating_sub(now) / self.recorder.interval_ns();
        let by_bytes = bytes_left as f64 / mean(write_bytes + read_bytes);
        let ops_left = self.part.ops.saturating_sub(self.issued) as f64;
        let by_ops = ops_left / mean(pool.iter().map(|i| ops(&i.kinds)).sum());
        let region = leaper.places as f64 * f64::from(leaper.block);
        let by_writes = LEAP_PASSES * region / mean(write_bytes);
        let interval_s = self.recorder.interval_ns() as f64 / 1e9;
        let work = leaper.fit.map_or(0.0, |fit| fit.work.abs() / interval_s);
        let by_drive = self.backend.longest_leap(leaper.writes, work) as f64 / 1e9 / interval_s;
        // The last interval is timed.
        ((by_time as f64).min(by_bytes).min(by_ops) - 1.0).min(by_writes).min(by_drive)
    }

    fn leap_over(
        &mut self,
        leaper: &mut Leaper,
        now: u64,
        intervals: u64,
        bytes_left: &mut u64,
    ) -> u64 {
        let Some(fit) = leaper.fit else { return now };
        self.count_completed(now);
        let interval_ns = self.recorder.interval_ns();
        let traffic = self.backend.stretch_traffic(interval_ns);
        let (mut skipped_ns, mut skipped_ops, mut offsets) = (0, 0, Vec::new());
        let (debt, mut count, mut excess) = (leaper.debt, 0.0, 0.0);
        let mut begun_ns = self.backend.work_of_dies().begun_ns;
        for _ in 0..intervals {
            let number = leaper.choose(&fit);
            let kinds = leaper.pool[number].kinds.clone();
            let leap = Leap {
                ns: interval_ns,
                traffic,
                read_bytes: bytes_of(&kinds, OpKind::Read),
                write_bytes: leaper.block,
                in_order: leaper.is_sequential,
            };
            let writes = bytes_of(&kinds, OpKind::Write) / u64::from(leaper.block);
            let (bytes, ops) = (bytes_of(&kinds, OpKind::Write) + leap.read_bytes, ops(&kinds));
            let ops_left = self.part.ops.saturating_sub(self.issued + skipped_ops);
            if bytes >= *bytes_left || ops >= ops_left {
                break;
            }
            if leaper.is_sequential {
                let source = &mut self.sources[0];
                offsets.clear();
                offsets.extend((0..writes).map_while(|_| source.next(now)).map(|op| op.offset));
            } else {
                offsets.clear();
                offsets.extend((0..writes).map(|_| leaper.offset()));
            }
            let goes_on = self.backend.leap(&leap, &mut offsets.iter().copied());
            let begun_before = begun_ns;
            begun_ns = self.backend.work_of_dies().begun_ns;
            let work = (begun_ns - begun_before) as f64;
            leaper.debt += fit.time(ops as f64, work) - 1.0;
            count += 1.0;
            if leaper.writes {
                excess += work / fit.work.max(1.0) - ops as f64 / fit.ops;
            }
            skipped_ns += interval_ns;
            skipped_ops += ops;
            *bytes_left = bytes_left.saturating_sub(bytes);
            let temperature_c = self.backend.temperature();
            self.recorder.repeat(kinds, temperature_c);
            if !goes_on
                || (leaper.debt - debt).abs() > DEBT_MAX + 2.0 * fit.lumps
                || excess.abs() > DEBT_MAX + 2.0 * fit.lumps + WORK_CHANGE * count
            {
                break;
            }
        }
        self.backend.end_leap(skipped_ns);
        self.issued += skipped_ops;
        self.end.skipped_ns += skipped_ns;
        self.count_leap(leaper, skipped_ops);
        self.slots.iter_mut().for_each(|slot| {
            slot.issued += skipped_ns;
            slot.due += skipped_ns;
        });
        now + skipped_ns
    }

    /// Adds the totals of the skipped operations, in the proportions of the stretch.
    fn count_leap(&mut self, leaper: &Leaper, ops: u64) {
        let before = &leaper.at_begin;
        let timed_ops = self.end.depths.busy() - before.depths.busy();
        let counted = self.end.depths.repeat(&before.depths, ops, timed_ops);
        // Every operation has a depth; the remainders of the division are at the full one.
        self.end.depths.add_many(self.open, ops - counted);
        self.end.handed.repeat(&before.handed, ops, timed_ops);
        self.end.returned.repeat(&before.returned, ops, timed_ops);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intervals whose operations vary by half, with this work and half the time by operations.
    fn intervals(count: usize, work: f64) -> Vec<Interval> {
        let interval = |number: usize| {
            let ops = 500.0 + 100.0 * ((7 * number) % 11) as f64;
            Interval { kinds: Kinds::default(), ops, work: work * (2000.0 - ops), left: 0.0 }
        };
        (0..count).map(interval).collect()
    }

    #[test]
    fn a_load_whose_time_goes_with_operations_and_work_is_foreseen() {
        let fit = Fit::new(&intervals(32, 3.0), true);
        assert!((fit.share - 0.5).abs() < 0.01 && fit.error() < 1e-3, "{}", fit.share);
        assert!((fit.time(fit.ops, fit.work) - 1.0).abs() < 1e-9);
        assert!(fit.miss(&intervals(STRETCH, 3.0)) < ERROR);
        // The same operations cost a tenth more work.
        assert!(fit.miss(&intervals(STRETCH, 3.3)) > 2.0 * ERROR);
    }

    #[test]
    fn bursts_that_cancel_each_other_are_steady() {
        // Bursts of collection of 5 intervals, in which a third as much is done.
        let interval = |number: usize| {
            let ops = if (number / 5).is_multiple_of(2) { 900.0 } else { 300.0 };
            Interval { kinds: Kinds::default(), ops, work: ops, left: 0.0 }
        };
        let intervals: Vec<_> = (0..POOL_MAX).map(interval).collect();
        let error = Fit::new(&intervals, true).error();
        let independent = Fit::new(&intervals[..32], true).error() / 8f64.sqrt();
        assert!(error < 0.6 * independent, "{error}, {independent} if groups were independent");
    }

    #[test]
    fn the_time_of_reads_goes_with_the_operations_alone() {
        let fit = Fit::new(&intervals(32, 3.0), false);
        assert_eq!((fit.share, fit.time(2.0 * fit.ops, 0.0)), (1.0, 2.0));
        assert!(fit.error() > ERROR, "they vary by half");
    }

    #[test]
    fn slower_intervals_follow_when_writes_took_longer_than_was_reported() {
        let region = workload::Region::first(1 << 30);
        let w = Workload::new("w", Pattern::Uniform, workload::Mix::WRITE, 4096, region);
        let issue = rig::Job::from_workload(&w).issue;
        let mut leaper = Leaper::new(&w, &issue, true).expect("plain");
        leaper.pool = intervals(32, 3.0);
        let fit = Fit::new(&leaper.pool, true);
        for (debt, is_slower) in [(1.0, true), (-1.0, false)] {
            leaper.debt = debt;
            let chosen = leaper.choose(&fit);
            assert_eq!(leaper.pool[chosen].ops < fit.ops, is_slower);
        }
    }

    #[test]
    fn fills_and_random_loads_leap_and_mixed_streams_do_not() {
        let region = workload::Region::first(1 << 30);
        let leaps = |pattern: Pattern, reads: u32| {
            let w = Workload::new("w", pattern, workload::Mix::read_percent(reads), 4096, region);
            Leaper::new(&w, &rig::Job::from_workload(&w).issue, true).is_some()
        };
        assert!(leaps(Pattern::Sequential, 0) && leaps(Pattern::Uniform, 65));
        assert!(!leaps(Pattern::Sequential, 65) && !leaps(Pattern::Backwards, 0));
    }

    #[test]
    fn most_of_a_long_steady_load_is_skipped_and_none_of_a_short_one() {
        let region = workload::Region::first(1 << 30);
        let share = |pattern: Pattern, intervals: f64, write_bytes: f64| {
            let w = Workload::new("w", pattern, workload::Mix::WRITE, 4096, region);
            timed_share(&w, intervals, write_bytes)
        };
        let long = share(Pattern::Uniform, 600.0, 1e6);
        assert!((0.1..0.2).contains(&long), "{long}");
        // Eight passes, of which a leap skips a sixteenth of one at most.
        let fast = share(Pattern::Uniform, 600.0, 8.0 * region.bytes as f64);
        assert!((0.7..0.9).contains(&fast), "{fast}");
        assert_eq!(share(Pattern::Uniform, 30.0, 1e6), 1.0);
        assert_eq!(share(Pattern::Backwards, 600.0, 1e6), 1.0);
    }
}
