//! `cargo xtask bench coverage`: how often the interval for the next run holds it, on virtual drives.
//!
//! The figures come from the example `coverage` of `lab`, built for release, which prints the table
//! and fails below the goals.

use std::process::ExitCode;

use anyhow::Result;

use super::{Effort, results};
use crate::run::{capture, cargo};

/// Specimens and presets: about 2,000 runs, and enough to test the benchmark itself.
const WHOLE: [&str; 2] = ["33", "10"];
const TINY: [&str; 2] = ["1", "1"];

/// Runs the example, prints its table, and stores it.
pub fn run(effort: Effort) -> Result<ExitCode> {
    let whole = effort.repeats > 1;
    let size = if whole { WHOLE } else { TINY };
    let example = ["run", "--release", "-q", "-p", "lab", "--example", "coverage", "--"];
    let (met, text) = capture(&mut cargo(&[&example[..], &size[..]].concat()))?;
    print!("{text}");
    if whole {
        results::write("coverage", "cargo xtask bench coverage", &text)?;
    }
    // One specimen tells nothing about coverage.
    Ok(if met || !whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
