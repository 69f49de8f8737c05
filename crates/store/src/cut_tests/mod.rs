//! Power cuts of the store: SQLite's real files, cut between the system calls that change them.
//!
//! A child, this test binary under `strace`, runs [`script`] and leaves a mark after each step that
//! must survive. The trace is replayed into an image of durable and volatile content. The power is
//! cut at evenly spaced calls; the store must then open, be sound, and contain every run reported
//! as saved. The next child continues from one of these cuts, so recoveries are cut as well.
//! `SSDYNO_CUTS` sets the number of cuts (`cargo xtask bench cuts` makes 100,000). A failure
//! reports its position.

mod image;
mod trace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use fuzz::Random;
use record::{Metric, Run, Unit};

use crate::file::Journal;
use crate::samples::{document, run, series};
use crate::{Filter, Store, place};
use image::Image;
use trace::{MARK, Op};

const ORDER: &str = "SSDYNO_STORE_CUTS_CHILD";
/// Number of cuts in the test suite.
const CUTS: usize = 360;
/// Number of cuts per trace in a long run.
const CUTS_OF_TRACE: usize = 1000;

/// A store that continues from cut to cut.
#[derive(Clone, Copy, Debug)]
enum Line {
    /// A new store with a write-ahead log.
    Log,
    /// A new store with a rollback journal, as on a network file system.
    Rollback,
    /// A store of an earlier version, which is migrated.
    Earlier,
}

impl Line {
    const ALL: [Line; 3] = [Line::Log, Line::Rollback, Line::Earlier];

    fn journal(self) -> Journal {
        if matches!(self, Line::Rollback) { Journal::Rollback } else { Journal::Log }
    }
}

/// The last reported state of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fact {
    Begun,
    Saved,
    Removing,
    Removed,
}

impl Fact {
    const ALL: [Fact; 4] = [Fact::Begun, Fact::Saved, Fact::Removing, Fact::Removed];
}

type Facts = BTreeMap<String, Fact>;

/// Leaves a mark in the trace.
fn mark(fact: Fact, id: &str) {
    let _ = std::fs::File::open(format!("{MARK}{fact:?}-{id}"));
}

fn learn(facts: &mut Facts, op: &Op) {
    let Op::Mark(word) = op else { return };
    let (name, id) = word.split_once('-').expect("a fact and an id");
    let fact = Fact::ALL.into_iter().find(|fact| format!("{fact:?}") == name);
    facts.insert(id.into(), fact.expect("a fact"));
}

/// The complete run `n` of a generation.
fn whole(generation: usize, n: usize) -> Run {
    let id = format!("CUT{generation:04}{n}");
    let metrics = (0..20).map(|m| Metric::single(format!("m{m}"), Unit::Iops, n as f64));
    let run = Run { id, ..run("quick", "X1", "S1") };
    Run { complete: true, metrics: metrics.collect(), series: vec![series("a", 0, 300)], ..run }
}

fn generation_of(id: &str) -> Option<usize> {
    id.strip_prefix("CUT")?.get(..4)?.parse().ok()
}

/// All operations that write to a store, with a mark after each durable step.
fn script(path: &Path, journal: Journal, generation: usize) {
    let open = || Store::open_with(path.to_path_buf(), journal).expect("opened");
    place::make_directory(path).expect("a directory");
    let mut store = open();
    let measure = |store: &mut Store, n: usize| {
        let end = whole(generation, n);
        let begin = Run { complete: false, metrics: Vec::new(), series: Vec::new(), ..end.clone() };
        store.begin(&begin).expect("begun");
        mark(Fact::Begun, &end.id);
        store.update(&Run { metrics: end.metrics.clone(), ..begin }).expect("kept");
        store.finish(&end).expect("kept");
        mark(Fact::Saved, &end.id);
    };
    measure(&mut store, 0);
    let left = Run { complete: false, ..whole(generation, 1) };
    store.begin(&left).expect("begun");
    mark(Fact::Begun, &left.id);
    let carried = [2, 3].map(|n| whole(generation, n));
    let documents = carried.each_ref().map(document);
    store.import(&documents).expect("imported");
    store.sync().expect("synced");
    carried.iter().for_each(|run| mark(Fact::Saved, &run.id));
    // The runs from before the previous generation.
    let old = |id: &str| generation_of(id).is_some_and(|of| of + 1 < generation);
    let list = store.runs(&Filter::default()).expect("a list");
    let old: Vec<_> = list.iter().filter(|run| old(&run.id)).collect();
    old.iter().for_each(|run| mark(Fact::Removing, &run.id));
    store.remove(&old.iter().map(|run| run.number).collect::<Vec<_>>()).expect("removed");
    old.iter().for_each(|run| mark(Fact::Removed, &run.id));
    // Closing checkpoints the log into the store.
    drop(store);
    let mut store = open();
    measure(&mut store, 4);
    // As if killed.
    std::mem::forget(store);
}

/// Not a test: the program of a child.
#[test]
fn child() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let [line, generation, path] = order.splitn(3, ' ').collect::<Vec<_>>()[..] else {
        panic!("a line, a generation and a path");
    };
    let line = Line::ALL.into_iter().find(|l| format!("{l:?}") == line).expect("a line");
    script(Path::new(path), line.journal(), generation.parse().expect("a number"));
}

