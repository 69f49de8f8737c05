//! `cargo xtask peers CHECKOUT`: fio's own tests (`t/` of a checkout of its source) with ssdyno in the
//! place of fio, and with an installed fio beside it.
//!
//! The tests are fio's and stay there: this module only runs them and prints what they count. Those
//! that start programs of fio's build (numbers from 1000) are left out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};

use crate::run::{capture, cargo, find, printed, program, root};

/// fio's scripts, with the arguments that leave out what needs its build.
const SCRIPTS: [(&str, &[&str]); 2] =
    [("t/run-fio-tests.py", &["--skip-req", "--run-only"]), ("t/verify.py", &["--skip-req"])];

/// The tests that are job files have numbers below this.
const PROGRAMS: u32 = 1000;

/// Runs the scripts of a checkout with ssdyno and with fio.
pub fn run(words: &[String]) -> Result<ExitCode> {
    let [checkout] = words else { bail!("cargo xtask peers CHECKOUT, fio's source") };
    let checkout =
        Path::new(checkout).canonicalize().with_context(|| format!("read {checkout}"))?;
    ensure!(checkout.join("t/jobs").is_dir(), "{} has no t/jobs", checkout.display());
    let (built, text) = printed(&mut cargo(&["build", "-q", "-p", "ssdyno"]))?;
    ensure!(built, "{text}");
    let place = root().join("target/tmp/peers");
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place)?;
    let link = place.join("fio");
    std::os::unix::fs::symlink(root().join("target/debug/ssdyno"), &link)?;
    for (script, arguments) in SCRIPTS {
        let programs = [("ssdyno", Some(link.clone())), ("fio", find("fio"))];
        for (name, path) in programs {
            let Some(path) = path else { continue };
            let counts = counts(&checkout, (script, arguments), &path, &place.join(name))?;
            println!("{script}, {name}: {counts}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What a script counts with a program in the place of fio.
fn counts(
    checkout: &Path,
    (script, arguments): (&str, &[&str]),
    fio: &Path,
    place: &Path,
) -> Result<String> {
    std::fs::create_dir_all(place)?;
    let artifacts: PathBuf = place.join(script.replace('/', "-"));
    let mut command = program("python3", &[&checkout.join(script).to_string_lossy()]);
    command.arg("-r").arg(checkout).arg("-f").arg(fio).arg("-a").arg(&artifacts);
    command.args(arguments).current_dir(place).env("SSDYNO_OVERWRITE", place);
    command.env("XDG_DATA_HOME", place);
    if arguments.contains(&"--run-only") {
        command.args((1..PROGRAMS).map(|number| number.to_string()));
    }
    let (_, text) = capture(&mut command)?;
    let failed = text.lines().filter(|line| line.contains("FAILED"));
    failed.for_each(|line| println!("  {line}"));
    let last = text.lines().rev().find(|line| line.contains("passed"));
    Ok(last.unwrap_or("no counts").to_string())
}
