//! `cargo xtask bench verdicts`: how often `quick` names the right cause of a figure, and how often
//! a wrong one.
//!
//! The figures come from the example `verdicts` of `lab`, built for release: virtual drives with a
//! known cause, several specimens of each, judged by removing the cause. It fails below a goal.

use std::process::ExitCode;

use anyhow::Result;

use super::{Effort, results};
use crate::run::{cargo, printed};

/// Specimens and sessions that were not inspected while the rules were written.
const HELD_BACK: &str = "101-110";

/// Runs the example, prints its table, and stores it.
pub fn run(effort: Effort) -> Result<ExitCode> {
    let whole = effort.repeats > 1;
    let (seeds, seconds) = if whole { (HELD_BACK, "20") } else { ("1", "2") };
    let example = ["run", "--release", "-q", "-p", "lab", "--example", "verdicts", "--"];
    let (met, text) = printed(cargo(&example).args([seeds, seconds]))?;
    print!("{text}");
    if whole {
        results::write("verdicts", "cargo xtask bench verdicts", &text)?;
    }
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
