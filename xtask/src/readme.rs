//! `cargo xtask readme`: records the answers in README's table of questions.
//!
//! The table contains the commands. This chore runs each command in the session of seed 1 and
//! writes its headline answer to the table. A test of the command checks the table for the same
//! words, so that README cannot promise an answer that the program does not give.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use serde_json::Value;
use tempfile::TempDir;

use crate::run::{cargo, output, program, root};

/// Markers around the table.
const BEGIN: &str = "<!-- answers: cargo xtask readme -->";
const END: &str = "<!-- /answers -->";

/// A row of the table.
pub struct Question<'a> {
    question: &'a str,
    /// The command as README spells it, in backticks.
    pub command: &'a str,
}

impl Question<'_> {
    /// The question in a line of the table; `None` for its head.
    fn parse(line: &str) -> Option<Question<'_>> {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, question, command, ..] = cells[..] else { return None };
        command.starts_with("`ssdyno ").then_some(Question { question, command })
    }

    /// The record of this program's answer in the session of seed 1, with a store of its own.
    pub fn record(&self, mut ssdyno: Command) -> Result<Value> {
        let store = TempDir::new()?;
        let words = self.command.trim_matches('`').split(' ').skip(1);
        ssdyno.args(words.map(|word| word.trim_matches('\'')));
        ssdyno.args(["--seed", "1", "--json", "--quiet"]);
        ssdyno.env("XDG_DATA_HOME", store.path()).env("XDG_STATE_HOME", store.path());
        // The answer "counterfeit" is also a failed check. A slow machine waits for its store, and says
        // so on stderr.
        let said = ssdyno.output().with_context(|| format!("cannot run {ssdyno:?}"))?;
        serde_json::from_slice(&said.stdout).with_context(|| {
            let said = String::from_utf8_lossy(&said.stderr);
            format!("no record from {}: {}", self.command, said.trim_end())
        })
    }
}

/// The questions in the text of README.
pub fn questions(readme: &str) -> Result<Vec<Question<'_>>> {
    Ok(table(readme)?.1.lines().filter_map(Question::parse).collect())
}

/// README before, in and after the table.
fn table(readme: &str) -> Result<(&str, &str, &str)> {
    let (before, rest) = readme.split_once(BEGIN).context("README.md has no table of answers")?;
    let (table, after) = rest.split_once(END).context("the table of answers has no end")?;
    Ok((before, table, after))
}

/// Records all answers.
pub fn run() -> Result<ExitCode> {
    output(&mut cargo(&["build", "--release", "-p", "ssdyno"]))?;
    let path = root().join("README.md");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let (before, table, after) = table(&text)?;
    let binary = root().join("target/release/ssdyno");
    let rows: Result<Vec<String>> = table.trim().lines().map(|line| row(line, &binary)).collect();
    let table = rows?.join("\n");
    fs::write(&path, format!("{before}{BEGIN}\n{table}\n{END}{after}"))?;
    Ok(ExitCode::SUCCESS)
}

/// The row with its command's answer; other lines unchanged.
fn row(line: &str, binary: &Path) -> Result<String> {
    let Some(asked) = Question::parse(line) else { return Ok(line.to_string()) };
    let record = asked.record(program(binary, &[]))?;
    let answer = record["answer"]["headline"].as_str().context("a run without an answer")?;
    println!("{}  {answer}", asked.question);
    Ok(format!("| {} | {} | {answer} |", asked.question, asked.command))
}
