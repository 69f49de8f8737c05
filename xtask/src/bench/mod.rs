//! `cargo xtask bench`: how good the instrument is, measured and written down.
//!
//! Benchmarks are never tests: they depend on the machine. They print what they found beside the
//! goal, and write it into `benches/RESULTS.md` with machine, date and command. Two tools are run
//! in turn (A B A B ...), because a machine's speed drifts; medians are compared, and the smallest
//! processor times, which others on the machine can only make larger.

mod against;
mod compat;
mod engine;
mod goals;
mod model;
mod places;
mod results;
mod stall;
mod tools;

use std::process::ExitCode;

use anyhow::{Result, bail};

/// How long and how often.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Seconds of each run.
    pub seconds: u32,
    /// Runs of each tool.
    pub repeats: usize,
}

/// Runs the benchmark that the arguments name.
pub fn run(arguments: &[String]) -> Result<ExitCode> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (what, effort) = match words[..] {
        ["against", revision] => return against::run(revision),
        [what] => (what, Effort { seconds: 2, repeats: 5 }),
        // So short that nothing but the benchmark itself is tested, and nothing written down.
        [what, "--tiny"] => (what, Effort { seconds: 1, repeats: 1 }),
        _ => bail!(
            "name a benchmark: cargo xtask bench compat|engine|model|amplification|endurance \
             [--tiny], or cargo xtask bench against REV"
        ),
    };
    match what {
        "compat" => compat::run(effort),
        "engine" => engine::run(effort),
        "model" => model::run(effort),
        "amplification" | "endurance" => model::matrix(what, effort),
        _ => bail!(
            "there is no benchmark '{what}'; there are: against REV, compat, engine, model, amplification, \
             endurance"
        ),
    }
}
