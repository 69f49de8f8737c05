//! `cargo xtask test`: all checks, the same locally and in CI; `cargo xtask check`: those that install
//! nothing and need no guest.
//!
//! Prints one line per step, the free space that it needs and quick steps first; the first failure ends the run and prints its
//! output. Once the tests are built, everything else runs beside them: their processes wait more than
//! they compute, which leaves time for the lints, the guest and the bare machines. An emulated machine
//! that waits for a processor at every request is forty times slower, so the tests give way to it, and
//! the lints to both. It then lists the
//! ten slowest parts and ends with the test counts. A test with a missing requirement prints
//! `skipped: why` and returns. It is counted and listed as skipped, because a silent skip would look
//! like a pass.

use std::io::{IsTerminal, Write};
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::dist::Target;
use crate::parts::{self, Part};
use crate::run::{Way, capture, cargo, giving_way, package, root};
use crate::{bare, binaries, emulated, fio_examples, guest, packages, room, tidy};

/// The result of a step.
#[derive(Default)]
struct Report {
    ok: bool,
    /// Note printed after the time.
    note: String,
    /// Output to print on failure.
    output: String,
    tests: Tally,
    /// The parts of the step, if known.
    parts: Vec<Part>,
}

/// Test counts.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    passed: usize,
    failed: usize,
    /// Skipped tests, each with its reason.
    skipped: Vec<String>,
}

/// Environment variable that sets the number of tests that a binary runs at the same time.
const THREADS: &str = "RUST_TEST_THREADS";

/// What all checks take on two processors, from a clean clone: 1,415 to 2,690 s by the machine
/// (benches/RESULTS.md).
const MINUTES: &str = "25 to 45";

/// What has run so far.
#[derive(Default)]
struct Summary {
    tests: Tally,
    parts: Vec<Part>,
    /// The output of the steps that failed.
    failures: String,
}

/// Rooms whose tests run on an emulated processor: those that need neither a drive nor a device.
const ELSEWHERE: [&str; 15] = [
    "nvme",
    "fat",
    "emit",
    "workload",
    "record",
    "rig",
    "model",
    "controller",
    "fio",
    "analysis",
    "rules",
    "script",
    "methods",
    "compat",
    "store",
];

/// Runs all steps, or with `--target` the tests of some rooms on another machine.
pub fn run(arguments: &[String]) -> Result<ExitCode> {
    match arguments {
        [] if !is_agreed()? => Ok(ExitCode::FAILURE),
        [] => Ok(every_step(Extent::Everything)),
        [option, name] if option == "--target" => elsewhere(Target::named(name)?),
        _ => bail!("unknown arguments\ntry: cargo xtask test --target aarch64"),
    }
}

/// Tests rooms for another machine under qemu-user.
fn elsewhere(target: &Target) -> Result<ExitCode> {
    target.prepare()?;
    let mut command = cargo(&["test", "--no-fail-fast"]);
    for room in ELSEWHERE {
        command.args(["-p", &package(room)?]);
    }
    target.configure(&mut command, "");
    command.args(["--", "--show-output"]);
    if target.elf.1 == 32 {
        // The virtual drives of two tests exceed what a process can address.
        command.arg("--test-threads=1");
    }
    let (ok, output) = emulated::capture(target, &command)?;
    let tests = Tally::read(&output);
    tests.skipped.iter().for_each(|test| println!("skipped {test}"));
    if !ok {
        println!("{}", failures(&output).trim_end());
    }
    if tests.passed + tests.failed == 0 {
        bail!("no test ran; the last line of cargo: {}", output.lines().last().unwrap_or("none"));
    }
    println!("\nslowest\n{}", parts::slowest(parts::of_cargo(&output)));
    println!("{} passed, {} failed, {} skipped", tests.passed, tests.failed, tests.skipped.len());
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How much is tested.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    /// What this machine can do as it is.
    Installed,
    /// Also what needs further packages, and the emulated machines.
    Everything,
}

/// `cargo xtask check`: the steps that install nothing.
pub fn check() -> Result<ExitCode> {
    Ok(every_step(Extent::Installed))
}

