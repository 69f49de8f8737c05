//! The two compared tools: each runs once, and its JSON is parsed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::run::{cargo, output, program, root};

/// Result of one run of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Operations per second.
    pub iops: f64,
    /// Processor time per operation of the issuing thread, nanoseconds.
    pub cpu_ns: f64,
}

/// Builds the release binary.
pub fn build() -> Result<PathBuf> {
    output(&mut cargo(&["build", "--release", "-q", "-p", "ssdyno"]))?;
    Ok(root().join("target/release/ssdyno"))
}

/// Runs ssdyno once with a temporary store; returns the JSON of its record.
pub fn ours(binary: &Path, store: &Path, arguments: &[&str]) -> Result<Value> {
    let store = store.display().to_string();
    let tail = ["--json", "--quiet", "--store", &store];
    let arguments: Vec<&str> =
        ["io"].into_iter().chain(arguments.iter().copied()).chain(tail).collect();
    let said = output(&mut program(binary, &arguments))?;
    let line = said.lines().rfind(|l| l.starts_with('{')).unwrap_or_default();
    serde_json::from_str(line).with_context(|| format!("ssdyno said: {said}"))
}

/// A metric of a record.
pub fn metric(record: &Value, name: &str) -> Result<f64> {
    let metrics = record["metrics"].as_array().into_iter().flatten();
    let found = metrics.into_iter().find(|m| m["name"] == name);
    found.and_then(|m| m["value"].as_f64()).with_context(|| format!("the record has no {name}"))
}

/// Rate and processor time from a record.
pub fn sample(record: &Value) -> Result<Sample> {
    Ok(Sample { iops: metric(record, "iops")?, cpu_ns: metric(record, "cpu_ns_per_io")? })
}

/// Runs fio once; returns the only job of its JSON.
pub fn fio(arguments: &[&str]) -> Result<Value> {
    let common = ["--name=bench", "--output-format=json", "--thread", "--group_reporting"];
    let arguments: Vec<&str> = common.into_iter().chain(arguments.iter().copied()).collect();
    let said = output(&mut program("fio", &arguments))?;
    // Warnings may precede the JSON.
    let json = said.find('{').map_or("", |start| &said[start..]);
    let all: Value = serde_json::from_str(json).with_context(|| format!("fio said: {said}"))?;
    match &all["jobs"][0] {
        Value::Null => bail!("fio reported no job"),
        job => Ok(job.clone()),
    }
}

/// Rate and processor time from a fio job.
pub fn fio_sample(job: &Value) -> Result<Sample> {
    let number = |value: &Value| value.as_f64().context("fio's JSON lacks a number");
    let (mut iops, mut ops) = (0.0, 0.0);
    for side in ["read", "write"] {
        iops += number(&job[side]["iops"])?;
        ops += number(&job[side]["total_ios"])?;
    }
    let share = (number(&job["usr_cpu"])? + number(&job["sys_cpu"])?) / 100.0;
    let runtime_ms = number(&job["job_runtime"])?;
    Ok(Sample { iops, cpu_ns: share * runtime_ms * 1e6 / ops.max(1.0) })
}
