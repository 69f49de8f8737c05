//! Runs `quick` on virtual drives that vary. Prints, for 1, 3 and 5 runs, the share of next runs
//! inside the interval, pooled and by cell, the width of intervals from 5 runs, and the share of
//! comparisons that claim a difference: of a drive with itself, and with one that is faster by 5%.
//! Fails if a goal is missed. Uses all processors.
//!
//! `cargo run --release -p lab --example coverage [SPECIMENS [PRESETS [MINUTES]]]`: no specimen is
//! started after this many minutes.
//!
//! `-- --campaigns DIR SPECIMENS [PRESETS]` writes these runs as campaigns of `ssdyno-fleet ask`, and
//! `-- --records FILE` judges the records that `ssdyno-fleet ask export` prints.
//!
//! `-- --real DIR [RUNS]`: the same for runs on a real disk, 24 by default. `-- --pairs N SEED`:
//! comparisons of drawn specimens with themselves. `-- --rounds`: whether two rounds and eight give
//! the same values, on every preset; `-- --order`: whether another cell before each changes them.

#[path = "coverage/campaign.rs"]
mod campaign;
#[path = "../tests/it/edited/mod.rs"]
mod edited;
#[path = "coverage/order.rs"]
mod order;
#[path = "coverage/pairs.rs"]
mod pairs;
#[path = "coverage/real.rs"]
mod real;
#[path = "coverage/rounds.rs"]
mod rounds;
#[path = "coverage/sample.rs"]
mod sample;

use std::collections::BTreeMap;
use std::error::Error;
use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

use analysis::LogQuantity;
use record::Run;

use sample::{
    Count, PRESETS, RUNS, Width, cover, described, false_claims, sessions, true_claims, widths,
};

/// Goals with 3 and 5 runs: pooled, and for every cell of every preset.
const POOLED: f64 = 0.93;
const CELL: f64 = 0.85;

/// Permitted share of false claims when comparing a drive with itself.
const FALSE_CLAIMS: f64 = 0.05;

/// Goal for the half-width of an interval from 5 runs, in standard deviations; one of
/// [`HALF_MIN`], on a logarithmic scale, is narrow enough.
const DEVIATIONS_MAX: f64 = 4.0;
const HALF_MIN: f64 = 0.0022;

/// Bytes to measure: large enough that no cell ends by bytes on these drives.
const SIZE: u64 = 1 << 30;

/// The counts of one preset.
#[derive(Default)]
struct Row {
    runs: usize,
    cells: BTreeMap<(String, usize), Count>,
    claims: [Count; 2],
    finds: [Count; 2],
    widths: BTreeMap<String, Width>,
}

impl Row {
    fn pooled(&self, runs: usize) -> Count {
        let mut sum = Count::default();
        let own = self.cells.iter().filter(|((_, k), _)| *k == runs);
        own.for_each(|(_, count)| sum.sum(*count));
        sum
    }

    fn words(&self) -> String {
        let shares = RUNS.map(|k| percent(self.pooled(k)));
        [&shares[..], &self.claims.map(percent), &self.finds.map(percent)].concat().join(" | ")
    }

    fn add(&mut self, other: &Row) {
        self.runs += other.runs;
        for (key, count) in &other.cells {
            self.cells.entry(key.clone()).or_default().sum(*count);
        }
        self.compare(other.claims, other.finds);
    }

    fn compare(&mut self, claims: [Count; 2], finds: [Count; 2]) {
        self.claims.iter_mut().zip(claims).for_each(|(sum, new)| sum.sum(new));
        self.finds.iter_mut().zip(finds).for_each(|(sum, new)| sum.sum(new));
    }

    /// Adds a specimen by the cells of its sessions.
    fn add_specimen(&mut self, drive: &Run, sessions: &[BTreeMap<String, LogQuantity>]) {
        self.runs += sessions.len();
        cover(drive, sessions, &mut self.cells);
        self.compare(false_claims(drive, sessions), true_claims(drive, sessions));
        for (cell, width) in widths(drive, sessions) {
            self.widths.entry(cell).or_default().sum(width);
        }
    }

    /// The half-width of the cell that is widest for its spread, in standard deviations; a half of
    /// [`HALF_MIN`] is narrow enough.
    fn widest(&self) -> (f64, &str) {
        let wide = self.widths.iter().filter(|(_, width)| width.half() > HALF_MIN);
        let wide = wide.map(|(cell, width)| (width.half() / width.deviation(), cell.as_str()));
        wide.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default()
    }
}

/// Runs on a real disk.
const REAL_RUNS: u64 = 24;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let met = match &words[..] {
        [flag, directory, rest @ ..] if flag == "--real" => {
            let runs = rest.first().and_then(|word| word.parse().ok()).unwrap_or(REAL_RUNS);
            real::run(directory, runs).unwrap_or_else(|error| {
                eprintln!("{error}");
                false
            })
        }
        [flag, count, seed] if flag == "--pairs" => {
            let numbers = count.parse().ok().zip(seed.parse().ok());
            numbers.is_some_and(|(count, seed)| pairs::run(count, seed))
        }
        [flag, directory, specimens, rest @ ..] if flag == "--campaigns" => {
            let numbers = specimens.parse().ok().zip(presets_of(rest.first()));
            let written = numbers.map(|(specimens, presets)| {
                campaign::write(Path::new(directory), presets, specimens)
            });
            is_done(written.unwrap_or_else(|| Err("SPECIMENS and PRESETS are numbers".into())))
        }
        [flag, records] if flag == "--records" => is_done(recorded(Path::new(records))),
        [flag] if flag == "--rounds" => rounds::rounds_do_not_matter(),
        [flag] if flag == "--order" => rounds::order_does_not_matter(),
        _ => simulated(&words),
    };
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The first so many presets, or all of them.
fn presets_of(word: Option<&String>) -> Option<&'static [&'static str]> {
    let count = word.map_or(Some(PRESETS.len()), |word| word.parse().ok())?;
    Some(&PRESETS[..count.min(PRESETS.len())])
}

