//! How often the slow one of several virtual drives is found, and how often an equal one is called slow.
//!
//! `outliers [SETS] [DRIVES] [SEED]`: sets of specimens of one model, measured by `quick` as `ssdyno run
//! ... --together` does. One drive of each set does 10% fewer random reads. In as many other sets all drives
//! are equal.

use std::process::ExitCode;
use std::sync::Arc;

use lab::together::{Audience, DriveSet, Phase, Together};
use lab::{Event, Options, PlannedRun, Recorded, Request, Watcher};

/// The model.
const MODEL: &str = "sim:samsung-980-pro-1t";

/// Time to read a page of flash, us: of most specimens, and of the slow one, which does 10% fewer random
/// reads for that.
const READ_US: [f64; 2] = [50.0, 56.8];

struct Silent;

impl Watcher for Silent {
    fn event(&mut self, _: &Event) {}

    fn warn(&mut self, line: &str) {
        eprintln!("{line}");
    }

    fn give_up(&mut self, recorded: Recorded) -> ! {
        panic!("{:?}", recorded.ended);
    }
}

impl Audience for Silent {
    fn begins(&mut self, _: usize, _: Phase, _: &PlannedRun<'_>) -> Box<dyn Watcher> {
        Box::new(Silent)
    }

    fn ended(&mut self) {}
}

/// A specimen.
fn specimen(seed: u64, is_slow: bool) -> String {
    format!("{MODEL}?seed={seed}&nand.read_us={}", READ_US[usize::from(is_slow)])
}

/// The outliers of a set: whether the slow drive is one, and whether another is.
fn measure(drives: usize, seed: u64, slow: Option<usize>, store: &std::path::Path) -> (bool, bool) {
    let request = |drive: usize| Request {
        store: Some(store.to_path_buf()),
        ..Request::on(specimen(seed * 1000 + drive as u64, slow == Some(drive)))
    };
    let requests = (0..drives).map(request).collect();
    let options = Options { seed, ..Options::default() };
    let runs = Together { requests, method: "quick", options }.run(&Arc::default(), &mut Silent);
    assert!(runs.failure.is_none(), "{:?}", runs.failure);
    let set = DriveSet::new(&runs);
    let outliers = || set.quantities.iter().flat_map(|quantity| &quantity.outliers);
    let is_slow = |drive: usize| slow == Some(drive);
    (
        outliers().any(|outlier| is_slow(outlier.drive)),
        outliers().any(|outlier| !is_slow(outlier.drive)),
    )
}

fn main() -> ExitCode {
    let words: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let number = |index: usize, usual: u64| words.get(index).copied().unwrap_or(usual);
    let (sets, drives, seed) = (number(0, 200), number(1, 12) as usize, number(2, 1));
    let directory = std::env::temp_dir().join(format!("ssdyno-outliers-{}", std::process::id()));
    let (mut hits, mut beside, mut alarms) = (0, 0, 0);
    for set in 0..sets {
        // Records are kept apart, so that a store stays small.
        let store = directory.join(format!("{set}"));
        let slow = (set as usize * 5) % drives;
        let (is_hit, is_beside) = measure(drives, seed + 2 * set, Some(slow), &store);
        let (_, is_alarm) = measure(drives, seed + 2 * set + 1, None, &store);
        hits += u32::from(is_hit);
        beside += u32::from(is_beside);
        alarms += u32::from(is_alarm);
        if (set + 1) % 10 == 0 {
            println!(
                "{} sets of {drives}: {hits} found, {beside} with another, {alarms} alarms",
                set + 1
            );
        }
        let _ = std::fs::remove_dir_all(&directory);
    }
    let share = |count: u32| f64::from(count) / sets.max(1) as f64;
    println!(
        "{sets} sets of {drives}, seed {seed}: found {:.1}%, another named {:.1}%, false alarms {:.1}%",
        100.0 * share(hits),
        100.0 * share(beside),
        100.0 * share(alarms)
    );
    let is_good = share(hits) >= 0.95 && share(alarms) <= 0.05 && share(beside) <= 0.05;
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
