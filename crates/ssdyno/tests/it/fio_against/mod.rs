//! Differential test of `ssdyno fio`: command lines and job files drawn at random, run by an
//! installed fio and by ssdyno on equal files, compared in what does not depend on speed.
//!
//! `draw.rs` draws a case from the table of supported options, `tools.rs` runs it, `compare.rs`
//! lists the differences, `shrink.rs` finds the smallest case with the same difference, and
//! `reasons.rs` is the checked-in list of deliberate differences. A reason that explains nothing in
//! a long run fails it. The suite runs 120 cases; `cargo xtask bench fio-against` runs more.

mod case;
mod chance;
mod compare;
mod contents;
mod coverage;
mod draw;
mod formats;
mod found;
mod options;
mod reasons;
mod shrink;
mod sure;
mod tools;
mod views;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use case::Case;
use compare::{Comparison, Difference};
use coverage::Coverage;

/// Cases of the suite.
const SUITE_CASES: u64 = 120;

/// A run of at least this many cases fails if a reason explains nothing.
const REASONS_CASES: u64 = 5000;

/// A run shrinks at most this many differences; the others are only counted.
const SHRUNK_MAX: usize = 40;

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Workers per processor: both tools mostly wait, fio for its own clock.
const WORKERS: usize = 4;

/// The differences of a case, after the reasons have explained theirs.
#[derive(Default)]
struct Verdict {
    open: Vec<Difference>,
    /// The differences that have a reason.
    explained: Vec<(&'static str, Difference)>,
    /// Why nothing could be compared.
    uncompared: Option<String>,
}

fn judge(case: &Case) -> Verdict {
    let mut verdict = Verdict::default();
    let pair = tools::run(case);
    match compare::compare(case, &pair) {
        Comparison::Uncompared(why) => verdict.uncompared = Some(why),
        Comparison::Compared(differences) => {
            for difference in differences {
                match reasons::explain(case, &pair, &difference) {
                    Some(reason) => verdict.explained.push((reason, difference)),
                    None => verdict.open.push(difference),
                }
            }
        }
    }
    verdict
}

/// Lines between two reports of progress.
const PROGRESS: u64 = 500;

/// The results of a run.
#[derive(Default)]
struct Tally {
    /// Cases that each reason explained.
    reasons: BTreeMap<&'static str, u64>,
    /// Cases that could not be compared.
    uncompared: BTreeMap<String, u64>,
    /// The first case of each kind of difference, and the number of such cases.
    kinds: BTreeMap<String, (u64, Case, Difference)>,
    cases: u64,
    different: u64,
    coverage: Coverage,
}

impl Tally {
    fn add(&mut self, case: Case, verdict: Verdict) {
        self.coverage.add(&case, verdict.uncompared.is_none());
        self.cases += 1;
        if self.cases.is_multiple_of(PROGRESS) {
            eprintln!("{} lines, {} differ", self.cases, self.different);
        }
        let is_shown = number("SSDYNO_FIO_EXPLAINED").is_some();
        for (reason, difference) in &verdict.explained {
            if is_shown {
                println!(
                    "{reason}\n{}: {}\n{}\n",
                    difference.kind,
                    difference.text,
                    case.commands()
                );
            }
            *self.reasons.entry(reason).or_default() += 1;
        }
        if let Some(why) = verdict.uncompared {
            if is_shown {
                println!("{why}\n{}\n", case.commands());
            }
            *self.uncompared.entry(why).or_default() += 1;
        }
        self.different += u64::from(!verdict.open.is_empty());
        for difference in verdict.open.into_iter().take(1) {
            let words = compare::words(&difference.text);
            if self.different <= number("SSDYNO_FIO_SHOWN").unwrap_or(0) {
                eprintln!("{}: {}\n{}\n", difference.kind, difference.text, case.commands());
            }
            let entry = self.kinds.entry(format!("{}: {words}", difference.kind));
            entry.or_insert((0, case.clone(), difference)).0 += 1;
        }
    }

    /// Prints the counts.
    fn print(&self, cases: u64, seed: u64) {
        println!("\nlines: {cases} drawn with seed {seed}, {} differ", self.different);
        let uncompared: u64 = self.uncompared.values().sum();
        println!("compared: {} lines, {uncompared} not", cases - uncompared);
        for (why, count) in &self.uncompared {
            println!("not compared: {count} lines: {why}");
        }
        println!("{}", self.coverage);
        for (reason, count) in &self.reasons {
            println!("reason: {count} differences: {reason}");
        }
    }
}

/// Runs the cases on several threads until all are done or the time is up; returns their number.
fn run_all(seed: u64, cases: u64, time: Duration, tally: &Mutex<Tally>) -> u64 {
    let (next, ended, start) = (AtomicU64::new(0), AtomicU64::new(0), Instant::now());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS * processors {
            scope.spawn(|| {
                while start.elapsed() < time {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= cases {
                        break;
                    }
                    let case = draw::draw(seed, number);
                    let verdict = judge(&case);
                    tally.lock().expect("not poisoned").add(case, verdict);
                    ended.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    ended.into_inner()
}

#[test]
fn drawn_jobs_do_the_same_as_in_fio() {
    if let Err(why) = tools::available() {
        println!("skipped: {why}");
        return;
    }
    let cases = number("SSDYNO_FIO_LINES").unwrap_or(SUITE_CASES);
    let seed = number("SSDYNO_FIO_SEED").unwrap_or(37);
    let time = Duration::from_secs(number("SSDYNO_FIO_SECONDS").unwrap_or(3600));
    let tally = Mutex::new(Tally::default());
    let ended = run_all(seed, cases, time, &tally);
    let tally = tally.into_inner().expect("not poisoned");
    for (count, case, difference) in tally.kinds.values().take(SHRUNK_MAX) {
        let (case, difference) = shrink::shrink(case, difference);
        println!("\n{count} cases: {}: {}", difference.kind, difference.text);
        println!("{}", case.commands());
    }
    tally.print(ended, seed);
    assert_eq!(tally.different, 0, "of {ended} drawn lines differ; see above");
    if ended >= REASONS_CASES {
        let unused = reasons::NAMES.iter().filter(|name| !tally.reasons.contains_key(*name));
        assert_eq!(unused.count(), 0, "a reason is no longer needed: {:?}", tally.reasons);
    }
}

#[test]
fn cases_are_the_same_for_the_same_seed() {
    let commands = |seed| (0..50).map(|n| draw::draw(seed, n).commands()).collect::<Vec<_>>();
    assert_eq!(commands(1), commands(1));
    assert_ne!(commands(1), commands(2));
    assert!(reasons::NAMES.len() <= 15);
}
