//! `cargo xtask fuzz NAME`: fuzzes one parser of any room for a given time; `all` fuzzes all
//! parsers in turn, `--list` lists them.
//!
//! The example `fuzz` of `lab` has the targets of all rooms. It is built as for tests, not for
//! release, so that an overflow is a panic.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::run::{cargo, output};

/// Runs the fuzzer of one target, or of all; without a known name, prints the usage.
pub fn run(words: &[String]) -> Result<ExitCode> {
    let names = output(fuzzer().arg("--names"))?;
    let names: Vec<_> = names.lines().collect();
    let (name, options) = words.split_first().map_or(("", words), |(n, rest)| (n.as_str(), rest));
    let chosen = match name {
        "--list" => {
            names.iter().for_each(|name| println!("{name}"));
            return Ok(ExitCode::SUCCESS);
        }
        "all" => names,
        _ if names.contains(&name) => vec![name],
        _ => {
            let usage = "usage: cargo xtask fuzz NAME|all [--time 10m] [--seed N] [--seeds DIR], or --list; names:";
            eprintln!("{usage} {}", names.join(", "));
            return Ok(ExitCode::from(2));
        }
    };
    let mut survived = true;
    for name in chosen {
        survived &= fuzzer().arg(name).args(options).status().context("cargo run")?.success();
    }
    Ok(if survived { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn fuzzer() -> Command {
    cargo(&["run", "-q", "-p", "lab", "--example", "fuzz", "--"])
}
