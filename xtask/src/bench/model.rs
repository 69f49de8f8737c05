//! `cargo xtask bench model`: the speed of virtual time, and the memory of a virtual drive.
//!
//! The figures come from the model's example `goals`, built for release, which prints one line
//! each. This module parses them, compares them with the goals and stores them. The best run
//! counts, because other load can only slow down a computation.

use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};

use super::{Effort, Outcome, word};
use crate::run::{capture, cargo, output};

/// A goal, and the example's line with the figure.
pub struct Goal {
    /// Name in the table.
    pub name: &'static str,
    /// Start of the example's line.
    line: &'static str,
    /// Text before the number in the rest of that line.
    before: &'static str,
    unit: &'static str,
    limit: Limit,
}

/// The bound on a figure.
enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

const fn goal(
    name: &'static str,
    line: &'static str,
    before: &'static str,
    unit: &'static str,
    limit: Limit,
) -> Goal {
    Goal { name, line, before, unit, limit }
}

const FILL: &str = "samsung-980-pro-2t filled";

/// Size of the filled drive, GiB.
const FILL_GIB: f64 = 1863.0;

static GOALS: [Goal; 6] = [
    goal(
        "random 4 KiB writes, full timing, 2 GiB of flash, 28% over-provisioning",
        "random 4 KiB writes, 2 GiB of flash, 0.28",
        ":",
        "M/s",
        Limit::AtLeast(5.0),
    ),
    goal(
        "the same, 15% over-provisioning",
        "random 4 KiB writes, 2 GiB of flash, 0.15",
        ":",
        "M/s",
        Limit::AtLeast(2.5),
    ),
    goal(
        "2 TB filled in 128 KiB writes, with a latency per write",
        FILL,
        ":",
        "s",
        Limit::AtMost(2.0),
    ),
    goal("whole 2 TB drive discarded", "   discarded", ":", "ms", Limit::AtMost(10.0)),
    goal("memory, fragmented", "memory fragmented", ":", "MiB/GiB", Limit::AtMost(2.5)),
    goal(
        "memory of the process, 2 TB sequential",
        FILL,
        ",",
        "MiB",
        Limit::AtMost(0.05 * FILL_GIB),
    ),
];

/// The goals that are speeds; the others are memory, or too short to compare.
pub fn speeds() -> impl Iterator<Item = &'static Goal> {
    GOALS.iter().filter(|goal| matches!(goal.unit, "M/s" | "s"))
}

impl Goal {
    /// The speed in a run's output, higher is better: a rate, or the inverse of a time.
    pub fn speed(&self, output: &str) -> Result<f64> {
        let value = read(output, self)?;
        Ok(if self.unit == "s" { 1.0 / value } else { value })
    }
}

/// Runs the example, and compares its figures with the goals.
pub fn run(effort: Effort) -> Result<Outcome> {
    let example = ["run", "--release", "-q", "-p", "ssdyno-model", "--example", "goals"];
    let said = (0..effort.repeats.min(3)).map(|_| output(&mut cargo(&example)));
    let said: Vec<String> = said.collect::<Result<_>>()?;
    Ok(Outcome::of_table(table(&said)?))
}

/// Runs part of the example that compares every policy and over-provisioning with closed forms
/// (`amplification`) or with ten drive writes (`endurance`). The results do not depend on the
/// machine, and all of them are goals: it fails if one is missed.
pub fn matrix(part: &str, effort: Effort) -> Result<Outcome> {
    let size = if effort.is_whole() { "whole" } else { "tiny" };
    let example = ["run", "-q", "-p", "ssdyno-model", "--example", "matrix", part, size];
    let (met, text) = capture(&mut cargo(&example))?;
    ensure!(text.lines().any(|line| line.starts_with('|')), "the example has no table:\n{text}");
    Ok(Outcome::Ran { met, text })
}

fn table(said: &[String]) -> Result<String> {
    let mut text = format!(
        "Best of {} runs, one core.\n\n| quantity | result | goal |\n|---|---|---|\n",
        said.len()
    );
    for goal in &GOALS {
        let found: Vec<f64> = said.iter().map(|said| read(said, goal)).collect::<Result<_>>()?;
        let (found, asked, met) = match goal.limit {
            Limit::AtLeast(least) => {
                let best = found.into_iter().fold(f64::MIN, f64::max);
                (best, format!(">= {least}"), best >= least)
            }
            Limit::AtMost(most) => {
                let best = found.into_iter().fold(f64::MAX, f64::min);
                (best, format!("<= {most}"), best <= most)
            }
        };
        let mark = word(met);
        writeln!(text, "| {} | {found} {} | {asked} {mark} |", goal.name, goal.unit)?;
    }
    Ok(text)
}

/// Reads the figure of a goal from the example's output.
fn read(said: &str, goal: &Goal) -> Result<f64> {
    let line = said.lines().find_map(|line| line.strip_prefix(goal.line));
    let rest = line.and_then(|line| line.split_once(goal.before)).map(|(_, rest)| rest.trim());
    let number = rest.and_then(|rest| rest.split(' ').next()?.parse().ok());
    number.with_context(|| format!("the example goals did not print '{}':\n{said}", goal.line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
random 4 KiB writes, 2 GiB of flash, 0.28 spare: 7.9 M/s
random 4 KiB writes, 2 GiB of flash, 0.15 spare: 2.0 M/s
samsung-980-pro-2t filled with 128 KiB: 0.61 s, 12 MiB resident
   discarded: 0.04 ms
sabrent-rocket-4-plus-2t filled with 128 KiB: 0.70 s, 14 MiB resident
   discarded: 0.05 ms
memory fragmented: 2.10 MiB per GiB
";

    #[test]
    fn figures_are_read_and_compared_with_their_goals() {
        let text = table(&[SAID.to_string()]).expect("all lines are there");
        for row in [
            "28% over-provisioning | 7.9 M/s | >= 5 met |",
            "15% over-provisioning | 2 M/s | >= 2.5 MISSED |",
            "a latency per write | 0.61 s | <= 2 met |",
            "discarded | 0.04 ms | <= 10 met |",
            "fragmented | 2.1 MiB/GiB | <= 2.5 met |",
            "2 TB sequential | 12 MiB | <= 93.15 met |",
        ] {
            assert!(text.contains(row), "{row} in\n{text}");
        }
        assert!(table(&[String::new()]).is_err());
    }
}
