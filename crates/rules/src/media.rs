//! FLASH BOUND and CONTROLLER: is the limit the flash, or the controller?
//!
//! The rule covers figures that no other rule explains. Writes: a burst into an idle drive reaches
//! only its buffer. If it is faster than the sustained workload, the latter waits for flash. If
//! sequential and random writes are as slow as the burst, the controller accepts bytes at that
//! rate. Random reads: a queue that does not scale waits for something; if a longer queue is faster,
//! commands and link have room, and dies and channels remain. So have they if some reads of the queue
//! wait far longer than others, as random addresses load dies unevenly, and reads in order are faster,
//! or just different with writes faster. Reads in order alone prove nothing: a drive that reads ahead
//! may not look up each of them. Larger reads: what the commands and the link
//! take together is known from small reads and the link's ceiling; flash takes the rest. At depth 1,
//! a read exceeds a buffered write by the flash time. The rule skips guests, where a host's cache
//! answers bursts, targets in RAM, and hard disks.

use record::{Order, Unit, VerdictKind};
use rig::{Bus, TargetInfo};
use workload::OpKind::{Read, Write};
use workload::units::throughput;

use super::Ruling;
use super::grid::{Grid, SAME};
use super::limit_test::may_be_limited;
use super::link::{LINK_ROOM, ceiling};
use super::rule::{Role, Rule};
use super::subject::{Subject, listed};
use crate::Digest;
use crate::changes::{DEPTH, LARGER};

/// Maximum ratio of burst to sustained rate that a controller explains: it was idle when the first
/// block of the burst arrived. A faster burst avoided the limit of the sustained rate.
const BURST_SAME: f64 = 1.3;

/// Maximum ratio of burst to sustained rate of a controller's own rate: of the shortest burst, eight
/// blocks, the first is accepted at once. Between this and [`BURST_SAME`], part of the burst may have
/// found room in a small buffer.
const BURST_MAX: f64 = 1.2;

/// Byte rates within this share of each other count as equal.
const ONE_RATE: f64 = 0.15;

/// Reads faster than writes by this ratio are not subject to a limit on all bytes, such as heat.
const READS_FASTER: f64 = 1.5;

/// Minimum ratio of the IOPS of a longer queue, or of reads in order, to those of random reads that
/// wait for flash.
const FREE_MIN: f64 = 1.1;

/// Minimum ratio of the IOPS of writes to those of reads that wait for flash, unless the reads show
/// themselves that commands have room.
const WRITES_MIN: f64 = 1.5;

/// IOPS in order within this share of the random ones count as the same.
const SAME_IN_ORDER: f64 = 0.08;

/// Minimum ratio of the slowest hundredth of the reads of a queue to their median if they wait for
/// dies. Random addresses load dies unevenly: 32 equal reads on 2 to 64 dies reach 2 to 5, with the
/// other times of a drive 1.8 and more. Commands wait in one line, which reaches 1.0, and 1.3 over
/// several cores.
const UNEVEN_MIN: f64 = 1.5;

/// A queue of random reads that reaches this share of ideal scaling does not wait.
const LINEAR_MIN: f64 = 0.8;

/// Minimum ratio of the IOPS of small blocks to those of blocks 4 times as large if both wait for
/// the same data.
const PROPORTIONAL_MIN: f64 = 3.0;

/// Minimum ratio of a large read's time to that of its commands and its transfer, if it waits for
/// flash.
const LONGER_MIN: f64 = 1.15;

/// Random 64 KiB blocks reach this share of the sequential throughput if commands are not the cost.
const AS_MUCH: f64 = 0.7;

/// From this share of the rate at high depth, a workload at depth 1 has the same limit.
const ALONE_MIN: f64 = 0.6;

/// Minimum share of a single large read that neither its command nor its transfer takes, if it waits
/// for flash.
const LARGE_SENSE_MIN: f64 = 0.25;

/// Data take most of a single read if they take at least this share of its time.
const MOST: f64 = 0.5;

/// Minimum share of a single read that flash takes if the read waits for it.
const SENSE_MIN: f64 = 1.0 / 3.0;

/// Rules that find a limit of this machine.
pub(super) const LIMITS_OF_HOST: &[&Rule] = &[
    &super::ram::RULE,
    &super::group::QUOTA,
    &super::group::IO,
    &super::cpu_shared::RULE,
    &super::rate_limit::RULE,
];

