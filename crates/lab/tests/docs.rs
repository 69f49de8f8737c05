//! The tables of docs/methods.md come from the declarations of the methods and commands.
//! `SSDYNO_WRITE_DOCS=1 cargo test -p lab --test docs` writes them again.

use std::path::Path;

use lab::{MethodInfo, work};

/// Line before the table of a method; the lines of the table follow.
fn mark(info: &MethodInfo) -> String {
    format!("<!-- metrics of {} -->\n", info.name)
}

fn table(info: &MethodInfo) -> String {
    let mut text = "| name | unit | meaning |\n|---|---|---|\n".to_string();
    for metric in info.metrics() {
        let (name, unit, meaning) = (metric.name, metric.unit.name(), metric.meaning);
        text += &format!("| `{name}` | {unit} | {meaning} |\n");
    }
    text
}

/// The page with the table of this method; `None` if it has no place for it, or several.
fn with_table(page: &str, info: &MethodInfo) -> Option<String> {
    let mark = mark(info);
    let (before, after) = page.split_once(&mark)?;
    let old: usize =
        after.split_inclusive('\n').take_while(|l| l.starts_with('|')).map(str::len).sum();
    let rest = &after[old..];
    (!rest.contains(&mark)).then(|| format!("{before}{mark}{}{rest}", table(info)))
}

#[test]
fn the_page_about_methods_has_the_tables_of_their_declarations() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/methods.md");
    let there = std::fs::read_to_string(&path).expect("docs/methods.md");
    let mut made = there.clone();
    for info in work::described() {
        assert!(info.metrics().count() > 0, "{} declares its metrics", info.name);
        let place = format!("one place for the table of {}", info.name);
        made = with_table(&made, info).expect(&place);
    }
    if std::env::var_os("SSDYNO_WRITE_DOCS").is_some() {
        std::fs::write(&path, &made).expect("docs/methods.md written");
        return;
    }
    let advice = "run SSDYNO_WRITE_DOCS=1 cargo test -p lab --test docs";
    assert!(there == made, "docs/methods.md differs from the declarations; {advice}");
}

#[test]
fn every_stored_key_is_declared() {
    let stored = include_str!("../../record/tests/keys.txt").lines();
    for (method, key) in stored.filter_map(|line| line.split_once(' ')) {
        // Published figures have the names of their documents.
        if method == "published" || method == "#" {
            continue;
        }
        let info = work::described().find(|info| info.name == method).expect(method);
        let declared = info.declaration(&record::MetricKey::parse(key));
        assert!(declared.is_some(), "{method}: {key}");
    }
}

#[test]
fn every_method_declares_up_to_eight_metrics_for_comparisons() {
    let stored: Vec<_> = include_str!("../../record/tests/keys.txt")
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
