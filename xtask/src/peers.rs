//! `cargo xtask peers [CHECKOUT] [--fio PROGRAM] [SCRIPT...]`: fio's own tests (`t/` of its source, as
//! Debian's next release has it, or of a checkout) with ssdyno in the place of fio, and with an installed
//! fio beside it.
//!
//! The tests are fio's and stay there: this module only runs them, and counts the cases that pass with
//! fio and with ssdyno. Those that need a program of fio's build, a zoned device or an NVMe drive of
//! their own are left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};

use crate::fio_source;
use crate::run::{cargo, find, output, printed, program, root};

/// A script of fio's with its arguments, in which `FIO`, `CHECKOUT` and `ARTIFACTS` are replaced.
struct Script {
    name: &'static str,
    arguments: &'static [&'static str],
}

/// The arguments of most scripts.
const USUAL: &[&str] = &["-f", "FIO", "-a", "ARTIFACTS"];

/// fio's scripts: first the job files, whose numbers are below that of the first program.
const SCRIPTS: [Script; 14] = [
    Script {
        name: "run-fio-tests",
        arguments: &["-r", "CHECKOUT", "-f", "FIO", "-a", "ARTIFACTS", "-k", "-o", "JOBS"],
    },
    Script { name: "verify", arguments: &["-f", "FIO", "-a", "ARTIFACTS", "-k"] },
    Script { name: "readonly", arguments: USUAL },
    Script { name: "strided", arguments: USUAL },
    Script { name: "numberio_overlap", arguments: USUAL },
    Script { name: "sequence", arguments: USUAL },
    Script {
        name: "jsonplus2csv_test",
        arguments: &["-f", "FIO", "-s", "CHECKOUT/tools/fio_jsonplus_clat2csv"],
    },
    Script { name: "latency_percentiles", arguments: USUAL },
    Script { name: "log_compression", arguments: &["-f", "FIO"] },
    Script { name: "random_seed", arguments: USUAL },
    Script { name: "steadystate_tests", arguments: &["FIO"] },
    Script { name: "sprandom", arguments: USUAL },
    Script { name: "verify_state_save", arguments: USUAL },
    Script { name: "verify-trim", arguments: USUAL },
];

/// The tests that are job files have numbers below this.
const PROGRAMS: u32 = 1000;

/// A case of a script, named by its group and its place there, with the script's line about it.
type Cases = BTreeMap<(String, usize), (bool, String)>;

/// The words of the command line.
#[derive(Default)]
struct Words {
    checkout: Option<PathBuf>,
    fio: Option<PathBuf>,
    scripts: Vec<String>,
}

impl Words {
    fn read(words: &[String]) -> Result<Words> {
        let mut read = Words::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--fio" => read.fio = Some(words.next().context("--fio PROGRAM")?.into()),
                name if SCRIPTS.iter().any(|script| script.name == name) => {
                    read.scripts.push(word.clone());
                }
                _ if read.checkout.is_none() => read.checkout = Some(word.into()),
                _ => bail!("fio has no test '{word}' that this runs"),
            }
        }
        Ok(read)
    }
}

/// Runs the scripts of a checkout with fio and with ssdyno.
pub fn run(words: &[String]) -> Result<ExitCode> {
    let words = Words::read(words)?;
    let checkout = words.checkout.map_or_else(fio_source::place, Ok)?;
    let checkout = checkout.canonicalize().with_context(|| checkout.display().to_string())?;
    ensure!(checkout.join("t/jobs").is_dir(), "{} has no t/jobs", checkout.display());
    let (built, text) = printed(&mut cargo(&["build", "-q", "-p", "ssdyno"]))?;
    ensure!(built, "{text}");
    let place = root().join("target/tmp/peers");
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place)?;
    let link = place.join("fio");
    std::os::unix::fs::symlink(root().join("target/debug/ssdyno"), &link)?;
    let fio = words.fio.or_else(|| find("fio")).map(|path| path.canonicalize()).transpose()?;
    if let Some(fio) = &fio {
        print!("beside {}", output(Command::new(fio).arg("--version"))?);
    }
    let wanted = |script: &&Script| {
        words.scripts.is_empty() || words.scripts.iter().any(|name| name == script.name)
    };
    for script in SCRIPTS.iter().filter(wanted) {
        let theirs = fio.as_ref().map(|fio| script.cases(&checkout, fio, &place)).transpose()?;
        let ours = script.cases(&checkout, &link, &place)?;
        report(script.name, theirs.as_ref(), &ours);
    }
    std::fs::remove_dir_all(&place)?;
    Ok(ExitCode::SUCCESS)
}

