//! Every rate and time in the sentences of a screen is a figure of its record: a metric, one of its
//! bounds or replicates, or evidence of a verdict or a finding. Two texts with the same figure can then
//! not contradict each other.

use std::path::Path;

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

pub fn check(place: &Path, runs: &[Made]) {
    let mut unknown = Vec::new();
    for run in runs {
        let number = run.number.to_string();
        let output = ssdyno(place).args(["show", &number, "--json"]).output().expect("it starts");
        let record: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let mut known = Vec::new();
        figures(&record, &mut known);
        for text in texts(&record) {
            for said in numbers(&text) {
                let is_said = |(value, unit): &&(f64, String)| {
                    let allowed = said.half * 1.01 + MARGIN * value.abs();
                    unit == said.unit && (value.abs() - said.value).abs() <= allowed
                };
                if !known.iter().any(|figure| is_said(&figure)) {
                    unknown.push(format!("{}: {said:?} in: {text}", run.name));
                }
            }
        }
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
