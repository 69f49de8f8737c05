//! `cargo xtask bench cuts`, `flips`, `guard`, `kills` and `unsteady` repeat tests of the suite as
//! often as docs/safety.md promises; `plans` extends one to longer methods, and `iozone-against`
//! one to more command lines. `attacks` repeats those that must hold whatever happens to a run. The
//! tests are in the crates that make the promises; this module contains only their numbers.

use std::process::ExitCode;
use std::slice;

use anyhow::{Context, Result};

use super::results;
use crate::run::{capture, cargo};

/// Tests to repeat.
pub struct Promise {
    name: &'static str,
    /// The tests, as arguments of `cargo test`.
    tests: &'static [&'static [&'static str]],
    /// The environment variable with the number of repetitions or seconds.
    variable: &'static str,
    /// Repetitions, or seconds.
    times: u32,
}

/// Power cuts of the journal and its recovery, and of the store.
pub const CUTS: Promise = Promise {
    name: "cuts",
    tests: &[
        &["--release", "-p", "journal", "--test", "it", "cuts::"],
        &["--release", "-p", "store", "--lib", "cut_tests"],
    ],
    variable: "SSDYNO_CUTS",
    times: 100_000,
};

/// File names that change while the file is opened for writing.
pub const FLIPS: Promise = Promise {
    name: "flips",
    tests: &[&["--release", "-p", "drive", "--test", "it", "flips::"]],
    variable: "SSDYNO_FLIPS",
    times: 100_000,
};

/// Answers of the guard about nodes of random stacks. Needs root.
pub const GUARD: Promise = Promise {
    name: "guard",
    tests: &[&["-p", "drive", "--test", "it", "random_stacks::"]],
    variable: "SSDYNO_ANSWERS",
    times: 10_000,
};

/// Runs that borrow blocks of a drive whose reads return wrong bits now and then.
pub const UNSTEADY: Promise = Promise {
    name: "unsteady",
    tests: &[&["-p", "lab", "--test", "it", "unsteady::"]],
    variable: "SSDYNO_UNSTEADY",
    times: 2000,
};

/// Runs that borrow blocks of a loop device, killed at arbitrary moments. Needs root.
pub const KILLS: Promise = Promise {
    name: "kills",
    tests: &[&["-p", "ssdyno", "--test", "it", "a_run_killed_at_any_moment"]],
    variable: "SSDYNO_KILLS",
    times: 1000,
};

/// Plans of methods in a directory and on a loop device: nearly every method with a plan of at most
/// this many seconds. The loop device needs root.
pub const PLANS: Promise = Promise {
    name: "plans",
    tests: &[
        &["-p", "lab", "--test", "it", "plans_hold_in_a_directory"],
        &["-p", "lab", "--test", "it", "plans_hold_on_a_loop_device"],
    ],
    variable: "SSDYNO_REAL_SECONDS",
    times: 30,
};

/// Command lines of iozone, drawn at random and run by an installed iozone and by ssdyno.
pub const IOZONE: Promise = Promise {
    name: "iozone-against",
    tests: &[&["-p", "ssdyno", "--test", "it", "drawn_command_lines_do_what_iozone_does"]],
    variable: "SSDYNO_IOZONE_CASES",
    times: 500,
};

/// Everything that has ended, cut or misled a run: kills of runs that borrow and of all others, power
/// cuts, failing system calls, signals, and names that change. Needs root.
pub const ATTACKS: [Promise; 6] = [
    Promise { times: 300, ..KILLS },
    Promise {
        name: "killed",
        tests: &[&["-p", "ssdyno", "--test", "it", "a_killed_run_costs_only_its_own"]],
        variable: "SSDYNO_KILLS",
        times: 300,
    },
    Promise {
        name: "cuts",
        tests: &[
            &["-p", "journal", "--test", "it", "cuts::"],
            &["-p", "store", "--lib", "no_power_cut_loses_a_saved_record"],
        ],
        variable: "SSDYNO_CUTS",
        times: 5000,
    },
    Promise {
        name: "faults",
        tests: &[&["-p", "ssdyno", "--test", "it", "a_failing_system_call_ends"]],
        // The number of system calls is that of their table.
        variable: "SSDYNO_FAULTS",
        times: 0,
    },
    Promise {
        name: "signals",
        tests: &[&["-p", "ssdyno", "--test", "it", "every_command_ends_with_130"]],
        variable: "SSDYNO_SIGNALS",
        times: 10,
    },
    Promise {
        name: "flips",
        tests: &[
            &["-p", "ssdyno", "--test", "it", "a_store_whose_name_becomes_a_link"],
            &["-p", "ssdyno", "--test", "it", "a_directory_that_becomes_a_link"],
        ],
        variable: "SSDYNO_RACES",
        times: 200,
    },
];

/// Runs the tests of several promises, and stores their numbers under one name.
pub fn run_all(name: &str, promises: &[Promise], words: &[&str]) -> Result<ExitCode> {
    let tiny = words == ["--tiny"];
    let (mut kept, mut numbers) = (true, Some(String::new()));
    for promise in promises {
        let (passed, lines) = repeat(promise, tiny)?;
        kept &= passed;
        numbers = numbers.zip(lines).map(|(before, lines)| before + &lines);
    }
    // An earlier result is more than none.
    if let Some(numbers) = numbers.filter(|_| kept && !tiny) {
        results::write(name, &format!("cargo xtask bench {name}"), &numbers)?;
    }
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the tests of a promise and stores the numbers that they print.
pub fn run(promise: &Promise, words: &[&str]) -> Result<ExitCode> {
    run_all(promise.name, slice::from_ref(promise), words)
}

/// Runs the tests of a promise; returns whether they passed, and the numbers that they print unless
/// one was skipped or failed.
fn repeat(promise: &Promise, tiny: bool) -> Result<(bool, Option<String>)> {
    let Promise { name, tests, variable, times } = promise;
    let (mut kept, mut ran, mut numbers) = (true, true, String::new());
    for test in *tests {
        let mut command = cargo(&[&["test", "-q"], *test, &["--", "--nocapture"]].concat());
        command.env(variable, (if tiny { times / 100 } else { *times }).to_string());
        let (passed, text) = capture(&mut command)?;
        print!("{text}");
        kept &= passed;
        if passed {
            match figures(&text, name)? {
                Some(line) => numbers += &format!("{line}\n"),
                None => ran = false,
            }
        }
    }
    Ok((kept, Some(numbers).filter(|_| kept && ran)))
}

/// The line with the figures of a test that passed; `None` if it was skipped.
fn figures<'a>(text: &'a str, name: &str) -> Result<Option<&'a str>> {
    // The dots of earlier tests precede the first line of the next.
    let mut lines = text.lines().map(|line| line.trim_start_matches('.'));
    if lines.clone().any(|line| line.starts_with("skipped: ")) {
        return Ok(None);
    }
    let line = lines.find(|line| !line.starts_with("test ") && line.contains(name));
    line.map(Some).with_context(|| format!("no test printed a line with '{name}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_test_that_ran_has_figures() {
        let ran = "running 1 test\n.12 kills left 3 journals\ntest result: ok. 1 passed\n";
        assert_eq!(figures(ran, "kills").expect("a line"), Some("12 kills left 3 journals"));
        let skipped = "running 1 test\n.skipped: no loop devices\ntest result: ok. 1 passed\n";
        assert_eq!(figures(skipped, "kills").expect("known"), None);
        assert!(figures("test kills ... ok\ntest result: ok. 1 passed\n", "kills").is_err());
    }
}
