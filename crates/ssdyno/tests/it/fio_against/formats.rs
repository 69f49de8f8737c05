//! Differences in the outputs: keys and types of the JSON, fields of the terse lines.

use serde_json::Value;

/// Objects with keys that depend on the samples or on the machine.
const OPEN_OBJECTS: [&str; 5] =
    ["percentile", "bins", "job options", "global options", "disk_util"];

/// A key or type of fio's JSON that ours lacks.
pub fn fields(theirs: &Value, ours: &Value, path: &str) -> Option<String> {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => theirs.iter().find_map(|(key, value)| {
            if OPEN_OBJECTS.contains(&key.as_str()) {
                return None;
            }
            let path = format!("{path}.{key}");
            // Later versions name the unit of steady latencies.
            let renamed = (key == "lat").then(|| ours.get("lat_ns")).flatten();
            match ours.get(key).or(renamed) {
                Some(own) => fields(value, own, &path),
                None => Some(format!("{path} is missing")),
            }
        }),
        (Value::Array(theirs), Value::Array(ours)) => {
            let mut pairs = theirs.iter().zip(ours);
            pairs.find_map(|(theirs, ours)| fields(theirs, ours, &format!("{path}[]")))
        }
        (Value::Number(theirs), Value::Number(ours)) => (theirs.is_f64() != ours.is_f64())
            .then(|| format!("{path}: fio {theirs}, ssdyno {ours}")),
        (Value::String(_), Value::String(_)) | (Value::Bool(_), Value::Bool(_)) => None,
        _ => Some(format!("{path}: fio {theirs}, ssdyno {ours}")),
    }
}

/// The form of a terse field: its characters without the digits.
fn form(field: &str) -> String {
    field.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// A difference in the number of fields of a terse line, or in the form of one.
pub fn terse(theirs: &str, ours: &str) -> Option<String> {
    let (theirs, ours): (Vec<_>, Vec<_>) = (theirs.split(';').collect(), ours.split(';').collect());
    if theirs.len() != ours.len() {
        return Some(format!("fio {} fields, ssdyno {}", theirs.len(), ours.len()));
    }
    let numbers = |field: &str| form(field).chars().all(|c| ".%=-".contains(c));
    let mut pairs = theirs.iter().zip(&ours).enumerate().skip(2);
    pairs.find_map(|(number, (theirs, ours))| {
        (numbers(theirs) != numbers(ours) && !theirs.contains("nan"))
            .then(|| format!("field {number}: fio {theirs}, ssdyno {ours}"))
    })
}
