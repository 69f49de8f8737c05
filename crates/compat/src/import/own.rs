//! Output of `ssdyno export`: records as JSON lines, or metrics as CSV.
//!
//! A record is the same one everywhere: it keeps its id, and a measurement by ssdyno remains one. A
//! CSV contains only the metrics, so it is an import.

use record::{Metric, Run, SCHEMA, Unit};

use super::found::run;
use super::lines::{ImportError, Lines};

/// The header line of `ssdyno export --csv`.
const HEADING: &str = "run,method,target,metric,unit,value,low,high,n,samples";

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| line == HEADING || is_record(line, lines.rest()))
}

/// A record begins with its schema, on one line or spread over several.
fn is_record(line: &str, rest: &str) -> bool {
    let inside = if line.starts_with('{') { rest[1..].trim_start() } else { "" };
    inside.strip_prefix("\"schema\"").is_some_and(|rest| {
        rest.trim_start_matches([':', ' ']).starts_with(&format!("\"{SCHEMA}\""))
    })
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    if lines.peek() == Some(HEADING) {
        lines.next();
        return table(lines);
    }
    let begin = lines.number();
    let mut values = serde_json::Deserializer::from_str(lines.rest()).into_iter::<Run>();
    let found = values.next();
    let bytes = values.byte_offset();
    match found {
        Some(Ok(run)) => {
            lines.skip(bytes);
            Ok(vec![Run { number: None, ..run }])
        }
        Some(Err(error)) => {
            let line = begin + error.line().saturating_sub(1);
            Err(lines.wrong_at(line, format!("not a record of ssdyno: {error}")))
        }
        None => Err(lines.wrong_at(begin, "not a record of ssdyno")),
    }
}

/// Rows of one run are adjacent.
fn table(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let mut runs: Vec<(String, Run)> = Vec::new();
    while let Some(line) = lines.peek().filter(|line| line.contains(',')) {
        let number = lines.number();
        lines.next();
        let wrong = || lines.wrong("not a row of ssdyno's metrics");
        let fields = fields(line);
        let [id, method, target, name, unit, value, low, high, n, samples] = fields.as_slice()
        else {
            return Err(wrong());
        };
        if runs.last().is_none_or(|(last, _)| last != id) {
            let mut run = run(method, "ssdyno", None, number);
            run.target.spec.clone_from(target);
            if let Some(origin) = &mut run.origin {
                origin.command = Some(format!("run {id}, its metrics alone"));
            }
            runs.push((id.clone(), run));
        }
        let metric = Metric {
            name: name.clone(),
            unit: self::unit(unit).ok_or_else(wrong)?,
            value: optional(value).ok_or_else(wrong)?,
            low: optional(low).ok_or_else(wrong)?,
            high: optional(high).ok_or_else(wrong)?,
            n: n.parse().map_err(|_| wrong())?,
            samples: samples.split(' ').filter_map(|s| s.parse().ok()).collect(),
        };
        if let Some((_, run)) = runs.last_mut() {
            run.metrics.push(metric);
        }
    }
    Ok(runs.into_iter().map(|(_, run)| run).collect())
}

/// An empty field is unknown.
fn optional(field: &str) -> Option<Option<f64>> {
    if field.is_empty() { Some(None) } else { field.parse().ok().map(Some) }
}

fn unit(name: &str) -> Option<Unit> {
    serde_json::from_value(serde_json::Value::String(name.to_string())).ok()
}

/// The fields of a row, unquoted.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quoted) {
            ('"', true) if letters.peek() == Some(&'"') => {
                letters.next();
                push(&mut fields, '"');
            }
            ('"', _) => quoted = !quoted,
            (',', false) => fields.push(String::new()),
            _ => push(&mut fields, letter),
        }
    }
    fields
}

fn push(fields: &mut [String], letter: char) {
    if let Some(field) = fields.last_mut() {
        field.push(letter);
    }
}
