//! `docs/record.schema.json` describes every field written, and allows additions.

use crate::common;
use serde_json::{Value, json};

fn schema() -> Value {
    let text = include_str!("../../../../docs/record.schema.json");
    serde_json::from_str(text).expect("the schema is JSON")
}

fn samples() -> Vec<Value> {
    let runs = [
        common::quick(),
        common::answered(),
        common::io(),
        common::cut_short(),
        common::empty(),
        common::unknown(),
        common::imported(),
    ];
    runs.iter().map(|run| serde_json::to_value(run).expect("plain data")).collect()
}

#[test]
fn every_record_is_valid() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    for run in samples() {
        let errors: Vec<String> = validator.iter_errors(&run).map(|e| e.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new());
    }
}

#[test]
fn a_record_of_a_later_version_is_valid() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let mut run = samples().remove(0);
    run["added"] = json!({ "later": 1 });
    run["target"]["drive"]["added"] = json!("later");
    run["metrics"][0]["added"] = json!(null);
    assert!(validator.is_valid(&run));
}

#[test]
fn schema_violations_are_detected() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let breaks: [fn(&mut Value); 6] = [
        |run| run["schema"] = json!("ssdyno.run/2"),
        |run| run["metrics"][0]["unit"] = json!("MB/s"),
        |run| run["metrics"][0]["value"] = json!("fast"),
        |run| run["complete"] = json!(null),
        |run| run["latencies"][0]["service"]["buckets"][0] = json!([1]),
        |run| drop(run.as_object_mut().map(|run| run.remove("verdicts"))),
    ];
    for (i, spoil) in breaks.iter().enumerate() {
        let mut run = samples().remove(0);
        spoil(&mut run);
        assert!(!validator.is_valid(&run), "change {i} was accepted");
    }
}

/// A field that is written but not described would pass the tests above, because the schema allows
/// additional fields.
#[test]
fn every_field_is_described() {
    let mut strict = schema();
    forbid_more(&mut strict);
    let validator = jsonschema::validator_for(&strict).expect("a schema");
    for mut run in samples() {
        // Workloads are described by the `workload` crate.
        if let Some(plan) = run["plan"].as_object_mut() {
            plan.insert("workloads".into(), json!([]));
        }
        let errors: Vec<String> = validator.iter_errors(&run).map(|e| e.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new());
    }
}

fn forbid_more(schema: &mut Value) {
    if let Some(fields) = schema.as_object_mut() {
        if fields.get("properties").is_some_and(Value::is_object) {
            fields.insert("additionalProperties".into(), json!(false));
        }
        fields.values_mut().for_each(forbid_more);
    }
    if let Some(items) = schema.as_array_mut() {
        items.iter_mut().for_each(forbid_more);
    }
}
