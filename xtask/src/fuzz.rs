//! `cargo xtask fuzz NAME`: fuzzes one parser of any room for a given time.
//!
//! A room with fuzz targets has an example `fuzz-ROOM`, which lists their names (`--names`) and runs
//! one. Examples of one workspace share a directory, so each needs a name of its own.
//! Built as for tests, not for release: an overflow is then a panic.

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::run::{cargo, metadata, output};

/// Runs the fuzzer of the room that has the target; without a name, lists all targets.
pub fn run(words: &[String]) -> Result<ExitCode> {
    let mut all = Vec::new();
    for room in rooms()? {
        let example = format!("fuzz-{room}");
        let fuzzer = ["run", "-q", "-p", &room, "--example", &example, "--"];
        let names = output(cargo(&fuzzer).arg("--names"))?;
        let names: Vec<_> = names.lines().map(str::to_string).collect();
        if words.first().is_some_and(|word| names.contains(word)) {
            let status = cargo(&fuzzer).args(words).status().context("cargo run")?;
            return Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        all.extend(names);
    }
    eprintln!("usage: cargo xtask fuzz NAME [--time 10m] [--seed N]; names: {}", all.join(", "));
    Ok(ExitCode::from(2))
}

/// The packages with an example `fuzz-ROOM`, as cargo reads the manifests.
fn rooms() -> Result<Vec<String>> {
    let metadata = metadata()?;
    let fuzzes = |package: &serde_json::Value| {
        let targets = package["targets"].as_array()?;
        let room = package["name"].as_str()?;
        let name = format!("fuzz-{room}");
        let example = |t: &&serde_json::Value| t["kind"][0] == "example" && t["name"] == name[..];
        targets.iter().find(example)?;
        Some(room.to_string())
    };
    Ok(metadata["packages"].as_array().into_iter().flatten().filter_map(fuzzes).collect())
}
