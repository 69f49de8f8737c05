//! `cargo xtask bench against REV`: compares this code with an earlier commit, using the cases of
//! the engine and the model.
//!
//! Both commits are built for release and run in [`pairs`](super::pairs). A case is slower if the
//! whole interval of its ratio is below 0.97.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

use super::goals::{CASES, CaseTarget};
use super::pairs::{PAIRS, Pairs, in_turn};
use super::places::{Bench, Loop, warm};
use super::results::median;
use super::tools::{ours, sample};
use super::{model, results};
use crate::run::{output, program, root};

/// A case is slower if its whole interval is below this ratio.
const RATIO_MIN: f64 = 0.97;

/// Sizes of the files and of the loop device, MiB.
const FILE_MIB: u64 = 1024;
const CACHED_MIB: u64 = 16;
const LOOP_MIB: u64 = 512;

/// The two programs of one commit.
pub(super) struct Build {
    /// `ssdyno`.
    pub command: PathBuf,
    goals: PathBuf,
}

/// An earlier commit and this code.
pub(super) struct Builds {
    /// The commit, abbreviated.
    pub commit: String,
    /// The programs of the commit.
    pub old: Build,
    /// The programs of this code.
    pub new: Build,
}

/// Builds both commits for release.
pub(super) fn builds(bench: &Bench, revision: &str) -> Result<Builds> {
    let commit = output(&mut program("git", &["rev-parse", "--short", revision]))?;
    let commit = commit.trim().to_string();
    // In a shared build directory, Cargo takes libraries of one commit for those of the other.
    let target = root().join("target");
    let source = earlier(bench, &commit)?;
    let old = build(&source, &target.join("earlier"), &bench.path("old"))?;
    let new = build(&root(), &target, &bench.path("new"))?;
    Ok(Builds { commit, old, new })
}

/// Builds both commits, runs the pairs, and writes the table to the screen and RESULTS.md. Fails if
/// a case is slower.
pub fn run(revision: &str) -> Result<ExitCode> {
    let bench = Bench::new()?;
    let Builds { commit, old, new } = builds(&bench, revision)?;
    let mut rows = engine(&bench, &old, &new)?;
    rows.extend(virtual_time(&old, &new)?);
    let mut text = format!(
        "This code against {}, {PAIRS} interleaved pairs per case. A ratio above 1 is faster; the \
         interval covers the median ratio.\n\n| case | old | new | ratio | interval | slower by over 3% |\n\
         |---|---|---|---|---|---|\n",
        commit
    );
    rows.iter().try_for_each(|row| row.write(&mut text))?;
    print!("{text}");
    let command = format!("cargo xtask bench against {commit}");
    results::write("against an earlier commit", &command, &text)?;
    let slower = rows.iter().any(Row::is_slower);
    Ok(if slower { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Unpacks the sources of a commit.
fn earlier(bench: &Bench, commit: &str) -> Result<PathBuf> {
    let (place, archive) = (bench.path("source"), bench.path("source.tar"));
    fs::create_dir_all(&place)?;
    let archive = archive.display().to_string();
    output(&mut program("git", &["archive", "--output", &archive, commit]))?;
    // Files get the present time: a commit's times may be older than cargo's last build.
    output(&mut program("tar", &["-xmf", &archive, "-C", &place.display().to_string()]))?;
    Ok(place)
}

/// Builds both programs of a source tree in a build directory, and keeps copies.
fn build(source: &Path, target: &Path, keep: &Path) -> Result<Build> {
    let _ = fs::remove_dir_all(keep);
    fs::create_dir_all(keep)?;
    let parts: [&[&str]; 2] = [&["-p", "ssdyno"], &["--workspace", "--example", "goals"]];
    for part in parts {
        let mut cargo = crate::run::cargo(&[&["build", "--release", "-q"], part].concat());
        output(cargo.current_dir(source).env("CARGO_TARGET_DIR", target))?;
    }
    let copy = |built: &str, name: &str| -> Result<PathBuf> {
        let to = keep.join(name);
        fs::copy(target.join("release").join(built), &to).with_context(|| built.to_string())?;
        Ok(to)
    };
    Ok(Build { command: copy("ssdyno", "ssdyno")?, goals: copy("examples/goals", "goals")? })
}

/// One case: the rates of both commits.
struct Row {
    name: String,
    rates: Pairs,
}

impl Row {
    fn new(name: &str) -> Row {
        Row { name: name.to_string(), rates: Pairs::default() }
    }

    fn is_slower(&self) -> bool {
        self.rates.interval().1 < RATIO_MIN
    }

    fn write(&self, text: &mut String) -> Result<()> {
        let (low, high) = self.rates.interval();
        let verdict = if self.is_slower() { "SLOWER" } else { "no" };
        let (old, new) = (median(self.rates.theirs.clone()), median(self.rates.ours.clone()));
        let (name, ratio) = (&self.name, self.rates.ratio());
        Ok(writeln!(
            text,
            "| {name} | {old:.4e} | {new:.4e} | {ratio:.3} | {low:.3} to {high:.3} | {verdict} |"
        )?)
    }
}

/// Operations per second in the cases of the engine.
fn engine(bench: &Bench, old: &Build, new: &Build) -> Result<Vec<Row>> {
    let file = bench.file("file", FILE_MIB)?;
    let cached = bench.file("cached", CACHED_MIB)?;
    let device = Loop::new(LOOP_MIB).map_err(|e| println!("skipped: no loop device: {e:#}")).ok();
    let time = "1s";
    let mut rows = Vec::new();
    for case in &CASES {
        let target = match case.place {
            CaseTarget::Null => "null:".to_string(),
            CaseTarget::Cached => cached.display().to_string(),
            CaseTarget::Disk => file.display().to_string(),
            CaseTarget::Loop => match &device {
                Some(device) => device.device.clone(),
                None => continue,
            },
        };
        let mut words = vec![target.as_str(), "--time", time];
        words.extend(case.ours);
        let rate = |build: &Build| -> Result<f64> {
            if case.place == CaseTarget::Cached {
                warm(&cached)?;
            }
            // Each in a store of its own: an earlier commit does not read that of a later one.
            let store = build.command.with_extension("sqlite");
            Ok(sample(&ours(&build.command, &store, &words)?)?.iops)
        };
        let mut row = Row::new(case.name);
        for pair in 0..PAIRS {
            let (before, after) = in_turn(pair, || rate(old), || rate(new))?;
            row.rates.push(after, before);
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Speed of virtual time in the cases of the model.
fn virtual_time(old: &Build, new: &Build) -> Result<Vec<Row>> {
    let said = |build: &Build| output(&mut program(&build.goals, &[]));
    let mut rows: Vec<Row> = model::speeds().map(|goal| Row::new(goal.name)).collect();
    for pair in 0..PAIRS {
        let (before, after) = in_turn(pair, || said(old), || said(new))?;
        for (row, goal) in rows.iter_mut().zip(model::speeds()) {
            row.rates.push(goal.speed(&after)?, goal.speed(&before)?);
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ratios: [f64; PAIRS]) -> Row {
        let mut row = Row::new("case");
        ratios.iter().for_each(|r| row.rates.push(100.0 * r, 100.0));
        row
    }

    #[test]
    fn a_case_is_slower_if_nearly_every_pair_is() {
        let mut ratios = [0.95; PAIRS];
        ratios[0] = 1.1;
        assert!(row(ratios).is_slower());
        ratios[1] = 0.98;
        assert!(!row(ratios).is_slower());
    }
}
