//! `cargo xtask bench against REV`: compares this code with an earlier commit, using the cases of
//! the engine and the model.
//!
//! Both commits are built for release and run alternately, ten pairs per case. Each pair gives a
//! ratio, so a drifting machine slows both halves of a pair alike. The interval runs from the
//! second smallest to the second largest of ten ratios: it contains the median ratio in 97.9% of
//! cases, whatever the distribution. A case is slower if the whole interval is below 0.97.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

use super::goals::{CASES, CaseTarget};
use super::places::{Bench, Loop, warm};
use super::results::median;
use super::tools::{ours, sample};
use super::{model, results};
use crate::run::{output, program, root};

/// Pairs per case.
const PAIRS: usize = 10;

/// A case is slower if its whole interval is below this ratio.
const RATIO_MIN: f64 = 0.97;

/// Sizes of the files and of the loop device, MiB.
const FILE_MIB: u64 = 1024;
const CACHED_MIB: u64 = 16;
const LOOP_MIB: u64 = 512;

/// The two programs of one commit.
struct Build {
    command: PathBuf,
    goals: PathBuf,
}

/// Builds both commits, runs the pairs, and writes the table to the screen and RESULTS.md. Fails if
/// a case is slower.
pub fn run(revision: &str) -> Result<ExitCode> {
    let bench = Bench::new()?;
    let commit = output(&mut program("git", &["rev-parse", "--short", revision]))?;
    // In a shared build directory, Cargo takes libraries of one commit for those of the other.
    let target = root().join("target");
    let source = earlier(&bench, commit.trim())?;
    let old = build(&source, &target.join("earlier"), &bench.path("old"))?;
    let new = build(&root(), &target, &bench.path("new"))?;
    let mut rows = engine(&bench, &old, &new)?;
    rows.extend(virtual_time(&old, &new)?);
    let mut text = format!(
        "This code against {}, {PAIRS} interleaved pairs per case. A ratio above 1 is faster; the \
         interval covers the median ratio.\n\n| case | old | new | ratio | interval | slower by over 3% |\n\
         |---|---|---|---|---|---|\n",
        commit.trim()
    );
    rows.iter().try_for_each(|row| row.write(&mut text))?;
    print!("{text}");
    let command = format!("cargo xtask bench against {}", commit.trim());
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
    let parts: [&[&str]; 2] = [&["-p", "ssdyno"], &["-p", "model", "--example", "goals"]];
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

/// One case: the rates of both commits, by pair.
struct Row {
    name: String,
    old: Vec<f64>,
    new: Vec<f64>,
}

impl Row {
    fn new(name: &str) -> Row {
        Row { name: name.to_string(), old: Vec::new(), new: Vec::new() }
    }

    /// The ratios of the pairs, in ascending order.
    fn ratios(&self) -> Vec<f64> {
        let mut ratios: Vec<f64> = self.new.iter().zip(&self.old).map(|(n, o)| n / o).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }

    /// Second smallest and second largest ratio.
    fn interval(&self) -> (f64, f64) {
        let ratios = self.ratios();
        (ratios[1], ratios[ratios.len() - 2])
    }

    fn is_slower(&self) -> bool {
        self.interval().1 < RATIO_MIN
    }

    fn write(&self, text: &mut String) -> Result<()> {
        let (low, high) = self.interval();
        let verdict = if self.is_slower() { "SLOWER" } else { "no" };
        let (old, new) = (median(self.old.clone()), median(self.new.clone()));
        let ratio = median(self.ratios());
        let name = &self.name;
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
            row.old.push(before);
            row.new.push(after);
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
            row.old.push(goal.speed(&before)?);
            row.new.push(goal.speed(&after)?);
        }
    }
    Ok(rows)
}

/// Runs both halves of a pair in alternating order.
fn in_turn<T>(
    pair: usize,
    old: impl FnOnce() -> Result<T>,
    new: impl FnOnce() -> Result<T>,
) -> Result<(T, T)> {
    if pair.is_multiple_of(2) {
        let before = old()?;
        return Ok((before, new()?));
    }
    let after = new()?;
    Ok((old()?, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ratios: [f64; PAIRS]) -> Row {
        Row { name: "case".into(), old: vec![100.0; PAIRS], new: ratios.map(|r| 100.0 * r).into() }
    }

    #[test]
    fn one_bad_pair_does_not_make_a_case_slower() {
        let mut ratios = [1.0; PAIRS];
        ratios[3] = 0.2;
        assert!(!row(ratios).is_slower());
        assert_eq!(row(ratios).interval(), (1.0, 1.0));
    }

    #[test]
    fn a_case_is_slower_if_nearly_every_pair_is() {
        let mut ratios = [0.95; PAIRS];
        ratios[0] = 1.1;
        assert!(row(ratios).is_slower());
        ratios[1] = 0.98;
        assert!(!row(ratios).is_slower());
    }

    #[test]
    fn the_order_of_the_pairs_alternates() {
        for pair in 0..2 {
            let order = std::cell::RefCell::new(Vec::new());
            let note = |name: &'static str| {
                order.borrow_mut().push(name);
                Ok(name)
            };
            let both = in_turn(pair, || note("old"), || note("new")).expect("both ran");
            assert_eq!(both, ("old", "new"));
            assert_eq!(order.borrow()[0], both_first(pair));
        }
        fn both_first(pair: usize) -> &'static str {
            if pair == 0 { "old" } else { "new" }
        }
    }
}
