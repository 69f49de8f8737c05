//! Coverage on a real disk: runs of `quick` in a directory, one after the other.
//!
//! Counts the intervals from five runs for the next one, those printed by the records themselves,
//! and the comparisons of the disk with itself: all pairs, and random splits of five against five.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use analysis::{LogQuantity, outlook};
use lab::{Event, Options, Recorded, Request, Watcher, Work};
use record::{Covers, Run};

use crate::percent;
use crate::sample::{Count, cells, differs};

/// Number of earlier runs for an interval, and of runs on each side of a split.
const EARLIER: usize = 5;

/// Number of random splits.
const SPLITS: u32 = 500;

/// Goals for the next run inside the interval, and for comparisons that claim a difference.
const COVERED: f64 = 0.85;
const FALSE_CLAIMS: f64 = 0.05;

/// Bytes and time of a run: small, so that 24 runs take a quarter of an hour.
const SIZE: u64 = 256 << 20;
const SECONDS: u64 = 30;

/// Ignores all events.
struct Quiet;

impl Watcher for Quiet {
    fn event(&mut self, _: &Event) {}

    fn warn(&mut self, line: &str) {
        eprintln!("{line}");
    }

    fn give_up(&mut self, recorded: Recorded) -> ! {
        panic!("{:?}", recorded.ended);
    }
}

/// Runs `quick` a given number of times in a directory, with a temporary store. Prints the counts
/// and returns whether the goals are met.
pub fn run(directory: &str, runs: u64) -> Result<bool, Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let store = place.path().join("runs");
    let recorded = (1..=runs).map(|seed| quick(directory, seed, &store));
    let recorded: Vec<Run> = recorded.collect::<Result<_, _>>()?;
    let first = recorded.first().ok_or("no runs")?.clone();
    let prior = lab::assumed_spread(&first);
    let loads: Vec<f64> = recorded.iter().filter_map(|run| run.environment.load).collect();
    let kind = first.target.filesystem.as_ref().map_or("?", |system| system.kind.as_str());
    println!(
        "{runs} runs of {SECONDS} s on {} MiB of {kind}, one after the other, load {:.1} to {:.1}. \
         Spread assumed before the first repeat: {prior}.\n",
        SIZE >> 20,
        loads.iter().copied().fold(f64::INFINITY, f64::min),
        loads.iter().copied().fold(0.0, f64::max),
    );
    let printed = printed(&recorded);
    let sessions: Vec<BTreeMap<String, LogQuantity>> =
        recorded.into_iter().map(|run| cells(run.metrics)).collect();
    let (next, [pairs, splits]) = (covered(&sessions, prior), claims(&first, &sessions));
    println!("| | share | of | goal |\n|---|---|---|---|");
    let line = |what: &str, count: Count, goal: &str| {
        println!("| {what} | {} | {} | {goal} |", percent(count), count.trials);
    };
    line("next time, from 5 runs: contains the next run", next, ">= 85%");
    line("next time, as printed by each run: contains the next run", printed, "");
    line("one run against one, all pairs: claim a difference", pairs, "<= 5%");
    line("five against five, random splits: claim a difference", splits, "<= 5%");
    println!("\n| cell | spread between runs |\n|---|---|");
    for name in sessions[0].keys() {
        let all: Vec<LogQuantity> =
            sessions.iter().filter_map(|run| run.get(name).copied()).collect();
        println!("| {name} | {:.1}% |", 100.0 * spread(&all));
    }
    Ok(next.share() >= COVERED && [pairs, splits].iter().all(|c| c.share() <= FALSE_CLAIMS))
}

/// The record of one run, loaded from the store.
fn quick(directory: &str, seed: u64, store: &Path) -> Result<Run, Box<dyn Error>> {
    let request = Request { store: Some(store.to_path_buf()), ..Request::on(directory) };
    let time = Some(Duration::from_secs(SECONDS));
    let options = Options { time, seed, size: Some(SIZE), ..Options::default() };
    let work = Work::method("quick", &options)?;
    let interrupt = Arc::new(AtomicBool::new(false));
    let begun = request.plan(&work)?.begin(Box::new(Quiet), &interrupt)?;
    let recorded = begun.run(&interrupt);
    recorded.ended?;
    recorded.kept?;
    eprintln!("run {seed} is done");
    Ok(recorded.run)
}

/// Compares each run with the interval from the five before it.
fn covered(sessions: &[BTreeMap<String, LogQuantity>], prior: f64) -> Count {
    let mut count = Count::default();
    for window in sessions.windows(EARLIER + 1) {
        for name in window[0].keys() {
            let values: Vec<LogQuantity> =
                window.iter().filter_map(|run| run.get(name).copied()).collect();
            let [earlier @ .., next] = &values[..] else { continue };
            let interval = outlook(earlier, prior, None).filter(|_| earlier.len() == EARLIER);
            let Some(found) = interval else { continue };
            count.add((found.next[0]..=found.next[1]).contains(&next.value()));
        }
    }
    count
}

/// Compares each run with the interval in the record of the previous one.
fn printed(recorded: &[Run]) -> Count {
    let mut count = Count::default();
    for pair in recorded.windows(2) {
        for metric in pair[0].metrics.iter().filter(|m| m.covers == Some(Covers::NextRun)) {
            let next = pair[1].metric(&metric.name).and_then(|m| m.value);
            if let (Some(low), Some(high), Some(next)) = (metric.low, metric.high, next) {
                count.add((low..=high).contains(&next));
            }
        }
    }
    count
}

/// Comparisons of the disk with itself that claim a difference.
fn claims(first: &Run, sessions: &[BTreeMap<String, LogQuantity>]) -> [Count; 2] {
    let (mut pairs, mut splits) = (Count::default(), Count::default());
    for a in 0..sessions.len() {
        for b in a + 1..sessions.len() {
            pairs.add(differs(first, sessions, [&[a], &[b]], 1.0));
        }
    }
    // Knuth's generator is good enough for the order of a few hundred splits.
    let mut state: u64 = 1;
    let mut draw = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for _ in 0..SPLITS {
        let mut order: Vec<(u64, usize)> = (0..sessions.len()).map(|i| (draw(), i)).collect();
        order.sort_unstable();
        let drawn: Vec<usize> = order.into_iter().map(|(_, i)| i).take(2 * EARLIER).collect();
        let (a, b) = drawn.split_at(drawn.len() / 2);
        splits.add(differs(first, sessions, [a, b], 1.0));
    }
    [pairs, splits]
}

/// Standard deviation of the logarithms of the values.
fn spread(all: &[LogQuantity]) -> f64 {
    let logs: Vec<f64> = all.iter().map(|s| libm::log(s.value())).collect();
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    (squares / (n - 1.0).max(1.0)).sqrt()
}
