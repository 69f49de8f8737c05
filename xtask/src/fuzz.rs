//! Fuzzing of the parsers of `compat` and `fio`. The fuzzer is an example of `fio`.
//!
//! Built as for tests, not for release: then an overflow is a panic.

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::run::cargo;

/// Runs the fuzzer on one target.
pub fn run(words: &[String]) -> Result<ExitCode> {
    let mut fuzzer = cargo(&["run", "-q", "-p", "fio", "--example", "fuzz", "--"]);
    let status = fuzzer.args(words).status().context("cargo run")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
