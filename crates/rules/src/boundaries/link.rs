//! LINK and LINK DOWNGRADED: shares of the ceiling, at depth 1 and above.

use record::Link;
use rig::{Bus, TargetInfo};
use workload::Mix;

use super::{short, table};
use crate::link::{downgraded, link};
use crate::testing::{digest, named, target, with_drive, with_link};
use crate::{Digest, Ruling};

/// A second of transfers at a rate of bytes read and written.
fn run(name: &str, bytes: [u64; 2], random: bool, depth: u32) -> Digest {
    named(name, Digest { bytes, random, depth_nominal: Some(depth), ..digest("x") })
}

/// The link carries 1,000 bytes per second.
#[test]
fn from_97_percent_the_link_is_the_limit_and_of_random_blocks_at_depth_1_from_half() {
    let said = |(bytes, random, depth)| {
        short(link(&with_link(1000.0), &[run("a", [bytes, 0], random, depth)]))
    };
    let rows = [
        ((969, true, 8), "no: LINK FREE"),
        ((970, true, 8), "LINK: a 97%"),
        ((971, true, 8), "LINK: a 97%"),
        ((969, false, 1), "no: LINK FREE"),
        ((970, false, 1), "LINK: a 97%"),
        ((499, true, 1), "no: LINK FREE"),
        ((500, true, 1), "LINK: a 50%"),
        ((501, true, 1), "LINK: a 50%"),
        ((1, true, 1), "no: LINK FREE"),
        ((0, true, 1), "unknown"),
    ];
    table(said, rows);
}

#[test]
fn below_that_reads_and_writes_of_one_rate_show_the_link_from_85_percent() {
    let said = |(read, write)| {
        let seen = [run("r", [read, 0], false, 8), run("w", [0, write], false, 8)];
        short(link(&with_link(10_000.0), &seen))
    };
    let rows = [
        ((8499, 8499), "no: LINK FREE"),
        ((8500, 8500), "LINK: r 85%, w 85%"),
        ((9000, 8729), "no: LINK FREE"),
        ((9000, 8731), "LINK: r 90%, w 87%"),
        ((8731, 9000), "LINK: w 90%, r 87%"),
        ((9000, 100), "no: LINK FREE"),
    ];
    table(said, rows);
}

#[test]
fn what_is_3_percent_slower_than_another_on_a_full_link_has_another_limit() {
    let said = |write| {
        let seen = [run("r", [10_000, 0], false, 8), run("w", [0, write], false, 8)];
        short(link(&with_link(10_000.0), &seen))
    };
    let one = "LINK: r 100%; no: LINK FREE";
    table(said, [(9600, one), (9699, one), (9700, "LINK: r 100%, w 97%")]);
}

#[test]
fn at_depth_1_sequential_blocks_need_85_percent_and_a_full_link_at_a_higher_depth() {
    let said = |(alone, deep, random)| {
        let seen = [run("deep", [deep, 0], random, 8), run("one", [alone, 0], false, 1)];
        short(link(&with_link(1000.0), &seen))
    };
    let (deep, both) = ("LINK: deep 100%; no: LINK FREE", "LINK: deep 100%, one 85%");
    let rows = [
        ((849, 1000, false), deep),
        ((850, 1000, false), both),
        ((850, 1000, true), deep),
        ((850, 960, false), "no: LINK FREE"),
    ];
    table(said, rows);
}

#[test]
fn a_link_of_one_way_at_a_time_carries_both_directions_in_turn() {
    let said = |bus| {
        let target = TargetInfo { bus, ..with_link(1000.0) };
        short(link(&target, &[run("a", [500, 470], true, 8)]))
    };
    let rows = [
        (Bus::Sata, "LINK: a 97%"),
        (Bus::Sd, "LINK: a 97%"),
        (Bus::Emmc, "LINK: a 97%"),
        (Bus::Nvme, "no: LINK FREE"),
        (Bus::Usb, "no: LINK FREE"),
        (Bus::Ufs, "no: LINK FREE"),
    ];
    table(said, rows);
}

#[test]
fn reads_count_by_their_median_and_writes_by_their_mean_if_that_is_less() {
    let said = |(rates, side): ([u64; 3], usize)| {
        let runs = rates.map(|rate| {
            let mut bytes = [0; 2];
            bytes[side] = rate;
            Digest { mix: [Mix::READ, Mix::WRITE][side], ..run("a", bytes, false, 8) }
        });
        short(link(&with_link(1000.0), &runs))
    };
    let rows = [
        (([980, 980, 10], 0), "LINK: a 98%"),
        (([980, 10, 10], 0), "no: LINK FREE"),
        (([990, 990, 930], 1), "LINK: a 97%"),
        (([990, 990, 920], 1), "no: LINK FREE"),
        (([980, 980, 2000], 1), "LINK: a 98%"),
    ];
    table(said, rows);
}

#[test]
fn of_each_side_the_fastest_workload_is_told() {
    let seen = [
        run("slow", [10, 0], true, 8),
        run("some", [700, 0], true, 8),
        run("most", [990, 0], true, 8),
        run("much", [980, 0], true, 8),
    ];
    let rulings = link(&with_link(1000.0), &seen);
    assert_eq!(short(rulings.clone()), "LINK: most 99%, much 98%; no: LINK FREE");
    assert_eq!(rulings[1].verdict.text, "link at most 70% used");
}

#[test]
fn without_a_ceiling_nothing_is_known() {
    let said = |ceiling| short(link(&with_link(ceiling), &[run("a", [99, 0], true, 8)]));
    table(said, [(0.0, "unknown"), (100.0, "LINK: a 99%")]);
    assert_eq!(short(link(&target(), &[run("a", [9, 0], true, 8)])), "unknown");
}

#[test]
fn the_kernel_tells_whether_a_link_is_downgraded() {
    let said = |downgrade| {
        let link = Link { downgraded: downgrade, ..Link::default() };
        short([downgraded(&with_drive(|drive| drive.link = Some(link)))])
    };
    let rows = [(Some(true), "LINK DOWNGRADED"), (Some(false), "no: LINK FULL"), (None, "unknown")];
    table(said, rows);
}

pub fn examples() -> Vec<Ruling> {
    let words = |word: &str| Some(word.to_string());
    let full = |now, best, downgraded| {
        let ceiling_bytes_per_s = Some(1e9);
        Link { ceiling_bytes_per_s, now, best, downgraded, ..Link::default() }
    };
    let on = |link| with_drive(|drive| drive.link = Some(link));
    let narrow = on(full(words("PCIe 3.0 x1"), words("PCIe 3.0 x4"), Some(true)));
    let wide = on(full(None, None, Some(false)));
    let unnamed = on(full(None, None, Some(true)));
    let seen = [
        run("rand-read-4KiB-q32", [980_000_000, 0], true, 32),
        run("rand-read-4KiB-q1", [50_000_000, 0], true, 1),
    ];
    let idle = [run("a", [0; 2], true, 8)];
    let links = [link(&narrow, &seen), link(&wide, &seen[..1]), link(&wide, &idle)];
    let none = [link(&wide, &[]), link(&target(), &seen)];
    let downgrades = [&narrow, &wide, &unnamed, &target()].map(downgraded);
    links.into_iter().chain(none).flatten().chain(downgrades).collect()
}
