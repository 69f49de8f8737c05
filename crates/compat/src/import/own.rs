//! Output of `ssdyno export --csv`. It contains only metrics, so it becomes an import. JSON records
//! keep their identity and are handled by `pieces.rs`.

use record::{Covers, Metric, Run, SCHEMA, Unit};

use super::found::run;
use super::lines::{ImportError, Lines};

/// The header line of `ssdyno export --csv`.
const HEADING: &str = "run,method,target,metric,unit,value,low,high,n,samples";

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    // Later versions have more columns.
    lines.peek().is_some_and(|line| {
        line.strip_prefix(HEADING).is_some_and(|more| more.is_empty() || more.starts_with(','))
    })
}

/// Number of characters in a record's id.
const ID_DIGITS: usize = 26;

/// Whether the text of an object is a record: the schema is a member, at any position.
pub(crate) fn is_record(json: &str) -> bool {
    let mut rest = json;
    while let Some((_, after)) = rest.split_once("\"schema\"") {
        let value = after.trim_start().strip_prefix(':').map(str::trim_start);
        if value.is_some_and(|value| value.starts_with(&format!("\"{SCHEMA}\""))) {
            return true;
        }
        rest = after;
    }
    false
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    lines.next();
    table(lines)
}

/// Rows of one run are adjacent.
fn table(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let mut runs: Vec<(String, Run)> = Vec::new();
    while let Some(line) = lines.peek().filter(|line| line.contains(',')) {
        let number = lines.number();
        lines.next();
        let wrong = || lines.wrong("not a row of ssdyno's metrics");
        let fields = fields(line);
        let [id, method, target, name, unit, value, low, high, n, samples, covers @ ..] =
            fields.as_slice()
        else {
            return Err(wrong());
        };
        if runs.last().is_none_or(|(last, _)| last != id) {
            let mut run = run(method, "ssdyno", None, number);
            run.target.spec.clone_from(target);
            if let Some(origin) = &mut run.origin {
                origin.command = Some(format!("run {id}, only its metrics"));
                // On a machine without a store, this is a name instead of an id.
                origin.title = Some(id.clone()).filter(|id| id.len() != ID_DIGITS);
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
            // Tables from earlier versions lack this column.
            covers: covers.first().filter(|name| !name.is_empty()).map(|name| Covers::named(name)),
            runs: None,
        };
        if let Some((_, run)) = runs.last_mut() {
            run.metrics.push(metric);
        }
    }
    Ok(runs.into_iter().map(|(_, run)| run).collect())
}

/// Parses an optional number; an empty field is unknown.
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
