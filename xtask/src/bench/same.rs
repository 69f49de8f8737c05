//! `cargo xtask bench same REV`: whether every method says on virtual drives what it said in an
//! earlier commit.
//!
//! Virtual drives repeat bit for bit, so the records of both commits must be equal in every field
//! that does not describe the run itself (number, time, host, program). Those are the fields in which
//! two runs of the earlier program differ; they are not compared.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use super::against::{self, Build};
use super::places::Bench;
use super::results;

/// An eMMC of the first laptops, a USB stick, and an NVMe drive.
const DRIVES: [&str; 3] = ["mmc-kingston-256m", "usb-16k", "samsung-980-1t"];

/// Limits of every run: the SNIA tests take a day, and a pass over a large drive minutes.
const LIMITS: [&str; 6] = ["--seed", "7", "--time", "60s", "--size", "256MiB"];

/// How many of these words precede `--size`, which some methods refuse.
const WITHOUT_SIZE: usize = 4;

/// Fields of the program and of this machine, in which both runs of the earlier program may agree.
const ELSEWHERE: [&str; 2] = ["/plan/command/0", "/environment/load"];

/// What a run printed.
struct Said {
    exit_code: Option<i32>,
    record: Value,
    errors: String,
}

/// Compares both commits; fails if a record differs.
pub fn run(revision: &str) -> Result<ExitCode> {
    let bench = Bench::new()?;
    let builds = against::builds(&bench, revision)?;
    let methods = methods(&builds.new)?;
    let (mut runs, mut measured, mut differences) = (0, 0, Vec::new());
    for drive in DRIVES {
        for method in &methods {
            // Errors name the store, so both programs have the same.
            let run = |build: &Build| run_method(build, &bench.path("store.sqlite"), drive, method);
            let (old, again, new) = (run(&builds.old)?, run(&builds.old)?, run(&builds.new)?);
            runs += 1;
            measured += usize::from(new.exit_code == Some(0));
            let paths = differing(&old.record, &new.record);
            let unstable = differing(&old.record, &again.record);
            let paths: Vec<_> =
                paths.difference(&unstable).filter(|path| !is_elsewhere(path)).collect();
            let is_same = old.exit_code == new.exit_code && old.errors == new.errors;
            if !paths.is_empty() || !is_same {
                differences.push(format!("{method} on sim:{drive}: {}", words(&old, &new, &paths)));
            }
        }
    }
    let text = format!(
        "{runs} runs: {} methods on {}, with {}; {measured} of them measured (the others refuse the \
         drive, which is compared, too). {} differ.\n\n{}",
        methods.len(),
        DRIVES.map(|drive| format!("`sim:{drive}`")).join(", "),
        LIMITS.join(" "),
        differences.len(),
        differences.iter().map(|line| format!("- {line}\n")).collect::<String>()
    );
    print!("{text}");
    results::write(
        "records of an earlier commit",
        &format!("cargo xtask bench same {revision}"),
        &text,
    )?;
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn methods(build: &Build) -> Result<Vec<String>> {
    let list = Command::new(&build.command).args(["methods", "--json"]).output()?;
    let list: Value = serde_json::from_slice(&list.stdout).context("the list of methods")?;
    let methods = list.as_array().into_iter().flatten();
    Ok(methods.filter_map(|method| Some(method["name"].as_str()?.to_string())).collect())
}

/// Runs a method on a virtual drive, with a store of its own.
fn run_method(build: &Build, store: &Path, drive: &str, method: &str) -> Result<Said> {
    let limited = run_with(&LIMITS, build, store, [drive, method])?;
    if limited.exit_code == Some(2) {
        return run_with(&LIMITS[..WITHOUT_SIZE], build, store, [drive, method]);
    }
    Ok(limited)
}

fn run_with(
    options: &[&str],
    build: &Build,
    store: &Path,
    [drive, method]: [&str; 2],
) -> Result<Said> {
    let _ = std::fs::remove_file(store);
    let output = Command::new(&build.command)
        .args(["run", &format!("sim:{drive}"), "-m", method, "--json", "--quiet", "--store"])
        .arg(store)
        .args(options)
        .stdin(Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let record = text.lines().rfind(|line| line.starts_with('{'));
    Ok(Said {
        exit_code: output.status.code(),
        record: record.map_or(Ok(Value::Null), serde_json::from_str)?,
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// The paths of the fields in which two values differ.
fn differing(left: &Value, right: &Value) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    compare("", left, right, &mut paths);
    paths
}

fn compare(path: &str, left: &Value, right: &Value, paths: &mut BTreeSet<String>) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            for key in left.keys().chain(right.keys()).collect::<BTreeSet<_>>() {
                let [left, right] = [left, right].map(|side| side.get(key).unwrap_or(&Value::Null));
                compare(&format!("{path}/{key}"), left, right, paths);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                compare(&format!("{path}/{index}"), left, right, paths);
            }
        }
        _ if left == right => {}
        _ => drop(paths.insert(path.to_string())),
    }
}

fn is_elsewhere(path: &str) -> bool {
    ELSEWHERE.iter().any(|field| path.starts_with(field))
}

/// How two runs differ: the first field with both values.
fn words(old: &Said, new: &Said, paths: &[&String]) -> String {
    let field = paths.first().map(|path| {
        let [old, new] = [old, new].map(|said| said.record.pointer(path).unwrap_or(&Value::Null));
        format!("{} fields, first `{path}`: {old}, now {new}", paths.len())
    });
    let exit = |said: &Said| format!("exit code {:?}, {:?}", said.exit_code, said.errors.trim());
    field.unwrap_or_else(|| format!("{}; now {}", exit(old), exit(new)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_differ_are_named_whole() {
        let old = json!({ "a": 1, "b": [1, { "c": 2 }], "d": [1] });
        let new = json!({ "a": 1, "b": [1, { "c": 3 }], "d": [1, 2], "e": null });
        let paths: Vec<_> = differing(&old, &new).into_iter().collect();
        assert_eq!(paths, ["/b/1/c", "/d"]);
    }
}
