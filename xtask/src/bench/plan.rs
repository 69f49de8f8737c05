//! `cargo xtask bench plan`: the time from a request to its plan, for every method.
//!
//! The figures come from the example `plan` of `lab`, built for release, which prints the table and
//! fails if a plan misses the goal.

use std::process::ExitCode;

use anyhow::Result;

use super::{Effort, results};
use crate::run::{capture, cargo};

/// Runs the example, prints its table, and stores it.
pub fn run(effort: Effort) -> Result<ExitCode> {
    let example = ["run", "--release", "-q", "-p", "lab", "--example", "plan"];
    let (met, text) = capture(&mut cargo(&example))?;
    print!("{text}");
    if effort.repeats > 1 {
        results::write("plan", "cargo xtask bench plan", &text)?;
    }
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
