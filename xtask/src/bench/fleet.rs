//! `cargo xtask bench fleet [--tiny | --seconds N]`: many agents on the loopback, and the central store.
//!
//! The figures come from three examples of `fleet`: `losses` kills, stops and parts NATS, PostgreSQL, the
//! collector and agents at random while records are made, for half an hour or N seconds, and counts what
//! arrived; `campaign` compares the records of four agents, one of them killed, with those of one process;
//! `questions` fills a PostgreSQL of its own with runs of 60 metrics and times what it is asked.

use std::process::ExitCode;

use anyhow::{Result, ensure};

use super::{Effort, Outcome};
use crate::run::{cargo, output, printed};

/// Seconds, agents and seed of the losses; runs of the campaign; runs and signed letters of the questions.
const WHOLE: [&[&str]; 3] = [&["1800", "100", "1"], &["1000"], &["100000", "4000"]];
const TINY: [&[&str]; 3] = [&["10", "5", "1"], &["8"], &["2000", "200"]];

/// Runs all three.
pub fn run(effort: Effort) -> Result<Outcome> {
    run_examples(if effort.is_whole() { WHOLE } else { TINY }, effort.is_whole())
}

/// Runs all three, with losses for other than half an hour. The result is not stored.
pub fn run_for(seconds: &str) -> Result<ExitCode> {
    let [_, campaign, questions] = WHOLE;
    match run_examples([&[seconds, "100", "1"], campaign, questions], true)? {
        Outcome::Skipped(why) => println!("skipped: {why}"),
        Outcome::Ran { met, text } => {
            println!("{text}");
            ensure!(met, "a goal is missed");
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn run_examples(words: [&[&str]; 3], is_judged: bool) -> Result<Outcome> {
    // The programs that the examples start.
    output(&mut cargo(&["build", "--release", "-q", "-p", "fleet", "-p", "ssdyno"]))?;
    let [losses, campaign, questions] = words;
    let (all_arrived, arrivals) = example("losses", losses)?;
    if let Some(why) = arrivals.strip_prefix("skipped: ") {
        return Ok(Outcome::Skipped(why.trim_end().to_string()));
    }
    ensure!(all_arrived, "the example losses failed: {arrivals}");
    let (is_equal, records) = example("campaign", campaign)?;
    ensure!(is_equal, "the example campaign failed: {records}");
    let (is_fast, times) = example("questions", questions)?;
    // Few runs say nothing about the time of a question about many.
    let met = is_fast || !is_judged;
    Ok(Outcome::Ran { met, text: format!("{arrivals}\n{records}\n{times}") })
}

fn example(name: &str, words: &[&str]) -> Result<(bool, String)> {
    let example = ["run", "--release", "-q", "-p", "fleet", "--example", name, "--"];
    printed(&mut cargo(&[&example[..], words].concat()))
}
