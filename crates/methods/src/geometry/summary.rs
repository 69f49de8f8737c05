//! The verdict and the answer of `geometry`.

use record::{Answer, Axis, Better, Chart, DeclaredSizes, Evidence, Unit, Verdict, VerdictKind};
use workload::units::{binary, latency};

use super::{ERASE_MIN, Found, Open, declared};
use script::Outcome;
use script::draft::Draft;

/// The verdict: GEOMETRY or UNDETERMINED.
pub(super) fn verdict(
    found: &Found,
    [page, plane, erase]: [Option<u64>; 3],
    writes: bool,
    declared: &DeclaredSizes,
) -> Verdict {
    let (declared, evidence) = declared::sentence(declared, erase);
    let Some(erase) = erase else {
        let text = format!(
            "No boundary of {} or more costs significantly more than the smaller ones: reads of \
             this drive do not reveal its erase blocks.{}{declared}",
            binary(ERASE_MIN),
            in_a_stream(found, erase)
        );
        let next = "a device that does not stripe data over many chips, or more replicates \
             (--replicates 6)";
        let verdict = Verdict::new(VerdictKind::Undetermined, text);
        return verdict.with_evidence(evidence).next_test(next);
    };
    let planes = plane.map_or(String::new(), |plane| format!(" ({} read at once)", binary(plane)));
    let pages = page.map(|page| format!(", pages of {}{planes}", binary(page)));
    let words = |open: Option<Open>| match open {
        Some(Open::Exactly(1)) => "1 block".to_string(),
        Some(Open::Exactly(count)) => format!("{count} blocks"),
        Some(Open::AtLeast(count)) => format!("{count} or more blocks"),
        None => "an undetermined number of blocks".into(),
    };
    let open_words = match writes {
        true => format!(
            " Writes in turn stay fast on {} if sequential and on {} if random.",
            words(found.open[0]),
            words(found.open[1])
        ),
        false => " The number of open blocks was not measured: that requires writes.".to_string(),
    };
    let text = format!(
        "Erase blocks of {}{}.{declared}{open_words}{}{}{}",
        binary(erase),
        pages.unwrap_or_default(),
        in_a_stream(found, Some(erase)),
        zone(found),
        if writes { undetermined(found) } else { String::new() }
    );
    let sizes = [("erase block", Some(erase)), ("page", page), ("pages read at once", plane)];
    let size =
        |(name, bytes): (&str, Option<u64>)| Some(Evidence::new(name, bytes? as f64, Unit::Bytes));
    Verdict::new(VerdictKind::Geometry, text)
        .with_evidence(sizes.into_iter().filter_map(size).chain(evidence))
        .explaining("geometry-erase-block")
}

/// A sentence about the slow writes of a stream, with a leading space; empty if no period was
/// found.
fn in_a_stream(found: &Found, erase: Option<u64>) -> String {
    let Some((period, extra)) = found.writes.and_then(|w| w.period.zip(w.extra_ns)) else {
        return String::new();
    };
    let (size, longer) = (binary(period), latency(extra));
    match erase == Some(period) {
        true => format!(" In a stream, the first write to a block takes {longer} longer."),
        false => format!(" In a stream, one write every {size} takes {longer} longer."),
    }
}

/// A sentence about the FAT zone, with a leading space; empty if none was found.
fn zone(found: &Found) -> String {
    let small = found.small.and_then(|small| Some((small, small.zone?)));
    small.map_or(String::new(), |(small, zone)| {
        format!(
            " The first {} are a zone for FAT tables: small random writes take {} there, \
             {} elsewhere.",
            binary(zone.bytes),
            latency(zone.each_ns),
            latency(small.usual_ns)
        )
    })
}

/// A sentence that lists the parts without a significant result, with a leading space.
fn undetermined(found: &Found) -> String {
    let period = found.writes.and_then(|writes| writes.period).is_none();
    let zone = found.small.and_then(|small| small.zone).is_none();
    let parts = [(period, "a period of slow writes"), (zone, "a zone for FAT tables")];
    let parts: Vec<&str> = parts.into_iter().filter(|part| part.0).map(|part| part.1).collect();
    match parts.as_slice() {
        [] => String::new(),
        parts => format!(" Undetermined: {}.", parts.join(", ")),
    }
}

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
