//! MAPPING UNIT, DEVICE DEPTH and PER-COMMAND: causes that a single figure cannot distinguish.
//!
//! Each responds differently to variations of the same random workload (`causes.rs` runs them):
//!
//! - Larger blocks: IOPS *rise* only if small writes are parts of a mapping unit. They stay the same
//!   if whole units are written as fast as large blocks in order; small blocks in order, which fill
//!   units, are then faster, and those nearby are not.
//! - Higher queue depth: IOPS stay the same if the drive takes a fixed number of commands
//!   (`device_depth.rs`).
//! - Larger or sequential blocks: IOPS stay the same if the command itself is the cost, bytes per
//!   second if it is the data.
//!
//! At depth 1, a command's time has a fixed part and a part for its data; two block sizes separate
//! them. A read also waits for flash, so its fixed part is that of a buffered write of the same
//! size. If the variations do not agree on one cause, none is reported.

use record::{Order, Unit, VerdictKind};
use rig::TargetInfo;
use workload::OpKind;
use workload::OpKind::{Read, Write};
use workload::units::{binary, latency};

use super::device_depth::same;
use super::grid::{Grid, SAME};
use super::link::LINK_ROOM;
use super::nearby::NEAR_GAIN;
use super::rule::{Role, Rule};
use super::{Ruling, percent};
use crate::Digest;
use crate::changes::{DEEPER, DEPTH, LARGER, UNITS};

/// Minimum gain in IOPS from larger blocks that only whole mapping units explain.
const UNIT_GAIN_MIN: f64 = 1.2;

/// Minimum ratio of small writes in order to random ones that shows that only scattered ones cost a
/// whole unit.
const FILLED_UNIT_MIN: f64 = 2.0;

/// Minimum share of the throughput of large writes in order that random writes of whole units reach.
/// Where a write copies a block of flash, it is a small part of that.
const WHOLE_UNIT_MIN: f64 = 0.75;

/// Minimum share of the small-block IOPS at which units of the largest size count as read equally
/// fast by a deep queue. More flash pages, or 16 times the transfer, would cost more.
const UNIT_READ_MIN: f64 = 0.87;

/// Minimum share of a single read that the data of a mapping unit take, if only whole units are
/// read: reading less would then be faster by as much.
const UNIT_DATA_MIN: f64 = 0.1;

/// Maximum share of that time by which a read of a small block is shorter than that of a unit.
const UNIT_DATA_SAVED_MAX: f64 = 0.25;

/// Minimum share of the IOPS that blocks 16 times as large keep if the command is the cost; beyond
/// a page, flash halves the IOPS.
const LARGEST_MIN: f64 = 0.75;

/// Minimum ratio of the throughput of large writes to that of small ones if the cost is an
/// operation's, not its data's.
const LARGE_MIN: f64 = 1.5;

/// Maximum bytes of random writes, as a multiple of those of large writes in order, if both wait for
/// flash: it takes no more of them, and the rest is a margin for noise, not measured. A cache took 18
/// times as much on the drive that showed the need.
const UNIT_BYTES_MAX: f64 = 1.5;

/// Share of the time above which the command is the cost: the time of a command times the IOPS.
const COMMAND_MIN: f64 = 0.5;

/// The same for a read with a known flash time: without the command, IOPS would rise by half.
const READ_COMMAND_MIN: f64 = 1.0 / 3.0;

/// Longer than any flash takes to read or accept 4 KiB, nanoseconds: planar MLC, the
/// slowest, reads a page in up to 115 us.
const SLOW_COMMAND_NS: f64 = 200_000.0;

/// Data just written are in other flash if a single read of them is faster by this ratio.
const OTHER_FLASH_MIN: f64 = 1.1;

/// Full queues of reads within this share of each other have one rate.
const ONE_QUEUE: f64 = 0.03;

/// Maximum share of the ideal rate at which a queue has another limit than its length.
const SATURATED_MAX: f64 = 0.5;

/// Maximum ratio of single reads of four small blocks to those of one that shows that fewer data take
/// less time on their way from flash.
const LESS_DATA_MAX: f64 = 0.95;

/// Minimum share of ideal scaling at which the rate counts as proportional to the depth.
const LINEAR_MIN: f64 = 0.8;

