//! `cargo xtask readme`: records the answers in README's table of questions.
//!
//! The table contains the commands. This chore runs each command in the session of seed 1 and
//! writes its headline answer to the table. A test of the command checks the table for the same
//! words, so that README cannot promise an answer that the program does not give.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::run::{cargo, output, program, root};

/// Markers around the table.
const BEGIN: &str = "<!-- answers: cargo xtask readme -->";
const END: &str = "<!-- /answers -->";

/// Records all answers.
pub fn run() -> Result<ExitCode> {
    output(&mut cargo(&["build", "--release", "-p", "ssdyno"]))?;
    let path = root().join("README.md");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let (before, rest) = text.split_once(BEGIN).context("README.md has no table of answers")?;
    let (table, after) = rest.split_once(END).context("the table of answers has no end")?;
    let store = TempDir::new()?;
    let rows: Result<Vec<String>> = table.trim().lines().map(|line| row(line, &store)).collect();
    let table = rows?.join("\n");
    fs::write(&path, format!("{before}{BEGIN}\n{table}\n{END}{after}"))?;
    Ok(ExitCode::SUCCESS)
}

/// The row with its command's answer; other lines unchanged.
fn row(line: &str, store: &TempDir) -> Result<String> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [_, question, command, ..] = cells[..] else { return Ok(line.to_string()) };
    let Some(words) = command.strip_prefix("`ssdyno ").and_then(|rest| rest.strip_suffix('`'))
    else {
        return Ok(line.to_string());
    };
    let store = store.path().join("runs.sqlite");
    let binary = root().join("target/release/ssdyno");
    let words: Vec<&str> = words.split(' ').map(|word| word.trim_matches('\'')).collect();
    let mut ssdyno = program(binary, &words);
    ssdyno.args(["--seed", "1", "--json", "--quiet", "--store"]).arg(store);
    let record: serde_json::Value = serde_json::from_str(&output(&mut ssdyno)?)?;
    let answer = record["answer"]["headline"].as_str().context("a run without an answer")?;
    println!("{question}  {answer}");
    Ok(format!("| {question} | {command} | {answer} |"))
}