/// Rules that find a limit outside the drive.
pub(super) const OUTSIDE_DRIVE: &[&Rule] = &[
    &super::ram::RULE,
    &super::group::QUOTA,
    &super::group::IO,
    &super::cpu_shared::RULE,
    &super::rate_limit::RULE,
    &super::others::RULE,
];

pub static RULE: Rule = Rule {
    role: Role::Rest,
    overridden_by: OUTSIDE_DRIVE,
    judge: |facts| media(facts.target, facts.seen),
};

pub fn media(target: &TargetInfo, seen: &[Digest]) -> Vec<Ruling> {
    let drive = target.target.drive.as_ref();
    let disk = drive.is_some_and(|drive| drive.rotational == Some(true));
    if target.guest.is_some() || target.ram || disk {
        return Vec::new();
    }
    let grid = Grid::from_digests(seen);
    let cells = bursts(&grid, target, large_block(seen));
    let mut in_flash = cells.clone();
    in_flash.retain(|(cell, _)| !(may_be_limited(target) && has_one_rate(&grid, cell)));
    let writes = flash_writes(&in_flash).or_else(|| controller(&grid, &cells));
    writes.into_iter().chain(flash_reads(&grid, target)).collect()
}

/// The block size of the sequential cells.
fn large_block(seen: &[Digest]) -> u32 {
    let in_order = Digest::reported(seen).filter(|digest| !digest.random);
    in_order.map(|digest| digest.block_bytes).max().unwrap_or(0)
}

/// A write cell, and the fastest burst whose blocks and depth are not larger, bytes per second.
type Burst<'g, 'a> = (&'g Subject<'a>, f64);

/// The write cells with their bursts; for sequential writes, also those of several small blocks,
/// and the second of two blocks.
fn bursts<'g, 'a>(grid: &'g Grid<'a>, target: &TargetInfo, large: u32) -> Vec<Burst<'g, 'a>> {
    let small = grid.small().unwrap_or(0);
    let several = LARGER[0] * small;
    // Faster than the link, the difference of two bursts is scatter.
    let possible = (1.0 + ONE_RATE) * ceiling(target).unwrap_or(f64::INFINITY);
    let second = grid.second_block().filter(|rate| *rate <= possible);
    let in_order = fastest_burst(grid, &[(large, 1), (several, DEPTH), (several, 1)]);
    let in_order = in_order.into_iter().chain(second).reduce(f64::max);
    let random = [1, DEPTH].map(|depth| grid.find(Write, Order::Random, 1, depth));
    let cells = [
        (grid.in_order(Write, 8), in_order),
        (grid.in_order(Write, 1), in_order),
        (random[1], fastest_burst(grid, &[(small, DEPTH), (small, 1)])),
        (random[0], fastest_burst(grid, &[(small, 1)])),
    ];
    cells.into_iter().filter_map(|(cell, burst)| cell.zip(burst)).collect()
}

/// The highest rate of bursts of these block sizes and depths.
fn fastest_burst(grid: &Grid<'_>, bursts: &[(u32, u32)]) -> Option<f64> {
    bursts.iter().filter_map(|(block, depth)| grid.burst(*block, *depth)).reduce(f64::max)
}

fn flash_writes(cells: &[Burst<'_, '_>]) -> Option<Ruling> {
    let gains =
        cells.iter().map(|(cell, burst)| (*cell, *burst, burst / cell.throughput().max(1.0)));
    let bursts: Vec<_> = gains.filter(|(_, _, gain)| *gain > BURST_SAME).collect();
    let first = bursts.first()?;
    let names = match bursts.len() {
        1 | 2 => listed(bursts.iter().map(|(cell, _, _)| *cell)),
        n => format!("{} and {} others", first.0.in_words(), n - 1),
    };
    let text = format!(
        "Flash is the limit of {names}: after a rest, the drive's buffer accepts {}; without rest, \
         the rate is {}.",
        throughput(first.1),
        throughput(first.0.throughput())
    );
    let ruling = Ruling::yes(VerdictKind::FlashBound, text)
        .next_test("a larger model of the drive has more flash: these figures should rise")
        .with("burst after a rest", first.1, Unit::BytesPerSecond)
        .with("lasting", first.0.throughput(), Unit::BytesPerSecond);
    Some(ruling.explaining_each(bursts.iter().map(|(cell, _, gain)| (*cell, 1.0 - 1.0 / gain))))
}