/// Says what the test takes and installs. A person at a terminal is asked before something is
/// installed; CI is not.
fn is_agreed() -> Result<bool> {
    let missing = packages::missing(packages::FOR_TESTS);
    println!(
        "all checks: {MINUTES} minutes from a clean clone on 2 processors\n\
         installs:   {}\n\
         without packages and emulated machines: cargo xtask check\n",
        if missing.is_empty() { "nothing".into() } else { missing.join(" ") }
    );
    let is_asked = std::io::stdin().is_terminal() && std::env::var_os("CI").is_none();
    if missing.is_empty() || !is_asked {
        return Ok(true);
    }
    print!("install them and go on? [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Runs all steps: one after the other until the tests are built, up to the first failure, then side by
/// side.
fn every_step(extent: Extent) -> ExitCode {
    let summary = Mutex::default();
    let is_ready = in_sequence(&summary, extent);
    if let Some(built) = is_ready {
        println!("{:<24}the rest runs side by side", "");
        thread::scope(|scope| {
            scope.spawn(|| step(&summary, "lints", lints));
            scope.spawn(|| match extent {
                Extent::Everything => {
                    step(&summary, "bare metal", on_bare_metal);
                    // One of its scripts reads the images that the bare machines wrote.
                    step(&summary, "guest", in_guest);
                }
                Extent::Installed => drop(step(&summary, "emulated", without_machines)),
            });
            step(&summary, "tests", || tests(built, extent));
        });
    }
    let summary = summary.into_inner().unwrap_or_else(PoisonError::into_inner);
    print!("{}", summary.failures);
    let tests = summary.tests;
    println!("\nslowest\n{}", parts::slowest(summary.parts));
    println!("{} passed, {} failed, {} skipped", tests.passed, tests.failed, tests.skipped.len());
    if tests.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the steps up to the build of the tests; returns the test binaries if none has failed.
fn in_sequence(summary: &Mutex<Summary>, extent: Extent) -> Option<Vec<binaries::Package>> {
    let mut built = None;
    let room = || Ok(Report { ok: true, note: room::check()?, ..Report::default() });
    let install = || Ok(Report { ok: true, note: packages(), ..Report::default() });
    let build = || {
        let output = match binaries::build()? {
            Ok(packages) => {
                return Ok(Report {
                    ok: {
                        built = Some(packages);
                        true
                    },
                    ..Report::default()
                });
            }
            Err(output) => output,
        };
        Ok(Report { output, ..Report::default() })
    };
    let _ = step(summary, "room", room)
        && (extent == Extent::Installed || step(summary, "packages", install))
        && step(summary, "format", || command(&["fmt", "--all", "--check"]))
        && step(summary, "house rules", house_rules)
        && step(summary, "build", build);
    built
}

/// Runs a step and prints a line about it; returns whether it passed.
fn step(summary: &Mutex<Summary>, name: &str, run: impl FnOnce() -> Result<Report>) -> bool {
    let start = Instant::now();
    let report = run().unwrap_or_else(Report::broken);
    let seconds = start.elapsed().as_secs_f64();
    let mut summary = summary.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{name:<12} {seconds:>7.1} s   {}", report.words());
    report.tests.skipped.iter().for_each(|test| println!("{:<24}skipped {test}", ""));
    summary.parts.extend(if report.parts.is_empty() {
        vec![Part { name: name.into(), seconds }]
    } else {
        report.parts
    });
    summary.tests.add(report.tests);
    if !report.ok {
        summary.failures += &format!("\n{name}\n{}\n", report.output.trim_end());
        // A failed step counts even without tests, so the last line never looks like success.
        summary.tests.failed = summary.tests.failed.max(1);
    }
    report.ok
}

impl Report {
    /// A step that could not be run.
    fn broken(error: anyhow::Error) -> Report {
        Report { output: format!("{error:#}"), ..Report::default() }
    }

    fn words(&self) -> String {
        let word = if self.ok { "ok" } else { "FAILED" };
        format!("{word}   {}", self.note).trim_end().to_string()
    }
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped.extend(other.skipped);
    }

    /// Reads the output of `cargo test -- --show-output`.
    fn read(output: &str) -> Tally {
        let (mut tally, mut test, mut ignored) = (Tally::default(), "", 0);
        let mut failures = false;
        for line in output.lines() {
            let named = line.strip_prefix("---- ").and_then(|l| l.strip_suffix(" stdout ----"));
            if let Some(name) = named {
                // A failed test is no skipped one, whatever it prints.
                test = if failures { "" } else { name };
            } else if line == "failures:" {
                (failures, test) = (true, "");
            } else if let Some(why) = line.strip_prefix("skipped: ").filter(|_| !test.is_empty()) {
                tally.skipped.push(format!("{test}: {why}"));
                // Counted once, whatever else the test prints.
                test = "";
            } else if let Some(counts) = line.strip_prefix("test result: ") {
                failures = false;
                tally.passed += count(counts, " passed");
                tally.failed += count(counts, " failed");
                ignored += count(counts, " ignored");
            }
        }
        tally.passed = tally.passed.saturating_sub(tally.skipped.len());
        tally.skipped.extend((0..ignored).map(|_| "an ignored test".to_string()));
        tally
    }
}

/// The number before `word` in `ok. 3 passed; 0 failed; ...`.
fn count(counts: &str, word: &str) -> usize {
    let number = |part: &str| part.strip_suffix(word)?.rsplit(' ').next()?.parse().ok();
    counts.split(';').find_map(number).unwrap_or(0)
}

fn command(arguments: &[&str]) -> Result<Report> {
    let (ok, output) = capture(&mut cargo(arguments))?;
    Ok(Report { ok, output, ..Report::default() })
}

/// Installs packages and lists unavailable ones; tests that need one report it too.
fn packages() -> String {
    let installed = packages::install(packages::FOR_TESTS);
    match fio_examples::place() {
        Ok(_) => installed,
        Err(error) => format!("{installed}, without fio's examples ({error:#})"),
    }
}

fn house_rules() -> Result<Report> {
    let findings = tidy::findings()?;
    Ok(Report { ok: findings.is_empty(), output: findings.join("\n"), ..Report::default() })
}

/// All lints, as errors. clippy checks the workspace in a second way, of which nothing can be shared
/// with the build, but not its libraries: those are checked once. Nobody waits for them before the end.
fn lints() -> Result<Report> {
    let clippy = cargo(&["clippy", "-q", "--workspace", "--all-targets", "--", "-Dwarnings"]);
    let (ok, output) = capture(&mut giving_way(&clippy, Way::Idle))?;
    Ok(Report { ok, output, ..Report::default() })
}

/// Runs all tests of the workspace.
fn tests(packages: Vec<binaries::Package>, extent: Extent) -> Result<Report> {
    // Many tests wait for a process or a drive, so more of them run than there are processors.
    let processors = thread::available_parallelism().map_or(2, NonZero::get);
    let threads = std::env::var(THREADS).ok().and_then(|number| number.parse().ok());
    let place = match extent {
        Extent::Everything => fio_examples::place().ok(),
        Extent::Installed => fio_examples::unpacked(),
    };
    let variables: Vec<_> =
        place.map(|place| (fio_examples::VARIABLE, place)).into_iter().collect();
    let (ok, output) = binaries::run(packages, threads.unwrap_or(processors), &variables)?;
    let tests = Tally::read(&output);
    let note = format!("{} passed, {} skipped", tests.passed, tests.skipped.len());
    let parts = parts::of_cargo(&output);
    let output = if ok { output } else { failures(&output) };
    Ok(Report { ok, note, output, tests, parts })
}

/// Counts what only `cargo xtask test` runs.
fn without_machines() -> Result<Report> {
    let skipped = bare::names().map(|name| format!("bare {name}")).chain(guest::names()?);
    let skipped: Vec<_> = skipped.map(|name| format!("{name}: needs cargo xtask test")).collect();
    let note = format!("{} skipped", skipped.len());
    let tests = Tally { skipped, ..Tally::default() };
    Ok(Report { ok: true, note, tests, ..Report::default() })
}

/// Tests the driver on two emulated machines without an operating system.
fn on_bare_metal() -> Result<Report> {
    let manifest = root().join("bare/Cargo.toml").display().to_string();
    let (formatted, said) = capture(&mut cargo(&["fmt", "--check", "--manifest-path", &manifest]))?;
    if !formatted {
        return Ok(Report { output: said, ..Report::default() });
    }
    let (mut tests, mut parts, mut output) = (Tally::default(), Vec::new(), String::new());
    for verdict in bare::test() {
        let seconds = verdict.time.as_secs_f64();
        parts.push(Part { name: format!("bare {}", verdict.name), seconds });
        match (verdict.skipped, verdict.failure) {
            (Some(why), _) => tests.skipped.push(format!("bare {}: {why}", verdict.name)),
            (None, None) => tests.passed += 1,
            (None, Some(why)) => {
                tests.failed += 1;
                output += &format!("---- bare {} ----\n{}\n{why}\n", verdict.name, verdict.said);
            }
        }
    }
    let note = format!("{} passed, {} skipped", tests.passed, tests.skipped.len());
    Ok(Report { ok: tests.failed == 0, note, output, tests, parts })
}

/// Runs the guest's tests, on kernel devices that this machine lacks.
fn in_guest() -> Result<Report> {
    let (mut tests, mut parts) = (Tally::default(), Vec::new());
    if let Some(why) = guest::missing() {
        tests.skipped.push(format!("all: {why}"));
        return Ok(Report { ok: true, note: "no guest".into(), tests, ..Report::default() });
    }
    let mut output = String::new();
    let mut again = String::new();
    for verdict in guest::test_built()? {
        let seconds = verdict.time.as_secs_f64();
        parts.push(Part { name: format!("guest {}", verdict.name), seconds });
        if verdict.ok && verdict.again {
            again += &format!(", {} not on the first attempt", verdict.name);
        }
        match verdict.skipped {
            _ if !verdict.ok => {
                tests.failed += 1;
                output += &format!("---- {} ----\n{}\n", verdict.name, verdict.said);
            }
            Some(why) => tests.skipped.push(format!("{}: {why}", verdict.name)),
            None => tests.passed += 1,
        }
    }
    let note = format!("{} passed, {} skipped{again}", tests.passed, tests.skipped.len());
    Ok(Report { ok: tests.failed == 0, note, output, tests, parts })
}

/// The relevant output of a failed run: the compiler's messages and, for each binary, the failed
/// tests.
fn failures(output: &str) -> String {
    let begins =
        |line: &str| line.trim_start().starts_with("Running ") || line.starts_with("   Doc-tests ");
    let mut parts = vec![String::new()];
    for line in output.lines() {
        if begins(line) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            *part += &format!("{line}\n");
        }
    }
    let bad = parts.iter().filter(|part| !part.contains("test result: ok"));
    bad.map(|part| without_successes(part)).collect()
}

fn without_successes(part: &str) -> String {
    let mut inside = false;
    let mut keep = |line: &str| {
        inside = match line {
            "successes:" => true,
            "failures:" => false,
            _ => inside && !line.starts_with("test result: "),
        };
        let passed = line.starts_with("test ") && line.ends_with(" ... ok");
        let building = line.trim_start().starts_with("Compiling ");
        !(inside || passed || building)
    };
    part.lines().filter(|line| keep(line)).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
   Compiling x
warning: from the compiler
     Running unittests src/lib.rs (target/x)

running 4 tests
test a ... ok

successes:

---- a stdout ----
skipped: no loop devices
skipped: nor anything else

---- b stdout ----
hello

successes:
    a
    b

failures:

---- c stdout ----
skipped: is not what happened

test result: FAILED. 3 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.1s
     Running tests/y.rs (target/y)
test result: ok. 10 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s
";

    #[test]
    fn tests_are_counted_and_skipped_tests_are_named() {
        let tally = Tally::read(OUTPUT);
        assert_eq!((tally.passed, tally.failed), (12, 1));
        assert_eq!(tally.skipped[0], "a: no loop devices");
        assert_eq!(tally.skipped.len(), 3);
    }

    #[test]
    fn a_failed_step_counts_and_the_others_go_on() {
        let summary = Mutex::default();
        assert!(!step(&summary, "lints", || bail!("a warning")));
        let tests = Tally { passed: 2, ..Tally::default() };
        assert!(step(&summary, "tests", || Ok(Report { ok: true, tests, ..Report::default() })));
        let summary = summary.into_inner().expect("a summary");
        assert_eq!((summary.tests.passed, summary.tests.failed), (2, 1));
        assert!(summary.failures.contains("a warning"), "{}", summary.failures);
        assert_eq!(summary.parts.len(), 2);
    }

    #[test]
    fn only_the_failed_parts_of_a_failure_are_shown() {
        let shown = failures(OUTPUT);
        assert!(shown.contains("---- c stdout ----") && shown.contains("1 failed"), "{shown}");
        assert!(shown.contains("from the compiler"), "{shown}");
        for other in ["hello", "test a", "tests/y.rs", "Compiling"] {
            assert!(!shown.contains(other), "{other}: {shown}");
        }
    }
}
