//! `cargo xtask bench`: measures the quality of the instrument.
//!
//! Benchmarks are never tests, because they depend on the machine. They print results with their
//! goals and store them in `benches/RESULTS.md` with machine, date and command. Two tools run
//! alternately (A B A B ...), because a machine's speed drifts. The medians are compared, and the
//! minimum processor times, because other load can only increase them.

mod against;
mod beside;
mod compat;
mod coverage;
mod engine;
mod goals;
mod inside;
mod model;
mod nvme;
mod page;
mod pci;
mod places;
mod plan;
mod promises;
mod recorder;
mod results;
mod rigs;
mod stall;
mod store;
mod tools;
mod verdicts;

use std::process::ExitCode;

use anyhow::{Result, bail};

/// Duration and number of runs.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Seconds per run.
    pub seconds: u32,
    /// Runs per tool.
    pub repeats: usize,
}

/// Runs the benchmark named by the arguments.
pub fn run(arguments: &[String]) -> Result<ExitCode> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (what, effort) = match words[..] {
        ["against", revision] => return against::run(revision),
        ["coverage", "--real", directory] => return coverage::real(directory),
        ["coverage", "--rounds"] => return coverage::rounds(),
        ["rigs", directory] => return rigs::run(directory),
        ["store", ref rest @ ..] => return store::run(rest),
        ["cuts", ref rest @ ..] => return promises::run(&promises::CUTS, rest),
        ["flips", ref rest @ ..] => return promises::run(&promises::FLIPS, rest),
        ["kills", ref rest @ ..] => return promises::run(&promises::KILLS, rest),
        ["plans", ref rest @ ..] => return promises::run(&promises::PLANS, rest),
        [what] => (what, Effort { seconds: 2, repeats: 5 }),
        // Short enough only to test the benchmark itself; nothing is stored.
        [what, "--tiny"] => (what, Effort { seconds: 1, repeats: 1 }),
        _ => bail!(
            "name a benchmark: cargo xtask bench compat|coverage|engine|model|nvme|pci|plan|recorder|amplification|endurance|\
             page|store|verdicts|inside|beside|cuts|flips|kills|plans [--tiny], or cargo xtask bench against REV, rigs DIR, coverage --real DIR|--rounds"
        ),
    };
    match what {
        "compat" => compat::run(effort),
        "engine" => engine::run(effort),
        "model" => model::run(effort),
        "nvme" => nvme::run(effort),
        "pci" => pci::run(effort),
        "page" => page::run(effort),
        "plan" => plan::run(effort),
        "recorder" => recorder::run(effort),
        "coverage" => coverage::run(effort),
        "verdicts" => verdicts::run(effort),
        "inside" => inside::run(effort),
        "beside" => beside::run(effort),
        "amplification" | "endurance" => model::matrix(what, effort),
        _ => bail!(
            "no benchmark '{what}'; known: against REV, compat, coverage, engine, model, nvme, pci, plan, recorder, \
             amplification, endurance, store, verdicts, inside, beside, cuts, flips, kills"
        ),
    }
}
