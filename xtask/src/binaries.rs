//! The test binaries of the workspace: cargo builds all of them, and two packages at a time run theirs.
//!
//! cargo itself runs one binary after the other, and most leave a processor idle: their tests wait for
//! processes and drives, or there is one long one. The binaries of a package still run one after the
//! other, because they share loop devices, mounts and files.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::run::{Way, capture, cargo, giving_way, program};

/// Packages whose tests run at the same time.
const TOGETHER: usize = 2;

/// How the tests give way to the emulated machines: a share that still keeps their deadlines.
const WAY: Way = Way::Nice(5);

/// A test binary.
struct Binary {
    /// As cargo names it: `unittests src/lib.rs`, or `tests/it/main.rs`.
    name: String,
    path: PathBuf,
}

/// The test binaries of a package.
pub struct Package {
    directory: PathBuf,
    /// Unit tests first, as cargo runs them.
    binaries: Vec<Binary>,
}

/// Builds the whole workspace at once: separate builds would rebuild the dependencies with different
/// features. Returns the packages, those that were built last first, because their tests take longest;
/// or the compiler's output.
pub fn build() -> Result<std::result::Result<Vec<Package>, String>> {
    // Without the examples, which no test runs: the lints check them.
    let words = ["test", "--workspace", "--tests", "--no-run", "--message-format=json"];
    let (built, said) = capture(&mut cargo(&words))?;
    let message = |line: &str| serde_json::from_str::<Value>(line).map_err(|_| line.to_string());
    let (mut packages, mut errors) = (Vec::<Package>::new(), String::new());
    for message in said.lines().map(message) {
        match message {
            Err(line) => errors += &(line + "\n"),
            Ok(message) if message["reason"] == "compiler-message" => {
                errors += message["message"]["rendered"].as_str().unwrap_or_default();
            }
            Ok(message) if message["profile"]["test"] == true => add(&mut packages, &message)?,
            Ok(_) => {}
        }
    }
    packages.iter_mut().for_each(|p| p.binaries.sort_by_key(|binary| !binary.is_of_units()));
    packages.reverse();
    Ok(if built { Ok(packages) } else { Err(errors) })
}

/// Adds the binary that a message of cargo announces.
fn add(packages: &mut Vec<Package>, message: &Value) -> Result<()> {
    let path =
        |value: &Value| value.as_str().map(PathBuf::from).context("a path in cargo's output");
    if message["executable"].is_null() {
        return Ok(());
    }
    let (manifest, source) =
        (path(&message["manifest_path"])?, path(&message["target"]["src_path"])?);
    let directory = manifest.parent().unwrap_or(Path::new("/")).to_path_buf();
    let source = source.strip_prefix(&directory).unwrap_or(&source).display().to_string();
    let is_of_units = message["target"]["kind"][0] != "test";
    let name = if is_of_units { format!("unittests {source}") } else { source };
    let binary = Binary { name, path: path(&message["executable"])? };
    match packages.iter_mut().find(|package| package.directory == directory) {
        Some(package) => package.binaries.push(binary),
        None => packages.push(Package { directory, binaries: vec![binary] }),
    }
    Ok(())
}

/// Runs all tests with this number of threads for each binary, and these variables. Returns whether
/// all passed, and the output of cargo's form.
pub fn run(
    packages: Vec<Package>,
    threads: usize,
    variables: &[(&str, PathBuf)],
) -> Result<(bool, String)> {
    let run_one = |package: &Package, binary: &Binary| -> Result<(bool, String)> {
        let mut command = program(&binary.path, &["--show-output"]);
        command.current_dir(&package.directory).env("CARGO_MANIFEST_DIR", &package.directory);
        command.arg(format!("--test-threads={threads}")).envs(variables.iter().cloned());
        let (passed, said) = capture(&mut giving_way(&command, WAY))?;
        let heading = format!("     Running {} ({})\n", binary.name, binary.path.display());
        Ok((passed, heading + &said))
    };
    let queue = Mutex::new(VecDeque::from(packages));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || -> Result<(bool, String)> {
        let (mut passed, mut output) = (true, String::new());
        while let Some(package) = next() {
            for binary in &package.binaries {
                let (ok, said) = run_one(&package, binary)?;
                passed &= ok;
                output += &said;
            }
        }
        Ok((passed, output))
    };
    let words = ["test", "--workspace", "--doc", "--no-fail-fast", "--", "--show-output"];
    let documentation = || capture(&mut giving_way(&cargo(&words), WAY));
    let results = thread::scope(|scope| {
        let mut workers = vec![scope.spawn(documentation)];
        workers.extend((0..TOGETHER).map(|_| scope.spawn(work)));
        workers.into_iter().map(|worker| worker.join().expect("a worker")).collect::<Vec<_>>()
    });
    let (mut passed, mut output) = (true, String::new());
    for result in results {
        let (ok, said) = result?;
        passed &= ok;
        output += &said;
    }
    Ok((passed, output))
}

impl Binary {
    fn is_of_units(&self) -> bool {
        self.name.starts_with("unittests ")
    }
}
