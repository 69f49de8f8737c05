//! `cargo xtask bench cuts` and `flips`: tests of promises that the suite runs a few thousand times,
//! run 100,000 times. They live in the crates whose promises they are; here is only their number.

use std::process::ExitCode;

use anyhow::Result;

use super::results;
use crate::run::{capture, cargo};

/// Tests that count.
pub struct Promise {
    name: &'static str,
    /// The tests, in cargo's words.
    tests: &'static [&'static [&'static str]],
    /// The variable with the number of repetitions of each.
    variable: &'static str,
}

/// Power cuts of journals and of their recovery, and of the store.
pub const CUTS: Promise = Promise {
    name: "cuts",
    tests: &[&["-p", "journal", "--test", "cuts"], &["-p", "store", "--lib", "cut_tests"]],
    variable: "SSDYNO_CUTS",
};

/// Names moved while a file is opened for writing.
pub const FLIPS: Promise = Promise {
    name: "flips",
    tests: &[&["-p", "drive", "--test", "flips"]],
    variable: "SSDYNO_FLIPS",
};

/// Runs the tests of a promise and stores their words.
pub fn run(promise: &Promise, words: &[&str]) -> Result<ExitCode> {
    let Promise { name, tests, variable } = promise;
    let tiny = words == ["--tiny"];
    let (mut kept, mut numbers) = (true, String::new());
    for test in *tests {
        let mut command =
            cargo(&[&["test", "--release", "-q"], *test, &["--", "--nocapture"]].concat());
        command.env(variable, if tiny { "1000" } else { "100000" });
        let (passed, text) = capture(&mut command)?;
        print!("{text}");
        kept &= passed;
        let line = text.lines().find(|line| line.contains(name)).unwrap_or_default();
        numbers += &format!("{}\n", line.trim_start_matches('.'));
    }
    if !tiny {
        results::write(name, &format!("cargo xtask bench {name}"), &numbers)?;
    }
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