pub static RULE: Rule = Rule {
    role: Role::Cause,
    overridden_by: super::media::LIMITS_OF_HOST,
    judge: |facts| {
        let mut direct = super::link::link(facts.target, facts.seen);
        direct.extend(super::nearby::nearby(facts.seen));
        contenders(facts.target, facts.seen, &direct)
    },
};

/// Returns at most one cause for each figure that has no direct cause.
pub fn contenders(target: &TargetInfo, seen: &[Digest], direct: &[Ruling]) -> Vec<Ruling> {
    let grid = Grid::from_digests(seen);
    let depth = grid.device_depth(target);
    let mut rulings: Vec<Ruling> = match grid.mapping_unit() {
        // Such a drive also reads whole units, which hides the cost of a command, but not a short
        // queue.
        Some(unit) => {
            let depth = depth.filter(|depth| depth.verdict.kind != VerdictKind::PerCommand);
            [Some(unit), depth].into_iter().flatten().collect()
        }
        None => {
            let ceiling = super::link::ceiling(target).unwrap_or(f64::INFINITY);
            let commands = [Read, Write].map(|kind| grid.per_command(kind, ceiling));
            let alone = [grid.unit_alone(), grid.command_alone(Read), grid.command_alone(Write)];
            [depth].into_iter().chain(commands).chain(alone).flatten().collect()
        }
    };
    let mut explained: Vec<String> = Vec::new();
    let of_direct = direct.iter().filter(|ruling| ruling.applies());
    explained.extend(of_direct.flat_map(|r| r.verdict.explains.iter().map(|e| e.metric.clone())));
    for ruling in &mut rulings {
        ruling.verdict.explains.retain(|e| !explained.contains(&e.metric));
        explained.extend(ruling.verdict.explains.iter().map(|e| e.metric.clone()));
    }
    rulings.retain(|ruling| !ruling.verdict.explains.is_empty());
    rulings
}

/// What shows that small random writes are parts of larger units.
struct UnitSign {
    /// The unit, in small blocks.
    blocks: u32,
    /// How many times as fast writes of whole units are.
    gain: f64,
    words: String,
    /// What was divided for the gain.
    ratio: &'static str,
}

