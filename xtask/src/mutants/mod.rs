//! `cargo xtask mutants ROOM [--sample N] [--seed S]`: whether a room's tests detect changes to its
//! code.
//!
//! cargo-mutants changes one expression at a time and runs the room's tests. A mutant that no test
//! catches is a *survivor*. Each survivor is either caught by a new test or listed in
//! `xtask/survivors.toml` with the reason why it does not matter. The command ends with exit code 1
//! if a survivor is not listed, or a listed mutant no longer exists. It installs cargo-mutants if
//! necessary; `cargo xtask test` never does.
//!
//! The same code and seed give the same sample: the first N mutants that build, from a list
//! shuffled with the seed.

mod listed;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::run::{cargo, output, package};
use listed::{Listed, Survivor};

/// The rooms and the files to mutate; no files means all.
const ROOMS: [(&str, &[&str]); 6] = [
    ("analysis", &[]),
    ("journal", &[]),
    ("rules", &[]),
    ("script", &[]),
    ("methods", &[]),
    ("drive", &["crates/drive/src/guard.rs", "crates/drive/src/open/*.rs"]),
];

/// Seconds after which the tests of a mutant count as hanging.
const TIMEOUT_S: &str = "600";

/// A change to the code.
#[derive(Clone, Debug)]
struct Mutant {
    /// The name given by cargo-mutants: file, line, column and change.
    name: String,
    /// Number of the changed line, from 1.
    number: usize,
    survivor: Survivor,
}

/// The result of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Caught,
    TimedOut,
    Survived,
    /// It does not compile.
    Unviable,
}

/// The parsed command line.
#[derive(Debug, PartialEq)]
struct Request<'a> {
    room: &'a str,
    package: String,
    files: &'a [&'a str],
    sample: usize,
    seed: u64,
}

/// Runs the mutants of a room.
pub fn run(words: &[String]) -> Result<ExitCode> {
    let request = parse(words)?;
    install()?;
    let tree = tree::copy(request.room)?;
    let mutants = list(&tree, &request)?;
    let listed = Listed::read()?;
    let stale = listed.stale(request.room, mutants.iter().map(|mutant| &mutant.survivor));
    let order = shuffled(mutants.clone(), request.seed);
    let outcomes = sample(&tree, &request, &order)?;
    println!("{}", table(&request, &mutants, &outcomes, &listed));
    let mut bad = false;
    for (mutant, _) in outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Survived) {
        match listed.why(&mutant.survivor) {
            Some(why) => println!("listed    {}\n          {why}", mutant.name),
            None => {
                bad = true;
                println!("SURVIVED  {}\n          {}", mutant.name, mutant.survivor.line);
            }
        }
    }
    for survivor in &stale {
        bad = true;
        println!("STALE     {}: listed, but no such mutant exists", survivor.mutant);
    }
    Ok(if bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn parse(words: &[String]) -> Result<Request<'_>> {
    const USAGE: &str = "usage: cargo xtask mutants ROOM [--sample N] [--seed S]; rooms:";
    let value = |name: &str, default: u64| match words.iter().position(|word| word == name) {
        Some(at) => words
            .get(at + 1)
            .and_then(|word| word.parse().ok())
            .with_context(|| format!("{name} takes a whole number")),
        None => Ok(default),
    };
    let room = words.first().and_then(|word| ROOMS.iter().find(|(room, _)| room == word));
    let Some((room, files)) = room else {
        bail!("{USAGE} {}", ROOMS.map(|(room, _)| room).join(", "));
    };
    let sample = value("--sample", u64::MAX)?.try_into().unwrap_or(usize::MAX);
    Ok(Request { room, package: package(room)?, files, sample, seed: value("--seed", 1)? })
}

/// Installs cargo-mutants if it is missing.
fn install() -> Result<()> {
    if output(&mut cargo(&["mutants", "--version"])).is_ok() {
        return Ok(());
    }
    println!("installing cargo-mutants, which takes some minutes");
    output(&mut cargo(&["install", "cargo-mutants", "--locked"])).map(drop)
}

