//! The tables of docs/methods.md and docs/verdicts.md come from the source: declarations of methods
//! and commands, kinds of verdicts and findings. `SSDYNO_WRITE_DOCS=1 cargo test -p lab --test it
//! docs` rewrites them.

use std::path::Path;

use lab::{MethodInfo, work};
use record::{FindingKind, VerdictKind};

fn metrics(info: &MethodInfo) -> String {
    let mut text = "| name | unit | meaning |\n|---|---|---|\n".to_string();
    for metric in info.metrics() {
        let (name, unit, meaning) = (metric.name, metric.unit.name(), metric.meaning);
        text += &format!("| `{name}` | {unit} | {meaning} |\n");
    }
    text
}

fn kinds<'k>(kinds: impl Iterator<Item = (&'k str, &'k str)>) -> String {
    let head = "| name | meaning |\n|---|---|\n".to_string();
    head + &kinds.map(|(name, meaning)| format!("| `{name}` | {meaning} |\n")).collect::<String>()
}

/// Returns the page with this table after the line `<!-- NAME -->`, which must occur once.
fn with_table(page: &str, name: &str, table: &str) -> String {
    let mark = format!("<!-- {name} -->\n");
    let place = page.split_once(&mark).filter(|(_, after)| !after.contains(&mark));
    let (before, after) = place.unwrap_or_else(|| panic!("one line {mark}"));
    let old: usize =
        after.split_inclusive('\n').take_while(|l| l.starts_with('|')).map(str::len).sum();
    format!("{before}{mark}{table}{}", &after[old..])
}

/// Checks that the page has these tables, or rewrites it.
fn has_tables(page: &str, tables: &[(String, String)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let there = std::fs::read_to_string(&path).expect(page);
    let mut made = there.clone();
    for (name, table) in tables {
        made = with_table(&made, name, table);
    }
    if std::env::var_os("SSDYNO_WRITE_DOCS").is_some() {
        std::fs::write(&path, &made).expect("written");
        return;
    }
    let advice = "run SSDYNO_WRITE_DOCS=1 cargo test -p lab --test it docs";
    assert!(there == made, "docs/{page} differs from the source; {advice}");
}

#[test]
fn methods_md_has_the_declared_metrics_of_every_method() {
    let table = |info: &MethodInfo| {
        assert!(info.metrics().count() > 0, "{} declares its metrics", info.name);
        (format!("metrics of {}", info.name), metrics(info))
    };
    has_tables("methods.md", &work::described().map(table).collect::<Vec<_>>());
}

#[test]
fn verdicts_md_has_every_kind_and_its_meaning() {
    let verdicts = kinds(VerdictKind::ALL.iter().map(|kind| (kind.name(), kind.meaning())));
    let findings = kinds(FindingKind::ALL.iter().map(|kind| (kind.name(), kind.meaning())));
    has_tables("verdicts.md", &[("verdicts".into(), verdicts), ("findings".into(), findings)]);
}

#[test]
fn every_stored_key_is_declared() {
    let stored = include_str!("../../../record/tests/keys.txt").lines();
    for (method, key) in stored.filter_map(|line| line.split_once(' ')) {
        // Published figures have the names used in their documents.
        if method == "published" || method == "#" {
            continue;
        }
        let info = work::described().find(|info| info.name == method).expect(method);
        let declared = info.declaration(&record::MetricKey::parse(key));
        assert!(declared.is_some(), "{method}: {key}");
    }
}

#[test]
fn every_method_declares_at_most_eight_metrics_for_comparisons() {
    let stored: Vec<_> = include_str!("../../../record/tests/keys.txt")
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    for info in work::methods() {
        let keys = || stored.iter().filter(|(method, _)| *method == info.name);
        let primary = |key: &str| info.is_primary(&record::MetricKey::parse(key));
        let count = keys().filter(|(_, key)| primary(key)).count();
        assert!(!info.primary.is_empty(), "{}", info.name);
        assert!(keys().count() == 0 || (1..=8).contains(&count), "{}: {count}", info.name);
    }
}
