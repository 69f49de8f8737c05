//! Coverage of "next time": runs of `quick` on virtual drives that vary. Prints, for 1, 3 and 5 runs,
//! the share of next runs inside the interval, pooled and by cell, and fails below the goals.
//!
//! `cargo run --release -p lab --example coverage [SPECIMENS [PRESETS]]`

#[path = "coverage/sample.rs"]
mod sample;

use std::collections::BTreeMap;
use std::process::ExitCode;

use sample::{Count, PRESETS, RUNS, coverage};

/// Goals with 3 and 5 runs: pooled, and of any cell of any preset.
const POOLED: f64 = 0.93;
const CELL: f64 = 0.85;

/// Bytes that are measured: large enough that no cell ends by bytes on these drives.
const SIZE: u64 = 1 << 30;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).map(|word| word.parse().ok());
    let specimens = words.next().flatten().unwrap_or(33);
    let presets = words.next().flatten().map_or(PRESETS.len(), |n: u64| n as usize);
    let mut pooled = [Count::default(); RUNS.len()];
    let mut worst: BTreeMap<usize, (f64, String)> = BTreeMap::new();
    println!("| preset | {} |", RUNS.map(|k| format!("k = {k}")).join(" | "));
    println!("|---|{}", "---|".repeat(RUNS.len()));
    for preset in PRESETS.iter().take(presets) {
        let mut own = [Count::default(); RUNS.len()];
        for ((cell, k), count) in coverage(preset, specimens, SIZE) {
            let place = RUNS.iter().position(|runs| *runs == k).expect("one of them");
            for sum in [&mut own[place], &mut pooled[place]] {
                (sum.hits, sum.trials) = (sum.hits + count.hits, sum.trials + count.trials);
            }
            let least = worst.entry(k).or_insert((2.0, String::new()));
            if count.share() < least.0 {
                *least = (count.share(), format!("{cell} of {preset}"));
            }
        }
        println!("| {preset} | {} |", own.map(percent).join(" | "));
    }
    println!("| all | {} |", pooled.map(percent).join(" | "));
    let trials = pooled.map(|count| count.trials.to_string()).join(", ");
    println!("\n{trials} intervals. The cell covered least:");
    for (k, (share, cell)) in &worst {
        println!("- k = {k}: {:.0}%, {cell}", 100.0 * share);
    }
    let held = RUNS.iter().zip(&pooled).filter(|(k, _)| **k > 1);
    let pooled_met = held.clone().all(|(_, count)| count.share() >= POOLED);
    let cells_met = worst.iter().filter(|(k, _)| **k > 1).all(|(_, (share, _))| *share >= CELL);
    println!("\nGoals: 93% pooled, 85% of any cell, with 3 and 5 runs.");
    if pooled_met && cells_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn percent(count: Count) -> String {
    format!("{:.1}%", 100.0 * count.share())
}
