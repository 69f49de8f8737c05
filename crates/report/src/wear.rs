//! The effect of a run on the drive: the drive's counters before and after.
//!
//! Counters are coarse and delayed (NVMe counts in units of 512,000 bytes, some SATA drives in
//! GiB), so a difference of 0 after a short run proves nothing.

use record::{Health, Run};
use workload::units::decimal;

/// Selects a counter, or a value that is not a count.
type HealthCount = fn(&Health) -> Option<u64>;
type HealthShare = fn(&Health) -> Option<f64>;

/// A counter, before and after.
pub(crate) struct WearRow {
    /// `Written by hosts`.
    pub name: &'static str,
    pub before: String,
    pub after: String,
    /// Increase during the run; empty for values that are not counts.
    pub added: String,
}

/// Health before and after; `None` if the drive did not report it afterwards.
fn both(run: &Run) -> Option<(&Health, &Health)> {
    Some((&run.target.drive.as_ref()?.health, run.health_after.as_ref()?))
}

/// All counters of the drive.
pub(crate) fn rows(run: &Run) -> Vec<WearRow> {
    let Some((before, after)) = both(run) else { return Vec::new() };
    let bytes: [(&'static str, HealthCount); 3] = [
        ("Written by hosts", |h| h.written_bytes),
        ("Written to flash", |h| h.flash_written_bytes),
        ("Read by hosts", |h| h.read_bytes),
    ];
    let counts: [(&'static str, HealthCount); 4] = [
        ("Media errors", |h| h.media_errors),
        ("Reallocated blocks", |h| h.reallocated),
        ("Link errors", |h| h.link_errors),
        ("Logged errors", |h| h.logged_errors),
    ];
    let shares: [(&'static str, &str, HealthShare); 3] = [
        ("Rated life used", "%", |h| h.wear_percent),
        ("Spare blocks left", "%", |h| h.spare_percent),
        ("Temperature", " C", |h| h.temperature_c),
    ];
    let mut rows = Vec::new();
    for (name, of) in bytes {
        rows.extend(row(name, of(before), of(after), decimal));
    }
    for (name, of) in counts {
        rows.extend(row(name, of(before), of(after), |n| n.to_string()));
    }
    for (name, unit, of) in shares {
        let (Some(b), Some(a)) = (of(before), of(after)) else { continue };
        let [before, after] = [b, a].map(|value| format!("{value:.0}{unit}"));
        rows.push(WearRow { name, before, after, added: String::new() });
    }
    rows
}

fn row(
    name: &'static str,
    before: Option<u64>,
    after: Option<u64>,
    show: impl Fn(u64) -> String,
) -> Option<WearRow> {
    let (before, after) = (before?, after?);
    // A counter that decreased was reset, or belongs to another drive.
    let growth = after.checked_sub(before).map(&show);
    let growth = growth.unwrap_or_else(|| "unknown".into());
    Some(WearRow { name, before: show(before), after: show(after), added: growth })
}

/// The same in one line: traffic by the drive's count, flash against host, and values that got
/// worse.
pub(crate) fn line(run: &Run) -> Vec<String> {
    let Some((before, after)) = both(run) else { return Vec::new() };
    let growth = |of: HealthCount| of(after)?.checked_sub(of(before)?);
    let mut items = Vec::new();
    let host = growth(|h| h.written_bytes);
    let flash = growth(|h| h.flash_written_bytes);
    items.extend(match (host, flash) {
        (Some(host @ 1..), Some(flash)) => {
            let times = flash as f64 / host as f64;
            let (host, flash) = (decimal(host), decimal(flash));
            Some(format!("host wrote {host}, flash {flash} (x{times:.2}), by its own count"))
        }
        (Some(host), _) => Some(format!("host wrote {}, by its own count", decimal(host))),
        (None, flash) => flash.map(|b| format!("{} to flash, by its own count", decimal(b))),
    });
    let counters: [(&'static str, HealthCount); 4] = [
        ("media errors", |h| h.media_errors),
        ("reallocated blocks", |h| h.reallocated),
        ("link errors", |h| h.link_errors),
        ("logged errors", |h| h.logged_errors),
    ];
    for (name, of) in counters {
        items.extend(growth(of).filter(|n| *n > 0).map(|n| format!("{n} new {name}")));
    }
    let wear = before.wear_percent.zip(after.wear_percent).filter(|(b, a)| b != a);
    items.extend(wear.map(|(b, a)| format!("wear {b:.0}% -> {a:.0}%")));
    items
}

#[cfg(test)]
mod tests {
    use record::{DriveIdentity, Run};

    use super::*;

    fn run(before: Health, after: Option<Health>) -> Run {
        let drive = serde_json::to_value(DriveIdentity { health: before, ..Default::default() });
        let run = serde_json::json!({
            "schema": record::SCHEMA, "id": "1", "started": "", "seconds": null, "method": "quick",
            "target": {
                "spec": "x", "kind": "device", "path": null, "bytes": 0, "filesystem": null,
                "direct": null, "drive": drive.expect("plain data"),
            },
            "environment": serde_json::to_value(record::Environment::default()).expect("plain data"),
            "plan": {
                "safety": "reads", "seconds": 0.0, "write_bytes_max": 0, "region_bytes": 0,
                "destroys": null, "steps": [],
            },
            "state_before": "unknown", "state_after": "unknown", "metrics": [], "series": [],
            "verdicts": [], "warnings": [], "errors": [], "complete": true,
            "health_after": serde_json::to_value(after).expect("plain data"),
        });
        serde_json::from_value(run).expect("a run")
    }

    fn health(written: u64, flash: u64, link_errors: u64) -> Health {
        Health {
            written_bytes: Some(written),
            flash_written_bytes: Some(flash),
            link_errors: Some(link_errors),
            wear_percent: Some(2.0),
            ..Health::default()
        }
    }

    #[test]
    fn a_runs_contribution_is_the_difference() {
        let run = run(health(1000, 2000, 5), Some(health(3_001_000, 5_002_000, 7)));
        let line = line(&run);
        assert_eq!(line[0], "host wrote 3.00 MB, flash 5.00 MB (x1.67), by its own count");
        assert!(line.contains(&"2 new link errors".to_string()), "{line:?}");
        assert!(!line.iter().any(|item| item.starts_with("wear")), "{line:?}");
        let added: Vec<_> = rows(&run).into_iter().map(|r| (r.name, r.added)).collect();
        assert_eq!(added[2], ("Link errors", "2".to_string()));
    }

    #[test]
    fn decreased_counters_and_drives_without_counters() {
        let back = run(health(1000, 0, 0), Some(health(0, 0, 0)));
        assert_eq!(rows(&back)[0].added, "unknown");
        assert!(line(&run(health(1000, 0, 0), None)).is_empty());
        assert!(rows(&run(health(1, 1, 1), Some(Health::default()))).is_empty());
    }
}
