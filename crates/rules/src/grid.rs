//! Lookup of a run's cells and of the tests of [`crate::changes`] by kind, order, size and depth.
//!
//! Sizes are multiples of the small block, which is the block of the reported random workload.
//! Cells measured in a named state of the drive (`just-written`) are excluded.

use std::ops::RangeInclusive;

use record::{MetricKey, Order};
use workload::OpKind::{Read, Write};
use workload::{Mix, OpKind};

use super::subject::Subject;
use crate::Digest;
use crate::changes::{
    AFTER_REST, Addressing, DEEPER, DEPTH, JUST_WRITTEN, LARGER, burst_name, first_name, test_named,
};

/// A workload repeated a second later stays within this factor, unless the drive changed its state.
const HOLDS: f64 = 1.25;

/// Rates within this share of each other count as equal: rounds of half a second differ by less.
pub(super) const SAME: f64 = 0.08;

/// Whether two numbers differ by at most this share.
pub(super) fn within(a: f64, b: f64, share: f64) -> bool {
    (a / b - 1.0).abs() <= share
}

/// All workloads of a run.
pub(super) struct Grid<'a> {
    subjects: Vec<Subject<'a>>,
}

impl<'a> Grid<'a> {
    pub fn from_digests(seen: &'a [Digest]) -> Grid<'a> {
        Grid { subjects: Subject::all(seen) }
    }

    /// The workload of this kind, order and depth, with a block size of `blocks` small blocks.
    pub fn find(
        &self,
        kind: OpKind,
        order: Order,
        blocks: u32,
        depth: u32,
    ) -> Option<&Subject<'a>> {
        let block = self.small()? * blocks;
        self.subjects.iter().find(|subject| {
            let first = subject.first();
            is_plain(&first.name)
                && first.mix == Mix::from_kind(kind)
                && first.random == (order == Order::Random)
                && first.block_bytes == block
                && first.depth_nominal == Some(depth)
        })
    }

