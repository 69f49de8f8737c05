//! The tests in the guest: selection, parallel runs, results.

use std::collections::VecDeque;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Ready;
use super::machine::bare_metal_image;
use super::qemu::StandsStill;
use super::script::{Case, Script, all, bare};
use super::session::{self, Outcome};
use crate::run::{find, root};

/// Number of parallel guests: each takes a processor, and a third would make them wait for each other.
const TOGETHER: usize = 2;

/// Result of a case.
pub struct Verdict {
    /// Name of the case.
    pub name: String,
    /// Whether all checks passed.
    pub ok: bool,
    /// The reason for skipping it, if skipped.
    pub skipped: Option<String>,
    /// Its output, or the reason why it did not run.
    pub said: String,
    /// Whether the first attempt failed.
    pub again: bool,
    /// Whether the guest stood still.
    stood_still: bool,
    /// Duration.
    pub time: Duration,
}

impl Verdict {
    /// Its name, duration and result.
    fn line(&self) -> String {
        let word = match (&self.skipped, self.ok) {
            (Some(why), true) => format!("skipped: {why}"),
            (_, true) if self.again => "ok, not at the first attempt".into(),
            (_, true) => "ok".into(),
            (_, false) => "FAILED".into(),
        };
        format!("{:<24} {:>6.1} s   {word}", self.name, self.time.as_secs_f64())
    }
}

/// The names of all cases.
pub fn names() -> Result<Vec<String>> {
    Ok(all()?.iter().flat_map(Script::cases).map(|case| format!("guest {}", case.name())).collect())
}

/// Runs all cases with the test binary, which is already built.
pub fn test_built() -> Result<Vec<Verdict>> {
    test(&[], Ready::with_built, |_| ())
}

