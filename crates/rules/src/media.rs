//! FLASH BOUND and CONTROLLER: is the limit the flash, or the controller?
//!
//! The rule covers figures that no other rule explains. Writes: a burst into an idle drive reaches
//! only its buffer. If it is much faster than the sustained workload, the latter waits for flash.
//! If sequential and random writes are as slow as the burst, the controller accepts bytes at that
//! rate. Reads: commands are not the cost if larger blocks reach fewer IOPS, and the link is not if
//! these do not fill it; dies and channels remain. At depth 1, a read exceeds a buffered write by
//! the flash time. The rule skips guests, where a host's cache answers bursts, targets in RAM, and
//! hard disks.

use record::{Order, Unit, VerdictKind};
use rig::TargetInfo;
use workload::OpKind::{Read, Write};
use workload::units::throughput;

use super::Ruling;
use super::grid::Grid;
use super::rule::{Role, Rule};
use super::subject::{Subject, listed};
use crate::Digest;
use crate::changes::{DEEPER, DEPTH, LARGER};

/// Minimum ratio of burst to sustained rate at which the burst avoided the sustained limit.
const BURST_MIN: f64 = 1.5;

/// A burst up to this ratio counts as no faster: its first block found the controller idle.
const BURST_SAME: f64 = 1.3;

/// Byte rates within this share of each other count as equal.
const ONE_RATE: f64 = 0.15;

/// Reads faster than writes by this ratio are not subject to a limit on all bytes, such as heat.
const READS_FASTER: f64 = 1.5;

/// Minimum ratio of small-block to large-block IOPS if the data, not the command, takes the time.
const DATA_MIN: f64 = 1.3;

/// A link used below this share has room; LINK applies from this share.
const LINK_ROOM: f64 = 0.85;

/// Random 64 KiB blocks reach this share of the sequential throughput if commands are not the cost.
const AS_MUCH: f64 = 0.7;

/// From this share of the rate at high depth, a workload at depth 1 has the same limit.
const ALONE_MIN: f64 = 0.6;

/// Data, or flash, takes most of a single read if it takes at least this share of its time.
const MOST: f64 = 0.5;

pub static RULE: Rule = Rule {
    role: Role::Rest,
    overridden_by: &[
        &super::ram::RULE,
        &super::group::QUOTA,
        &super::group::IO,
        &super::others::RULE,
    ],
    judge: |facts| media(facts.target, facts.seen),
};

pub fn media(target: &TargetInfo, seen: &[Digest]) -> Vec<Ruling> {
    let drive = target.target.drive.as_ref();
    let disk = drive.is_some_and(|drive| drive.rotational == Some(true));
    if target.guest.is_some() || target.ram || disk {
        return Vec::new();
    }
    let (grid, large) = (Grid::from_digests(seen), large_block(seen));
    let ceiling = drive.and_then(|drive| drive.link.as_ref()?.ceiling_bytes_per_s);
    let ceiling = ceiling.unwrap_or(f64::INFINITY);
    let writes = flash_writes(&grid, large).or_else(|| controller(&grid, large));
    writes.into_iter().chain(flash_reads(&grid, ceiling)).collect()
}

/// The block size of the sequential cells.
fn large_block(seen: &[Digest]) -> u32 {
    let in_order = Digest::reported(seen).filter(|digest| !digest.random);
    in_order.map(|digest| digest.block_bytes).max().unwrap_or(0)
}

/// The write cells, each with the burst of the same block size.
fn bursts<'g, 'a>(grid: &'g Grid<'a>, large: u32) -> Vec<(&'g Subject<'a>, f64)> {
    let small = grid.small().unwrap_or(0);
    let random = |depth| grid.find(Write, Order::Random, 1, depth);
    let cells = [
        (grid.in_order(Write, 8), grid.burst(large, 1)),
        (grid.in_order(Write, 1), grid.burst(large, 1)),
        (random(DEPTH), grid.burst(small, DEPTH)),
        (random(1), grid.burst(small, 1)),
    ];
    cells.into_iter().filter_map(|(cell, burst)| cell.zip(burst)).collect()
}

