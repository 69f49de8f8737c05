//! Checks the consistency of the data, internally and with the way they were produced.

use std::collections::BTreeSet;

use super::*;

/// The rates that document 000 defines as 100%, KiB/s.
const RAMFS: [(&str, f64); 4] =
    [("hd-read", 397_433.0), ("hd-write", 1_362_629.0), ("fs-read", 4928.0), ("fs-write", 5134.0)];

fn entries(name: &str) -> Document {
    document(name).unwrap_or_else(|e| panic!("{}", e))
}

fn value(document: &Document, entry: &Entry, figure: &str) -> Option<(f64, &'static str)> {
    let found = read(document, entry).into_iter().find(|(name, _)| name == figure)?.1;
    Some((found.value, found.unit))
}

#[test]
fn every_figure_is_read_and_every_id_is_found_once() {
    let mut ids = BTreeSet::new();
    for (name, _) in DOCUMENTS {
        let document = entries(name);
        for entry in &document.runs {
            assert_eq!(read(&document, entry).len(), entry.figures.len(), "{name}/{}", entry.id);
            let id = format!("{PREFIX}{name}/{}", entry.id);
            assert_eq!(find(&id).unwrap_or_else(|e| panic!("{}", e)).id, id);
            assert!(ids.insert(id), "{} twice", entry.id);
        }
    }
    assert_eq!(ids.len(), all().unwrap_or_else(|e| panic!("{}", e)).len());
    for id in ["pub:", "pub:000", "pub:009/x", "pub:003/m225", "m225-fresh"] {
        assert!(find(id).is_err(), "{id}");
    }
}

#[test]
fn all_rows_of_000_are_present_and_consistent_with_riscosmarks_clock() {
    let document = entries("000");
    let rows: Vec<&Entry> =
        document.runs.iter().filter(|e| e.figures.contains_key("hd-read-percent")).collect();
    assert_eq!(rows.len(), 31);
    let mut scores = BTreeSet::new();
    for entry in &rows {
        let printed = ["hd-read", "hd-write"].map(|name| value(&document, entry, name));
        for (score, _) in printed.into_iter().flatten().filter(|(_, unit)| *unit == "KiB/s") {
            scores.insert(score as u64);
        }
    }
    let fits = |score: u64| {
        (100..=139u64).any(|t| {
            let least = (score * t).div_ceil(819_200);
            least * 819_200 / t == score
        })
    };
    let strays: Vec<_> = scores.iter().filter(|score| !fits(**score)).collect();
    assert!(strays.is_empty(), "{strays:?}");
    assert_eq!(scores.len(), 42);
}

#[test]
fn percentages_of_000_refer_to_its_ram_disc() {
    let document = entries("000");
    let (mut checked, mut blank) = (0, 0);
    for entry in &document.runs {
        for (name, reference) in RAMFS {
            let Some((percent, _)) = value(&document, entry, &format!("{name}-percent")) else {
                continue;
            };
            match value(&document, entry, name) {
                Some((rate, _)) => {
                    assert_eq!((100.0 * rate / reference).round(), percent, "{} {name}", entry.id);
                    checked += 1;
                }
                None => {
                    assert_eq!(percent, 0.0, "{}", entry.id);
                    blank += 1;
                }
            }
        }
    }
    assert_eq!((checked, blank), (116, 8));
}

#[test]
fn the_sums_of_the_price_list_are_right() {
    let run = find("pub:000/price-list").unwrap_or_else(|e| panic!("{}", e));
    let price = |name: &str| run.metric(&format!("{name}-gbp")).and_then(|m| m.value).expect(name);
    let sum = |names: &[&str]| names.iter().map(|n| price(n)).sum::<f64>();
    let both = sum(&["cm4-4g-ram-16g-emmc", "cje-rtc", "sabrent-512-nvme"]);
    assert!((both + price("deskpi-mini") - price("total-deskpi")).abs() < 0.005);
    let waveshare = sum(&["waveshare-io-mini-a", "waveshare-5v-fan", "emc2102-fan-control"]);
    let total = both + waveshare;
    // As printed, the parts add up to one penny more than the total.
    assert!((total - price("total-waveshare")).abs() < 0.015, "{total}");
}

#[test]
fn the_runs_of_002_are_consistent() {
    let document = entries("002");
    for entry in document.runs.iter().filter(|e| e.id.contains("fio")) {
        let get = |name: &str| value(&document, entry, name).expect(name).0;
        // 785,920 reads and 262,656 writes in total.
        assert_eq!((785_920.0 / get("mix-time")).floor(), get("mix-read"), "{}", entry.id);
        assert_eq!((262_656.0 / get("mix-time")).floor(), get("mix-write"), "{}", entry.id);
        assert!(get("elapsed") > get("mix-time"));
    }
    let tests = ["write", "rewrite", "read", "reread", "random-read", "random-write"];
    for entry in document.runs.iter().filter(|e| e.id.contains("iozone")) {
        let get = |name: &str| value(&document, entry, name).expect(name).0;
        // Six passes over 100 MiB, without closing the files.
        let passes: f64 = tests.iter().map(|name| 102_400.0 / get(name)).sum();
        let elapsed = get("elapsed");
        assert!(passes < elapsed && passes > 0.98 * elapsed, "{}: {passes}", entry.id);
    }
    assert_eq!(document.runs.len(), 8);
}

#[test]
fn times_of_004_match_its_write_speeds_except_where_flagged() {
    let document = entries("004");
    assert_eq!(document.runs.len(), 28);
    for entry in &document.runs {
        let written = value(&document, entry, "fs-update").zip(value(&document, entry, "write"));
        let Some(((seconds, _), (rate, _))) = written else { continue };
        let bounded = seconds > 1.1 * 388.0;
        let fits = !bounded || (3500.0..4500.0).contains(&(seconds * rate));
        let flagged = entry.notes.iter().any(|n| n.contains("does not match its write speed"));
        assert_ne!(fits, flagged, "{}: {}", entry.id, seconds * rate);
    }
}

#[test]
fn unprinted_figures_are_unknown() {
    let run = find("pub:003/m225-used").unwrap_or_else(|e| panic!("{}", e));
    assert_eq!((run.plan.is_none(), run.target.bytes, run.seconds), (true, None, None));
    assert_eq!(run.metric("write-last-tenth.lowest").and_then(|m| m.value), Some(25e6));
    assert_eq!(run.metric("write-last-tenth.highest").and_then(|m| m.value), Some(30e6));
    assert!(run.metric("write-last-tenth").is_none());
    assert!(run.warnings.iter().any(|w| w.text.contains("\"about 10 GB\"")), "{:?}", run.warnings);
}