    /// Small random reads at this depth, of data just written.
    pub fn just_written(&self, depth: u32) -> Option<&Subject<'a>> {
        let block = u64::from(self.small()?);
        self.subjects.iter().find(|subject| {
            let key = MetricKey::parse(subject.name());
            key.as_cell().is_some_and(|cell| {
                cell.words.join("-") == JUST_WRITTEN
                    && (cell.op, cell.order) == (Some(Read), Order::Random)
                    && (cell.block_bytes, cell.depth) == (block, depth)
            })
        })
    }

    /// Operations per second of small random reads and writes together at this depth.
    pub fn mixed(&self, depth: u32) -> Option<f64> {
        let block = self.small()?;
        let mixed = self.subjects.iter().find(|subject| {
            let first = subject.first();
            !first.probe
                && first.mix.read > 0
                && first.mix.write > 0
                && first.random
                && first.block_bytes == block
                && first.depth_nominal == Some(depth)
        });
        mixed.and_then(rate)
    }

    /// The reported cell of large sequential blocks.
    pub fn in_order(&self, kind: OpKind, depth: u32) -> Option<&Subject<'a>> {
        let small = self.small().unwrap_or(0);
        self.subjects.iter().find(|subject| {
            let first = subject.first();
            !first.probe
                && is_plain(&first.name)
                && first.mix == Mix::from_kind(kind)
                && !first.random
                && first.block_bytes > small
                && first.depth_nominal == Some(depth)
        })
    }

    /// The small block, bytes.
    pub fn small(&self) -> Option<u32> {
        let random = self.subjects.iter().filter(|s| s.first().random && !s.first().probe);
        random.map(|s| s.first().block_bytes).min()
    }

    /// Operations per second.
    pub fn rate(&self, kind: OpKind, order: Order, blocks: u32, depth: u32) -> Option<f64> {
        rate(self.find(kind, order, blocks, depth)?)
    }

    /// Operations per second of the random workload.
    pub fn random(&self, kind: OpKind, blocks: u32, depth: u32) -> Option<f64> {
        self.rate(kind, Order::Random, blocks, depth)
    }

    /// Operations per second of small blocks at high depth within a small region.
    pub fn near(&self, kind: OpKind) -> Option<f64> {
        rate(self.test(kind, Addressing::Near)?)
    }

    fn test(&self, kind: OpKind, place: Addressing) -> Option<&Subject<'a>> {
        self.subjects.iter().find(|s| test_named(s.name()) == Some((kind, place)))
    }

    /// Whether small writes at high depth, repeated between the tests, kept the cell's rate. If
    /// not, a cache filled or emptied in the meantime, and the tests prove nothing.
    pub fn writes_hold(&self) -> bool {
        let Some(cell) = self.random(Write, 1, DEPTH) else { return true };
        [Addressing::Again, Addressing::After].into_iter().all(|place| {
            let repeat = self.test(Write, place).and_then(rate);
            repeat.is_none_or(|repeat| (cell / HOLDS..=cell * HOLDS).contains(&repeat))
        })
    }

    /// Nanoseconds per small write at depth 1, if shorter than a read. The write is then buffered,
    /// and this is the time of a command and its transfer, without flash.
    pub fn buffered_write_ns(&self) -> Option<f64> {
        let rates = self.random(Write, 1, 1).zip(self.random(Read, 1, 1));
        rates.filter(|(write, read)| write > read).map(|(write, _)| 1e9 / write)
    }

    /// Nanoseconds of a small command with its transfer, without flash, between bounds.
    ///
    /// A buffered write at depth 1 shows it: its median, if that is below its mean, which may contain
    /// waits of some. Where single writes wait for flash, a larger one of a burst that was buffered shows
    /// it, less the time of the additional data: the median one, because the first may wake the drive. What
    /// these data add to a read is too short where flash had fetched them with the small block; what
    /// they take in the fastest workload is too long where a link turns around within it.
    pub fn command_ns(&self) -> Option<RangeInclusive<f64>> {
        let buffered_ns = self.buffered_write_ns().map(|ns| ns.min(self.usual_ns(Write))..=ns);
        buffered_ns.or_else(|| {
            let block = self.small()? * LARGER[0];
            let burst = self.subjects.iter().find(|s| s.name() == burst_name(block, 1))?;
            let write_ns =
                Some(burst.median(|run| run.write_ns)).filter(|time_ns| *time_ns > 0.0)?;
            let [small_ns, large_ns] = [1, LARGER[0]].map(|n| Some(1e9 / self.random(Read, n, 1)?));
            let (small_ns, large_ns) = small_ns.zip(large_ns)?;
            let added_bytes = f64::from(self.small()? * (LARGER[0] - 1));
            let transfer_ns = 1e9 * added_bytes / self.fastest()?;
            let read_ns = large_ns - small_ns;
            let [least_ns, most_ns] =
                [read_ns.max(transfer_ns), read_ns].map(|data_ns| (write_ns - data_ns).max(0.0));
            (write_ns <= large_ns).then_some(least_ns..=most_ns)
        })
    }

    /// Median time of a small block at depth 1, nanoseconds; infinite if unknown.
    pub fn usual_ns(&self, kind: OpKind) -> f64 {
        let subject = self.find(kind, Order::Random, 1, 1);
        let usual_ns = subject.map(|subject| {
            subject.median(|run| if kind == Read { run.read_ns[0] } else { run.write_ns })
        });
        usual_ns.filter(|ns| *ns > 0.0).unwrap_or(f64::INFINITY)
    }

    /// Bytes per second of the fastest workload.
    fn fastest(&self) -> Option<f64> {
        let rates = self.subjects.iter().map(Subject::throughput);
        rates.max_by(f64::total_cmp).filter(|rate| *rate > 0.0)
    }

    /// Share of a single small read that flash takes, between bounds: what it takes longer than a
    /// buffered write.
    pub fn flash_share(&self) -> Option<RangeInclusive<f64>> {
        let (command_ns, rate) = (self.command_ns()?, self.random(Read, 1, 1)?);
        let [most, least] = [command_ns.start(), command_ns.end()].map(|ns| 1.0 - ns * rate / 1e9);
        Some(least..=most)
    }

    /// Whether a queue of small blocks is no faster than one after another.
    pub fn is_serial(&self, kind: OpKind) -> Option<bool> {
        Some(self.random(kind, 1, DEPTH)? <= (1.0 + SAME) * self.random(kind, 1, 1)?)
    }

    /// Operations per second of small blocks at a depth beyond that of any cell. Where a queue is no
    /// faster than one after another, a longer one is not tested.
    pub fn deeper(&self, kind: OpKind) -> Option<f64> {
        let serial = self.random(kind, 1, DEPTH).filter(|_| self.is_serial(kind) == Some(true));
        self.random(kind, 1, DEEPER).or(serial)
    }

    /// Bytes per second of a burst of writes after a rest, without the flush that follows.
    pub fn burst(&self, block: u32, depth: u32) -> Option<f64> {
        self.subjects.iter().find(|s| s.name() == burst_name(block, depth)).and_then(accepted)
    }

    /// Bytes per second of the second of two blocks written after a rest. A controller accepts the
    /// first at once, however slowly it takes it in.
    pub fn second_block(&self) -> Option<f64> {
        let block = self.small()? * LARGER[1];
        let [one_s, two_s] = [1, 2].map(|count: u64| {
            let subject = self.subjects.iter().find(|s| s.name() == first_name(block, count))?;
            Some((count * u64::from(block)) as f64 / accepted(subject)?)
        });
        let added_s = two_s? - one_s?;
        (added_s > 0.0).then(|| f64::from(block) / added_s)
    }

    /// The reads after a rest.
    pub fn after_rest(&self) -> Option<&Subject<'a>> {
        self.subjects.iter().find(|s| s.name() == AFTER_REST)
    }
}

/// Bytes per second that a burst was accepted at, without its flush.
fn accepted(subject: &Subject<'_>) -> Option<f64> {
    let rate = subject.median(|run| run.bytes[1] as f64 / (run.seconds - run.flush_s).max(1e-9));
    Some(rate).filter(|rate| *rate > 0.0)
}

fn rate(subject: &Subject<'_>) -> Option<f64> {
    Some(subject.iops()).filter(|rate| *rate > 0.0)
}

/// Whether a name denotes a cell without a named state, or a test that changes size, depth or
/// order.
fn is_plain(name: &str) -> bool {
    match MetricKey::parse(name).as_cell() {
        Some(cell) => cell.words.is_empty(),
        None => test_named(name).is_some_and(|(_, place)| place != Addressing::Near),
    }
}