/// cargo-mutants for one room, on the copy of the tree.
fn cargo_mutants(tree: &Path, request: &Request, arguments: &[&str]) -> Command {
    let mut command = cargo(&["mutants", "--package", &request.package, "--colors=never"]);
    for file in request.files {
        command.args(["--file", file]);
    }
    command.args(arguments).current_dir(tree);
    command
}

fn list(tree: &Path, request: &Request) -> Result<Vec<Mutant>> {
    // Only standard output: warnings go to stderr.
    let said = cargo_mutants(tree, request, &["--list", "--json"]).output()?;
    let json: Value = serde_json::from_slice(&said.stdout).with_context(|| {
        format!("cargo mutants --list: {}", String::from_utf8_lossy(&said.stderr).trim_end())
    })?;
    let mutants = json.as_array().context("a list of mutants")?;
    mutants.iter().map(|mutant| read_mutant(tree, mutant).context("a mutant")).collect()
}

fn read_mutant(tree: &Path, json: &Value) -> Option<Mutant> {
    let (name, file) = (json["name"].as_str()?, json["file"].as_str()?);
    let number = usize::try_from(json["span"]["start"]["line"].as_u64()?).ok()?;
    let text = fs::read_to_string(tree.join(file)).ok()?;
    let line = text.lines().nth(number.checked_sub(1)?)?;
    // FILE:LINE:COLUMN: CHANGE
    let change = name.split_once(": ")?.1;
    let survivor = Survivor { mutant: format!("{file}: {change}"), line: line.trim().to_string() };
    Some(Mutant { name: name.to_string(), number, survivor })
}

/// Shuffles in an order that depends only on the seed.
fn shuffled<T>(mut all: Vec<T>, seed: u64) -> Vec<T> {
    let mut random = fuzz::Random::new(seed);
    for end in (1..all.len()).rev() {
        all.swap(end, random.below(end + 1));
    }
    all
}

/// Runs mutants in this order until enough have built.
fn sample(tree: &Path, request: &Request, order: &[Mutant]) -> Result<Vec<(Mutant, Outcome)>> {
    let mut outcomes: Vec<(Mutant, Outcome)> = Vec::new();
    loop {
        let viable = outcomes.iter().filter(|(_, outcome)| *outcome != Outcome::Unviable).count();
        let missing = request.sample.saturating_sub(viable);
        let next: Vec<_> = order.iter().skip(outcomes.len()).take(missing).collect();
        if next.is_empty() {
            return Ok(outcomes);
        }
        let baseline = if outcomes.is_empty() { "run" } else { "skip" };
        let found = batch(tree, request, &next, baseline)?;
        for mutant in next {
            let outcome = found.get(&mutant.name).with_context(|| mutant.name.clone())?;
            outcomes.push((mutant.clone(), *outcome));
        }
    }
}

fn batch(
    tree: &Path,
    request: &Request,
    mutants: &[&Mutant],
    baseline: &str,
) -> Result<BTreeMap<String, Outcome>> {
    let baseline = format!("--baseline={baseline}");
    let fixed = ["--in-place", "--timeout", TIMEOUT_S, &baseline];
    let mut command = cargo_mutants(tree, request, &fixed);
    // `--re` in cargo-mutants 27.1 does not exclude mutants that delete a struct field. A diff that
    // touches only the chosen lines does.
    let touched = tree.join("mutants.diff");
    fs::write(&touched, diff(tree, mutants)?)?;
    command.arg("--in-diff").arg(&touched);
    for mutant in mutants {
        command.args(["--re", &format!("^{}$", escaped(&mutant.name))]);
    }
    // The exit code only shows that some survived; the outcomes are in a file.
    let status = command.status().context("cargo mutants")?;
    let path = tree.join("mutants.out/outcomes.json");
    let text = fs::read_to_string(&path).with_context(|| format!("cargo mutants: {status}"))?;
    read_outcomes(&serde_json::from_str(&text)?).context("outcomes.json, or a failed baseline")
}

