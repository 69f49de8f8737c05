//! `cargo xtask bench recorder`: the metadata commands of a recording, compared with FatFs.
//!
//! The figures come from the example `recorder` of `lab`, built for release, which prints the table
//! and fails if the recorder misses a goal. They are counts, so other load does not matter.

use std::process::ExitCode;

use anyhow::Result;

use super::{Effort, results};
use crate::run::{capture, cargo};

/// Runs the example, prints its table, and stores it.
pub fn run(effort: Effort) -> Result<ExitCode> {
    let example = ["run", "--release", "-q", "-p", "lab", "--example", "recorder"];
    let (met, text) = capture(&mut cargo(&example))?;
    print!("{text}");
    if effort.repeats > 1 {
        results::write("recorder", "cargo xtask bench recorder", &text)?;
    }
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
