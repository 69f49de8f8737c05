//! What a method says of the drives of its flip, as a user would read it, and what it ran to know:
//! `METHOD.txt` in this folder holds it as it was last reviewed.
//!
//! A flip shows that an answer follows the drive; this shows that nothing else of it has changed
//! unnoticed. `SSDYNO_WRITE_FLIPS=1 cargo test -p methods flips` writes the files; review the
//! difference.

use record::{Answer, Evidence, Finding, Metric, Verdict};
use script::Outcome;
use serde::Serialize;
use serde_json::Value;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/flips");

/// The file of a method, and the first line in which these texts differ from it.
pub fn difference(method: &str, texts: &[String]) -> Option<String> {
    let file = format!("{FOLDER}/{method}.txt");
    let text = texts.join("\n");
    if std::env::var_os("SSDYNO_WRITE_FLIPS").is_some() {
        std::fs::write(&file, &text).expect("written");
    }
    let reviewed = std::fs::read_to_string(&file).unwrap_or_default();
    let pairs = text.lines().chain([""]).zip(reviewed.lines().chain([""]));
    let (number, (new, old)) = pairs.enumerate().find(|(_, (new, old))| new != old)?;
    Some(format!("{method}.txt:{}: {old:?}, now {new:?}", number + 1))
}

/// An outcome as text.
pub fn text(outcome: &Outcome) -> String {
    let mut lines = Vec::new();
    outcome.answer.iter().for_each(|answer| write_answer(answer, &mut lines));
    outcome.verdicts.iter().for_each(|verdict| write_verdict(verdict, &mut lines));
    outcome.warnings.iter().for_each(|finding| write_finding(finding, &mut lines));
    let mut alike = Vec::new();
    let charts = outcome.answer.iter().flat_map(|answer| &answer.charts);
    charts.for_each(|chart| add(&mut alike, format!("chart {}", chart.title), chart));
    outcome.metrics.iter().for_each(|of| add(&mut alike, metric(of), of));
    outcome.series.iter().for_each(|of| add(&mut alike, format!("series {}", of.name), of));
    for profile in &outcome.latencies {
        add(&mut alike, format!("latencies {} {}", profile.name, profile.op), profile);
    }
    for workload in &outcome.workloads {
        add(&mut alike, format!("workload {}", workload["name"]), &**workload);
    }
    lines.extend(alike.iter().map(Alike::line));
    lines.extend(outcome.errors.iter().map(|errors| format!("errors: {}", json(errors))));
    lines.push(format!("state after: {}\n", json(&outcome.state_after)));
    lines.join("\n")
}

fn write_answer(answer: &Answer, lines: &mut Vec<String>) {
    lines.push(format!("{} {} [{}]", answer.question, answer.headline, answer.stamp.name()));
    if !answer.rest.is_empty() {
        lines.push(format!("  {}", answer.rest));
    }
    for tile in &answer.tiles {
        let range = range(tile.value, tile.low, tile.high);
        lines.push(format!("  tile {}: {} = {range}, {:?}", tile.label, tile.metric, tile.better));
    }
    lines.extend(answer.limits.iter().map(|limit| format!("  limit {}", json(limit))));
}

fn write_verdict(verdict: &Verdict, lines: &mut Vec<String>) {
    lines.push(format!("{}: {}", verdict.kind.name(), verdict.text));
    lines.extend(verdict.evidence.iter().map(evidence));
    for explained in &verdict.explains {
        lines.push(format!("  explains {}", json(explained)));
    }
    lines.extend(verdict.next_test.iter().map(|test| format!("  try {test}")));
}

fn write_finding(finding: &Finding, lines: &mut Vec<String>) {
    let Finding { kind, level, text, .. } = finding;
    lines.push(format!("{} ({level:?}): {text}", kind.name()));
    lines.extend(finding.advice.iter().map(|advice| format!("  {advice}")));
    lines.extend(finding.evidence.iter().map(evidence));
}

fn evidence(number: &Evidence) -> String {
    format!("  {} = {} {}", number.name, rounded(number.value), number.unit.name())
}

fn metric(metric: &Metric) -> String {
    let Metric { name, unit, value, low, high, n, .. } = metric;
    format!("{name} = {} {} ({n})", range(*value, *low, *high), unit.name())
}

fn range(value: Option<f64>, low: Option<f64>, high: Option<f64>) -> String {
    let word = |value: Option<f64>| value.map_or("-".into(), |value| rounded(value).to_string());
    match (low, high) {
        (None, None) => word(value),
        _ => format!("{} [{}, {}]", word(value), word(low), word(high)),
    }
}

/// To five significant digits: the last ones may depend on the processor.
fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().expect("a number")
}

/// A value in JSON, its numbers rounded.
fn json(value: &impl Serialize) -> String {
    let mut value = serde_json::to_value(value).expect("JSON");
    round(&mut value);
    value.to_string()
}

fn round(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            *value = number.as_f64().map(rounded).into();
        }
        Value::Array(values) => values.iter_mut().for_each(round),
        Value::Object(members) => members.values_mut().for_each(round),
        _ => {}
    }
}

/// Entries whose lines differ in digits only.
struct Alike {
    /// The line of the first.
    line: String,
    pattern: String,
    entries: u32,
    /// The numbers of all, and their sum, in which the place of each counts.
    numbers: u32,
    sum: f64,
    /// The words of all.
    words: Vec<String>,
}

impl Alike {
    fn line(&self) -> String {
        let Alike { line, entries, numbers, words, .. } = self;
        let sum = rounded(self.sum);
        format!("{line}: {entries} alike, {numbers} numbers, {sum} {}", words.join(" "))
    }

    /// Seeds may be any numbers.
    fn add(&mut self, value: &Value) {
        match value {
            Value::Number(number) => {
                self.numbers += 1;
                self.sum += number.as_f64().unwrap_or(0.0) * f64::from(1 + self.numbers % 97);
            }
            Value::String(word) => {
                let word = pattern(word);
                if !self.line.contains(&word) && !self.words.contains(&word) {
                    self.words.push(word);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.add(value)),
            Value::Object(members) => {
                let counted = members.iter().filter(|(name, _)| !name.contains("seed"));
                counted.for_each(|(_, value)| self.add(value));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// Adds an entry to those alike.
fn add(groups: &mut Vec<Alike>, line: String, value: &impl Serialize) {
    let pattern = pattern(&line);
    let place = groups.iter().position(|group| group.pattern == pattern);
    let place = place.unwrap_or_else(|| {
        groups.push(Alike { line, pattern, entries: 0, numbers: 0, sum: 0.0, words: Vec::new() });
        groups.len() - 1
    });
    groups[place].entries += 1;
    groups[place].add(&serde_json::to_value(value).expect("JSON"));
}

/// A text without its numbers.
fn pattern(text: &str) -> String {
    let mut pattern = text.replace(|letter: char| letter.is_ascii_digit(), "#");
    while pattern.contains("##") || pattern.contains("#.#") {
        pattern = pattern.replace("##", "#").replace("#.#", "#");
    }
    pattern
}