/// Whether random writes pass at a rate of operations of any kind.
fn has_one_rate(grid: &Grid<'_>, writes: &Subject<'_>) -> bool {
    writes.first().random && (grid.mixes_at_rate_of_writes() || grid.writes_larger_as_fast())
}

fn controller(grid: &Grid<'_>, cells: &[Burst<'_, '_>]) -> Option<Ruling> {
    let (first, burst) = *cells.first()?;
    let lasting = grid.in_order(Write, 8).filter(|deep| deep.name() == first.name())?.throughput();
    // No order of writes exceeds the controller's rate.
    let is_lasting_rate = |rate: f64| ((1.0 - ONE_RATE)..=(1.0 + SAME)).contains(&(rate / lasting));
    let random = grid.find(Write, Order::Random, 1, DEPTH)?.throughput();
    let reads = grid.in_order(Read, 8)?.throughput();
    if burst > BURST_MAX * lasting || !is_lasting_rate(random) || reads < READS_FASTER * lasting {
        return None;
    }
    let cells = cells.iter().map(|(cell, _)| *cell);
    let limited: Vec<_> = cells.filter(|cell| is_lasting_rate(cell.throughput())).collect();
    let text = format!(
        "The drive's controller accepts {}, sequential or random, and no more after a rest: it is \
         the limit of {}.",
        throughput(lasting),
        listed(limited.iter().copied())
    );
    let ruling = Ruling::yes(VerdictKind::Controller, text)
        .next_test("the same with zeros (-m authentic): a controller that compresses accepts more")
        .with("burst after a rest", burst, Unit::BytesPerSecond)
        .with("random writes", random, Unit::BytesPerSecond);
    Some(ruling.explaining_all(&limited))
}

