//! Every rate and time in the sentences of a screen is a figure of its record: a metric, one of its
//! bounds or replicates, or evidence of a verdict or a finding. Two texts with the same figure can then
//! not contradict each other.

use std::path::Path;

use fuzz::Random;
use serde_json::Value;

use super::runs::{Made, ssdyno};

/// Units of rates and times in sentences, and the unit and factor in records.
const UNITS: [(&str, &str, f64); 7] = [
    ("GB/s", "B/s", 1e9),
    ("MB/s", "B/s", 1e6),
    ("kB/s", "B/s", 1e3),
    ("IOPS", "IOPS", 1.0),
    ("ms", "ns", 1e6),
    ("us", "ns", 1e3),
    ("ns", "ns", 1.0),
];

/// How much further than by rounding a number may be from its figure, as a share: figures of two
/// significant digits less are rounded again.
const MARGIN: f64 = 0.002;

/// A number in a sentence, in the unit of records, and half of its last digit.
#[derive(Debug)]
struct Said {
    value: f64,
    half: f64,
    unit: &'static str,
}

/// The rates and times in a text.
fn numbers(text: &str) -> Vec<Said> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let said = |pair: &[&str]| {
        let unit = pair[1].trim_end_matches([',', '.', ';', ':', ')']);
        let (_, recorded, factor) = UNITS.iter().find(|(name, ..)| *name == unit)?;
        let digits = pair[0].trim_start_matches(['(', '+', '~']);
        let (digits, thousand) = match digits.strip_suffix('k') {
            Some(digits) => (digits, 1e3),
            None => (digits, 1.0),
        };
        let value: f64 = digits.replace(',', "").parse().ok()?;
        let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len() as i32);
        let (factor, unit) = (factor * thousand, *recorded);
        Some(Said { value: value * factor, half: 0.5 * factor * 10f64.powi(-decimals), unit })
    };
    words.windows(2).filter_map(said).collect()
}

/// All numbers with a unit in a record, with that unit.
fn figures(value: &Value, known: &mut Vec<(f64, String)>) {
    match value {
        Value::Object(members) => {
            if let Some(unit) = members.get("unit").and_then(Value::as_str) {
                let numbers = members.values().flat_map(|member| match member {
                    Value::Array(items) => items.iter().filter_map(Value::as_f64).collect(),
                    other => other.as_f64().into_iter().collect::<Vec<f64>>(),
                });
                known.extend(numbers.map(|number| (number, unit.to_string())));
            }
            members.values().for_each(|member| figures(member, known));
        }
        Value::Array(items) => items.iter().for_each(|item| figures(item, known)),
        _ => {}
    }
}

/// The texts of a screen: its sentence, verdicts and findings.
fn texts(record: &Value) -> Vec<String> {
    let list = |name: &str| record[name].as_array().cloned().unwrap_or_default();
    let of_lists = ["verdicts", "warnings"].into_iter().flat_map(list);
    let mut texts: Vec<String> =
        of_lists.filter_map(|one| one["text"].as_str().map(String::from)).collect();
    let answer = &record["answer"];
    texts.extend(
        ["headline", "rest"].iter().filter_map(|part| answer[part].as_str()).map(String::from),
    );
    texts
}

/// The numbers in the texts of a screen that are no figures of its record.
fn without_figure(record: &Value) -> Vec<String> {
    let mut known = Vec::new();
    figures(record, &mut known);
    let is_figure = |said: &Said| {
        known.iter().any(|(value, unit)| {
            let allowed = said.half * 1.01 + MARGIN * value.abs();
            unit == said.unit && (value.abs() - said.value).abs() <= allowed
        })
    };
    let in_text = |text: String| {
        let unknown = numbers(&text).into_iter().filter(|said| !is_figure(said));
        unknown.map(|said| format!("{said:?} in: {text}")).collect::<Vec<_>>()
    };
    texts(record).into_iter().flat_map(in_text).collect()
}

pub fn check(place: &Path, runs: &[Made]) {
    let mut unknown = Vec::new();
    for run in runs {
        let number = run.number.to_string();
        let output = ssdyno(place).args(["show", &number, "--json"]).output().expect("it starts");
        let record: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let numbers = without_figure(&record);
        unknown.extend(numbers.into_iter().map(|number| format!("{}: {number}", run.name)));
    }
    assert!(unknown.is_empty(), "numbers without a figure:\n{}", unknown.join("\n"));
}

/// The names in a list that a command prints as JSON.
fn names(place: &Path, list: &str) -> Vec<String> {
    let output = ssdyno(place).args([list, "--json"]).output().expect("it starts");
    let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let name = |entry: &Value| entry["name"].as_str().map(String::from);
    list.as_array().expect("a list").iter().filter_map(name).collect()
}

fn from_environment(name: &str, without: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(without)
}

/// `SSDYNO_NUMBERS_SEED` and `SSDYNO_NUMBERS_COUNT` draw other runs, and more.
#[test]
fn numbers_of_drawn_drives_and_methods_are_figures_too() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let (drives, methods) = (names(place.path(), "drives"), names(place.path(), "methods"));
    let random = &mut Random::new(from_environment("SSDYNO_NUMBERS_SEED", 1));
    let mut unknown = Vec::new();
    for _ in 0..from_environment("SSDYNO_NUMBERS_COUNT", 3) {
        let method = methods[random.below(methods.len())].as_str();
        let drive = drives[random.below(drives.len())].as_str();
        let state = ["", "&state=used", "&state=filled"][random.below(3)];
        let target = format!("sim:{drive}?capacity=1GiB{state}");
        let seed = random.below(1000).to_string();
        let mut command = ssdyno(place.path());
        command.args(["run", &target, "-m", method, "--seed", &seed, "--json", "--quiet"]);
        let words = if method == "command" { ["--", "true"] } else { ["--time", "60s"] };
        let output = command.args(words).output().expect("it starts");
        // A drive may not suit a method, nor a time.
        let Ok(record) = serde_json::from_slice::<Value>(&output.stdout) else { continue };
        let run = format!("ssdyno run '{target}' -m {method} --seed {seed} {}", words.join(" "));
        unknown.extend(without_figure(&record).iter().map(|number| format!("{run}: {number}")));
    }
    assert!(unknown.is_empty(), "numbers without a figure:\n{}", unknown.join("\n"));
}

#[test]
fn rates_and_times_are_found_in_a_sentence() {
    let said = numbers("Reads 3.15 GB/s (963 MB/s), 275k IOPS; 1.5 ms, and 4 KiB at depth 32.");
    let values: Vec<(f64, f64)> = said.iter().map(|said| (said.value, said.half)).collect();
    assert_eq!(values.len(), 4, "{said:?}");
    assert_eq!(values[0].0, 3.15e9);
    assert!((values[0].1 - 5e6).abs() < 1.0 && (values[2].1 - 500.0).abs() < 1e-9, "{said:?}");
}