/// A diff that adds the line of each mutant.
fn diff(tree: &Path, mutants: &[&Mutant]) -> Result<String> {
    let mut files: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for mutant in mutants {
        files.entry(mutant.survivor.file()).or_default().insert(mutant.number);
    }
    let mut diff = String::new();
    for (file, numbers) in files {
        let text = fs::read_to_string(tree.join(file)).with_context(|| file.to_string())?;
        let lines: Vec<_> = text.lines().collect();
        diff += &format!("--- a/{file}\n+++ b/{file}\n");
        for (before, number) in numbers.into_iter().enumerate() {
            let old = number - 1 - before;
            diff += &format!("@@ -{old},0 +{number},1 @@\n+{}\n", lines[number - 1]);
        }
    }
    Ok(diff)
}

fn read_outcomes(json: &Value) -> Option<BTreeMap<String, Outcome>> {
    let mut outcomes = BTreeMap::new();
    for outcome in json["outcomes"].as_array()? {
        let name = outcome["scenario"]["Mutant"]["name"].as_str();
        let kind = match outcome["summary"].as_str()? {
            "Success" if name.is_none() => continue,
            "CaughtMutant" => Outcome::Caught,
            "MissedMutant" => Outcome::Survived,
            "Timeout" => Outcome::TimedOut,
            "Unviable" => Outcome::Unviable,
            _ => return None,
        };
        outcomes.insert(name?.to_string(), kind);
    }
    Some(outcomes)
}

/// A regular expression that matches only this text.
fn escaped(text: &str) -> String {
    let special = |c: char| r"\.+*?()|[]{}^$#&-~".contains(c);
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

/// A row in the format of benches/RESULTS.md.
fn table(request: &Request, all: &[Mutant], run: &[(Mutant, Outcome)], listed: &Listed) -> String {
    let count = |wanted| run.iter().filter(|(_, outcome)| *outcome == wanted).count();
    let survived = count(Outcome::Survived);
    let reasons = run.iter().filter(|(mutant, outcome)| {
        *outcome == Outcome::Survived && listed.why(&mutant.survivor).is_some()
    });
    let viable = run.len() - count(Outcome::Unviable);
    format!(
        "| room | mutants | seed | viable, run | caught | timed out | survived | of those listed |\n\
         |---|---|---|---|---|---|---|---|\n\
         | {} | {} | {} | {viable} | {} | {} | {survived} | {} |\n",
        request.room,
        all.len(),
        request.seed,
        count(Outcome::Caught),
        count(Outcome::TimedOut),
        reasons.count(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(String::from).collect()
    }

    #[test]
    fn the_command_line_is_read() {
        let given = words("journal --sample 40 --seed 9");
        let request =
            Request { room: "journal", package: "journal".into(), files: &[], sample: 40, seed: 9 };
        assert_eq!(parse(&given).expect("read"), request);
        assert_eq!(parse(&words("drive")).expect("read").sample, usize::MAX);
        for bad in ["", "attic", "journal --sample", "journal --seed x"] {
            assert!(parse(&words(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_seed_gives_a_fixed_order_of_all_mutants() {
        let order = |seed| shuffled((0..50).collect::<Vec<_>>(), seed);
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(3);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn outcomes_are_read_by_name() {
        let json = serde_json::json!({"outcomes": [
            {"scenario": "Baseline", "summary": "Success"},
            {"scenario": {"Mutant": {"name": "a"}}, "summary": "CaughtMutant"},
            {"scenario": {"Mutant": {"name": "b"}}, "summary": "MissedMutant"},
        ]});
        let found = read_outcomes(&json).expect("read");
        assert_eq!(found.len(), 2);
        assert_eq!((found["a"], found["b"]), (Outcome::Caught, Outcome::Survived));
        let failed =
            serde_json::json!({"outcomes": [{"scenario": "Baseline", "summary": "Failure"}]});
        assert_eq!(read_outcomes(&failed), None);
    }

    #[test]
    fn escaped_names_match_literally() {
        assert_eq!(escaped("a.rs:1: f(x) -> Vec<[u8; 2]>"), r"a\.rs:1: f\(x\) \-> Vec<\[u8; 2\]>");
    }
}
