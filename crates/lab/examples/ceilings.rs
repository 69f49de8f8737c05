//! How often a limit that several drives share is found, and how often one is seen that is not there.
//!
//! `ceilings [SETS] [SEED]`: each set is 2 to 8 specimens of a preset drawn at random, measured alone
//! and then, as if beside each other, with what is drawn: nothing shared, a limit of bytes shared in
//! equal parts, drives that have become slower and stay so, or one slower drive. The limit is 30 to 85%
//! of the fastest figure. Fails if more than 5% of a kind are judged wrongly.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use lab::together::{Audience, DriveSet, Loss, SetPhase, SetRuns, Together, conclude, most_slowed};
use lab::{Options, PlannedRun, Request, Watcher};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use record::Unit;

#[path = "../tests/it/quiet/mod.rs"]
mod quiet;

use quiet::Quiet;

/// Share of the sets of a kind that may be judged wrongly.
const WRONG_MAX: f64 = 0.05;

/// Numbers of drives, and shares of the fastest figure that a limit leaves.
const DRIVES: [u64; 2] = [2, 8];
const SHARES: [f64; 2] = [0.3, 0.85];

/// What happens to the drives beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nothing,
    SharedLimit,
    SlowerForGood,
    OneSlower,
}

const KINDS: [Kind; 4] = [Kind::Nothing, Kind::SharedLimit, Kind::SlowerForGood, Kind::OneSlower];

impl Audience for Quiet {
    fn begins(&mut self, _: usize, _: SetPhase, _: &PlannedRun<'_>) -> Box<dyn Watcher> {
        Box::new(Quiet)
    }

    fn ended(&mut self) {}
}

/// A set as it is drawn.
struct Draw {
    preset: &'static str,
    method: &'static str,
    drives: usize,
    share: f64,
    kind: Kind,
    seed: u64,
}

impl Draw {
    fn new(number: u64, seed: u64) -> Draw {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed << 32 | number);
        let presets = lab::drives::presets().expect("presets");
        let preset = &presets[(random.next_u64() % presets.len() as u64) as usize];
        let bus = preset.links.first().map_or("", String::as_str);
        let is_card = ["sd", "mmc", "emmc", "usb"].iter().any(|kind| bus.starts_with(kind));
        let drives = DRIVES[0] + random.next_u64() % (DRIVES[1] - DRIVES[0] + 1);
        let part = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        Draw {
            preset: &preset.name,
            method: if is_card { "speed" } else { "quick" },
            drives: drives as usize,
            share: SHARES[0] + part * (SHARES[1] - SHARES[0]),
            kind: KINDS[number as usize % KINDS.len()],
            seed: random.next_u64() >> 32,
        }
    }

    /// Runs on these drives, one after the other, with a limit in MB/s.
    fn measure(&self, drives: &[usize], phase: u64, limit: f64, store: &Path) -> SetRuns {
        let request = |drive: &usize| {
            let specimen = self.seed + *drive as u64;
            let target = format!("sim:{}?seed={specimen}&limit.mb_s={limit}", self.preset);
            Request { store: Some(store.to_path_buf()), ..Request::on(target) }
        };
        let requests = drives.iter().map(request).collect();
        let seed = self.seed + 1000 * phase;
        let time = (self.method == "quick").then_some(Duration::from_secs(3));
        let options = Options { seed, time, ..Options::default() };
        let set = Together { requests, method: self.method, options };
        let runs = set.run(&Arc::default(), &mut Quiet);
        assert!(runs.failure.is_none(), "{}: {:?}", self.preset, runs.failure);
        runs
    }

    /// The runs alone, and those beside each other.
    fn runs(&self, store: &Path) -> SetRuns {
        let everyone: Vec<usize> = (0..self.drives).collect();
        let mut runs = self.measure(&everyone, 0, 0.0, store);
        let limit = self.share * fastest(&conclude(&runs)) / 1e6;
        let slow: &[usize] = match self.kind {
            Kind::Nothing => &[],
            Kind::SharedLimit | Kind::SlowerForGood => &everyone,
            Kind::OneSlower => &everyone[..1],
        };
        for drive in &everyone {
            let limit = if slow.contains(drive) { limit } else { 0.0 };
            let run = self.measure(&[*drive], 1, limit, store).alone.remove(0);
            runs.together.extend(run.into_iter().map(Some));
        }
        if let Some(drive) = most_slowed(&runs) {
            let limit = if self.kind == Kind::SlowerForGood { limit } else { 0.0 };
            let run = self.measure(&[drive], 2, limit, store).alone.remove(0);
            runs.again = run.into_iter().next().map(|run| (drive, run));
        }
        runs
    }

    /// What is wrong about a conclusion.
    fn fault(&self, set: &DriveSet) -> Option<&'static str> {
        let is_limited = set.verdict.is_some();
        let blames = |loss: Loss| set.quantities.iter().any(|quantity| quantity.loss == loss);
        match self.kind {
            Kind::SharedLimit if !is_limited => Some("the limit is not seen"),
            Kind::SharedLimit if blames(Loss::Drives) || blames(Loss::OneDrive) => {
                Some("drives are blamed for the limit")
            }
            Kind::SharedLimit => None,
            _ if is_limited => Some("a limit is seen"),
            Kind::Nothing
                if blames(Loss::Drives) || blames(Loss::OneDrive) || blames(Loss::Fastest) =>
            {
                Some("a loss is seen")
            }
            _ => None,
        }
    }
}

/// The highest rate of a drive alone, bytes per second.
fn fastest(set: &DriveSet) -> f64 {
    let rates = set.quantities.iter().filter(|quantity| quantity.unit == Unit::BytesPerSecond);
    rates.flat_map(|quantity| quantity.alone.iter().flatten()).copied().fold(0.0, f64::max)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |index: usize, usual| words.get(index).and_then(|word| word.parse().ok()).unwrap_or(usual);
    let (sets, seed) = (number(0, 200), number(1, 1));
    let directory = std::env::temp_dir().join(format!("ssdyno-ceilings-{}", std::process::id()));
    let (next, faults) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= sets {
                return;
            }
            // Each set has its own store, which stays small.
            let (draw, store) = (Draw::new(number, seed), directory.join(number.to_string()));
            let set = conclude(&draw.runs(&store.join("runs")));
            let _ = std::fs::remove_dir_all(&store);
            if let Some(fault) = draw.fault(&set) {
                println!(
                    "{number}: {} of {}, {:?}, {:.0}% left: {fault}: {}",
                    draw.drives,
                    draw.preset,
                    draw.kind,
                    100.0 * draw.share,
                    set.sentence
                );
                faults.lock().expect("no panic").push(draw.kind);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let faults = faults.into_inner().expect("no panic");
    let mut is_good = true;
    for (index, kind) in KINDS.into_iter().enumerate() {
        let count = (sets + (KINDS.len() - 1 - index) as u64) / KINDS.len() as u64;
        let wrong = faults.iter().filter(|fault| **fault == kind).count();
        println!("seed {seed}, {kind:?}: {wrong} of {count} sets judged wrongly");
        is_good &= wrong as f64 <= WRONG_MAX * count as f64;
    }
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
