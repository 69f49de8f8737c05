//! The numbers drawn in a chart are those of the tiles, and docs/methods.md has the question, the
//! answer and the charts of every method.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::runs::{Made, ssdyno};

/// Largest difference between a drawn number, which is rounded, and its tile, as a fraction.
const ROUNDED: f64 = 0.011;

/// Minimum number of numbers compared: most methods have a tile among their bars.
const COMPARED_MIN: usize = 40;

/// Units of drawn numbers, longest first.
const UNITS: [(&str, f64); 21] = [
    ("GB/s", 1e9),
    ("MB/s", 1e6),
    ("kB/s", 1e3),
    ("B/s", 1.0),
    ("M IOPS", 1e6),
    ("k IOPS", 1e3),
    ("IOPS", 1.0),
    ("min", 60e9),
    ("TB", 1e12),
    ("GB", 1e9),
    ("MB", 1e6),
    ("kB", 1e3),
    ("ns", 1.0),
    ("us", 1e3),
    ("ms", 1e6),
    ("k", 1e3),
    ("M", 1e6),
    ("%", 0.01),
    ("B", 1.0),
    ("s", 1e9),
    ("", 1.0),
];

/// The answer of a run.
fn answer(place: &Path, run: &Made) -> Value {
    let number = run.number.to_string();
    let output = ssdyno(place).args(["show", &number, "--json"]).output().expect("it starts");
    let mut json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    json["answer"].take()
}

fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value[name].as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// Compares the numbers at the ends of bars with the tiles of the same metrics.
pub fn check(place: &Path, runs: &[Made]) {
    let (mut compared, mut wrong) = (0, Vec::new());
    for run in runs {
        let answer = answer(place, run);
        for chart in list(&answer, "charts").filter(|chart| chart["kind"] == "bars") {
            let title = text(&chart["title"]);
            let drawn = values(&run.page, title);
            let sources: Vec<&Value> = list(chart, "sources").collect();
            assert_eq!(drawn.len(), sources.len(), "{}, {title}: {drawn:?}", run.name);
            for (source, drawn) in sources.into_iter().zip(&drawn) {
                let tile = list(&answer, "tiles").find(|tile| tile["metric"] == *source);
                let Some(value) = tile.and_then(|tile| tile["value"].as_f64()) else { continue };
                compared += 1;
                let number = parse(drawn);
                if !number.is_some_and(|number| (number - value).abs() <= ROUNDED * value.abs()) {
                    wrong.push(format!("{}, {title}: {drawn} for {source} {value}", run.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(compared >= COMPARED_MIN, "only {compared} numbers are compared");
}

/// The values at the ends of the bars of a chart.
fn values(page: &str, title: &str) -> Vec<String> {
    let escaped = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let head = format!("<figcaption><b>{escaped}</b>");
    let (_, figure) = page.split_once(&head).unwrap_or_else(|| panic!("no chart '{title}'"));
    let (_, drawing) = figure.split_once("<svg class=\"wide\"").expect("a drawing");
    let (drawing, _) = drawing.split_once("</svg>").expect("its end");
    let texts = drawing.split("<text class=\"value\"").skip(1).map(|rest| {
        let (_, content) = rest.split_once('>').expect("a text");
        content.split_once('<').expect("its end").0.to_string()
    });
    texts.collect()
}

fn parse(drawn: &str) -> Option<f64> {
    let plain = drawn.replace(',', "");
    UNITS.iter().find_map(|(unit, factor)| {
        let number: f64 = plain.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * factor)
    })
}

/// The questions, answers and charts of all methods as a table. The runs are on small virtual
/// drives, and one of a program.
fn table(place: &Path, runs: &[Made]) -> String {
    let mut table =
        "| method | question | an answer | its charts |\n|---|---|---|---|\n".to_string();
    for run in runs.iter().filter(|run| run.name != super::screens::OF_THE_MACHINE) {
        let answer = answer(place, run);
        let charts: Vec<&str> =
            list(&answer, "charts").map(|chart| text(&chart["title"])).collect();
        let (question, headline) = (text(&answer["question"]), text(&answer["headline"]));
        let charts = charts.join("; ");
        writeln!(table, "| `{}` | {question} | {headline} | {charts} |", run.name)
            .expect("a text grows");
    }
    table
}

/// Compares the table with docs/methods.md, or writes it there.
pub fn documented(place: &Path, runs: &[Made]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../lab/tests/it/answers.md");
    let table = table(place, runs);
    if std::env::var_os("SSDYNO_WRITE_DOCS").is_some() {
        std::fs::write(&path, &table).expect("written");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    let advice = "SSDYNO_WRITE_DOCS=1 writes it, then the docs of lab";
    assert!(stored == table, "{} differs: {advice}\n{table}", path.display());
}
