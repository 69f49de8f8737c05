//! README's ten questions, answered by a binary of another machine: the same figures, bit for bit.
//!
//! A virtual drive depends on its seed alone, not on the processor. The whole records are compared,
//! without what names the run and the machine. The reference is the binary of the tests.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Dist;
use crate::readme;
use crate::run::{cargo, output, program};

/// Parts of a record that name the run, its time and its machine.
const OF_THE_RUN: [&str; 5] = ["id", "number", "started", "seconds", "environment"];

/// Compares all answers of a binary; returns their number.
pub fn check(dist: &Dist) -> Result<usize> {
    output(cargo(&["build", "-q", "-p", "ssdyno"]).current_dir(&dist.source))?;
    let reference = dist.dir.with_file_name("debug").join("ssdyno");
    let readme = fs::read_to_string(dist.source.join("README.md")).context("README.md")?;
    let questions = readme::questions(&readme)?;
    for question in &questions {
        let expected = figures(question.record(program(&reference, &[]))?);
        let record = figures(question.record(dist.target.program(&dist.binary(), &[]))?);
        let difference = difference(&expected, &record, String::new());
        ensure!(difference.is_none(), "{}: {}", question.command, difference.unwrap_or_default());
    }
    Ok(questions.len())
}

/// A record without what differs from run to run.
fn figures(mut record: Value) -> Value {
    if let Some(fields) = record.as_object_mut() {
        OF_THE_RUN.iter().for_each(|name| drop(fields.remove(*name)));
    }
    // The command line begins with the path of the program.
    if let Some(program) = record.pointer_mut("/plan/command/0") {
        *program = "ssdyno".into();
    }
    record
}

/// The first difference of two values: its place, and both values.
fn difference(expected: &Value, other: &Value, place: String) -> Option<String> {
    match (expected, other) {
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            a.iter().find_map(|(key, a)| {
                difference(a, b.get(key).unwrap_or(&Value::Null), format!("{place}/{key}"))
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(i, (a, b))| difference(a, b, format!("{place}/{i}"))),
        _ => (expected != other).then(|| format!("{place} is {other}, not {expected}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_place_of_a_difference_is_named() {
        let one = json!({"metrics": [{"value": 1.5}, {"value": 2.5}]});
        let other = json!({"metrics": [{"value": 1.5}, {"value": 2.5000000000000004}]});
        assert_eq!(difference(&one, &one, String::new()), None);
        let difference = difference(&one, &other, String::new()).expect("a difference");
        assert_eq!(difference, "/metrics/1/value is 2.5000000000000004, not 2.5");
    }

    #[test]
    fn the_time_of_a_run_is_no_figure() {
        let run = |id: &str, path: &str| {
            figures(json!({"id": id, "seed": 1, "plan": {"command": [path, "run"]}}))
        };
        assert_eq!(run("a", "/usr/bin/ssdyno"), run("b", "target/debug/ssdyno"));
    }
}