impl Grid<'_> {
    /// Checks whether small random writes are parts of larger units.
    fn mapping_unit(&self) -> Option<Ruling> {
        let subject = self.find(Write, Order::Random, 1, DEPTH)?;
        let small = self.random(Write, 1, DEPTH).filter(|_| self.writes_hold())?;
        let sign = self.larger_units(small).or_else(|| self.filled_units(small))?;
        let blocks = sign.blocks;
        let text = format!(
            "Small random writes are parts of a larger unit that the drive rewrites whole: {}.",
            sign.words
        );
        let mut ruling = Ruling::yes(VerdictKind::MappingUnit, text)
            .explaining(subject, Some(1.0 - 1.0 / sign.gain))
            .next_test("ssdyno io --rw randwrite with --bs 8k, 16k, 32k, ...: the unit's size")
            .with(sign.ratio, sign.gain, Unit::Number);
        // The cause also applies at depth 1 if there is such a gain.
        let larger = LARGER.iter().filter_map(|n| self.random(Write, *n, 1)).reduce(f64::max);
        let alone = self.random(Write, 1, 1).zip(larger);
        if alone.is_some_and(|(small, large)| large / small >= UNIT_GAIN_MIN)
            && let Some(subject) = self.find(Write, Order::Random, 1, 1)
        {
            ruling = ruling.explaining(subject, None);
        }
        let deep = self.random(Read, 1, DEPTH).zip(self.random(Read, blocks, DEPTH));
        let is_deep = blocks == LARGER[1]
            && deep.is_some_and(|(small, whole)| whole / small >= UNIT_READ_MIN);
        for (depth, _) in [(1, self.reads_whole(blocks)), (DEPTH, is_deep)].iter().filter(|c| c.1) {
            if let Some(subject) = self.find(Read, Order::Random, 1, *depth) {
                ruling = ruling.explaining(subject, None);
            }
        }
        Some(ruling)
    }

    /// Checks whether single small writes are parts of larger units, where a full queue of them has
    /// another limit.
    fn unit_alone(&self) -> Option<Ruling> {
        let subject = self.find(Write, Order::Random, 1, 1).filter(|_| self.writes_hold())?;
        let small_iops = self.random(Write, 1, 1)?;
        let rates = LARGER.iter().filter_map(|n| Some((*n, self.random(Write, *n, 1)?)));
        let (blocks, iops) = rates.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let gain = iops / small_iops;
        let [unit, small] = self.sizes(blocks)?;
        let text = format!(
            "Single small writes are parts of a larger unit that the drive rewrites whole: {unit} \
             blocks reach {gain:.1} times the IOPS of {small} blocks."
        );
        let ruling = Ruling::yes(VerdictKind::MappingUnit, text)
            .explaining(subject, Some(1.0 - 1.0 / gain))
            .next_test("ssdyno io --rw randwrite --depth 1 with --bs 8k, 16k, 32k: the unit's size")
            .with("writes per second of larger blocks / of small ones", gain, Unit::Number);
        (gain >= UNIT_GAIN_MIN).then_some(ruling)
    }

    /// Larger random blocks that are written more often than small ones, as whole units are.
    fn larger_units(&self, small_iops: f64) -> Option<UnitSign> {
        let (blocks, gain) =
            self.unit_gain(small_iops).filter(|(_, gain)| *gain >= UNIT_GAIN_MIN)?;
        let [unit, block] = self.sizes(blocks)?;
        Some(UnitSign {
            blocks,
            gain,
            words: format!("{unit} blocks reach {gain:.1} times the IOPS of {block} blocks"),
            ratio: "writes per second of larger blocks / of small ones",
        })
    }

    /// Larger random blocks that are written as often as small ones and as fast as large ones in
    /// order, where small blocks are faster in order, but not nearby: blocks in order fill units.
    fn filled_units(&self, small_iops: f64) -> Option<UnitSign> {
        let large = self.in_order(Write, 8)?.throughput();
        let blocks = UNITS.into_iter().rev().find(|blocks| {
            self.random(Write, *blocks, DEPTH).is_some_and(|iops| {
                let bytes = iops * f64::from(self.small().unwrap_or(0) * *blocks);
                same(iops, small_iops) && bytes >= WHOLE_UNIT_MIN * large
            })
        })?;
        self.near(Write).filter(|iops| same(*iops, small_iops))?;
        let in_order = self.rate(Write, Order::Sequential, 1, DEPTH)? / small_iops;
        let gain = in_order.min(f64::from(blocks));
        let [unit, block] = self.sizes(blocks)?;
        (in_order >= FILLED_UNIT_MIN).then(|| UnitSign {
            blocks,
            gain,
            words: format!(
                "{unit} blocks are written as often as {block} blocks, which are {in_order:.1} times \
                 as fast in order, but not nearby"
            ),
            ratio: "writes per second in order / at random",
        })
    }

    /// A larger block and the small one, in words.
    fn sizes(&self, blocks: u32) -> Option<[String; 2]> {
        let small = self.small()?;
        Some([small * blocks, small].map(|bytes| binary(u64::from(bytes))))
    }

    /// The larger block of random writes with the most IOPS, and their ratio to those of small ones.
    fn unit_gain(&self, small_iops: f64) -> Option<(u32, f64)> {
        let rates = UNITS.iter().filter_map(|n| Some((*n, self.random(Write, *n, DEPTH)?)));
        let of_flash = rates.filter(|(blocks, iops)| !self.is_cached(*blocks, *iops));
        let (blocks, iops) = of_flash.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((blocks, iops / small_iops))
    }

    /// Whether random writes move more bytes than large ones in order: a cache took them, which the
    /// others did not find empty.
    fn is_cached(&self, blocks: u32, iops: f64) -> bool {
        let bytes = iops * f64::from(self.small().unwrap_or(0) * blocks);
        self.in_order(Write, 8).is_some_and(|large| bytes > UNIT_BYTES_MAX * large.throughput())
    }

    /// Whether larger random writes reach more IOPS, as parts of mapping units do.
    pub(super) fn gains_from_units(&self) -> bool {
        let small = self.random(Write, 1, DEPTH);
        small.and_then(|iops| self.larger_units(iops).or_else(|| self.filled_units(iops))).is_some()
    }

    /// Whether a single read of a small block takes the time of a whole unit of `blocks` blocks,
    /// although the data of a unit take time, as larger reads show.
    fn reads_whole(&self, blocks: u32) -> bool {
        let [small, unit, larger] =
            [1, blocks, LARGER[1]].map(|blocks| Some(1e9 / self.random(Read, blocks, 1)?));
        let Some((small, unit)) = small.zip(unit) else { return false };
        larger.filter(|_| blocks < LARGER[1]).is_some_and(|larger| {
            let unit_data = (larger - unit) / f64::from(LARGER[1] - blocks) * f64::from(blocks);
            unit_data >= UNIT_DATA_MIN * small && unit - small <= UNIT_DATA_SAVED_MAX * unit_data
        })
    }

    /// Checks whether IOPS with a full queue are independent of block size and order. Blocks that
    /// would fill a link of this ceiling reveal nothing; instead, reads and writes, which have no
    /// other resource in common, must reach the same IOPS, or a burst of writes no more.
    fn per_command(&self, kind: OpKind, ceiling: f64) -> Option<Ruling> {
        let deep = self.random(kind, 1, DEPTH)?;
        let larger = self.random(kind, LARGER[0], DEPTH)?;
        let in_order = self.rate(kind, Order::Sequential, 1, DEPTH)?;
        let near_rate = self.near(kind)?;
        let is_free_of_order =
            same(in_order, deep) || (in_order > deep && self.is_no_flash_limit(kind));
        if !same(near_rate, deep) || !is_free_of_order || !self.is_saturated(kind, deep) {
            return None;
        }
        let bytes = deep * f64::from(self.small()?);
        // Large blocks in order move no more bytes: the data are the cost.
        if self.in_order(kind, 8).is_some_and(|large| same(large.throughput(), bytes)) {
            return None;
        }
        let fills = LARGER.map(|blocks| bytes * f64::from(blocks) >= LINK_ROOM * ceiling);
        // A link that is busy during the command, too, takes the time of the larger data on top.
        let serial = LARGER.map(|blocks| {
            let added_bytes = f64::from(blocks - 1) * bytes / deep;
            (1.0 - SAME) / (1.0 / deep + added_bytes / ceiling)
        });
        // A single die reads 16 KiB as often as 4 KiB, but not 64 KiB.
        let largest = self.random(kind, LARGER[1], DEPTH);
        let least = serial[1].min(LARGEST_MIN * deep);
        let is_command = (fills[0] || (larger >= serial[0] && larger <= (1.0 + SAME) * deep))
            && (fills[1] || largest.is_some_and(|rate| rate >= least));
        let other = if kind == Read { Write } else { Read };
        let is_common = self.random(other, 1, DEPTH).is_some_and(|rate| same(rate, deep));
        let is_known = is_common
            || match kind {
                Write => self.buffer_takes_operations(deep),
                _ => self.reads_any_flash_alike(),
            };
        if !is_command || (fills[1] && !is_known) {
            return None;
        }
        let subject = self.find(kind, Order::Random, 1, DEPTH)?;
        // Reads and writes at one rate have only commands in common.
        let alike = self.find(other, Order::Random, 1, DEPTH).filter(|_| is_common);
        let operation = if alike.is_some() { "read or write" } else { kind.name() };
        let order = if same(in_order, deep) { "order and" } else { "flash and the" };
        let text = format!(
            "The cost of a {operation} is the command, not its data: {deep:.0} per second, whatever \
             the block size, {order} queue depth."
        );
        let ruling = Ruling::yes(VerdictKind::PerCommand, text)
            .explaining(subject, None)
            .next_test("the drive in a faster machine: the command's cost may be the host's")
            .with("operations per second, blocks 4 times as large", larger, Unit::Iops)
            .with("operations per second, in order", in_order, Unit::Iops);
        Some(match alike {
            Some(subject) => ruling.explaining(subject, None),
            None => ruling,
        })
    }

    /// Whether a longer queue would not be faster: it is not, or one half as long would be as fast if
    /// its operations took no longer than single ones.
    fn is_saturated(&self, kind: OpKind, deep: f64) -> bool {
        match self.random(kind, 1, DEEPER) {
            Some(deeper) => same(deeper, deep),
            None => self
                .random(kind, 1, 1)
                .is_some_and(|single| deep <= SATURATED_MAX * f64::from(DEPTH) * single),
        }
    }

    /// Whether reads wait for flash neither in its cells nor on its way: faster flash does not help, and
    /// a single read of fewer data is faster. In order, a drive may read ahead without commands.
    fn is_no_flash_limit(&self, kind: OpKind) -> bool {
        let times = self.random(Read, 1, 1).zip(self.random(Read, LARGER[0], 1));
        kind == Read
            && self.reads_any_flash_alike()
            && times.is_some_and(|(small, large)| large <= LESS_DATA_MAX * small)
    }

    /// Whether a full queue of small reads is no faster on data just written, although a single read
    /// of them is, because they are in faster flash: the queue does not wait for flash.
    pub(super) fn reads_any_flash_alike(&self) -> bool {
        let [single, deep] = [1, DEPTH]
            .map(|depth| Some(self.just_written(depth)?.iops() / self.random(Read, 1, depth)?));
        single.is_some_and(|gain| gain >= OTHER_FLASH_MIN)
            && deep.is_some_and(|gain| gain <= 1.0 + ONE_QUEUE)
    }

    /// Whether an idle drive's buffer takes small writes at this rate and no faster, although it takes
    /// more bytes in large blocks: each operation has a cost, and flash is not that cost.
    fn buffer_takes_operations(&self, iops: f64) -> bool {
        let Some(small) = self.small() else { return false };
        let bytes = iops * f64::from(small);
        let is_same = self.burst(small, DEPTH).is_some_and(|burst| same(burst, bytes));
        let large = self.in_order(Write, 8).map(|cell| cell.throughput());
        is_same && large.is_some_and(|large| large >= LARGE_MIN * bytes)
    }

    /// Checks the fixed part of a command's time at depth 1, derived from two block sizes.
    fn command_alone(&self, kind: OpKind) -> Option<Ruling> {
        let subject = self.find(kind, Order::Random, 1, 1)?;
        let small_ns = 1e9 / self.random(kind, 1, 1)?;
        // Larger writes may wait for flash: the size with the least time for data counts. A read of
        // a few blocks is of one page of flash, and reveals nothing.
        let sizes = if kind == Write { &LARGER[..] } else { &LARGER[1..] };
        let times_ns = sizes.iter().filter_map(|n| Some((n, 1e9 / self.random(kind, *n, 1)?)));
        let times_ns: Vec<(&u32, f64)> = times_ns.collect();
        // Larger blocks take less time: small blocks have another cost.
        if times_ns.iter().any(|(_, large_ns)| *large_ns < (1.0 - SAME) * small_ns) {
            return None;
        }
        let data_ns =
            times_ns.iter().map(|(n, large_ns)| (large_ns - small_ns) / f64::from(*n - 1));
        let data_ns = data_ns.reduce(f64::min)?.max(0.0);
        // Every command pays its cost, so most take no less: a longer mean is that of waits of a few.
        let fixed_ns = (small_ns.min(self.usual_ns(kind)) - data_ns).max(0.0);
        // Even the smallest read also waits for flash. A buffered write shows the command alone.
        let (command_ns, least) = match (kind, self.command_ns()) {
            (Read, Some(write_ns)) => {
                ((write_ns.start() - data_ns).clamp(0.0, fixed_ns), READ_COMMAND_MIN)
            }
            (Read, None) => return None,
            _ => (fixed_ns, COMMAND_MIN),
        };
        let share = command_ns / small_ns;
        if share <= least {
            return None;
        }
        // The time to load a missing part of the map does not belong to the command. A write needs the
        // same parts as a read, whose queue may show what another limit hides in that of writes.
        let is_faster_near = [kind, Read].into_iter().any(|kind| {
            let rates = self.near(kind).zip(self.random(kind, 1, DEPTH));
            rates.is_some_and(|(near, random)| near >= NEAR_GAIN * random)
        });
        if is_faster_near {
            return None;
        }
        let text = format!(
            "At depth 1, a {} takes {}, of which {} ({}) is the command, whatever its size.",
            kind.name(),
            latency(small_ns),
            latency(command_ns),
            percent(share)
        );
        let ruling = Ruling::yes(VerdictKind::PerCommand, text).explaining(subject, Some(share));
        // The command takes longer than flash, and only a higher queue depth makes up for it.
        let deep = self.find(kind, Order::Random, 1, DEPTH).filter(|deep| {
            let linear = deep.iops() * small_ns / 1e9 >= LINEAR_MIN * f64::from(DEPTH);
            // A write faster than a flash read was buffered: its time does not include flash.
            let read_ns = self.random(Read, 1, 1).map(|rate| 1e9 / rate);
            let buffered = kind == Write && read_ns.is_some_and(|read_ns| small_ns < read_ns);
            linear && (command_ns >= SLOW_COMMAND_NS || buffered)
        });
        let ruling = match deep {
            Some(deep) => ruling.explaining(deep, Some(share)),
            None => ruling,
        };
        Some(
            ruling
                .next_test("a higher queue depth: --depth 4")
                .with("time of the command", command_ns, Unit::Nanoseconds)
                .with("share of the command", share, Unit::Number),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::subject::Subject;
    use super::super::testing::{burst, named, near, random, run, target};
    use super::*;
    use crate::changes::Addressing;

    fn found(seen: &[Digest]) -> Vec<(VerdictKind, Vec<String>)> {
        let each = contenders(&target(), seen, &[]).into_iter().map(|ruling| {
            let metrics = ruling.verdict.explains.into_iter().map(|e| e.metric);
            (ruling.verdict.kind, metrics.collect())
        });
        each.collect()
    }

    fn one(kind: VerdictKind, metric: &str) -> Vec<(VerdictKind, Vec<String>)> {
        vec![(kind, vec![metric.to_string()])]
    }

    #[test]
    fn larger_blocks_written_more_often_are_whole_units() {
        let writes = |gain| [random(Write, 1, DEPTH, 17e3), random(Write, 16, DEPTH, 17e3 * gain)];
        assert_eq!(found(&writes(2.0)), one(VerdictKind::MappingUnit, "rand-write-4KiB-q32"));
        assert_eq!(found(&writes(1.21)).len(), 1);
        assert_eq!(found(&writes(1.19)), []);
        assert_eq!(found(&writes(0.1)), []);
        let of_32_kib = [random(Write, 1, DEPTH, 17e3), random(Write, 8, DEPTH, 34e3)];
        assert_eq!(found(&of_32_kib), one(VerdictKind::MappingUnit, "rand-write-4KiB-q32"));
    }

    /// A cache that empties between the cell and its tests makes every test look faster.
    #[test]
    fn tests_of_writes_count_where_the_cell_repeated_between_them_is_the_same() {
        let seen = |word: &str, rate: f64| {
            let name = format!("cause-write-{word}-4KiB-32");
            let again = Digest { probe: true, ..named(&name, random(Write, 1, DEPTH, rate)) };
            found(&[random(Write, 1, DEPTH, 20e3), random(Write, 16, DEPTH, 40e3), again]).len()
        };
        for place in [Addressing::Again, Addressing::After] {
            let all = [15.8e3, 16.1e3, 24.9e3, 25.1e3].map(|rate| seen(place.name(), rate));
            assert_eq!(all, [0, 1, 1, 0], "{place:?}");
        }
    }

    #[test]
    fn a_rate_that_nothing_about_the_blocks_changes_is_the_commands() {
        let seen = |rates: [f64; 5]| {
            let [deeper, larger, in_order, largest, little] = rates;
            [
                random(Read, 1, DEPTH, 25e3),
                random(Read, 1, DEEPER, deeper),
                random(Read, LARGER[0], DEPTH, larger),
                run(Read, Order::Sequential, 1, DEPTH, in_order),
                random(Read, LARGER[1], DEPTH, largest),
                near(Read, little),
            ]
        };
        let expected = one(VerdictKind::PerCommand, "rand-read-4KiB-q32");
        assert_eq!(found(&seen([25.5e3, 24.5e3, 26e3, 19e3, 25e3])), expected);
        for other in [
            [28e3, 25e3, 25e3, 25e3, 25e3],
            [25e3, 20e3, 25e3, 25e3, 25e3],
            [25e3, 25e3, 90e3, 25e3, 25e3],
            // A single die reads a page as often as part of a page, and two pages half as often.
            [25e3, 25e3, 25e3, 18.5e3, 25e3],
            // Most of the region's map is not cached.
            [25e3, 25e3, 25e3, 25e3, 60e3],
        ] {
            assert_eq!(found(&seen(other)), [], "{other:?}");
        }
    }

    #[test]
    fn at_depth_1_two_sizes_separate_the_command_from_its_data() {
        let seen = |kind, small_us, large_us: f64| {
            [random(kind, 1, 1, 1e6 / small_us), random(kind, LARGER[1], 1, 1e6 / large_us)]
        };
        // Fixed part and time per block: 100 and 4 us, 47 and 53 us, 53 and 47 us.
        let writes = one(VerdictKind::PerCommand, "rand-write-4KiB-q1");
        assert_eq!(found(&seen(Write, 104.0, 164.0)), writes);
        assert_eq!(found(&seen(Write, 100.0, 895.0)), [], "half of the time is data");
        assert_eq!(found(&seen(Write, 100.0, 805.0)), writes);
        assert_eq!(found(&seen(Write, 100.0, 90.0)), [], "larger blocks in less time");
        assert_eq!(found(&seen(Read, 205.0, 265.0)), [], "flash may take as long");
    }

    /// A single read waits for the command and for flash. A buffered write shows the command alone.
    #[test]
    fn a_buffered_write_tells_the_command_of_a_read_from_its_flash() {
        let seen = |write_us: f64| {
            let reads = [random(Read, 1, 1, 1e6 / 104.0), random(Read, LARGER[1], 1, 1e6 / 164.0)];
            [reads.to_vec(), vec![random(Write, 1, 1, 1e6 / write_us)]].concat()
        };
        let reads = one(VerdictKind::PerCommand, "rand-read-4KiB-q1");
        // Without 4 us of data, the command takes 36 or 32 us of 104 us.
        assert_eq!((found(&seen(40.0)), found(&seen(36.0))), (reads, vec![]));
        assert_eq!(found(&seen(110.0)), [], "it went to flash");
    }

    /// Of a burst after a rest, the first write wakes the drive, and the rate includes that.
    #[test]
    fn the_command_takes_the_median_time_of_a_burst() {
        let seen = |write_us: f64| {
            let reads = [1, LARGER[0], LARGER[1]]
                .map(|n| random(Read, n, 1, 1e6 / (588.0 + 4.0 * f64::from(n))));
            let slow = burst(LARGER[0] << 12, 1, 30e6);
            let burst = Digest { write_ns: 1e3 * write_us, ..slow };
            found(&[&reads[..], &[random(Write, 1, 1, 3.0), burst]].concat())
        };
        assert_eq!(seen(420.0), one(VerdictKind::PerCommand, "rand-read-4KiB-q1"));
        assert_eq!(seen(190.0), []);
    }

    #[test]
    fn a_direct_cause_comes_first() {
        // Two commands at a time, reads and writes.
        let mut seen = vec![random(Read, 1, 1, 10e3), random(Read, LARGER[0], 1, 8e3)];
        seen.extend([2, DEPTH, DEEPER].map(|depth| random(Read, 1, depth, 20e3)));
        seen.push(random(Read, LARGER[0], DEPTH, 16e3));
        seen.extend([random(Write, 1, 1, 30e3), random(Write, 1, DEPTH, 60e3)]);
        assert_eq!(found(&seen)[0].1.len(), 2);
        let subjects = Subject::reported(&seen);
        let reads = subjects.iter().find(|s| s.name() == "rand-read-4KiB-q32").expect("measured");
        let link = Ruling::yes(VerdictKind::Link, "").explaining(reads, None);
        let left = contenders(&target(), &seen, &[link]);
        assert!(!left[0].verdict.explains("rand-read-4KiB-q32"));
        assert_eq!(left[0].verdict.explains.len(), 1);
    }

    #[test]
    fn cells_in_a_named_state_are_not_the_figure() {
        let state = "rand-read-just-written-4KiB-q1";
        let just = named(state, random(Read, 1, 1, 1e6 / 304.0));
        assert_eq!(found(&[just, random(Read, LARGER[1], 1, 1e6 / 364.0)]), []);
    }
}
