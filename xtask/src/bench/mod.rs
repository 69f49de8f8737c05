//! `cargo xtask bench`: measures the quality of the instrument.
//!
//! Benchmarks are never tests, because they depend on the machine. They print results with their
//! goals and store them in `benches/RESULTS.md` with machine, date and command. Two tools run
//! alternately (A B A B ...), because a machine's speed drifts. The medians are compared, and the
//! minimum processor times, because other load can only increase them.

mod against;
mod beside;
mod compat;
mod engine;
mod examples;
mod fio_against;
mod fleet;
mod goals;
mod hosts;
mod import_against;
mod inside;
mod model;
mod nvme;
mod page;
mod pairs;
mod pci;
mod places;
mod predict;
mod promises;
mod results;
mod rigs;
mod same;
mod stacks;
mod stall;
mod store;
mod tools;
mod trace;

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

impl Effort {
    const WHOLE: Effort = Effort { seconds: 2, repeats: 5 };

    /// Short enough only to test the benchmark itself.
    const TINY: Effort = Effort { seconds: 1, repeats: 1 };

    /// Pairs per case of a comparison.
    fn pairs(self) -> usize {
        if self.is_whole() { pairs::PAIRS } else { self.repeats }
    }

    /// Whether the results are worth storing.
    fn is_whole(self) -> bool {
        self.repeats > 1
    }
}

/// Result of a benchmark.
pub enum Outcome {
    /// It ran.
    Ran {
        /// Whether every goal was met.
        met: bool,
        /// The table for the screen and `benches/RESULTS.md`, in Markdown.
        text: String,
    },
    /// It needs something this machine lacks, in words.
    Skipped(String),
}

impl Outcome {
    /// The result of a table that calls each missed goal MISSED.
    fn of_table(text: String) -> Outcome {
        Outcome::Ran { met: !text.contains(word(false)), text }
    }
}

/// The word for a goal in the tables.
fn word(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

type Bench = fn(Effort) -> Result<Outcome>;

/// Benchmarks without arguments of their own.
const BENCHES: &[(&str, Bench)] = &[
    ("amplification", |effort| model::matrix("amplification", effort)),
    ("beside", beside::run),
    ("compat", compat::run),
    ("coverage", examples::coverage),
    ("endurance", |effort| model::matrix("endurance", effort)),
    ("engine", engine::run),
    ("fleet", fleet::run),
    ("inside", inside::run),
    ("model", model::run),
    ("nvme", nvme::run),
    ("page", page::run),
    ("pci", pci::run),
    ("plan", examples::plan),
    ("predict", predict::run),
    ("recorder", examples::recorder),
    ("stacks", stacks::run),
    ("trace", trace::run),
    ("twin", examples::twin),
    ("verdicts", examples::verdicts),
];

/// Runs the benchmark named by the arguments.
pub fn run(arguments: &[String]) -> Result<ExitCode> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (name, effort) = match words[..] {
        ["against", revision] => return against::run(revision),
        ["coverage", "--real", directory] => {
            let words = ["--real", directory];
            return examples::part_of_coverage("coverage, real disk", "--real DIR", &words);
        }
        ["coverage", "--rounds"] => {
            return examples::part_of_coverage("coverage, rounds", "--rounds", &["--rounds"]);
        }
        ["verdicts", "--draw", count, "--seed", seed] => {
            return examples::drawn("verdicts", &[], count, seed);
        }
        ["headlines", "--draw", count, "--seed", seed] => {
            return examples::drawn("headlines", &["--headlines"], count, seed);
        }
        ["twin", "--seed", seed] => return examples::twin_drawn(seed),
        ["import-against", ref rest @ ..] => return import_against::run(rest),
        ["predict", "--document", file] => return predict::write_document(file),
        ["predict", "--records", path] => return predict::run_records(path),
        ["predict", filter] if filter != "--tiny" => return predict::run_some(filter),
        ["rigs", directory] => return rigs::run(directory),
        ["same", revision] => return same::run(revision),
        ["store", ref rest @ ..] => return store::run(rest),
        ["attacks", ref rest @ ..] => {
            return promises::run_all("attacks", &promises::ATTACKS, rest);
        }
        ["cuts", ref rest @ ..] => return promises::run(&promises::CUTS, rest),
        ["flips", ref rest @ ..] => return promises::run(&promises::FLIPS, rest),
        ["guard", ref rest @ ..] => return promises::run(&promises::GUARD, rest),
        ["fleet", "--seconds", seconds] => return fleet::run_for(seconds),
        ["hosts", ref rest @ ..] => return hosts::run(rest),
        ["fio-against", ref rest @ ..] => return fio_against::run(rest),
        ["kills", ref rest @ ..] => return promises::run(&promises::KILLS, rest),
        ["unsteady", ref rest @ ..] => return promises::run(&promises::UNSTEADY, rest),
        ["iozone-against", ref rest @ ..] => return promises::run(&promises::IOZONE, rest),
        ["plans", ref rest @ ..] => return promises::run(&promises::PLANS, rest),
        [name] => (name, Effort::WHOLE),
        [name, "--tiny"] => (name, Effort::TINY),
        _ => ("", Effort::TINY),
    };
    let Some((name, bench)) = BENCHES.iter().find(|(known, _)| *known == name) else {
        let known: Vec<&str> = BENCHES.iter().map(|(name, _)| *name).collect();
        bail!(
            "name a benchmark: cargo xtask bench {} [--tiny], or against REV, attacks, coverage --real DIR, \
             coverage --rounds, cuts, fio-against, fleet --seconds N, flips, guard, headlines --draw N --seed S, \
             hosts --seed S [--cases N], import-against, iozone-against, \
             kills, plans, predict ROWS, predict --document FILE, predict --records PATH, rigs DIR, same REV, store, twin --seed N, unsteady, \
             verdicts --draw N --seed S",
            known.join("|")
        );
    };
    match bench(effort)? {
        Outcome::Skipped(why) => {
            println!("skipped: {why}");
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Ran { met, text } => {
            println!("{text}");
            if effort.is_whole() {
                results::write(name, &format!("cargo xtask bench {name}"), &text)?;
            }
            Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}
