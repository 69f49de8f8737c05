//! `cargo xtask bench inside`: how often the methods that look inside a drive say what is there, and how
//! often something else.
//!
//! The figures come from the test `error_rates` of `lab`: virtual drives whose inside is known, 20
//! specimens and sessions of each. It fails above one false answer in 100.

use std::process::ExitCode;

use anyhow::Result;

use super::{Effort, results};
use crate::run::{capture, cargo};

/// Runs the test, prints its table, and stores it.
pub fn run(effort: Effort) -> Result<ExitCode> {
    let whole = effort.repeats > 1;
    let test = ["test", "-q", "-p", "lab", "--test", "inside", "error_rates", "--", "--nocapture"];
    let mut command = cargo(&test);
    command.env("SSDYNO_SEEDS", if whole { "20" } else { "1" });
    let (kept, text) = capture(&mut command)?;
    let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    let table = table.join("\n");
    println!("{table}");
    if whole {
        results::write("inside", "cargo xtask bench inside", &format!("{table}\n"))?;
    }
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
