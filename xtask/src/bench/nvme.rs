//! `cargo xtask bench nvme`: the NVMe driver with the simulated controller.
//!
//! Runs a million commands with every fault, twice: with plain doorbells, and with shadow doorbells
//! and a controller that dozes. None may be lost, corrupt or hung. Callgrind counts the driver's
//! instructions per operation at depth 16: everything below the two functions of the example
//! `instructions` that call the driver, minus the controller's side of a doorbell. Doorbells are
//! counted per operation in batches of 16. All figures are counts, so one run is enough and other
//! load does not matter.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Effort, Outcome, word};
use crate::run::{capture, cargo, find, output, program, root};

const COMMANDS: &str = "1000000";
const COMMANDS_TINY: &str = "5000";
/// Operations, and bytes per operation.
const COUNTED: [(&str, &str, &str); 3] =
    [("16000", "4096", "4 KiB"), ("4800", "65536", "64 KiB"), ("1600", "524288", "512 KiB")];
const INSTRUCTIONS_MAX: f64 = 110.0;
const DOORBELLS_MAX: f64 = 0.15;

/// Runs all parts.
pub fn run(effort: Effort) -> Result<Outcome> {
    output(&mut cargo(&["build", "--release", "-q", "-p", "controller", "--examples"]))?;
    let mut table = String::from("| figure | goal | measured | |\n|---|---|---|---|\n");
    let commands = if effort.is_whole() { COMMANDS } else { COMMANDS_TINY };
    let mut met = torture(&[commands], "with every fault", &mut table)?;
    met &=
        torture(&[commands, "dozing"], "with every fault, shadow doorbells, dozing", &mut table)?;
    match find("valgrind") {
        Some(_) => {
            for (operations, bytes, name) in COUNTED {
                met &= count(operations, bytes, name, &mut table)?;
            }
        }
        None => writeln!(table, "| instructions and doorbells | | skipped: no valgrind | |")?,
    }
    Ok(Outcome::Ran { met, text: table })
}

fn example(name: &str) -> String {
    root().join("target/release/examples").join(name).display().to_string()
}

/// Runs commands with faults.
fn torture(words: &[&str], what: &str, table: &mut String) -> Result<bool> {
    let (sound, said) = capture(&mut program(example("torture"), words))?;
    let line = said.lines().rfind(|line| line.starts_with('{')).unwrap_or_default();
    let seen: Value =
        serde_json::from_str(line).with_context(|| format!("torture said: {said}"))?;
    let figures = ["lost", "corrupt", "hung", "failed", "strays", "overdue", "resets", "doorbells"];
    let listed: Vec<String> = figures.iter().map(|name| format!("{name} {}", seen[name])).collect();
    writeln!(
        table,
        "| {} commands {what} | 0 lost, 0 corrupt, not hung | {} | {} |",
        seen["commands"],
        listed.join(", "),
        word(sound),
    )?;
    Ok(sound)
}

/// Counts instructions and doorbells for a block size.
fn count(operations: &str, bytes: &str, name: &str, table: &mut String) -> Result<bool> {
    let file = root().join(format!("target/callgrind.{}", std::process::id()));
    let said = callgrind(&file, operations, bytes)?;
    let annotated =
        output(&mut program("callgrind_annotate", &["--inclusive=yes", &file.to_string_lossy()]));
    std::fs::remove_file(&file)?;
    let annotated = annotated?;
    let part = |function: &str| {
        let count = inclusive(&annotated, function);
        count.with_context(|| format!("no {function} in: {annotated}"))
    };
    let driver = part("driver_pushes")? + part("driver_polls")?;
    let each = |total: f64| total / operations.parse().unwrap_or(f64::NAN);
    // Without a count of `write32`, the figure is too high, never too low.
    let instructions = each(driver - inclusive(&annotated, "write32").unwrap_or(0.0));
    let met = instructions <= INSTRUCTIONS_MAX;
    writeln!(
        table,
        "| instructions, {name}, depth 16 | <= {INSTRUCTIONS_MAX} | {instructions:.0} | {} |",
        word(met)
    )?;
    let counted = said.lines().find_map(|line| {
        line.strip_suffix(" doorbells")?.rsplit(' ').next()?.parse().ok().map(each)
    });
    let doorbells = counted.with_context(|| format!("no doorbells in: {said}"))?;
    let rare = doorbells <= DOORBELLS_MAX;
    writeln!(
        table,
        "| doorbells, {name}, batches of 16 | <= {DOORBELLS_MAX} | {doorbells:.3} | {} |",
        word(rare)
    )?;
    Ok(met && rare)
}

fn callgrind(file: &Path, operations: &str, bytes: &str) -> Result<String> {
    let out = format!("--callgrind-out-file={}", file.display());
    let words = [
        "--tool=callgrind",
        "--collect-atstart=no",
        "--toggle-collect=*driver_pushes*",
        "--toggle-collect=*driver_polls*",
        &out,
        &example("instructions"),
        operations,
        bytes,
    ];
    output(&mut program("valgrind", &words))
}

/// The largest inclusive count of a function in callgrind's table; `None` if it is not there.
fn inclusive(annotated: &str, function: &str) -> Option<f64> {
    let counts = annotated.lines().filter(|line| line.contains(function)).filter_map(|line| {
        line.trim_start().split([' ', '(']).next()?.replace(',', "").parse::<f64>().ok()
    });
    counts.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_inclusive_count_of_a_function_is_used() {
        let annotated = "\
1,422,000 (65.36%)  examples/instructions.rs:instructions::driver_pushes [x]
  801,000 (36.81%)  queue.rs:instructions::driver_pushes
  143,298 ( 6.59%)  simulated.rs:<Host as Mmio>::write32 [x]
";
        assert_eq!(inclusive(annotated, "driver_pushes"), Some(1_422_000.0));
        assert_eq!(inclusive(annotated, "write32"), Some(143_298.0));
        assert_eq!(inclusive(annotated, "driver_polls"), None);
    }
}
