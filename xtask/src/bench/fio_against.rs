//! `cargo xtask bench fio-against [--lines N] [--seed S] [--seconds T]`: runs job lines drawn at
//! random with fio and with `ssdyno fio`, and compares what does not depend on speed.
//!
//! The generator and the comparison are a test of the command (`ssdyno/tests/it/fio_against`); this
//! module runs it for more lines than the suite does.

use std::process::ExitCode;

use anyhow::{Result, bail};

use super::results;
use crate::run::{cargo, find, printed};

/// Lines without an argument.
const LINES: &str = "10000";

const TEST: [&str; 6] =
    ["test", "-q", "-p", "ssdyno", "--test=it", "drawn_jobs_do_the_same_as_in_fio"];

/// Arguments with the environment variables of the test.
const ARGUMENTS: [(&str, &str); 3] = [
    ("--lines", "SSDYNO_FIO_LINES"),
    ("--seed", "SSDYNO_FIO_SEED"),
    ("--seconds", "SSDYNO_FIO_SECONDS"),
];

/// Runs the comparison, prints the differences, and stores the counts if there is none.
pub fn run(words: &[&str]) -> Result<ExitCode> {
    if find("fio").is_none() {
        println!("skipped: no fio on this machine");
        return Ok(ExitCode::SUCCESS);
    }
    let mut command = cargo(&[&TEST[..], &["--", "--nocapture"]].concat());
    command.env("SSDYNO_FIO_LINES", LINES);
    for pair in words.chunks(2) {
        let known = ARGUMENTS.iter().find(|(name, _)| *name == pair[0]);
        let (Some((_, variable)), [_, value]) = (known, pair) else {
            bail!("{}: expected --lines N, --seed S or --seconds T", pair[0]);
        };
        command.env(variable, value);
    }
    let (passed, text) = printed(&mut command)?;
    print!("{text}");
    if !passed {
        return Ok(ExitCode::FAILURE);
    }
    let figures = text.lines().skip_while(|line| !line.starts_with("lines: "));
    let figures = figures.take_while(|line| line.contains(": ")).map(|line| format!("{line}\n"));
    let figures: String = figures.collect();
    if figures.is_empty() {
        bail!("the test printed no counts");
    }
    let command = format!("cargo xtask bench fio-against {}", words.join(" "));
    results::write("fio-against", command.trim_end(), &figures)?;
    Ok(ExitCode::SUCCESS)
}