impl Script {
    /// The cases of a script with a program in the place of fio.
    fn cases(&self, checkout: &Path, fio: &Path, place: &Path) -> Result<Cases> {
        let directory = place.join("run");
        std::fs::create_dir_all(&directory)?;
        let path = checkout.join("t").join(self.name).with_extension("py");
        let mut command = program("python3", &[&path.to_string_lossy()]);
        for argument in self.arguments {
            if *argument == "JOBS" {
                command.args((1..PROGRAMS).map(|number| number.to_string()));
                continue;
            }
            match (*argument, argument.strip_prefix("CHECKOUT/")) {
                ("FIO", _) => command.arg(fio),
                ("CHECKOUT", _) => command.arg(checkout),
                ("ARTIFACTS", _) => command.arg(directory.join("artifacts")),
                (_, Some(rest)) => command.arg(checkout.join(rest)),
                (word, None) => command.arg(word),
            };
        }
        command.current_dir(&directory).env("SSDYNO_OVERWRITE", place);
        command.env("XDG_DATA_HOME", place);
        let result = command.output().context("cannot run python3")?;
        std::fs::remove_dir_all(&directory)?;
        let mut cases = cases(&String::from_utf8_lossy(&result.stdout));
        if cases.is_empty() {
            let said = String::from_utf8_lossy(&result.stderr);
            let line = said.trim_end().lines().next_back().unwrap_or("nothing was said");
            cases.insert((String::new(), 1), (result.status.success(), line.to_string()));
        }
        Ok(cases)
    }
}

/// The cases in the output of a script. A group of them begins with the line after an empty one.
fn cases(text: &str) -> Cases {
    let (mut cases, mut group, mut number) = (Cases::new(), String::new(), 0);
    let mut is_heading = false;
    for line in text.lines() {
        // One script puts stars around the line.
        let line = line.trim_matches('*');
        let is_case = ["Test ", "PASSED", "FAILED"].iter().any(|start| line.starts_with(start));
        let passed = line.contains("PASSED");
        if is_case && (passed || line.contains("FAILED")) {
            number += 1;
            cases.insert((group.clone(), number), (passed, line.to_string()));
        } else if is_heading && !line.is_empty() {
            (group, number) = (line.to_string(), 0);
        }
        is_heading = line.is_empty();
    }
    cases
}

/// Prints the counts of a script, and the cases that pass with fio only.
fn report(name: &str, theirs: Option<&Cases>, ours: &Cases) {
    let passed = |cases: &Cases| cases.values().filter(|(passed, _)| *passed).count();
    let Some(theirs) = theirs else {
        println!("{name}: ssdyno {} of {}", passed(ours), ours.len());
        return;
    };
    if let Some((false, line)) = theirs.get(&(String::new(), 1)).filter(|_| theirs.len() == 1) {
        println!("{name}: does not run with fio: {line}");
        return;
    }
    let passes = |cases: &Cases, case| cases.get(case).is_some_and(|(passed, _)| *passed);
    let theirs_only: Vec<_> =
        theirs.keys().filter(|case| passes(theirs, case) && !passes(ours, case)).collect();
    let (count, both) = (theirs.len(), passed(theirs) - theirs_only.len());
    println!(
        "{name}: of {count}, fio {}, ssdyno {both} of those, {} of the others",
        passed(theirs),
        passed(ours) - both
    );
    for case in theirs_only {
        let line = ours.get(case).map_or("no such line", |(_, line)| line);
        println!("  {} {}: {line}", case.0, case.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_counted_in_their_groups() {
        let text = "fio path is x\n\nddir: write, checksum: md5\nTest 1 PASSED a\n\
                    Test 2 SKIPPED (User request) b\nTest 3 FAILED: zero return code, c\n\
                    1 test(s) passed, 1 failed, 1 skipped\n\nddir: read, checksum: md5\n\
                    Test 1 PASSED a\n";
        let counted = cases(text);
        let brief =
            counted.iter().map(|((group, number), (passed, _))| (&group[6..11], *number, *passed));
        let brief: Vec<_> = brief.collect();
        assert_eq!(brief, [("read,", 1, true), ("write", 1, true), ("write", 2, false)]);
    }
}
