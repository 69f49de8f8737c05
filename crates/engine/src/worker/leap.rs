//! Leaps of a worker on a virtual drive: of a long steady load, short stretches are timed and what
//! lies between them is skipped.
//!
//! A stretch is a few whole intervals with enough operations. If its rate is that of the stretch
//! before it, the intervals of the last stretches stand for the following ones: their counts are
//! reported again, and the drive takes the writes without timing them ([`model::Drive::leap`]). The
//! longer the rate has been the same, the longer the leap; a rate that drifts shortens it. Whatever
//! the drive does between two stretches, the next one measures.

use model::Leap;
use rig::Kinds;
use workload::{BlockSizes, OpKind, Pacing, Pattern, Workload};

use super::Worker;
use crate::backend::Backend;
use crate::counts::Counts;

/// Fewest operations, KiB and intervals of a stretch. Arbitrary: of so many, rates are the same
/// within about a percent.
const STRETCH_OPS: u64 = 1024;
const STRETCH_KIB: u64 = 64 << 10;
const STRETCH_INTERVALS: usize = 2;

/// Share by which the rate of a steady load changes from one stretch to the next, at most.
const STEADY: f64 = 0.02;

/// Share by which the rate may change within a leap, as far as the last stretches tell.
const HIDDEN: f64 = 0.01;

/// Longest leap, as a multiple of a stretch.
const GROWTH_MAX: f64 = 64.0;

/// Share of the drive that one leap may write.
const LEAP_PASSES: f64 = 1.0 / 64.0;

/// Intervals that stand for the skipped ones, at most: those of the last stretches.
const POOL_MAX: usize = 64;

/// The stretches of a job so far.
pub(super) struct Leaper {
    block: u32,
    /// Whether the load writes.
    writes: bool,
    start: u64,
    /// Blocks in the region.
    places: u64,
    /// State of the random offsets.
    dice: u64,
    /// Whether the first interval, which is not steady, has passed.
    warm: bool,
    stretch: Vec<Kinds>,
    pool: Vec<Kinds>,
    /// Operations per interval of the stretch before.
    rate_before: Option<f64>,
    growth: f64,
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
        let is_plain = workload.pattern == Pattern::Uniform
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
            start: workload.region.start,
            places,
            dice: workload.seed ^ 0x1ea9,
            warm: false,
            stretch: Vec::new(),
            pool: Vec::new(),
            rate_before: None,
            growth: 1.0,
            at_begin: Totals::default(),
        })
    }

    /// Adds an interval. Returns how many intervals its rate permits to skip once it completes a
    /// stretch.
    fn add(&mut self, kinds: Kinds) -> Option<f64> {
        self.stretch.push(kinds);
        let ops: u64 = self.stretch.iter().map(ops).sum();
        let kib = ops * u64::from(self.block.max(4096)) / 1024;
        let is_long = ops >= STRETCH_OPS && kib >= STRETCH_KIB;
        if !is_long || self.stretch.len() < STRETCH_INTERVALS {
            return None;
        }
        let intervals = self.stretch.len() as f64;
        let rate = ops as f64 / intervals;
        let change = self.rate_before.map_or(f64::INFINITY, |before| (rate / before - 1.0).abs());
        self.rate_before = Some(rate);
        if change > STEADY {
            self.growth = 1.0;
            self.pool.clear();
        }
        self.pool.append(&mut self.stretch);
        let excess = self.pool.len().saturating_sub(POOL_MAX);
        self.pool.drain(..excess);
        if change > STEADY {
            return Some(0.0);
        }
        let permitted = (self.growth * intervals).min(HIDDEN / self.drift().max(1e-9));
        self.growth = (2.0 * self.growth).min(GROWTH_MAX);
        Some(permitted)
    }

    /// Share by which the rate changes per interval: the later half of the pool beside the earlier.
    fn drift(&self) -> f64 {
        let half = self.pool.len() / 2;
        let [early, late] = [&self.pool[..half], &self.pool[self.pool.len() - half..]]
            .map(|pool| pool.iter().map(ops).sum::<u64>().max(1) as f64);
        (late / early - 1.0).abs() / half.max(1) as f64
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
            self.begin_stretch(&mut leaper);
        } else if let Some(permitted) = leaper.add(kinds) {
            let most = self.intervals_left(&leaper, now, *bytes_left);
            let intervals =
                if self.failed > leaper.at_begin.failed { 0 } else { permitted.min(most) as u64 };
            if intervals > 0 && self.backend.can_leap(leaper.writes) {
                after = self.leap_over(&mut leaper, now, intervals, bytes_left);
            }
            self.begin_stretch(&mut leaper);
        }
        self.leaper = Some(leaper);
        after
    }

    fn begin_stretch(&mut self, leaper: &mut Leaper) {
        self.backend.begin_stretch();
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
        let write_bytes: u64 = pool.iter().map(|kinds| bytes_of(kinds, OpKind::Write)).sum();
        let read_bytes: u64 = pool.iter().map(|kinds| bytes_of(kinds, OpKind::Read)).sum();
        let by_time = self.part.time_ns.saturating_sub(now) / self.recorder.interval_ns();
        let by_bytes = bytes_left as f64 / mean(write_bytes + read_bytes);
        let ops_left = self.part.ops.saturating_sub(self.issued) as f64;
        let by_ops = ops_left / mean(pool.iter().map(ops).sum());
        let region = leaper.places as f64 * f64::from(leaper.block);
        let by_writes = LEAP_PASSES * region / mean(write_bytes);
        // The last interval is timed.
        ((by_time as f64).min(by_bytes).min(by_ops) - 1.0).min(by_writes)
    }

    fn leap_over(
        &mut self,
        leaper: &mut Leaper,
        now: u64,
        intervals: u64,
        bytes_left: &mut u64,
    ) -> u64 {
        self.count_completed(now);
        let interval_ns = self.recorder.interval_ns();
        let traffic = self.backend.stretch_traffic(interval_ns);
        let (mut skipped_ns, mut skipped_ops) = (0, 0);
        for index in 0..intervals {
            let kinds = leaper.pool[index as usize % leaper.pool.len()].clone();
            let leap = Leap {
                ns: interval_ns,
                traffic,
                read_bytes: bytes_of(&kinds, OpKind::Read),
                write_bytes: leaper.block,
            };
            let writes = bytes_of(&kinds, OpKind::Write) / u64::from(leaper.block);
            let (bytes, ops) = (bytes_of(&kinds, OpKind::Write) + leap.read_bytes, ops(&kinds));
            let goes_on = self.backend.leap(&leap, &mut (0..writes).map(|_| leaper.offset()));
            skipped_ns += interval_ns;
            skipped_ops += ops;
            *bytes_left = bytes_left.saturating_sub(bytes);
            let temperature_c = self.backend.temperature();
            self.recorder.repeat(kinds, temperature_c);
            if !goes_on {
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
