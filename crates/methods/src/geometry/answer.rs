//! The answer of `geometry`: page, plane and erase block.

use super::declared;
use record::{Answer, Axis, Better, Chart, Unit};
use script::Outcome;
use script::draft::Draft;
use workload::units::{binary, latency};

/// The answer: the erase block and the number of open blocks.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How large are pages and erase blocks, and how many are open?");
    let read = draft.value("geometry-read")?;
    let erase = draft.value("geometry-erase-block").map(|bytes| binary(bytes as u64));
    let open = draft.value("geometry-open-linear");
    let sentence = match (erase, open) {
        (Some(erase), Some(open)) => format!("{erase} erase blocks, {open:.0} open at once."),
        (Some(erase), None) => format!("{erase} erase blocks."),
        (None, _) => format!("Undetermined: reads, {} each, reveal no erase block.", latency(read)),
    };
    let other = declared::disagreement(&draft, draft.value("geometry-erase-block"));
    let zone = draft.value("geometry-fat-zone");
    let zone = zone.map(|bytes| format!(" FAT zone: {}.", binary(bytes as u64)));
    let more: Vec<String> = match other.clone().zip(zone.clone()) {
        Some((other, zone)) => vec![format!("{other}{zone}"), other],
        None => other.into_iter().chain(zone).collect(),
    };
    let title = "Time added to a read by crossing a boundary";
    let chart = Chart::points(title, Axis::Offset, Unit::Nanoseconds);
    let chart = out.family("geometry-boundary-{size}").fold(chart, |chart, (metric, at)| {
        let bytes = at.bytes(0);
        // One line through both kinds would zigzag, because they meet different boundaries.
        let group = if bytes.is_power_of_two() { "sizes of 2^k" } else { "sizes of 3 × 2^k" };
        chart.point(group, &metric.name, bytes as f64)
    });
    draft
        .tile("Erase block", "geometry-erase-block", Better::Neither)
        .tile("Page", "geometry-page", Better::Neither)
        .tile("Pages read at once", "geometry-plane", Better::Neither)
        .tile("Open, sequential", "geometry-open-linear", Better::Higher)
        .tile("Open, random", "geometry-open-random", Better::Higher)
        .tile("FAT zone", "geometry-fat-zone", Better::Neither)
        .tile("A slow write every", "geometry-write-period", Better::Neither)
        .tile("Read that crosses no boundary", "geometry-read", Better::Lower)
        .tile("A boundary of 16 KiB adds", "geometry-boundary-16KiB", Better::Lower)
        .tile("A boundary of 4 MiB adds", "geometry-boundary-4MiB", Better::Lower)
        .chart(chart)
        .say(sentence, more)
}
