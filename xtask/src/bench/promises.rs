//! `cargo xtask bench cuts` and `flips`: tests of promises that the suite runs a few thousand times,
//! run 100,000 times. They live in the crates whose promises they are; here is only their number.

use std::process::ExitCode;

use anyhow::Result;

use super::results;
use crate::run::{capture, cargo};

/// A test that counts.
pub struct Promise {
    name: &'static str,
    package: &'static str,
    /// The variable with the number of repetitions.
    variable: &'static str,
}

/// Power cuts of journals and of their recovery.
pub const CUTS: Promise = Promise { name: "cuts", package: "journal", variable: "SSDYNO_CUTS" };

/// Names moved while a file is opened for writing.
pub const FLIPS: Promise = Promise { name: "flips", package: "drive", variable: "SSDYNO_FLIPS" };

/// Runs the test of a promise and stores its words.
pub fn run(promise: &Promise, words: &[&str]) -> Result<ExitCode> {
    let Promise { name, package, variable } = promise;
    let tiny = words == ["--tiny"];
    let arguments = ["test", "--release", "-q", "-p", package, "--test", name, "--", "--nocapture"];
    let mut command = cargo(&arguments);
    command.env(variable, if tiny { "1000" } else { "100000" });
    let (kept, text) = capture(&mut command)?;
    print!("{text}");
    if !tiny {
        let numbers = text.lines().find(|line| line.contains(name)).unwrap_or_default();
        results::write(name, &format!("cargo xtask bench {name}"), &format!("{numbers}\n"))?;
    }
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