/// Runs the cases whose names begin with one of these, or all, and reports each at its end.
fn test(
    names: &[String],
    ready: impl FnOnce() -> Result<Ready>,
    tell: impl Fn(&Verdict) + Sync,
) -> Result<Vec<Verdict>> {
    let wanted =
        |case: &Case| names.is_empty() || names.iter().any(|n| case.name().starts_with(n.as_str()));
    let mut cases: Vec<Case> = all()?.iter().flat_map(Script::cases).filter(wanted).collect();
    ensure!(!cases.is_empty(), "no test in guest/tests starts with {}", names.join(" or "));
    let ready = ready()?;
    // Long cases first, so that no long case runs alone at the end.
    cases.sort_by_key(|case| std::cmp::Reverse(case.script.limit));
    let (queue, done) = (Mutex::new(VecDeque::from(cases)), Mutex::new(Vec::new()));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || {
        while let Some(case) = next() {
            let verdict = attempt(&case, &ready);
            tell(&verdict);
            done.lock().unwrap_or_else(PoisonError::into_inner).push(verdict);
        }
    };
    thread::scope(|scope| (0..TOGETHER).for_each(|_| drop(scope.spawn(work))));
    Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Attempts at most of a case that fails, because unplugging sometimes ends QEMU itself, and of one
/// whose guest stands still, which is QEMU's failure.
const ATTEMPTS: usize = 2;
const ATTEMPTS_STILL: usize = 4;

/// Runs a case, and again if it fails. The output of all attempts is kept and shown.
fn attempt(case: &Case, ready: &Ready) -> Verdict {
    let mut verdict = judge(case, ready);
    for number in 1..ATTEMPTS_STILL {
        if verdict.ok || (number >= ATTEMPTS && !verdict.stood_still) {
            break;
        }
        let next = judge(case, ready);
        let said = format!("{}--- the attempt before ---\n{}", next.said, verdict.said);
        verdict = Verdict { said, again: true, time: verdict.time + next.time, ..next };
    }
    verdict
}

/// The missing requirement of a case, if any.
fn missing(case: &Case) -> Option<String> {
    let program = case.script.needs.iter().find(|program| find(program).is_none());
    let drives = case.drives().into_iter();
    let mut images = drives.filter_map(|drive| bare_metal_image(bare(&drive)));
    let image = images.find(|image| !image.exists());
    let image = image.map(|image| format!("no {}: cargo xtask bare makes it", image.display()));
    program.map(|program| format!("no {program} on this machine")).or(image)
}

fn judge(case: &Case, ready: &Ready) -> Verdict {
    let start = Instant::now();
    let missing = missing(case);
    let mut verdict = Verdict {
        name: case.name(),
        ok: true,
        skipped: missing,
        said: String::new(),
        again: false,
        stood_still: false,
        time: Duration::ZERO,
    };
    if verdict.skipped.is_some() {
        return verdict;
    }
    match session::run(case, ready) {
        Ok(Outcome { status, said }) => {
            verdict.ok = status == 0;
            let why = said.lines().find_map(|line| line.strip_prefix("skipped: "));
            verdict.skipped = why.map(str::to_string);
            verdict.said = said;
        }
        Err(error) => {
            verdict.ok = false;
            verdict.stood_still = error.root_cause().is::<StandsStill>();
            verdict.said = format!("{error:#}");
        }
    }
    verdict.time = start.elapsed();
    verdict
}

/// `guest test [NAME...]`
pub fn run(names: &[String]) -> Result<ExitCode> {
    let start = Instant::now();
    let verdicts = test(names, Ready::make, |verdict| {
        println!("{}", verdict.line());
        if !verdict.ok || verdict.again {
            println!("{}", verdict.said);
        }
    })?;
    let failed = verdicts.iter().filter(|verdict| !verdict.ok).count();
    println!("{} run, {failed} failed, {:.0} s", verdicts.len(), start.elapsed().as_secs_f64());
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// `guest run SCRIPT [DRIVE]`
pub fn one(arguments: &[String]) -> Result<ExitCode> {
    let name = arguments.first().context("name a script")?;
    let path = Path::new(name);
    let path = if path.exists() {
        path.to_path_buf()
    } else {
        root().join(format!("guest/tests/{name}.sh"))
    };
    let script = Script::read(&path)?;
    let ready = with_script(Ready::make()?, &script)?;
    let mut cases = script.cases();
    if let Some(drive) = arguments.get(1) {
        cases = vec![Case { script, drive: Some(drive.clone()) }];
    }
    let mut ok = true;
    for case in cases {
        let verdict = judge(&case, &ready);
        println!("{}\n{}", verdict.said, verdict.line());
        ok &= verdict.ok;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Boot files with a script that is not one of the tests.
pub fn with_script(mut ready: Ready, script: &Script) -> Result<Ready> {
    let bytes = [std::fs::read(&ready.initrd)?, super::image::extra(script)?].concat();
    ready.initrd = ready.dir.join("initrd-run");
    std::fs::write(&ready.initrd, bytes)?;
    Ok(ready)
}

/// The reason why this machine cannot run a script of the project, if any.
pub fn missing_for(path: &str) -> Result<Option<String>> {
    let script = Script::read(&root().join(path))?;
    Ok(super::missing().or_else(|| missing(&Case { script, drive: None })))
}

/// Runs a script of the project with this ssdyno binary or the test binary; returns its output.
pub fn script(path: &str, binary: Option<&Path>) -> Result<String> {
    let path = root().join(path);
    let case = Case { script: Script::read(&path)?, drive: None };
    let Outcome { status, said } =
        session::run(&case, &with_script(Ready::with(binary)?, &case.script)?)?;
    ensure!(status == 0, "{} failed:\n{said}", path.display());
    Ok(said)
}

/// `guest sh [DRIVE...]`
pub fn shell(drives: &[String]) -> Result<ExitCode> {
    let every = ["pair", "ssd", "disk", "usb", "uas", "sd", "scratch"].map(str::to_string);
    let script = Script {
        name: "shell".into(),
        drives: if drives.is_empty() { every.to_vec() } else { drives.to_vec() },
        limit: Duration::from_secs(24 * 3600),
        ..Script::default()
    };
    session::shell(&Case { script, drive: None }, &Ready::make()?)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_script_says_so() {
        let verdict = Verdict {
            name: "beside".into(),
            ok: true,
            skipped: Some("no flashbench on this machine".into()),
            said: String::new(),
            again: false,
            stood_still: false,
            time: Duration::ZERO,
        };
        assert!(verdict.line().ends_with("   skipped: no flashbench on this machine"));
        assert!(Verdict { skipped: None, ..verdict }.line().ends_with("   ok"));
    }
}