fn flash_writes(grid: &Grid<'_>, large: u32) -> Option<Ruling> {
    let gain = |(cell, burst): &(&Subject<'_>, f64)| burst / cell.throughput().max(1.0);
    let cells = bursts(grid, large);
    let bursts: Vec<_> = cells.iter().filter(|cell| gain(cell) >= BURST_MIN).collect();
    let first = bursts.first()?;
    let text = format!(
        "Flash is the limit of {}: after a rest, the drive's buffer accepts {}; the sustained rate \
         is {}.",
        listed(bursts.iter().map(|(cell, _)| *cell)),
        throughput(first.1),
        throughput(first.0.throughput())
    );
    let ruling = Ruling::yes(VerdictKind::FlashBound, text)
        .next_test("a larger model of the drive has more flash: these figures should rise")
        .with("burst after a rest", first.1, Unit::BytesPerSecond)
        .with("lasting", first.0.throughput(), Unit::BytesPerSecond);
    Some(ruling.explaining_each(bursts.iter().map(|cell| (cell.0, 1.0 - 1.0 / gain(cell)))))
}

fn controller(grid: &Grid<'_>, large: u32) -> Option<Ruling> {
    let (lasting, burst) = (grid.in_order(Write, 8)?.throughput(), grid.burst(large, 1)?);
    let is_lasting_rate = |rate: f64| (rate / lasting - 1.0).abs() <= ONE_RATE;
    let random = grid.find(Write, Order::Random, 1, DEPTH)?.throughput();
    let reads = grid.in_order(Read, 8)?.throughput();
    if burst > BURST_SAME * lasting || !is_lasting_rate(random) || reads < READS_FASTER * lasting {
        return None;
    }
    let cells = bursts(grid, large).into_iter().map(|(cell, _)| cell);
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

fn flash_reads(grid: &Grid<'_>, ceiling: f64) -> Option<Ruling> {
    let small = f64::from(grid.small()?);
    let [single, deep] = [1, DEPTH].map(|depth| grid.random(Read, 1, depth));
    // Without the test at greater depth, the depth could still be the limit.
    let (single, deep, _) = (single?, deep?, grid.random(Read, 1, DEEPER)?);
    let rates = LARGER.map(|blocks| grid.random(Read, blocks, DEPTH));
    let rate = |i: usize| rates[i].map(|rate| (rate, rate * small * f64::from(LARGER[i])));
    let room = |bytes: f64| bytes < LINK_ROOM * ceiling;
    let mut limited: Vec<&Subject<'_>> = Vec::new();
    let data = [rate(0), rate(1)].into_iter().flatten();
    if data.clone().any(|(ops, bytes)| room(bytes) && deep / ops >= DATA_MIN) {
        limited.extend(grid.find(Read, Order::Random, 1, DEPTH));
    }
    // Sequential reads, and nearly as many bytes at random, in 16 times as many commands.
    let (_, scattered) = rate(1)?;
    if let Some(in_order) = grid.in_order(Read, 8) {
        let deep = in_order.throughput();
        if room(deep) && scattered >= AS_MUCH * deep {
            limited.push(in_order);
            let alone = grid.in_order(Read, 1);
            limited.extend(alone.filter(|cell| cell.throughput() >= ALONE_MIN * deep));
        }
    }
    let data = grid.random(Read, LARGER[1], 1).is_some_and(|larger| {
        let data_s = (1.0 / larger - 1.0 / single) / f64::from(LARGER[1] - 1);
        data_s * single >= MOST && small / ceiling < MOST * data_s
    });
    // A buffered write takes a command and a transfer; a read also takes flash.
    let sense =
        grid.buffered_write_ns().is_some_and(|write_ns| 1.0 - write_ns * single / 1e9 >= MOST);
    if data || sense {
        limited.extend(grid.find(Read, Order::Random, 1, 1));
    }
    let names = listed(limited.iter().copied());
    let text = format!("Flash is the limit of {names}; the link and the commands are not.");
    (!limited.is_empty()).then(|| {
        Ruling::yes(VerdictKind::FlashBound, text)
            .explaining_all(&limited)
            .next_test("a larger model of the drive has more flash: these figures should rise")
            .with("small reads per second", deep, Unit::Iops)
            .with("random reads of 16 times the size", scattered, Unit::BytesPerSecond)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{burst, in_order, random, target, with_drive, with_link};
    use super::*;

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
        let seen = writes([200.0, 100.0], [310.0, 140.0]);
        assert_eq!(explained(&target(), &seen), flash(&both[..1]));
        assert_eq!(explained(&target(), &writes([200.0, 100.0], [290.0, 140.0])), []);
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
        assert_eq!(explained(&target(), &writes([150.0, 148.0], [197.0, 149.0])), []);
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
            random(Read, LARGER[1], DEPTH, large_deep),
            random(Read, LARGER[1], 1, large_one),
            in_order(Read, 8, 2.6e9),
        ]
    }

    #[test]
    fn larger_blocks_that_are_read_less_often_with_room_on_the_link_wait_for_flash() {
        let link = with_link(3.5e9);
        let found = |large_deep, large_one| {
            let found = explained(&link, &reads(large_deep, large_one));
            found.into_iter().next().map(|(_, explained)| explained.join(" ")).unwrap_or_default()
        };
        assert_eq!(found(35e3, 10e3), "rand-read-4KiB-q32 seq-read-1MiB-q8");
        assert_eq!(found(25e3, 10e3), "rand-read-4KiB-q32", "in order it reads more");
        assert_eq!(found(48e3, 10e3), "seq-read-1MiB-q8", "the larger ones fill the link");
        assert_eq!(found(25e3, 1.3e3), "rand-read-4KiB-q32 rand-read-4KiB-q1", "data at depth 1");
        let all = reads(35e3, 10e3);
        let without: Vec<_> = all.into_iter().filter(|d| d.depth_nominal != Some(DEEPER)).collect();
        assert_eq!(explained(&link, &without), [], "the depth may be the device's");
    }

    /// A single read takes 66.7 us here.
    #[test]
    fn a_single_read_twice_as_long_as_a_buffered_write_waits_for_flash() {
        let found = |write_us: f64| {
            let mut seen = reads(60e3, 14e3);
            seen.push(random(Write, 1, 1, 1e6 / write_us));
            let found = explained(&with_link(3.5e9), &seen);
            found
                .into_iter()
                .any(|(_, explained)| explained.iter().any(|metric| metric == "rand-read-4KiB-q1"))
        };
        assert_eq!([found(33.0), found(34.0), found(70.0)], [true, false, false]);
    }
}
