//! docs/methods.md comes from the declarations of methods and commands, from `details.md` in the
//! folders of the methods, and from `methods.md` and `answers.md` beside this file (the latter from
//! the runs of `ssdyno`'s test of pages); the tables of docs/verdicts.md come from the kinds of
//! verdicts and findings. `SSDYNO_WRITE_DOCS=1 cargo test -p lab --test it docs` rewrites both.

use std::path::{Path, PathBuf};

use lab::{MethodInfo, work};
use record::{FindingKind, VerdictKind};
use report::wrap;

/// Columns of the paragraphs.
const COLUMNS: usize = 130;

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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Checks that a page of docs/ is what `made` makes of it, or rewrites it.
fn is_generated(page: &str, made: impl FnOnce(&str) -> String) {
    let path = root().join("docs").join(page);
    let stored = std::fs::read_to_string(&path).expect(page);
    let made = made(&stored);
    if std::env::var_os("SSDYNO_WRITE_DOCS").is_some() {
        std::fs::write(&path, &made).expect("written");
        return;
    }
    let advice = "run SSDYNO_WRITE_DOCS=1 cargo test -p lab --test it docs";
    assert!(stored == made, "docs/{page} differs from the source; {advice}");
}

/// What a method does and publishes, with the details in its folder.
fn section(info: &MethodInfo, details: &str) -> String {
    assert!(info.metrics().count() > 0, "{} declares its metrics", info.name);
    let about = wrap(info.about, COLUMNS).join("\n");
    let (name, safety, writes) = (info.name, info.safety.name(), info.writes);
    let metrics = metrics(info);
    format!("## {name}\n\n{about}\n\nSafety: {safety}. Writes: {writes}. {details}\n{metrics}\n")
}

/// Text on the methods of a folder, which every folder has.
fn details(folder: &str) -> String {
    let path = root().join("crates/methods/src").join(folder).join("details.md");
    std::fs::read_to_string(&path).expect(folder)
}

#[test]
fn methods_md_is_made_of_the_declarations_of_the_methods() {
    let mut methods = String::new();
    let mut group = "";
    for info in work::methods() {
        let text = match info.name.split_once('-') {
            // Methods of one document share a folder and its details.
            Some((folder, _)) => {
                if group != folder {
                    methods += &format!("## {}\n\n{}\n", folder.to_uppercase(), details(folder));
                }
                group = folder;
                section(info, "").replacen("## ", "### ", 1)
            }
            None => section(info, &details(info.name)),
        };
        methods += &text;
    }
    let commands: String = work::described()
        .skip(work::methods().count())
        .map(|info| section(info, "").replacen("## ", "### ", 1))
        .collect();
    let answers = root().join("crates/lab/tests/it/answers.md");
    let answers = std::fs::read_to_string(answers).expect("answers.md");
    is_generated("methods.md", |_| {
        include_str!("methods.md")
            .replace("{answers}\n", &answers)
            .replace("{methods}\n", &methods)
            .replace("{commands}\n", &commands)
    });
}

#[test]
fn verdicts_md_has_every_kind_and_its_meaning() {
    let verdicts = kinds(VerdictKind::ALL.iter().map(|kind| (kind.name(), kind.meaning())));
    let findings = kinds(FindingKind::ALL.iter().map(|kind| (kind.name(), kind.meaning())));
    is_generated("verdicts.md", |page| {
        with_table(&with_table(page, "verdicts", &verdicts), "findings", &findings)
    });
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