/// Whether something succeeded; says why not.
fn is_done(result: Result<(), Box<dyn Error>>) -> bool {
    result.inspect_err(|error| eprintln!("{error}")).is_ok()
}

/// Judges the records of the campaigns. Fails if a goal is missed.
fn recorded(records: &Path) -> Result<(), Box<dyn Error>> {
    let specimens = campaign::read(records)?;
    let is_recorded = |preset: &&str| specimens.iter().any(|(name, _)| name == preset);
    let presets: Vec<&str> = PRESETS.into_iter().filter(is_recorded).collect();
    let rows: Vec<Row> = presets
        .iter()
        .map(|preset| {
            let (drive, mut row) = (described(preset), Row::default());
            let own = specimens.iter().filter(|(name, _)| name == preset);
            own.for_each(|(_, sessions)| row.add_specimen(&drive, sessions));
            row
        })
        .collect();
    if presets.is_empty() {
        return Err("no specimen has all its sessions".into());
    }
    if print(&presets, &rows) { Ok(()) } else { Err("a goal is missed".into()) }
}

/// Runs on virtual drives; returns whether the goals are met.
fn simulated(words: &[String]) -> bool {
    let mut words = words.iter().map(|word| word.parse::<u64>().ok());
    let specimens = words.next().flatten().unwrap_or(33);
    let presets = words.next().flatten().map_or(PRESETS.len(), |n| n as usize);
    let minutes = words.next().flatten().unwrap_or(u64::MAX / 60);
    let presets = &PRESETS[..presets.min(PRESETS.len())];
    let (began, limit) = (Instant::now(), Duration::from_secs(60 * minutes));
    let rows = Mutex::new(presets.iter().map(|_| Row::default()).collect::<Vec<_>>());
    let next = AtomicUsize::new(0);
    let work = || {
        while began.elapsed() < limit {
            let turn = next.fetch_add(1, Ordering::Relaxed);
            let (specimen, at) = (1 + (turn / presets.len()) as u64, turn % presets.len());
            if specimen > specimens {
                break;
            }
            let sessions = sessions(presets[at], specimen, SIZE);
            let drive = described(presets[at]);
            rows.lock().expect("no thread panicked")[at].add_specimen(&drive, &sessions);
        }
    };
    thread::scope(|scope| (0..threads()).for_each(|_| drop(scope.spawn(work))));
    print(presets, &rows.into_inner().expect("no thread panicked"))
}

fn threads() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

/// Prints the table; returns whether the goals are met.
fn print(presets: &[&str], rows: &[Row]) -> bool {
    let runs = RUNS.map(|k| format!("next time, k = {k}")).join(" | ");
    println!("| preset | {runs} | claims, 1+1 | claims, 3+3 | 5% found, 1+1 | 5% found, 3+3 |");
    println!("|---|{}", "---|".repeat(RUNS.len() + 4));
    let mut all = Row::default();
    for (preset, row) in presets.iter().zip(rows) {
        println!("| {preset} | {} |", row.words());
        all.add(row);
    }
    println!("| all | {} |", all.words());
    let sessions = all.runs;
    let trials: u32 = RUNS.iter().map(|k| all.pooled(*k).trials).sum();
    println!("\n{sessions} runs, {trials} intervals. The worst-covered cell of any preset:");
    let worst = |runs: usize| {
        let each = presets.iter().zip(rows).flat_map(|(preset, row)| {
            let own = row.cells.iter().filter(move |((_, k), _)| *k == runs);
            own.map(move |((cell, _), count)| (count.share(), format!("{cell} of {preset}")))
        });
        each.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default()
    };
    for k in RUNS {
        let (share, cell) = worst(k);
        println!("- k = {k}: {:.0}%, {cell}", 100.0 * share);
    }
    let wide = presets.iter().zip(rows).map(|(preset, row)| (row.widest(), preset));
    let ((deviations, cell), preset) =
        wide.max_by(|a, b| a.0.0.total_cmp(&b.0.0)).expect("presets");
    println!(
        "- the widest interval for its spread, k = 5: a half-width of {deviations:.1} standard \
         deviations, {cell} of {preset}"
    );
    println!(
        "\nGoals: at least 93% pooled and 85% of any cell, with 3 and 5 runs; half-widths of at most \
         {DEVIATIONS_MAX} standard deviations, or {:.1}%; a difference claimed in at most 5% of \
         comparisons of a drive with itself.",
        100.0 * HALF_MIN
    );
    let covered = |k: &usize| all.pooled(*k).share() >= POOLED && worst(*k).0 >= CELL;
    deviations <= DEVIATIONS_MAX
        && RUNS[1..].iter().all(covered)
        && all.claims.iter().all(|c| c.share() <= FALSE_CLAIMS)
}

fn percent(count: Count) -> String {
    format!("{:.1}%", 100.0 * count.share())
}
