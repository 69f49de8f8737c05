//! `cargo xtask bench coverage [--real DIR|--rounds]`: how often the interval for the next run
//! contains that run's value, on virtual drives or on the disk under a directory; whether values
//! depend on the number of rounds.
//!
//! The figures come from the example `coverage` of `lab`, built for release, which prints the table
//! and fails if a goal is missed.

use std::process::ExitCode;

use anyhow::Result;

use super::{Effort, results};
use crate::run::{cargo, printed};

/// Specimens and presets: about 2,000 runs, or enough to test the benchmark itself.
const WHOLE: [&str; 2] = ["33", "10"];
const TINY: [&str; 2] = ["1", "1"];

/// Runs the example, prints its table, and stores it.
pub fn run(effort: Effort) -> Result<ExitCode> {
    let whole = effort.repeats > 1;
    let (met, text) = example(if whole { &WHOLE } else { &TINY })?;
    if whole {
        results::write("coverage", "cargo xtask bench coverage", &text)?;
    }
    // One specimen says nothing about coverage.
    Ok(if met || !whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs on the real disk under a directory. The results contain no path of this machine.
pub fn real(directory: &str) -> Result<ExitCode> {
    part("coverage, real disk", "--real DIR", &["--real", directory])
}

/// Tests whether the values of cells depend on the number of rounds.
pub fn rounds() -> Result<ExitCode> {
    part("coverage, rounds", "--rounds", &["--rounds"])
}

fn part(name: &str, command: &str, arguments: &[&str]) -> Result<ExitCode> {
    let (met, text) = example(arguments)?;
    results::write(name, &format!("cargo xtask bench coverage {command}"), &text)?;
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the example; returns whether it met its goals, and its output.
fn example(arguments: &[&str]) -> Result<(bool, String)> {
    let example = ["run", "--release", "-q", "-p", "lab", "--example", "coverage", "--"];
    let found = printed(&mut cargo(&[&example[..], arguments].concat()))?;
    print!("{}", found.1);
    Ok(found)
}
