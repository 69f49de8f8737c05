//! How often the slow one of several virtual drives is found, and how often an equal one is called slow.
//!
//! `outliers [speed|quick] [SETS] [DRIVES] [SEED]`: specimens of one model, measured as `ssdyno run ...
//! --together` does. Each set is judged twice: with a drive that is slower by 10%, and with another equal
//! one in its place.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use lab::together::{Audience, SetPhase, SetRuns, Together, conclude};
use lab::{Options, PlannedRun, Request, Watcher};
use record::Run;

#[path = "../tests/it/quiet/mod.rs"]
mod quiet;

use quiet::Quiet;

/// What is measured, on which drive, and the parameter of which a slow specimen has more.
struct Trial {
    method: &'static str,
    model: &'static str,
    parameter: &'static str,
    /// Of most specimens, and of the slow one, which does 10% less of one figure for that.
    values: [f64; 2],
    seconds: Option<u64>,
}

const TRIALS: [Trial; 2] = [
    // Writes; by 2% of them, specimens differ.
    Trial {
        method: "speed",
        model: "sim:sd-150x",
        parameter: "nand.program_us",
        values: [3788.0, 4209.0],
        seconds: None,
    },
    // Random reads; by 1% of them, specimens differ.
    Trial {
        method: "quick",
        model: "sim:samsung-980-pro-1t",
        parameter: "nand.read_us",
        values: [50.0, 56.8],
        seconds: Some(3),
    },
];

impl Audience for Quiet {
    fn begins(&mut self, _: usize, _: SetPhase, _: &PlannedRun<'_>) -> Box<dyn Watcher> {
        Box::new(Quiet)
    }

    fn ended(&mut self) {}
}

impl Trial {
    fn request(&self, seed: u64, is_slow: bool, store: &Path) -> Request {
        let value = self.values[usize::from(is_slow)];
        let target = format!("{}?seed={seed}&{}={value}", self.model, self.parameter);
        Request { store: Some(store.to_path_buf()), ..Request::on(target) }
    }

    /// The runs of so many drives and of a slow one, the last.
    fn measure(&self, drives: usize, seed: u64, store: &Path) -> Vec<Vec<Run>> {
        let request =
            |drive: usize| self.request(seed * 1000 + drive as u64, drive == drives, store);
        let requests = (0..=drives).map(request).collect();
        let time = self.seconds.map(Duration::from_secs);
        let options = Options { seed, time, ..Options::default() };
        let set = Together { requests, method: self.method, options };
        let runs = set.run(&Arc::default(), &mut Quiet);
        assert!(runs.failure.is_none(), "{:?}", runs.failure);
        runs.alone
    }
}

/// The drives that stand out.
fn outliers(alone: &[Vec<Run>]) -> BTreeSet<usize> {
    let set = conclude(&SetRuns { alone: alone.to_vec(), ..SetRuns::default() });
    let outliers = set.quantities.iter().flat_map(|quantity| &quantity.outliers);
    outliers.map(|outlier| outlier.drive).collect()
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let method = words.first().map_or("speed", String::as_str);
    let Some(trial) = TRIALS.iter().find(|trial| trial.method == method) else {
        eprintln!("outliers [speed|quick] [SETS] [DRIVES] [SEED]");
        return ExitCode::from(2);
    };
    let number = |index: usize, usual: u64| {
        words.get(index).and_then(|word| word.parse().ok()).unwrap_or(usual)
    };
    let (sets, drives, seed) = (number(1, 200), number(2, 12) as usize, number(3, 1));
    let directory = std::env::temp_dir().join(format!("ssdyno-outliers-{}", std::process::id()));
    let (mut hits, mut beside, mut alarms) = (0_u32, 0_u32, 0_u32);
    for set in 0..sets {
        // Each set has its own store, which stays small.
        let mut alone = trial.measure(drives, seed + set, &directory.join(set.to_string()));
        let equal = outliers(&alone[..drives]);
        alone.swap_remove(0);
        let with_slow = outliers(&alone);
        // The slow drive has taken the place of the first.
        hits += u32::from(with_slow.contains(&0));
        beside += u32::from(with_slow.iter().any(|drive| *drive > 0));
        alarms += u32::from(!equal.is_empty());
        let _ = std::fs::remove_dir_all(&directory);
    }
    let share = |count: u32| f64::from(count) / sets.max(1) as f64;
    println!(
        "{method}, {sets} sets of {drives}, seed {seed}: found {:.1}%, another named {:.1}%, \
         false alarms {:.1}%",
        100.0 * share(hits),
        100.0 * share(beside),
        100.0 * share(alarms)
    );
    let is_good = share(hits) >= 0.95 && share(alarms) <= 0.05 && share(beside) <= 0.05;
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