/// Runs a child on the files under `root`; `None` without `strace`.
fn traced(root: &Path, path: &Path, line: Line, generation: usize) -> Option<String> {
    // Next to the root, because it is not part of the images.
    let trace = root.with_extension("trace");
    let output = Command::new("strace")
        .args(["-f", "-qq", "-xx", "-s", "16777216", "-e", trace::CALLS, "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().expect("this binary"))
        .args(["cut_tests::child", "--exact", "--test-threads=1"])
        .env(ORDER, format!("{line:?} {generation} {}", path.display()))
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let tracer = String::from_utf8_lossy(&output.stderr);
    if tracer.contains("strace: ") {
        return None;
    }
    assert!(output.status.success(), "{line:?} {generation}: {said}{tracer}");
    Some(std::fs::read_to_string(&trace).expect("a trace"))
}

/// Opens the store after a cut and checks it against the facts.
fn check(path: &Path, line: Line, facts: &Facts) -> Result<(), String> {
    if !path.exists() && !facts.values().any(|fact| *fact != Fact::Removed) {
        return Ok(());
    }
    let store = Store::open_with(path.to_path_buf(), line.journal()).map_err(|e| e.to_string())?;
    let sound: String = store
        .conn
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .map_err(|e| e.to_string())?;
    if sound != "ok" {
        return Err(sound);
    }
    let mut found = BTreeMap::new();
    for number in store.numbers().map_err(|e| e.to_string())? {
        let kept = store.kept(number).map_err(|e| format!("run {number}: {e}"))?;
        if !kept.intact {
            return Err(format!("run {number} is damaged"));
        }
        found.insert(kept.document.run().id.clone(), kept.document.run().clone());
    }
    if matches!(line, Line::Earlier)
        && found.keys().filter(|id| !id.starts_with("CUT")).count() != 9
    {
        return Err(format!("runs of the earlier version are lost: {:?}", found.keys()));
    }
    for (id, fact) in facts {
        let whole = |run: &Run| {
            let n = id[id.len() - 1..].parse().expect("a digit");
            let expected = whole(generation_of(id).expect("an id"), n);
            *run == Run { number: run.number, ..expected }
        };
        let kept = match (fact, found.get(id)) {
            (Fact::Begun, Some(run)) => !run.complete || whole(run),
            (Fact::Saved, Some(run)) => whole(run),
            (Fact::Begun | Fact::Saved, None) => false,
            (Fact::Removing, run) => run.is_none_or(|run| !run.complete || whole(run)),
            (Fact::Removed, run) => run.is_none(),
        };
        if !kept {
            return Err(format!("run {id}, {fact:?}: {:#?}", found.get(id)));
        }
    }
    Ok(())
}

#[test]
fn no_power_cut_loses_a_saved_record() {
    let asked = std::env::var("SSDYNO_CUTS").ok().and_then(|n| n.parse::<usize>().ok());
    let of_line = asked.unwrap_or(CUTS) / Line::ALL.len();
    let generations = (of_line / CUTS_OF_TRACE).max(2);
    // Images are created fastest in memory.
    let shm = Path::new("/dev/shm");
    let dir = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() };
    let dir = dir.expect("a directory");
    let root = dir.path().join("files");
    std::fs::create_dir(&root).expect("a directory");
    let path: PathBuf = root.join("share/ssdyno/runs.sqlite");
    let (mut cuts, mut calls) = (0, 0);
    for line in Line::ALL {
        let mut start = Image::new(&root);
        if matches!(line, Line::Earlier) {
            start = start.with(&path, include_bytes!("../../tests/stores/version-1.sqlite"));
        }
        let mut known = Facts::new();
        for generation in 0..generations {
            start.restore();
            let Some(trace) = traced(&root, &path, line, generation) else {
                assert!(asked.is_none(), "the cuts need strace");
                return eprintln!("skipped: strace is missing");
            };
            let ops = trace::read(&trace, &root, &start.files());
            calls += ops.len();
            let (mut image, mut facts, mut done) = (start.clone(), known.clone(), 0);
            let here = of_line / generations;
            let mut dice = Random::new(generation as u64 * 3 + line as u64);
            let next = dice.below(here);
            for n in 0..here {
                let at = n * (ops.len() + 1) / here;
                for op in &ops[done..at] {
                    image.run(op);
                    learn(&mut facts, op);
                }
                done = at;
                let mut after = image.clone();
                after.cut(&mut dice);
                after.restore();
                check(&path, line, &facts).unwrap_or_else(|why| {
                    let last: Vec<_> = ops[at.saturating_sub(4)..at].iter().map(brief).collect();
                    panic!("{line:?} {generation}, cut {n} after call {at} {last:#?}: {why}")
                });
                cuts += 1;
                if n == next {
                    (start, known) = (after, facts.clone());
                }
            }
        }
    }
    println!("{cuts} cuts of the store after {calls} system calls: no saved record was lost");
}

fn brief(op: &Op) -> String {
    match op {
        Op::Write { file, at, bytes } => format!("{} + {at}: {} B", file.display(), bytes.len()),
        other => format!("{other:?}"),
    }
}
