//! All known properties of a drive as lines, each a label and pieces of text, for a list of drives.
//!
//! An unknown property is shown as unknown if every drive has it, and omitted otherwise.

use record::DriveIdentity;
use workload::units;

use crate::quantity::UNKNOWN;
use crate::style::{Style, wrap};

/// Width of labels; the text next to them is wrapped.
const LABELS: usize = 24;

/// The lines that describe a drive: a label and pieces of text. A line without text is omitted; a
/// continuation line has no label.
pub fn identity<'d>(id: &'d DriveIdentity, style: &Style) -> Vec<(&'d str, Vec<String>)> {
    let mut lines = vec![
        ("identity", names(id)),
        ("link", link(id)),
        ("blocks", blocks(id)),
        ("state", state(id)),
        ("life", life(id)),
        ("hardware", id.hardware_id.iter().cloned().collect()),
    ];
    for detail in &id.details {
        let text = wrap(&detail.value, style.width.saturating_sub(LABELS).max(20));
        let labels = std::iter::once(detail.name.as_str()).chain(std::iter::repeat(""));
        lines.extend(labels.zip(text).map(|(label, line)| (label, vec![line])));
    }
    lines.extend(id.missing.iter().map(|missing| ("missing", vec![missing.clone()])));
    lines.retain(|(_, words)| !words.is_empty());
    lines
}

fn names(id: &DriveIdentity) -> Vec<String> {
    let mut words = vec![id.bus.clone()];
    // On other buses the identifier is long, and is shown only on the `hardware` line.
    words.extend(id.hardware_id.clone().filter(|_| id.bus == "usb"));
    let numbers = [("serial", &id.serial), ("firmware", &id.firmware)];
    words.extend(
        numbers.map(|(label, value)| format!("{label} {}", value.as_deref().unwrap_or(UNKNOWN))),
    );
    words
}

fn link(id: &DriveIdentity) -> Vec<String> {
    let Some(link) = &id.link else { return Vec::new() };
    let mut words = vec![link.now.clone().unwrap_or_else(|| UNKNOWN.into())];
    if let Some(best) = link.best.as_ref().filter(|best| link.now.as_ref() != Some(best)) {
        words.push(format!("can do {best}"));
    }
    if link.downgraded == Some(true) {
        words.push("DOWNGRADED".into());
    }
    words.extend(link.ceiling_bytes_per_s.map(|c| format!("at most {}", units::throughput(c))));
    words
}

fn blocks(id: &DriveIdentity) -> Vec<String> {
    let [logical, physical] = [id.logical_block_bytes, id.physical_block_bytes]
        .map(|bytes| bytes.map_or_else(|| UNKNOWN.to_string(), |b| units::binary(u64::from(b))));
    let mut words = vec![format!("{logical} logical, {physical} physical")];
    words.push(match id.discard_max_bytes {
        None => "discard unknown".into(),
        Some(0) => "no discard".into(),
        Some(bytes) => format!("discard up to {}", units::binary(bytes)),
    });
    words.extend(id.scheduler.as_ref().map(|s| format!("scheduler {s}")));
    words
}

fn state(id: &DriveIdentity) -> Vec<String> {
    let flags = [
        (Some(id.ram), "in memory"),
        (id.rotational, "reported as rotational"),
        (id.read_only, "read-only"),
        (id.write_cache, "volatile write cache"),
    ];
    let flags = flags.into_iter().filter(|(is_set, _)| *is_set == Some(true));
    let mut words: Vec<String> = flags.map(|(_, word)| word.to_string()).collect();
    words.extend(id.health.temperature_c.map(|t| format!("{t:.0} C")));
    words
}

/// Wear and errors, from the drive's counters.
fn life(id: &DriveIdentity) -> Vec<String> {
    let health = &id.health;
    let mut words = Vec::new();
    words.extend(health.wear_percent.map(|w| format!("wear {w:.0}%")));
    words.extend(health.spare_percent.map(|s| format!("spare {s:.0}%")));
    words.extend(health.written_bytes.map(|b| format!("{} written", units::decimal(b))));
    words.extend(health.flash_written_bytes.map(|b| format!("{} to flash", units::decimal(b))));
    words.extend(health.power_on_hours.map(|h| format!("{h} power-on hours")));
    let errors = [
        ("media errors", health.media_errors),
        ("reallocated blocks", health.reallocated),
        ("link errors", health.link_errors),
    ];
    words.extend(errors.iter().filter_map(|(name, n)| Some(format!("{} {name}", (*n)?))));
    words.extend(health.warnings.iter().map(|w| format!("WARNING: {w}")));
    words
}

#[cfg(test)]
mod tests {
    use record::Detail;

    use super::*;

    #[test]
    fn unknown_properties_are_shown_and_long_details_wrapped() {
        let mut id = DriveIdentity { name: "sda".into(), bus: "sata".into(), ..Default::default() };
        id.details = vec![Detail { name: "note".into(), value: "one two three four five".into() }];
        id.missing = vec!["SMART: needs root".into()];
        let narrow = Style { width: LABELS + 10, ..Style::PLAIN };
        let lines: Vec<_> = identity(&id, &narrow)
            .into_iter()
            .map(|(label, words)| format!("{label}: {}", words.join(" ")))
            .collect();
        let expected = [
            "identity: sata serial unknown firmware unknown",
            "blocks: unknown logical, unknown physical discard unknown",
            "note: one two three four",
            ": five",
            "missing: SMART: needs root",
        ];
        assert_eq!(lines, expected);
    }
}
