//! `cargo xtask bench hosts --seed S [--cases N]`: sets causes of the host, drawn by seed, and judges
//! what a run says of them by the same run without them. Needs root.
//!
//! The generator, the causes and the judge are a test of the command (`ssdyno/tests/it/hosts`); this
//! module runs it for more cases than the suite does. Most take ten seconds.

use std::process::ExitCode;

use anyhow::{Result, bail};

use super::results;
use crate::run::{cargo, printed};

/// Cases without an argument.
const CASES: &str = "100";

const TEST: [&str; 6] =
    ["test", "-q", "-p", "ssdyno", "--test=it", "causes_of_the_host_are_named_and_the_drive"];

/// Arguments with the environment variables of the test.
const ARGUMENTS: [(&str, &str); 2] =
    [("--seed", "SSDYNO_HOSTS_SEED"), ("--cases", "SSDYNO_HOSTS_CASES")];

/// Runs the cases, prints each, and stores the counts.
pub fn run(words: &[&str]) -> Result<ExitCode> {
    let mut command = cargo(&[&TEST[..], &["--", "--nocapture"]].concat());
    command.env("SSDYNO_HOSTS_CASES", CASES);
    for pair in words.chunks(2) {
        let argument = ARGUMENTS.iter().find(|(name, _)| *name == pair[0]);
        let (Some((_, variable)), [_, value]) = (argument, pair) else {
            bail!("{}: expected --seed S or --cases N", pair[0]);
        };
        command.env(variable, value);
    }
    let (passed, text) = printed(&mut command)?;
    print!("{text}");
    if let Some(counts) = counts(&text) {
        let command = format!("cargo xtask bench hosts {}", words.join(" "));
        results::write("hosts", command.trim_end(), &counts)?;
    }
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The table of the counts and what could not be set; `None` if nothing ran.
fn counts(text: &str) -> Option<String> {
    let (_, counts) = text.split_once("hosts: counts of cases by judgement\n\n")?;
    let is_counted = |line: &&str| {
        line.is_empty() || ["|", "not set: ", "skipped cause: "].iter().any(|s| line.starts_with(s))
    };
    Some(counts.lines().take_while(is_counted).map(|line| format!("{line}\n")).collect())
}

#[test]
fn the_counts_end_with_the_causes_that_were_skipped() {
    let text = "Right: x\n\nhosts: counts of cases by judgement\n\n| cause |\n| all | 1 |\n\n\
                not set: 1 cases: no root\nskipped cause: a: b\n.\ntest result: ok\n";
    let expected = "| cause |\n| all | 1 |\n\nnot set: 1 cases: no root\nskipped cause: a: b\n";
    assert_eq!(counts(text).as_deref(), Some(expected));
    assert_eq!(counts("skipped: needs root\n"), None);
}
