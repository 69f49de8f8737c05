//! The verdict of `geometry`: the sizes that were found, or why none were.

use super::{ERASE_BLOCK, ERASE_MIN, Found, Open, declared};
use record::{DeclaredSizes, Evidence, Unit, Verdict, VerdictKind};
use workload::units::{binary, latency};

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
    let [in_order, at_random] = found.open.map(|open| match open {
        Some(Open::Exactly(1)) => "1 block".to_string(),
        Some(Open::Exactly(count)) => format!("{count} blocks"),
        Some(Open::AtLeast(count)) => format!("{count} or more blocks"),
        None => "an undetermined number of blocks".into(),
    });
    let open_words = if writes {
        format!(
            " Writes in turn stay fast on {in_order} if sequential and on {at_random} if random."
        )
    } else {
        " The number of open blocks was not measured: that requires writes.".to_string()
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
    let sizes = sizes
        .into_iter()
        .filter_map(|(name, bytes)| Some(Evidence::new(name, bytes? as f64, Unit::Bytes)));
    Verdict::new(VerdictKind::Geometry, text)
        .with_evidence(sizes.chain(evidence))
        .explaining(ERASE_BLOCK)
}

/// A sentence about the slow writes of a stream, with a leading space; empty if no period was
/// found.
fn in_a_stream(found: &Found, erase: Option<u64>) -> String {
    let Some((period, extra)) = found.writes.and_then(|w| w.period.zip(w.extra_ns)) else {
        return String::new();
    };
    let (size, longer) = (binary(period), latency(extra));
    if erase == Some(period) {
        format!(" In a stream, the first write to a block takes {longer} longer.")
    } else {
        format!(" In a stream, one write every {size} takes {longer} longer.")
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
