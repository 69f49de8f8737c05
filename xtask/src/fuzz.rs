//! `cargo xtask fuzz NAME`: fuzzes one parser of any room for a given time; `all` fuzzes all
//! parsers in turn, `--list` lists them.
//!
//! A room with fuzz targets has an example `fuzz-ROOM`, which lists their names (`--names`) and
//! runs one. All examples of a workspace share a directory, so each needs a unique name. They are
//! built as for tests, not for release, so that an overflow is a panic.

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::run::{cargo, output, rooms};

/// A fuzz target with its room and the room's package.
struct Target {
    room: String,
    package: String,
    name: String,
}

impl Target {
    /// Fuzzes the target with options for the runner; returns whether it survived.
    fn fuzz(&self, words: &[String]) -> Result<bool> {
        let status = cargo(&fuzzer(&self.package, &example(&self.room)))
            .arg(&self.name)
            .args(words)
            .status()
            .context("cargo run")?;
        Ok(status.success())
    }
}

/// Runs the fuzzer of the target's room, or of all; without a known name, prints the usage.
pub fn run(words: &[String]) -> Result<ExitCode> {
    let all = targets()?;
    let (name, options) = words.split_first().map_or(("", words), |(n, rest)| (n.as_str(), rest));
    match all.iter().find(|target| target.name == name) {
        Some(target) => return Ok(code(target.fuzz(options)?)),
        None if name == "all" => {
            let mut survived = true;
            for target in &all {
                survived &= target.fuzz(options)?;
            }
            return Ok(code(survived));
        }
        None if name == "--list" => {
            all.iter().for_each(|target| println!("{:<18} {}", target.name, target.room));
            return Ok(ExitCode::SUCCESS);
        }
        None => {}
    }
    let names: Vec<_> = all.iter().map(|target| target.name.as_str()).collect();
    let usage =
        "usage: cargo xtask fuzz NAME|all [--time 10m] [--seed N] [--seeds DIR], or --list; names:";
    eprintln!("{usage} {}", names.join(", "));
    Ok(ExitCode::from(2))
}

fn code(survived: bool) -> ExitCode {
    if survived { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The targets of all rooms.
fn targets() -> Result<Vec<Target>> {
    let mut all = Vec::new();
    for (room, package) in fuzzed_rooms()? {
        let names = output(cargo(&fuzzer(&package, &example(&room))).arg("--names"))?;
        all.extend(names.lines().map(|name| {
            let (room, package) = (room.clone(), package.clone());
            Target { room, package, name: name.into() }
        }));
    }
    Ok(all)
}

fn example(room: &str) -> String {
    format!("fuzz-{room}")
}

fn fuzzer<'a>(package: &'a str, example: &'a str) -> [&'a str; 7] {
    ["run", "-q", "-p", package, "--example", example, "--"]
}

/// The rooms with an example `fuzz-ROOM`, each with its package, as read from the manifests by
/// cargo.
fn fuzzed_rooms() -> Result<Vec<(String, String)>> {
    let fuzzes = |(room, package): (String, serde_json::Value)| {
        let targets = package["targets"].as_array()?;
        let name = example(&room);
        let example = |t: &&serde_json::Value| t["kind"][0] == "example" && t["name"] == name[..];
        targets.iter().find(example)?;
        let package = package["name"].as_str()?.to_string();
        Some((room, package))
    };
    Ok(rooms()?.into_iter().filter_map(fuzzes).collect())
}