fn flash_reads(grid: &Grid<'_>, target: &TargetInfo) -> Option<Ruling> {
    let ceiling = ceiling(target).unwrap_or(f64::INFINITY);
    let small = f64::from(grid.small()?);
    let [single, deep] = [1, DEPTH].map(|depth| grid.random(Read, 1, depth));
    // Without the test at greater depth, the depth could still be the limit.
    let (single, deep, deeper) = (single?, deep?, grid.deeper(Read)?);
    let [some_blocks, many_blocks] = LARGER.map(|blocks| {
        let ops = grid.random(Read, blocks, DEPTH)?;
        Some((ops, ops * small * f64::from(blocks)))
    });
    let free_below = LINK_ROOM * ceiling;
    let mut limited: Vec<&Subject<'_>> = Vec::new();
    let in_order = grid.rate(Read, Order::Sequential, 1, DEPTH);
    let is_deeper_faster = deeper >= FREE_MIN * deep;
    let is_faster_in_order = in_order.is_some_and(|rate| rate >= FREE_MIN * deep);
    let depends_on_order = in_order.is_some_and(|rate| (rate / deep - 1.0).abs() > SAME_IN_ORDER);
    let writes = grid.random(Write, 1, DEPTH).unwrap_or(0.0);
    let is_uneven = grid.find(Read, Order::Random, 1, DEPTH).is_some_and(|reads| {
        reads.median(|run| run.slow_read_ns) >= UNEVEN_MIN * reads.median(|run| run.read_ns[0])
    });
    let is_free = deep < LINEAR_MIN * f64::from(DEPTH) * single
        && (is_deeper_faster
            || is_uneven
                && (is_faster_in_order || depends_on_order && writes >= WRITES_MIN * deep))
        && deep * small < free_below;
    let is_data = some_blocks
        .is_some_and(|(ops, bytes)| bytes < free_below && deep >= PROPORTIONAL_MIN * ops);
    // If one read waits for the other, flash takes the share that it has of a single one.
    let flash = grid.flash_share().map(|share| *share.start());
    let is_in_line = grid.is_serial(Read) == Some(true) && flash.is_some_and(|share| share >= MOST);
    if (is_free || is_data || is_in_line) && !grid.reads_any_flash_alike() {
        limited.extend(grid.find(Read, Order::Random, 1, DEPTH));
    }
    // Sequential reads, and nearly as many bytes at random, in 16 times as many commands. Cards and
    // USB divide a large read into transfers, each with the turn-around of a command.
    let scattered = many_blocks.map(|(_, bytes)| bytes);
    if let Some((in_order, scattered)) = grid.in_order(Read, 8).zip(scattered) {
        let (rate, block) = (in_order.throughput(), f64::from(in_order.first().block_bytes));
        let is_divided = matches!(target.bus, Bus::Usb | Bus::Sd | Bus::Emmc);
        let commands = if is_divided { block / (small * f64::from(LARGER[1])) } else { 1.0 };
        let known_s = commands / deep + block / ceiling;
        if rate < free_below && scattered >= AS_MUCH * rate && block / rate >= LONGER_MIN * known_s
        {
            limited.push(in_order);
            let alone = grid.in_order(Read, 1);
            limited.extend(alone.filter(|cell| cell.throughput() >= ALONE_MIN * rate));
        }
        // The transfer takes at most the time of a read in a queue; a buffered write is a command.
        let alone = grid
            .in_order(Read, 1)
            .filter(|cell| !is_divided && limited.iter().all(|other| other.name() != cell.name()));
        limited.extend(alone.filter(|cell| {
            let known_s = grid.buffered_write_ns().map(|ns| ns / 1e9 + block / rate);
            let seconds = block / cell.throughput().max(1.0);
            known_s.is_some_and(|known_s| 1.0 - known_s / seconds >= LARGE_SENSE_MIN)
        }));
    }
    let data = grid.random(Read, LARGER[1], 1).is_some_and(|larger| {
        let data_s = (1.0 / larger - 1.0 / single) / f64::from(LARGER[1] - 1);
        data_s * single >= MOST && small / ceiling < MOST * data_s
    });
    if data || flash.is_some_and(|share| share >= SENSE_MIN) {
        limited.extend(grid.find(Read, Order::Random, 1, 1));
    }
    let names = listed(limited.iter().copied());
    let text = format!("Flash is the limit of {names}; the link and the commands are not.");
    let ruling = Ruling::yes(VerdictKind::FlashBound, text)
        .explaining_all(&limited)
        .next_test("a larger model of the drive has more flash: these figures should rise")
        .with("small reads per second", deep, Unit::Iops);
    let ruling = scattered.into_iter().fold(ruling, |ruling, rate| {
        ruling.with("random reads of 16 times the size", rate, Unit::BytesPerSecond)
    });
    (!limited.is_empty()).then_some(ruling)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        burst, in_order, named, random, run, target, with_drive, with_link,
    };
    use super::*;
    use crate::changes::DEEPER;

    const LARGE: u32 = 1 << 20;

    fn explained(target: &TargetInfo, seen: &[Digest]) -> Vec<(VerdictKind, Vec<String>)> {
        let each = media(target, seen).into_iter().map(|ruling| {
            let metrics = ruling.verdict.explains.into_iter().map(|e| e.metric);
            (ruling.verdict.kind, metrics.collect())
        });
        each.collect()
    }

    /// Sequential and random writes (MB/s), and bursts of both.
    fn writes(rates: [f64; 2], bursts: [f64; 2]) -> Vec<Digest> {
        let iops = |mb_s: f64| mb_s * 1e6 / 4096.0;
        vec![
            in_order(Read, 8, 900e6),
            in_order(Write, 8, rates[0] * 1e6),
            random(Write, 1, DEPTH, iops(rates[1])),
            burst(LARGE, 1, bursts[0] * 1e6),
            burst(4096, DEPTH, bursts[1] * 1e6),
        ]
    }

    #[test]
    fn a_burst_that_is_faster_than_the_lasting_work_shows_that_this_waits_for_flash() {
        let both = vec!["seq-write-1MiB-q8".to_string(), "rand-write-4KiB-q32".to_string()];
        let flash = |explained: &[String]| vec![(VerdictKind::FlashBound, explained.to_vec())];
        assert_eq!(explained(&target(), &writes([200.0, 100.0], [310.0, 160.0])), flash(&both));
        let seen = writes([200.0, 100.0], [310.0, 125.0]);
        assert_eq!(explained(&target(), &seen), flash(&both[..1]));
        assert_eq!(explained(&target(), &writes([200.0, 100.0], [255.0, 125.0])), []);
        let guest = TargetInfo { guest: Some("KVM".into()), ..target() };
        assert_eq!(explained(&guest, &writes([200.0, 100.0], [310.0, 160.0])), []);
        let disk = with_drive(|drive| drive.rotational = Some(true));
        assert_eq!(explained(&disk, &writes([200.0, 100.0], [310.0, 160.0])), []);
    }

    #[test]
    fn one_rate_of_bytes_even_after_a_rest_is_the_controllers() {
        let both = vec!["seq-write-1MiB-q8".to_string(), "rand-write-4KiB-q32".to_string()];
        let found = explained(&target(), &writes([150.0, 148.0], [152.0, 149.0]));
        assert_eq!(found, [(VerdictKind::Controller, both)]);
        assert_eq!(explained(&target(), &writes([150.0, 120.0], [152.0, 121.0])), []);
        // Heat, or a limit on all bytes, slows reads as well.
        assert_eq!(explained(&target(), &writes([700.0, 690.0], [705.0, 690.0])), []);
    }

    /// Reads at depths 1, 32 and 128, and of larger blocks at depth 32 and 1, per second.
    fn reads(large_deep: f64, large_one: f64) -> Vec<Digest> {
        vec![
            random(Read, 1, 1, 15e3),
            random(Read, 1, DEPTH, 70e3),
            random(Read, 1, DEEPER, 75e3),
            random(Read, LARGER[0], DEPTH, 69e3),
            run(Read, Order::Sequential, 1, DEPTH, 90e3),
            random(Read, LARGER[1], DEPTH, large_deep),
            random(Read, LARGER[1], 1, large_one),
            in_order(Read, 8, 2.6e9),
        ]
    }

    #[test]
    fn reads_with_room_on_the_link_that_are_faster_in_order_wait_for_flash() {
        let link = with_link(3.5e9);
        let found = |large_deep, large_one| {
            let found = explained(&link, &reads(large_deep, large_one));
            found.into_iter().next().map(|(_, explained)| explained.join(" ")).unwrap_or_default()
        };
        assert_eq!(found(35e3, 10e3), "rand-read-4KiB-q32 seq-read-1MiB-q8");
        assert_eq!(found(25e3, 10e3), "rand-read-4KiB-q32", "in order it reads more");
        assert_eq!(found(25e3, 1.3e3), "rand-read-4KiB-q32 rand-read-4KiB-q1", "data at depth 1");
        let all = reads(35e3, 10e3);
        let without: Vec<_> = all.into_iter().filter(|d| d.depth_nominal != Some(DEEPER)).collect();
        assert_eq!(explained(&link, &without), [], "the depth may be the device's");
    }

    /// A single read takes 66.7 us here.
    #[test]
    fn a_single_read_half_as_long_again_as_a_buffered_write_waits_for_flash() {
        let found = |write_us: f64| {
            let mut seen = reads(60e3, 14e3);
            seen.push(random(Write, 1, 1, 1e6 / write_us));
            let found = explained(&with_link(3.5e9), &seen);
            found
                .into_iter()
                .any(|(_, explained)| explained.iter().any(|metric| metric == "rand-read-4KiB-q1"))
        };
        assert_eq!([found(44.0), found(45.0), found(70.0)], [true, false, false]);
    }

    #[test]
    fn a_queue_that_reads_faster_flash_no_faster_does_not_wait_for_flash() {
        let found = |single_iops: f64, deep_iops: f64| {
            let mut seen = reads(25e3, 10e3);
            seen.extend([(1, single_iops), (DEPTH, deep_iops)].map(|(depth, iops)| {
                let name = format!("rand-read-just-written-4KiB-q{depth}");
                named(&name, random(Read, 1, depth, iops))
            }));
            let found = explained(&with_link(3.5e9), &seen);
            found.iter().any(|(_, metrics)| metrics.contains(&"rand-read-4KiB-q32".to_string()))
        };
        assert_eq!([found(16.4e3, 70e3), found(16.6e3, 70e3)], [true, false]);
        assert_eq!([found(16.6e3, 72e3), found(16.6e3, 72.2e3)], [false, true]);
    }
}
