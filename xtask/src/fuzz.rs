//! `cargo xtask fuzz NAME`: fuzzes one parser of any room for a given time.
//!
//! A room with fuzz targets has an example `fuzz`, which lists their names (`--names`) and runs one.
//! Built as for tests, not for release: an overflow is then a panic.

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::run::{cargo, metadata, output};

/// Runs the fuzzer of the room that has the target; without a name, lists all targets.
pub fn run(words: &[String]) -> Result<ExitCode> {
    let mut all = Vec::new();
    for room in rooms()? {
        let names =
            output(&mut cargo(&["run", "-q", "-p", &room, "--example", "fuzz", "--", "--names"]))?;
        let names: Vec<_> = names.lines().map(str::to_string).collect();
        if words.first().is_some_and(|word| names.contains(word)) {
            let mut fuzzer = cargo(&["run", "-q", "-p", &room, "--example", "fuzz", "--"]);
            let status = fuzzer.args(words).status().context("cargo run")?;
            return Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        all.extend(names);
    }
    eprintln!("usage: cargo xtask fuzz NAME [--time 10m] [--seed N]; names: {}", all.join(", "));
    Ok(ExitCode::from(2))
}

/// The packages with an example `fuzz`, as cargo reads the manifests.
fn rooms() -> Result<Vec<String>> {
    let metadata = metadata()?;
    let fuzzes = |package: &serde_json::Value| {
        let targets = package["targets"].as_array()?;
        let example = |t: &&serde_json::Value| t["kind"][0] == "example" && t["name"] == "fuzz";
        targets.iter().find(example)?;
        package["name"].as_str().map(str::to_string)
    };
    Ok(metadata["packages"].as_array().into_iter().flatten().filter_map(fuzzes).collect())
}
