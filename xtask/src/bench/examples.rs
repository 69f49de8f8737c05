//! Benchmarks whose figures come from an example of `lab`, built for release. It prints the table
//! and fails if a goal is missed.
//!
//! - `plan`: the time from a request to its plan, for every method.
//! - `recorder`: the metadata commands of a recording, compared with FatFs. They are counts, so
//!   other load does not matter.
//! - `coverage`: how often the interval for the next run contains that run's value, on virtual
//!   drives or on the disk under a directory (`--real DIR`); whether values depend on the number of
//!   rounds (`--rounds`).
//! - `verdicts`: how often `quick` names the right cause of a figure, and how often a wrong one:
//!   virtual drives with a known cause, judged by removing the cause; or drives drawn at random,
//!   judged by removing every possible cause (`--draw N --seed S`).
//! - `twin`: how well fitted drives predict work that nothing measured, on drives hidden by a seed.
//! - `headlines`: how often its headline names the largest loss with a true cause, on the same drawn
//!   drives.

use std::process::ExitCode;

use anyhow::{Result, ensure};

use super::{Effort, Outcome, results};
use crate::run::{cargo, printed};

pub fn plan(_effort: Effort) -> Result<Outcome> {
    example("plan", &[])
}

pub fn recorder(_effort: Effort) -> Result<Outcome> {
    example("recorder", &[])
}

pub fn coverage(effort: Effort) -> Result<Outcome> {
    // Specimens and presets: about 2,000 runs, or enough to test the benchmark itself.
    let size = if effort.is_whole() { ["33", "10"] } else { ["1", "1"] };
    let (met, text) = printed_by("coverage", &size)?;
    // One specimen says nothing about coverage.
    Ok(Outcome::Ran { met: met || !effort.is_whole(), text })
}

/// Coverage on the real disk under a directory, or the effect of the number of rounds. The results
/// contain no path of this machine.
pub fn part_of_coverage(name: &str, command: &str, words: &[&str]) -> Result<ExitCode> {
    let (met, text) = printed_by("coverage", words)?;
    print!("{text}");
    results::write(name, &format!("cargo xtask bench coverage {command}"), &text)?;
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub fn verdicts(effort: Effort) -> Result<Outcome> {
    // Specimens and sessions that were not inspected while the rules were written.
    example("verdicts", if effort.is_whole() { &["101-110", "20"] } else { &["1", "2"] })
}

/// The verdicts or headlines on so many drives drawn with this seed: half an hour for 200.
pub fn drawn(name: &str, flags: &[&str], count: &str, seed: &str) -> Result<ExitCode> {
    let words = [flags, &["--draw", count, "--seed", seed]].concat();
    let (met, text) = printed_by("verdicts", &words)?;
    print!("{text}");
    let command = format!("cargo xtask bench {name} --draw {count} --seed {seed}");
    results::write(&format!("{name}, drawn"), &command, &text)?;
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub fn twin(effort: Effort) -> Result<Outcome> {
    let drives = if effort.is_whole() { "5" } else { "1" };
    let (met, text) = printed_by("twin", &["--drives", drives])?;
    // One drive says nothing about the goals.
    Ok(Outcome::Ran { met: met || !effort.is_whole(), text })
}

/// The same on five drives drawn with this seed.
pub fn twin_drawn(seed: &str) -> Result<ExitCode> {
    let (met, text) = printed_by("twin", &["--seed", seed])?;
    print!("{text}");
    results::write("twin", &format!("cargo xtask bench twin --seed {seed}"), &text)?;
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn example(name: &str, words: &[&str]) -> Result<Outcome> {
    printed_by(name, words).map(|(met, text)| Outcome::Ran { met, text })
}

/// Whether the example met its goals, and its table.
fn printed_by(name: &str, words: &[&str]) -> Result<(bool, String)> {
    let example = ["run", "--release", "-q", "-p", "lab", "--example", name, "--"];
    let (met, text) = printed(&mut cargo(&[&example[..], words].concat()))?;
    ensure!(!text.trim().is_empty(), "the example {name} printed nothing");
    Ok((met, text))
}
