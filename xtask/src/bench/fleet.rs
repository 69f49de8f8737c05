//! `cargo xtask bench fleet [--tiny]`: many agents on the loopback, and the central store.
//!
//! The figures come from two examples of `fleet`: `losses` kills and stops NATS, PostgreSQL, the
//! collector and agents at random while records are made, and counts what arrived; `questions` fills a
//! PostgreSQL of its own with runs of 60 metrics and times what it is asked.

use anyhow::{Result, ensure};

use super::{Effort, Outcome};
use crate::run::{cargo, output, printed};

/// Seconds, agents and seed of the losses; runs and signed letters of the questions.
const WHOLE: [&[&str]; 2] = [&["1800", "100", "1"], &["100000", "4000"]];
const TINY: [&[&str]; 2] = [&["10", "5", "1"], &["2000", "200"]];

/// Runs both examples.
pub fn run(effort: Effort) -> Result<Outcome> {
    // The programs that the first example starts.
    output(&mut cargo(&["build", "--release", "-q", "-p", "fleet"]))?;
    let [losses, questions] = if effort.is_whole() { WHOLE } else { TINY };
    let (all_arrived, arrivals) = example("losses", losses)?;
    if let Some(why) = arrivals.strip_prefix("skipped: ") {
        return Ok(Outcome::Skipped(why.trim_end().to_string()));
    }
    ensure!(all_arrived, "the example losses failed: {arrivals}");
    let (is_fast, times) = example("questions", questions)?;
    // Few runs say nothing about the time of a question about many.
    let met = is_fast || !effort.is_whole();
    Ok(Outcome::Ran { met, text: format!("{arrivals}\n{times}") })
}

fn example(name: &str, words: &[&str]) -> Result<(bool, String)> {
    let example = ["run", "--release", "-q", "-p", "fleet", "--example", name, "--"];
    printed(&mut cargo(&[&example[..], words].concat()))
}
