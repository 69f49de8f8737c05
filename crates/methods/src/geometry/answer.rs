//! The answer of `geometry`: page, plane and erase block.

use super::{
    BOUNDARY, ERASE_BLOCK, FAT_ZONE, OPEN_LINEAR, OPEN_RANDOM, PAGE, PLANE, READ, WRITE_PERIOD,
    boundary_key, declared,
};
use record::{Answer, Axis, Better, Chart, Unit};
use script::Outcome;
use script::draft::Draft;
use workload::units::{binary, latency};

/// A level in the chart, as a share of the time of a read.
const SHARE_SHOWN: f64 = 0.1;

/// The answer: the erase block and the number of open blocks.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How large are pages and erase blocks, and how many are open?");
    let read = draft.value(READ)?;
    let erase = draft.value(ERASE_BLOCK).map(|bytes| binary(bytes as u64));
    let open = draft.value(OPEN_LINEAR);
    let sentence = match (erase, open) {
        (Some(erase), Some(open)) => format!("{erase} erase blocks, {open:.0} open at once."),
        (Some(erase), None) => format!("{erase} erase blocks."),
        (None, _) => format!("Undetermined: reads, {} each, reveal no erase block.", latency(read)),
    };
    let other = declared::disagreement(&draft, draft.value(ERASE_BLOCK));
    let zone = draft.value(FAT_ZONE);
    let zone = zone.map(|bytes| format!(" FAT zone: {}.", binary(bytes as u64)));
    let continuations: Vec<String> = match other.clone().zip(zone.clone()) {
        Some((other, zone)) => vec![format!("{other}{zone}"), other],
        None => other.into_iter().chain(zone).collect(),
    };
    let title = "Time added to a read by crossing a boundary";
    let share = read * SHARE_SHOWN;
    let least = format!("{:.0}% of a read, {}", 100.0 * SHARE_SHOWN, latency(share));
    // Without it, noise of a hundredth of a read would fill the chart.
    let chart = Chart::points(title, Axis::Offset, Unit::Nanoseconds).level(least, share, None);
    let ends = [("page", PAGE), ("pages read at once", PLANE), ("erase block", ERASE_BLOCK)];
    let chart = ends.into_iter().fold(chart, |chart, (name, metric)| match draft.value(metric) {
        Some(bytes) => chart.mark(format!("{name} {}", binary(bytes as u64)), bytes),
        None => chart,
    });
    let chart = out.family(BOUNDARY).fold(chart, |chart, (metric, at)| {
        let bytes = at.bytes(0);
        // One line through both kinds would zigzag, because they meet different boundaries.
        let group = if bytes.is_power_of_two() { "sizes of 2^k" } else { "sizes of 3 × 2^k" };
        chart.point(group, &metric.name, bytes as f64)
    });
    draft
        .tile("Erase block", ERASE_BLOCK, Better::Neither)
        .tile("Page", PAGE, Better::Neither)
        .tile("Pages read at once", PLANE, Better::Neither)
        .tile("Open, sequential", OPEN_LINEAR, Better::Higher)
        .tile("Open, random", OPEN_RANDOM, Better::Higher)
        .tile("FAT zone", FAT_ZONE, Better::Neither)
        .tile("A slow write every", WRITE_PERIOD, Better::Neither)
        .tile("Read that crosses no boundary", READ, Better::Lower)
        .tile("A boundary of 16 KiB adds", boundary_key(16 << 10), Better::Lower)
        .tile("A boundary of 4 MiB adds", boundary_key(4 << 20), Better::Lower)
        .chart(chart)
        .say(sentence, continuations)
}
